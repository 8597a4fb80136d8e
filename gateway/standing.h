/* What stands in the store before the first request: what was paused, and doubts that
 * a changed configuration would forget. For boot.c, on the main thread. */
#ifndef RECIBO_GATEWAY_STANDING_H
#define RECIBO_GATEWAY_STANDING_H

#include "base/arena.h"
#include "gateway/board.h"

/* What was paused stays paused over a restart (SPEC 3). */
GW_MUST_CHECK enum gw_status standing_pauses(struct store *store, struct board *board,
                                             struct gw_error *err);
/* The same for another configuration, which the board takes up. Not GW_OK: the board is as
 * it was. */
GW_MUST_CHECK enum gw_status standing_adopt(struct store *store, struct board *board,
                                            struct conf *conf, struct gw_error *err);

#define STANDING_DROPS_MAX 64
/* What a configuration would drop of one route. */
struct standing_drop {
    struct span route;
    uint64_t count;
    bool at_least;     /* not every row was looked at */
    const char *state; /* "unknown", "deferred", "pending", "completed" */
    const char *why;
};
struct standing_drops {
    struct standing_drop items[STANDING_DROPS_MAX]; /* routes: in the arena */
    uint32_t count;                                 /* of those that fit */
};
/* Scope and owner are part of a key's identity, and which they are follows from the route
 * that a request's target leads to: under other ones an unknown operation would be taken for
 * a new one and sent again. GW_INVALID: repeats would not find what is in doubt; the log has
 * each route. `accepted` turns that into a warning. */
GW_MUST_CHECK enum gw_status standing_routes(struct store *store, const struct conf *conf,
                                             bool accepted, struct gw_error *err);
/* The same at a reload from `running` to `conf`: what is under way counts too, and, where
 * asked for, the answers that are kept. What is lost under `running` already does not count. What
 * would be dropped is listed. */
struct standing_question {
    const struct conf *conf, *running;
    bool judges_kept;
    bool accepted;
    struct arena *arena;
};
GW_MUST_CHECK enum gw_status standing_reload(struct store *store,
                                             const struct standing_question *question,
                                             struct standing_drops *ret_drops,
                                             struct gw_error *err);

#endif
