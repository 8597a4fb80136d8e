/* Has the caller got his answer? Part of the room `reply`, for content keys with
 * `only: undelivered`: then the next request with the same content is a new operation
 * (SPEC 2, ADR 0020). */
#ifndef RECIBO_GATEWAY_ROOMS_HEARD_H
#define RECIBO_GATEWAY_ROOMS_HEARD_H

#include "gateway/flow.h"

#define HEARD_LOOK_MS   20
#define HEARD_LOOKS_MAX 50

/* Before the first byte: does it matter, and is he there? */
bool heard_matters(const struct flow *flow);
/* All is written. false: he has it, or nobody will know. true: look again when resumed. */
bool heard_waits(struct flow *flow);
/* He has it: frees the content for the next operation. false: that could not be asked for. */
bool heard_frees(struct flow *flow);

#endif
