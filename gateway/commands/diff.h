/* What `recibo diff` finds out about one route. Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_DIFF_H
#define RECIBO_GATEWAY_COMMANDS_DIFF_H

#include "base/arena.h"
#include "conf/conf.h"

struct diff_lines {
    struct span *items;
    uint32_t count;
};
/* A route of one file or of both, by its name. */
struct diff_route {
    struct span name;
    const struct route_policy *before, *after; /* NULL: it is not there */
    struct diff_lines gone, come;              /* lines of its promise */
    struct span dropped; /* how repeats of what is on record lose it; empty: they do not */
};
/* false: out of memory. */
GW_MUST_CHECK bool diff_route_look(struct arena *arena, const struct conf *before,
                                   const struct conf *after, struct diff_route *route);
bool diff_route_is_changed(const struct diff_route *route);

#endif
