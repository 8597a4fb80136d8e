/* The access log: one line for each request of a caller, whatever became of it. It never holds
 * a key, an owner, a query, a body or a credential. Threads: the flow's. */
#ifndef RECIBO_GATEWAY_ACCESS_LOG_H
#define RECIBO_GATEWAY_ACCESS_LOG_H

#include "gateway/flow.h"

/* The walk is over; nothing of it was given back yet. */
void access_log(const struct flow *flow);
/* docs/logs.md. */
void log_print_reference(struct gw_buf *out);

#endif
