/* Asks the store and waits: before the first request nothing else is to be done. */
#include "gateway/standing.h"

#include "base/log.h"

#include <poll.h>

#define STANDING_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define STANDING_PAGES_MAX 200 /* of one route; what is beyond makes no other message */

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

/* ---- receipts and routes ---- */

struct judgement {
    struct store *store;
    const struct conf *conf;
    bool accepted; /* what would be forgotten is only told */
    uint32_t dropped;
    struct gw_error *err; /* about the first one */
};

static bool is_guarded(const struct conf *conf, struct span name)
{
    const struct route_policy *route = route_by_name(&conf->routes, name);
    return route != NULL && route->mode == ROUTE_ENFORCE;
}

/* Would a repeat find this row? */
static bool is_found(const struct conf *conf, const struct store_row *row)
{
    const struct route_policy *route = route_by_name(&conf->routes, row->route);
    return route != NULL && route->mode == ROUTE_ENFORCE &&
           span_equal(row->scope, route_scope(route));
}

static void drop(struct judgement *judgement, struct span route, uint64_t count)
{
    const struct gw_log_pair pairs[] = {
        {"route", route, 0}, {"unknown", {NULL, 0}, (int64_t)count}, GW_LOG_END};
    gw_log(judgement->accepted ? GW_LOG_WARN : GW_LOG_ERROR, "route.dropped", pairs);
    if (!judgement->accepted && judgement->dropped == 0)
        (void)gw_error_set(
            judgement->err, GW_INVALID,
            "%llu unknown operations of route '%.*s' would lose their protection: their keys would "
            "be taken for new. Keep its name, mode and scope, settle them, or use "
            "--accept-dropped-routes",
            (unsigned long long)count, (int)route.len, route.ptr); /* told by the caller */
    judgement->dropped++;
}

/* One page of what is in doubt on a route: how many rows a repeat would not find. */
static enum gw_status count_page(const struct judgement *judgement, struct span route,
                                 int64_t *cursor, uint64_t *count)
{
    struct arena *arena = arena_new(STANDING_BYTES_MAX);
    if (arena == NULL)
        return gw_error_set(judgement->err, GW_NOMEM, "out of memory");
    struct store_op op = {.kind = STORE_LIST, .arena = arena};
    op.in.list.filter.states = 1u << RECEIPT_UNKNOWN;
    op.in.list.filter.route = route;
    op.in.list.rows_max = STORE_PAGE_ROWS_MAX;
    op.in.list.cursor = *cursor;
    enum gw_status status = ask(judgement->store, &op, judgement->err);
    for (uint32_t i = 0; status == GW_OK && i < op.out.row_count; i++)
        *count += !is_found(judgement->conf, &op.out.rows[i]);
    *cursor = op.out.next_cursor;
    arena_free(arena);
    return status;
}

/* The route is there; its keys may have had another scope. */
static enum gw_status judge_scope(struct judgement *judgement, struct span route)
{
    enum gw_status status = GW_OK;
    int64_t cursor = 0;
    uint64_t count = 0;
    for (uint32_t i = 0; i < STANDING_PAGES_MAX && status == GW_OK; i++) {
        status = count_page(judgement, route, &cursor, &count);
        if (cursor == 0)
            break;
    }
    if (status == GW_OK && count > 0)
        drop(judgement, route, count);
    return status;
}

static enum gw_status judge_unknowns(struct judgement *judgement)
{
    struct arena *arena = arena_new(STANDING_BYTES_MAX);
    if (arena == NULL)
        return gw_error_set(judgement->err, GW_NOMEM, "out of memory");
    struct store_op op = {.kind = STORE_TALLY, .arena = arena};
    enum gw_status status = ask(judgement->store, &op, judgement->err);
    for (uint32_t i = 0; status == GW_OK && i < op.out.tally_count; i++) {
        const struct tally_entry *entry = &op.out.tally[i];
        if (is_guarded(judgement->conf, entry->route))
            status = judge_scope(judgement, entry->route);
        else
            drop(judgement, entry->route, entry->unknown);
    }
    arena_free(arena);
    return status;
}

/* What recovery has left for later is in doubt as well: as much of it as one page holds. */
static enum gw_status judge_leased(struct judgement *judgement)
{
    struct arena *arena = arena_new(STANDING_BYTES_MAX);
    if (arena == NULL)
        return gw_error_set(judgement->err, GW_NOMEM, "out of memory");
    struct gw_clock *clock = gw_clock_system();
    struct store_op op = {.kind = STORE_SCAN, .arena = arena};
    op.in.scan.kind = SCAN_LAPSED;
    op.in.scan.now_ms = clock->wall_ms(clock);
    op.in.scan.rows_max = STORE_PAGE_ROWS_MAX;
    enum gw_status status = ask(judgement->store, &op, judgement->err);
    for (uint32_t i = 0; status == GW_OK && i < op.out.row_count; i++) {
        if (is_found(judgement->conf, &op.out.rows[i]))
            continue;
        drop(judgement, op.out.rows[i].route, 1);
        break; /* enough to refuse; the others are counted when they are unknown */
    }
    arena_free(arena);
    return status;
}

enum gw_status standing_routes(struct store *store, const struct conf *conf, bool accepted,
                               struct gw_error *err)
{
    struct judgement judgement = {.store = store, .conf = conf, .accepted = accepted, .err = err};
    enum gw_status status = judge_unknowns(&judgement);
    if (status == GW_OK)
        status = judge_leased(&judgement);
    if (status != GW_OK)
        return status;
    return accepted || judgement.dropped == 0 ? GW_OK : GW_INVALID;
}
