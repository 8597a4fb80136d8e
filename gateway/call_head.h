/* The head of a request as it goes upstream (STANDARDS part 9). */
#ifndef RECIBO_GATEWAY_CALL_HEAD_H
#define RECIBO_GATEWAY_CALL_HEAD_H

#include "gateway/flow.h"

enum call_framing { CALL_LENGTH, CALL_CHUNKED, CALL_NO_BODY };

/* Into flow->call_head, from flow->head and flow->route; also makes flow->trace_id
 * if the request has none. false: out of memory, or a field could break the framing. */
bool call_head_write(struct flow *flow, enum call_framing framing, uint64_t length) GW_MUST_CHECK;
/* Likewise for a probe: a GET of Recibo's own, with nothing of the caller's in it. */
bool call_head_write_probe(struct flow *flow, struct span target) GW_MUST_CHECK;
/* flow->trace_id from a valid traceparent, or a fresh one (TRC-1). */
void call_head_trace(struct flow *flow);

#endif
