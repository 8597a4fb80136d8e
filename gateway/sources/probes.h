/* The source `probes`: each second it asks the store for unknown operations whose time
 * to be asked about has come, and starts a flow for each, within bounds. Part of the
 * scans, on the first worker. */
#ifndef RECIBO_GATEWAY_SOURCES_PROBES_H
#define RECIBO_GATEWAY_SOURCES_PROBES_H

#include "gateway/worker.h"

struct probes;
struct probes *probes_new(struct worker *worker); /* NULL: out of memory */
void probes_start(struct probes *probes);
/* The worker's configuration is another one now. */
void probes_adopt(struct probes *probes);
bool probes_are_idle(const struct probes *probes); /* nothing is in the store's hands */
void probes_free(struct probes *probes);           /* NULL is fine; idle */

#endif
