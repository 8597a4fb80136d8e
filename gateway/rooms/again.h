/* What follows an attempt without an outcome: part of the rooms `record` and `claim`. A
 * next attempt is a walk of its own, from `claim` on, with a fresh fence; until then the
 * flow is parked on a timer, and nothing is held but memory. */
#ifndef RECIBO_GATEWAY_ROOMS_AGAIN_H
#define RECIBO_GATEWAY_ROOMS_AGAIN_H

#include "gateway/flow.h"

/* flow->row has taken the end of flow->attempt, and is not written yet: lets policy say
 * what follows, steps the row once more where that needs it, and fills flow->retry.
 * false: out of memory. */
bool again_decide(struct flow *flow) GW_MUST_CHECK;
/* Is there a next attempt by this flow? */
bool again_is_wanted(const struct flow *flow);
/* Makes sure that it can be waited for; false: out of memory. */
bool again_reserve(struct flow *flow) GW_MUST_CHECK;
/* Parks until the next attempt; the caller returns FLOW_PARK. */
void again_rest(struct flow *flow, int64_t wait_ms);
/* The process stops: the rest is over. From the worker alone, never from inside a room. */
void again_wake(struct flow *flow);
/* The next attempt begins: what the last one left is let go. */
void again_begin(struct flow *flow);

#endif
