/* Who starts flows: the listener for callers, and on the first worker the scans of the
 * store: recovery, retention and probes. A source is a socket or a timer plus one scan;
 * the rooms do the work. */
#ifndef RECIBO_GATEWAY_SOURCES_SOURCES_H
#define RECIBO_GATEWAY_SOURCES_SOURCES_H

#include "gateway/worker.h"

/* ---- listener.c ---- */
struct listeners;
GW_MUST_CHECK enum gw_status listeners_new(struct worker *worker,
                                           const struct worker_options *options,
                                           struct listeners **ret, struct gw_error *err);
void listeners_start(struct listeners *listeners);
void listeners_stop(
    struct listeners *listeners); /* what the kernel has queued is left for others */
void listeners_free(struct listeners *listeners); /* NULL is fine */

/* ---- scans.c ---- */
struct sources;
GW_MUST_CHECK enum gw_status sources_new(struct worker *worker, struct sources **ret,
                                         struct gw_error *err);
/* Recovery now, of at most rows_max rows; sources_are_idle() tells when it is done. */
void sources_recover(struct sources *sources, uint32_t rows_max);
void sources_start(struct sources *sources); /* all scans, from time to time */
/* The worker's configuration is another one now. */
void sources_adopt(struct sources *sources);
bool sources_are_idle(const struct sources *sources);
void sources_free(struct sources *sources); /* NULL is fine; idle */

#endif
