/* Where a worker gathers what observe mode saw, and from where it goes to the store in
 * batches: at most one under way, one being filled. What finds no room is counted as
 * lost and nobody waits for it. Threads: its worker's. */
#ifndef RECIBO_GATEWAY_SOURCES_OBSERVED_H
#define RECIBO_GATEWAY_SOURCES_OBSERVED_H

#include "gateway/worker.h"

struct observed;

GW_MUST_CHECK enum gw_status observed_new(struct worker *worker, struct observed **ret,
                                          struct gw_error *err);
void observed_free(struct observed *observed); /* NULL is fine; nothing is under way */

/* From now on copies may use what this configuration allows. */
void observed_adopt(struct observed *observed, const struct conf *conf);

/* Takes as much of what copies of bodies may use; false: there is no room. */
bool observed_hold(struct observed *observed, uint64_t bytes) GW_MUST_CHECK;
void observed_let_go(struct observed *observed, uint64_t bytes);

/* Copies it into the batch; without room it is lost. */
void observed_add(struct observed *observed, const struct route_policy *route,
                  const struct observation *seen);
void observed_lose(struct observed *observed, const struct route_policy *route);

/* For the end of the worker: sends what is left; true once all of it has ended. */
bool observed_is_finished(struct observed *observed);

#endif
