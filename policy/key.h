/* The idempotency key: field lines as received -> one canonical key (STANDARDS
 * part 2). Pure. */
#ifndef RECIBO_POLICY_KEY_H
#define RECIBO_POLICY_KEY_H

#include "policy/route.h"

enum key_verdict {
    KEY_OK,
    KEY_MISSING, /* no line, or one that is empty or all space */
    KEY_INVALID,
};

struct key_fault {
    const char *text; /* static; says what is wrong and what is allowed, without the peer's bytes */
};

/* `lines` are the values of the field's lines in order. Writes the canonical key
 * into `room` (at least as long as the longest line). */
GW_MUST_CHECK enum key_verdict key_from_lines(const struct key_grammar *grammar,
                                              const struct span *lines, uint32_t line_count,
                                              char *room, size_t *ret_len,
                                              struct key_fault *ret_fault);
/* A key that came from a body or a path: already decoded text; same grammar of
 * bytes and length as the bare form, no quoting. */
GW_MUST_CHECK enum key_verdict key_from_text(const struct key_grammar *grammar, struct span text,
                                             struct key_fault *ret_fault);
/* Writes the key as an sf-string with its quotes; room for 2 * key.len + 2 bytes. */
size_t key_to_sf_string(struct span key, char *room);

#endif
