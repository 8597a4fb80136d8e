/* The source `deferred`: several times a second it asks the store for operations whose
 * time to run has come, and starts a flow for each, within bounds. Part of the scans, on
 * the first worker. */
#ifndef RECIBO_GATEWAY_SOURCES_DEFERRED_H
#define RECIBO_GATEWAY_SOURCES_DEFERRED_H

#include "gateway/worker.h"

struct deferred;
struct deferred *deferred_new(struct worker *worker); /* NULL: out of memory */
void deferred_start(struct deferred *deferred);
/* The worker's configuration is another one now. */
void deferred_adopt(struct deferred *deferred);
bool deferred_is_idle(const struct deferred *deferred); /* nothing is in the store's hands */
void deferred_free(struct deferred *deferred);          /* NULL is fine; idle */

#endif
