/* What the room `classify` lends to those who judge an answer on the side. */
#ifndef RECIBO_GATEWAY_ROOMS_CLASSIFY_H
#define RECIBO_GATEWAY_ROOMS_CLASSIFY_H

#include "gateway/flow.h"

/* Parses the answer's body if a rule of the route looks into it, in the worker's
 * scratch; a body that is no JSON simply fits no JSON condition. */
bool classify_parse_answer(struct flow *flow, struct span body, struct json_doc *ret_doc);

#endif
