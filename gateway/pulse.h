/* Says to the supervisor that all is well, as often as it wants to hear it, and only while the
 * main loop turns and every worker has answered since the last time. A process that stands
 * still is started anew; what it had under way is in the store. Threads: the main one. */
#ifndef RECIBO_GATEWAY_PULSE_H
#define RECIBO_GATEWAY_PULSE_H

#include "gateway/worker.h"

struct pulse;
struct event_base;

/* *ret stays NULL if no supervisor wants to hear of us. Workers are started. */
GW_MUST_CHECK enum gw_status pulse_start(struct event_base *base, struct worker *const *workers,
                                         uint32_t worker_count, struct pulse **ret,
                                         struct gw_error *err);
/* Before worker_drain(): workers are not asked any more, the main loop alone counts. */
void pulse_stop_asking(struct pulse *pulse); /* NULL is fine */
void pulse_free(struct pulse *pulse);        /* NULL is fine; the workers have ended */

#endif
