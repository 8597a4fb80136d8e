/* What a probe found, put on the row: part of the room `record`. */
#ifndef RECIBO_GATEWAY_ROOMS_PROBED_H
#define RECIBO_GATEWAY_ROOMS_PROBED_H

#include "gateway/flow.h"

/* For flows of FLOW_FROM_PROBE; resumed after each answer of the store. */
enum flow_next probed_record(struct flow *flow);

#endif
