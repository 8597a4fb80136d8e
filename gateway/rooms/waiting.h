/* A repeat that waits for its first call (SPEC 2, RCP-9): part of the room `claim`. */
#ifndef RECIBO_GATEWAY_ROOMS_WAITING_H
#define RECIBO_GATEWAY_ROOMS_WAITING_H

#include "gateway/flow.h"

/* After a wake-up that brought no answer a waiter stands back, at first shortly: one runs at
 * a time, and an upstream that refuses is not hammered. Never past the end of the wait. */
#define WAITING_PAUSE_MIN_MS 50
#define WAITING_PAUSE_MAX_MS 1000 /* or a share of the wait, where that is more */
#define WAITING_PAUSE_SHARE  64
#define WAITING_POLL_MS      500 /* while another gateway runs it; or that share of the wait */
#define WAITING_ROUNDS_MAX   160 /* more than fit into any wait */

enum waiting {
    WAITING_NO,     /* the route or the caller wants none, the time is over, or too many wait */
    WAITING_LOOK,   /* listed just now: look once more, it may have ended in between */
    WAITING_PARKED, /* park; the flow is resumed by the wake-up or by the end of its time */
};
enum waiting waiting_begin(struct flow *flow);
/* true: it was woken and there is still no answer: park, it is resumed after a while to look
 * once more. Only while it is not listed. */
bool waiting_stands_back(struct flow *flow) GW_MUST_CHECK;
/* false: a wake-up is under way and resumes the flow; until then it must not end. */
bool waiting_end(struct flow *flow) GW_MUST_CHECK;

#endif
