/* What a request brings for the parameters of a local effect: the owner from its
 * identity, never from its body; the members that the route takes. `recibo explain` asks
 * the same function: of the flow it needs arena, head, body, key, owner and route alone.
 * Threads: the flow's worker. */
#ifndef RECIBO_GATEWAY_LOCAL_VALUES_H
#define RECIBO_GATEWAY_LOCAL_VALUES_H

#include "gateway/flow.h"

struct local_values {
    struct store_value *values; /* arena; one for each parameter of the route's effect */
    enum problem problem;       /* why there are none; PROBLEM_NONE: there are */
    struct span detail;
};

/* Never fails: what is wrong is in ret->problem. :operation_id is empty until it is set. */
void local_values_read(struct flow *flow, struct local_values *ret);
/* Once the operation has its id, which lives as long as the flow. */
void local_values_set_id(struct local_values *local, struct span operation_id);

#endif
