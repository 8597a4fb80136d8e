/* A target with holes, such as /tickets?external_reference={operation_id}: split once
 * when the configuration is read, filled in for each operation. A value never gets to
 * mean more than one value: it is percent-encoded, and one that would make or climb a
 * path segment is refused. Pure: the caller brings the memory. */
#ifndef RECIBO_POLICY_TEMPLATE_H
#define RECIBO_POLICY_TEMPLATE_H

#include "base/base.h"

enum template_kind {
    TEMPLATE_TEXT,         /* stands there as it is */
    TEMPLATE_OPERATION_ID, /* {operation_id} */
    TEMPLATE_KEY,          /* {key} */
    TEMPLATE_OWNER,        /* {owner} */
    TEMPLATE_LABEL,        /* {label:NAME} */
    TEMPLATE_RESPONSE,     /* {response:/pointer}, from a recorded answer */
};
struct template_part {
    enum template_kind kind;
    struct span text; /* the text, the label's name or the pointer */
    uint32_t column;  /* of its first byte in the template, from 1 */
};
struct target_template {
    struct span text; /* as written */
    const struct template_part *parts;
    uint32_t part_count;
};
#define TEMPLATE_PARTS_MAX 32

struct template_fault {
    uint32_t column;  /* of the first byte that is wrong, from 1 */
    const char *text; /* static */
};
/* Splits a path with an optional query; false: it is none, and `ret_fault` says why. */
bool template_parse(struct span text, struct template_part *parts, uint32_t parts_max,
                    uint32_t *ret_count, struct template_fault *ret_fault) GW_MUST_CHECK;
bool template_uses(const struct target_template *target, enum template_kind kind);

enum template_verdict {
    TEMPLATE_FILLED,
    TEMPLATE_NO_VALUE,  /* a value is missing or empty: the question would be another one */
    TEMPLATE_BAD_VALUE, /* a value would make a segment, climb, or hold a control character */
    TEMPLATE_TOO_LONG,  /* the room is too small */
};
/* `values` has one span a part; those of texts do not count. *ret_part is the part that
 * could not be filled in. */
GW_MUST_CHECK enum template_verdict template_fill(const struct target_template *target,
                                                  const struct span *values, char *room,
                                                  size_t room_len, size_t *ret_len,
                                                  uint32_t *ret_part);

#endif
