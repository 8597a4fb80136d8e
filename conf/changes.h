/* Two snapshots side by side: which values differ, and which of them a running process
 * takes up. And what a new snapshot keeps of the one that the process began with. It never
 * reads a file. Threads: snapshots are read-only once they were handed out. */
#ifndef RECIBO_CONF_CHANGES_H
#define RECIBO_CONF_CHANGES_H

#include "base/arena.h"
#include "conf/conf.h"

struct conf_change {
    struct span path;          /* "routes[create-order].retention" */
    struct span before, after; /* ptr NULL: it is not there */
    uint32_t line;             /* in the newer file; 0: it is not there, or a default */
    bool is_secret;            /* the values are never shown; before and after are empty */
    bool needs_restart;
};
struct conf_changes {
    struct conf_change *items; /* by path */
    uint32_t count;
    uint32_t restart_count; /* of them: need a restart */
};
/* false: out of memory. All of it lies in the arena and in the two snapshots. */
GW_MUST_CHECK bool conf_compare(struct arena *arena, const struct conf *before,
                                const struct conf *after, struct conf_changes *ret);
/* May a repeat be led to another identity: a route's name, mode, scope, path or owners? */
bool conf_changes_touch_identity(const struct conf_changes *changes);

/* What needs a restart stays in `conf` as the process began with it: `first`, of which a
 * reference is kept. To be called once, before anybody else has `conf`. GW_INVALID: it
 * cannot: local effects differ, or the worst case of memory is over limits.memory_max. */
GW_MUST_CHECK enum gw_status conf_carry_over(struct conf *conf, struct conf *first,
                                             struct gw_error *err);

#endif
