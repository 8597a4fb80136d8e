/* What a client may rely on, per guarded route (SPEC 2): part of the room `own`. */
#ifndef RECIBO_GATEWAY_ROOMS_CONTRACT_H
#define RECIBO_GATEWAY_ROOMS_CONTRACT_H

#include "gateway/flow.h"

/* JSON, in the arena; empty: out of memory. */
struct span contract_document(struct flow *flow);

#endif
