/* Another configuration for a process that goes on serving: whole, or not at all. Flows keep
 * the one they began with. Threads: the main one, which owns the loop, the store's readers and
 * the operator plane; workers are told and answer. */
#ifndef RECIBO_GATEWAY_RELOAD_H
#define RECIBO_GATEWAY_RELOAD_H

#include "conf/changes.h"
#include "gateway/admin/admin.h"
#include "gateway/standing.h"
#include "gateway/worker.h"

struct reload;
struct event_base;

struct reload_options {
    struct event_base *base;
    struct conf *first; /* what the process began with; borrowed for as long as it lives */
    struct store *store;
    struct board *board;
    struct admin *admin; /* NULL: there is none */
    struct worker *const *workers;
    uint32_t worker_count;
};
GW_MUST_CHECK enum gw_status reload_new(const struct reload_options *options, struct reload **ret,
                                        struct gw_error *err);
/* NULL is fine. No reload is under way, or the workers have ended. */
void reload_free(struct reload *reload);
/* What new flows begin with; valid until the next reload. */
const struct conf *reload_current(const struct reload *reload);
/* As admin_reload_fn; without `done` it is told in the log alone. */
void reload_begin(struct reload *reload, const struct admin_reload *wish);
bool reload_is_under_way(const struct reload *reload);

#endif
