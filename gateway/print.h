/* The fingerprint of a request: body grammar, digest, member digests, labels and
 * the request evidence (STANDARDS part 3; SPEC 2, 4). For the room `key`, in one
 * turn: the parsed body lies in the worker's scratch. */
#ifndef RECIBO_GATEWAY_PRINT_H
#define RECIBO_GATEWAY_PRINT_H

#include "gateway/flow.h"

#define PRINT_JSON_DEPTH_MAX 64
#define PRINT_JSON_NODES_MAX (1u << 20)
#define PRINT_FORM_PAIRS_MAX (1u << 16)

struct parsed_body {
    bool is_absent; /* no content and no Content-Type: nothing to parse (FPR-10) */
    bool is_json, is_form;
    struct json_doc doc;
    uint32_t *order;
    struct form_pair *pairs;
    uint32_t pair_count;
};

/* Media type and content coding of the head against the route's mode: before the
 * body is read. PROBLEM_NONE, or the 415 and its text. */
enum problem print_check_head(struct flow *flow, struct span *ret_detail);
/* PROBLEM_NONE, or the 400 and its text. */
enum problem print_parse(struct flow *flow, struct parsed_body *ret, struct span *ret_detail);
/* flow->print and flow->members; false: out of memory. */
bool print_compute(struct flow *flow, struct parsed_body *body) GW_MUST_CHECK;
/* The text of one label, not cut yet; false: it is not in this request. */
bool print_label_text(struct flow *flow, const struct parsed_body *body,
                      const struct label_policy *label, struct span *ret_text);
/* flow->labels; false: out of memory. */
bool print_labels(struct flow *flow, const struct parsed_body *body) GW_MUST_CHECK;
/* flow->packed_request: what the operator will see of the request; empty when the
 * route keeps none. */
bool print_evidence(struct flow *flow, const struct parsed_body *body) GW_MUST_CHECK;
/* May this field be kept, or does it carry credentials? */
bool print_may_be_kept(const struct flow *flow, struct span name);
/* A scalar of the body or of the path as text in the arena; false: not there, or
 * not a scalar. `ret_is_string`: JSON strings, form and path values. */
bool print_json_text(struct flow *flow, const struct parsed_body *body,
                     const struct json_pointer *pointer, struct span *ret_text,
                     bool *ret_is_string);
bool print_form_text(struct flow *flow, const struct parsed_body *body, struct span name,
                     struct span *ret_text);
bool print_path_text(const struct flow *flow, struct span name, struct span *ret_text);
/* The JSON array of what differs between the stored member digests and this
 * request's: ["/quantity","target"]; empty when nothing can be named. */
struct span print_changed(struct flow *flow, struct span stored_members);

#endif
