/* Observe mode: what an enforced route would have made of an exchange that passes,
 * computed on the side from bounded copies (SPEC 2). For the room `pass`: every call
 * is fine for every flow, observed or not, and none of them changes a byte, holds
 * anything up or fails. Threads: the flow's worker. */
#ifndef RECIBO_GATEWAY_OBSERVE_H
#define RECIBO_GATEWAY_OBSERVE_H

#include "gateway/flow.h"

void observe_begin(struct flow *flow); /* the head is on its way */
void observe_request_body(struct flow *flow, struct span bytes);
void observe_request_end(struct flow *flow);
void observe_request_broke(struct flow *flow, enum problem problem);
void observe_answer_body(struct flow *flow, struct span bytes);
void observe_end(struct flow *flow); /* last, once; flow->facts, flow->client_gone */

#endif
