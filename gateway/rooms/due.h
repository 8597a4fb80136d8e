/* A deferred operation whose time has come: part of the room `claim`. */
#ifndef RECIBO_GATEWAY_ROOMS_DUE_H
#define RECIBO_GATEWAY_ROOMS_DUE_H

#include "gateway/flow.h"

/* FLOW_FROM_DEFERRED alone. flow->row names the operation; it is read again. */
enum flow_next due_claim(struct flow *flow);

#endif
