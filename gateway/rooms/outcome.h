/* What the caller is told once the outcome is on record: part of the room `record`. */
#ifndef RECIBO_GATEWAY_ROOMS_OUTCOME_H
#define RECIBO_GATEWAY_ROOMS_OUTCOME_H

#include "gateway/flow.h"

/* Our own event moved the receipt. */
enum flow_next outcome_of_own(struct flow *flow);
/* Of a wait, for Retry-After: rounded up, at least 1. */
uint32_t outcome_seconds(int64_t ms);
/* Somebody else ended it first (a late answer, an operator): flow->row as it stands. */
enum flow_next outcome_of_other(struct flow *flow);
/* The store failed after bytes had left. */
enum flow_next outcome_not_recorded(struct flow *flow);

#endif
