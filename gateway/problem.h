/* Problem answers: what Recibo itself says (RFC 9457; STANDARDS part 5). */
#ifndef RECIBO_GATEWAY_PROBLEM_H
#define RECIBO_GATEWAY_PROBLEM_H

#include "gateway/flow.h"

const char *problem_code(enum problem problem); /* "key-missing" */
uint16_t problem_status(enum problem problem);
const char *problem_title(enum problem problem);
bool problem_retry_may_help(enum problem problem);
/* PROBLEM_NONE: no such code. */
enum problem problem_by_code(struct span code);
/* What a fault of the codec is called: by its status. */
enum problem problem_of_fault(uint16_t status);

/* The status of this flow's problem: the first caller of an outcome that could not
 * be recorded gets 504, repeats 409. */
uint16_t problem_flow_status(const struct flow *flow);
/* The body, JSON or (errors: text) plain, into the arena; empty: out of memory. */
struct span problem_body(struct flow *flow);
/* What happened, to which thing, what to do; in the arena. */
struct span problem_detail(struct flow *flow);

#endif
