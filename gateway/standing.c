/* Asks the store and waits: before the first request nothing else is to be done. */
#include "gateway/standing.h"

#include "base/log.h"

#include <poll.h>

#define STANDING_BYTES_MAX ((size_t)16 * 1024 * 1024)

static void came(struct store_op *op, void *ctx)
{
    bool *done = ctx;
    (void)op;
    *done = true;
}

/* Submits the question and waits for its answer. */
static enum gw_status ask(struct store *store, struct store_op *op, struct gw_error *err)
{
    struct store_inbox *inbox = NULL;
    bool done = false;
    enum gw_status status = store_inbox_new(&inbox, err);
    if (status != GW_OK)
        return status;
    op->inbox = inbox;
    op->done = came;
    op->ctx = &done;
    status = store_submit(store, op);
    struct pollfd readable = {.fd = store_inbox_fd(inbox), .events = POLLIN};
    while (status == GW_OK && !done) {
        (void)poll(&readable, 1, -1); /* early or late: the drain tells */
        store_inbox_drain(inbox);
    }
    store_inbox_free(inbox);
    if (status == GW_OK)
        status = op->out.status;
    return status == GW_OK ? GW_OK
                           : gw_error_set(err, status, "the store cannot be read at the start");
}

enum gw_status standing_pauses(struct store *store, struct board *board, struct gw_error *err)
{
    struct arena *arena = arena_new(STANDING_BYTES_MAX);
    if (arena == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    struct store_op op = {.kind = STORE_PAUSES, .arena = arena};
    enum gw_status status = ask(store, &op, err);
    for (uint32_t i = 0; status == GW_OK && i < op.out.pause_count; i++)
        (void)board_pause(board, op.out.pauses[i].subject, op.out.pauses[i].name,
                          true); /* a route that is gone needs no pause */
    arena_free(arena);
    return status;
}

static bool is_guarded(const struct conf *conf, struct span name)
{
    for (uint32_t i = 0; i < conf->routes.count; i++)
        if (span_equal(conf->routes.routes[i].name, name))
            return conf->routes.routes[i].mode == ROUTE_ENFORCE;
    return false;
}

static enum gw_status judge(const struct tally_entry *entry, bool accepted, struct gw_error *err)
{
    if (!accepted)
        return gw_error_set(
            err, GW_INVALID,
            "the store holds %llu unknown operations of route '%.*s', which the configuration does "
            "not guard: their keys would be taken for new ones and sent again. Name the route as "
            "before, or settle them, or start with --accept-dropped-routes",
            (unsigned long long)entry->unknown, (int)entry->route.len, entry->route.ptr);
    const struct gw_log_pair pairs[] = {
        {"route", entry->route, 0}, {"unknown", {NULL, 0}, (int64_t)entry->unknown}, GW_LOG_END};
    gw_log(GW_LOG_WARN, "route.dropped", pairs);
    return GW_OK;
}

enum gw_status standing_routes(struct store *store, const struct conf *conf, bool accepted,
                               struct gw_error *err)
{
    struct arena *arena = arena_new(STANDING_BYTES_MAX);
    if (arena == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    struct store_op op = {.kind = STORE_TALLY, .arena = arena};
    enum gw_status status = ask(store, &op, err);
    for (uint32_t i = 0; status == GW_OK && i < op.out.tally_count; i++)
        if (!is_guarded(conf, op.out.tally[i].route))
            status = judge(&op.out.tally[i], accepted, err);
    arena_free(arena);
    return status;
}
