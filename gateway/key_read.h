/* Reads the key of a request as its route says (STANDARDS part 2). The key lies in the
 * flow's arena, or in the request's head. `recibo explain` asks the same functions: of the
 * flow they need arena, head, body, match and route alone. Threads: the flow's worker. */
#ifndef RECIBO_GATEWAY_KEY_READ_H
#define RECIBO_GATEWAY_KEY_READ_H

#include "gateway/print.h"
#include "policy/key.h"

/* From the lines of one header. */
GW_MUST_CHECK enum key_verdict key_read_header(struct flow *flow, const struct key_source *source,
                                               struct span *ret_key, struct key_fault *ret_fault);
/* From wherever the route takes it, the body parsed before. */
GW_MUST_CHECK enum key_verdict key_read_content(struct flow *flow, const struct parsed_body *body,
                                                struct span *ret_key, struct key_fault *ret_fault);
/* Of a content key, the fingerprint computed before: its 64 hex digits. */
struct span key_of_print(struct flow *flow);
/* One part of a composite, or the whole of a single source. */
GW_MUST_CHECK enum key_verdict key_read_part(struct flow *flow, const struct key_source *source,
                                             const struct parsed_body *body, struct span *ret_key,
                                             struct key_fault *ret_fault);
/* No key, and the route asks for none: the request passes unprotected. An empty field is a
 * caller that meant to send a key: it is not left out. */
bool key_is_left_out(const struct flow *flow);
/* Can the operation id be put into this body? PROBLEM_NONE, or the 400 and its text. */
enum problem key_find_place_of_id(struct flow *flow, const struct parsed_body *body,
                                  struct span *ret_detail);

#endif
