/* W3C Trace Context, level 2 (STANDARDS TRC-1): strict readers of what a caller sends. Threads:
 * pure. */
#ifndef RECIBO_GATEWAY_TRACE_H
#define RECIBO_GATEWAY_TRACE_H

#include "gateway/http1/http1.h"

/* The id (32 digits) and the flags (2) of the only traceparent; false: there is none, or more
 * than one, or it is not well-formed. They point into the head. */
bool trace_read_parent(const struct http_head *head, struct span *ret_id, struct span *ret_flags);
/* Are all lines of tracestate together a well-formed list of at most 32 members, none of them
 * twice? No line at all is one. */
bool trace_state_is_sound(const struct http_head *head);

#endif
