/* What stands in the store before the first request: what was paused, and doubts that
 * a changed configuration would forget. For boot.c, on the main thread. */
#ifndef RECIBO_GATEWAY_STANDING_H
#define RECIBO_GATEWAY_STANDING_H

#include "gateway/board.h"

/* What was paused stays paused over a restart (SPEC 3). */
GW_MUST_CHECK enum gw_status standing_pauses(struct store *store, struct board *board,
                                             struct gw_error *err);
/* Scope and owner are part of a key's identity, and which they are follows from the route
 * that a request's target leads to: under other ones an unknown operation would be taken for
 * a new one and sent again. GW_INVALID: repeats would not find what is in doubt; the log has
 * each route. `accepted` turns that into a warning. */
GW_MUST_CHECK enum gw_status standing_routes(struct store *store, const struct conf *conf,
                                             bool accepted, struct gw_error *err);

#endif
