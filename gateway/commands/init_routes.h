/* From the operations of a description to routes of a first file. Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_INIT_ROUTES_H
#define RECIBO_GATEWAY_COMMANDS_INIT_ROUTES_H

#include "base/buf.h"
#include "conf/openapi.h"

/* What is taken up as routes; what cannot be matched is left as a comment that says why.
 * `prefix`: before each path; may be empty. false: out of memory. */
GW_MUST_CHECK bool init_write_routes(struct arena *arena, const struct openapi *openapi,
                                     struct span prefix, struct gw_buf *out);
/* A double-quoted scalar; a dollar is doubled, so that it stays one. */
void init_write_quoted(struct gw_buf *out, struct span text);

#endif
