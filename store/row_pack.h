/* Looking into packed parts without memory. For store/ alone. */
#ifndef RECIBO_STORE_ROW_PACK_H
#define RECIBO_STORE_ROW_PACK_H

#include "store/row.h"

#define ROW_LABELS_MAX  64
#define ROW_MEMBERS_MAX 256
#define ROW_FIELDS_MAX  4096

/* Empty spans are sound: there is nothing in them. */
bool attempts_are_sound(struct span packed);
bool probes_are_sound(struct span packed);
bool labels_are_sound(struct span packed);
bool members_are_sound(struct span packed);
bool message_is_sound(struct span packed);

/* Steps through packed labels; start with a zeroed step. false: no more. */
struct label_step {
    size_t offset;
    uint32_t left;
};
bool labels_next(struct span packed, struct label_step *step, struct label *ret);

#endif
