/* A repeat that waits for its first call (SPEC 2, RCP-9): part of the room `claim`. */
#ifndef RECIBO_GATEWAY_ROOMS_WAITING_H
#define RECIBO_GATEWAY_ROOMS_WAITING_H

#include "gateway/flow.h"

enum waiting {
    WAITING_NO,     /* the route or the caller wants none, the time is over, or too many wait */
    WAITING_LOOK,   /* listed just now: look once more, it may have ended in between */
    WAITING_PARKED, /* park; the flow is resumed by the wake-up or by the end of its time */
};
enum waiting waiting_begin(struct flow *flow);
/* false: a wake-up is under way and resumes the flow; until then it must not end. */
bool waiting_end(struct flow *flow) GW_MUST_CHECK;

#endif
