/* A set of JSON Web Keys (RFC 7517): which keys an issuer signs with. Pure: the caller
 * brings the memory. */
#ifndef RECIBO_CONF_JWK_H
#define RECIBO_CONF_JWK_H

#include "base/arena.h"
#include "base/signature.h"

#define JWK_SET_BYTES_MAX ((size_t)256 << 10)
#define JWK_SET_KEYS_MAX  100

struct jwk {
    struct span id; /* empty: it has none */
    struct gw_public_key key;
    uint32_t algorithms; /* bits 1 << enum gw_signature_algorithm that it may be used for */
};
struct jwk_set {
    const struct jwk *keys;
    uint32_t count, skipped; /* skipped: of a kind or for a use that is none of ours */
};
struct jwk_fault {
    size_t offset;    /* in the text */
    const char *text; /* static */
};
/* Everything lies in the arena, and what had no escape in the text. false: *ret_fault says
 * why; text NULL: no memory. Keys of kinds that are not known, and those that are for another
 * use than signatures, are skipped (RFC 7517 5); a key that is malformed or too short makes
 * the whole set a bad one. */
GW_MUST_CHECK bool jwk_set_read(struct arena *arena, struct span text, struct jwk_set *ret,
                                struct jwk_fault *ret_fault);
/* The value of a string member, decoded; false: it is there and no string, or no memory.
 * Absent: empty. Shared with whoever reads tokens. */
struct json_doc;
bool jose_text(struct arena *arena, const struct json_doc *doc, uint32_t node, struct span *ret);

#endif
