/* Finds what is due to run. It judges nothing, and must never let a route have more runs
 * than defer.concurrency, an upstream more than the largest of its routes, nor one row
 * have two. Due times are wall clock: a step of that clock neither makes all of them due
 * at once, nor lets one wait for the length of the step. */
#include "gateway/sources/deferred.h"

#include "base/fault.h"

#include <event2/event.h>
#include <stdlib.h>

#define DEFERRED_PERIOD_MS      200
#define DEFERRED_IDLE_PERIOD_MS 2000 /* no route defers; rows may be left of one that did */
#define DEFERRED_ROWS           100  /* of one page */
#define DEFERRED_PAGES_MAX      5    /* of one round: traffic goes on */
#define DEFERRED_HOLD_MS        1000 /* a row that could not run: paused, or no room */
#define DEFERRED_SLOTS          1024 /* runs under way, of all routes */
#define DEFERRED_BYTES_MAX      ((size_t)64 * 1024 * 1024)
#define CLOCK_STEP_MS           2000 /* less is the drift of a clock */

struct deferred_slot {
    struct deferred *deferred;
    int64_t row_id;                   /* 0: free */
    int64_t held_until_ticks;         /* 0: its run is under way */
    const struct route_policy *route; /* of the worker's configuration; NULL: it is gone from it */
};

/* How the wall clock has jumped since the process began. */
struct clock_watch {
    int64_t wall_ms, ticks_ms; /* when it was looked at last */
    int64_t jumped_ms;         /* all jumps together */
    int64_t before_ms;         /* what the clock said just before the last one */
};

struct deferred {
    GW_TAG(deferred);
#define DEFERRED_TAG 0x44554521u
    struct worker *worker;
    struct event *timer;
    struct store_op op;
    struct arena *arena;
    bool is_busy;
    bool has_more;              /* rows are due that found no room */
    uint32_t pages_left;        /* of this round */
    int64_t after_ms, after_id; /* where the page before ended; 0: begin with the oldest */
    struct clock_watch clock;
    struct deferred_slot slots[DEFERRED_SLOTS];
};

/* ---- the clock ---- */

static int64_t wall_ms(const struct deferred *deferred)
{
    struct gw_clock *clock = worker_ports(deferred->worker)->clock;
    return clock->wall_ms(clock);
}

static int64_t ticks_ms(const struct deferred *deferred)
{
    struct gw_clock *clock = worker_ports(deferred->worker)->clock;
    return clock->ticks_ms(clock);
}

static void look_at_clock(struct deferred *deferred)
{
    struct clock_watch *watch = &deferred->clock;
    int64_t now_ms = wall_ms(deferred), now_ticks = ticks_ms(deferred);
    int64_t expected_ms = watch->wall_ms + (now_ticks - watch->ticks_ms);
    int64_t jump_ms = now_ms - expected_ms;
    if (watch->wall_ms != 0 && (jump_ms > CLOCK_STEP_MS || jump_ms < -CLOCK_STEP_MS)) {
        watch->jumped_ms += jump_ms;
        watch->before_ms = expected_ms;
    }
    watch->wall_ms = now_ms;
    watch->ticks_ms = now_ticks;
}

/* By the clock that its time was written with. */
static bool is_due(const struct deferred *deferred, const struct store_row *row)
{
    const struct clock_watch *watch = &deferred->clock;
    int64_t now_ms = watch->wall_ms;
    bool is_of_before =
        watch->jumped_ms < 0 ? row->updated_ms > now_ms : row->updated_ms <= watch->before_ms;
    if (watch->jumped_ms != 0 && is_of_before)
        now_ms -= watch->jumped_ms;
    return row->receipt.due_ms <= now_ms;
}

static int64_t scan_until_ms(const struct deferred *deferred)
{
    const struct clock_watch *watch = &deferred->clock;
    return watch->jumped_ms < 0 ? watch->wall_ms - watch->jumped_ms : watch->wall_ms;
}

/* ---- bounds ---- */

/* Its place is the next one's, who need not wait for a round. Who could not begin does
 * not come at once again. */
static void run_is_over(struct flow *flow, void *ctx)
{
    static const struct timeval at_once = {0, 0};
    struct deferred_slot *slot = ctx;
    struct deferred *deferred = slot->deferred;
    gw_assert(slot->row_id == flow->row.id);
    if (flow->attempt.token == 0) {
        slot->held_until_ticks = flow_now_ticks(flow) + DEFERRED_HOLD_MS;
        return;
    }
    *slot = (struct deferred_slot){0};
    if (deferred->has_more && !worker_is_draining(deferred->worker))
        (void)event_add(deferred->timer, &at_once); /* a pure timer: fails only without memory */
}

static void let_go_of_held(struct deferred *deferred)
{
    int64_t now_ticks = ticks_ms(deferred);
    for (uint32_t i = 0; i < DEFERRED_SLOTS; i++) {
        struct deferred_slot *slot = &deferred->slots[i];
        if (slot->held_until_ticks != 0 && slot->held_until_ticks <= now_ticks)
            *slot = (struct deferred_slot){0};
    }
}

static uint32_t upstream_max(const struct deferred *deferred,
                             const struct upstream_policy *upstream)
{
    const struct route_table *table = &worker_conf(deferred->worker)->routes;
    uint32_t most = 0;
    for (uint32_t i = 0; i < table->count; i++)
        if (table->routes[i].upstream == upstream && table->routes[i].defer.concurrency > most)
            most = table->routes[i].defer.concurrency;
    return most;
}

static bool has_room(const struct deferred *deferred, const struct route_policy *route)
{
    uint32_t of_route = 0, of_upstream = 0;
    for (uint32_t i = 0; i < DEFERRED_SLOTS; i++) {
        const struct deferred_slot *slot = &deferred->slots[i];
        if (slot->row_id == 0)
            continue;
        of_route += slot->route == route;
        of_upstream += slot->route != NULL && slot->route->upstream == route->upstream &&
                       slot->held_until_ticks == 0;
    }
    return of_route < route->defer.concurrency &&
           of_upstream < upstream_max(deferred, route->upstream);
}

static bool any_has_room(const struct deferred *deferred)
{
    const struct route_table *table = &worker_conf(deferred->worker)->routes;
    for (uint32_t i = 0; i < table->count; i++)
        if (table->routes[i].mode == ROUTE_ENFORCE && has_room(deferred, &table->routes[i]))
            return true;
    return false;
}

/* NULL: it runs, or all are taken. */
static struct deferred_slot *slot_for(struct deferred *deferred, int64_t row_id)
{
    struct deferred_slot *free_slot = NULL;
    for (uint32_t i = 0; i < DEFERRED_SLOTS; i++) {
        struct deferred_slot *slot = &deferred->slots[i];
        if (slot->row_id == row_id)
            return NULL;
        if (slot->row_id == 0)
            free_slot = slot;
    }
    return free_slot;
}

/* ---- a round ---- */

/* false: no more flows can be started now. */
static bool start_flow(struct deferred *deferred, const struct store_row *row)
{
    const struct route_policy *route =
        route_by_name(&worker_conf(deferred->worker)->routes, row->route);
    /* Of a route that is gone: an operator can cancel it, or bring the route back. */
    if (route == NULL || route->mode != ROUTE_ENFORCE || route->local != NULL ||
        !is_due(deferred, row))
        return true;
    struct deferred_slot *slot = slot_for(deferred, row->id);
    if (slot == NULL)
        return true;
    if (!has_room(deferred, route)) {
        deferred->has_more = true;
        return true;
    }
    if (GW_FAULT(deferred_row))
        return false;
    struct flow *flow = flow_new(deferred->worker, FLOW_FROM_DEFERRED);
    if (flow == NULL)
        return false;
    if (!row_copy(flow->arena, row, &flow->row)) {
        flow_run(flow, FLOW_ROOM_leave);
        return false;
    }
    flow->route = route_by_name(&flow->conf->routes, flow->row.route);
    flow->identity = flow->row.identity;
    flow->owner = flow->row.owner;
    flow->scope = flow->row.scope;
    flow->key = flow->row.key;
    *slot = (struct deferred_slot){.deferred = deferred, .row_id = row->id, .route = route};
    flow->on_leave = run_is_over;
    flow->on_leave_ctx = slot;
    flow_run(flow, FLOW_ROOM_claim);
    return true;
}

static void ask(struct deferred *deferred);

/* Where the next page begins: a route that is full must not hide the rows of another. */
static void move_on(struct deferred *deferred, const struct store_row *last)
{
    deferred->after_ms = last == NULL ? 0 : last->receipt.due_ms;
    deferred->after_id = last == NULL ? 0 : last->id;
}

static void page_came(struct store_op *op, void *ctx)
{
    struct deferred *deferred;
    GW_CAST(deferred, ctx, deferred, DEFERRED_TAG);
    deferred->is_busy = false;
    uint32_t seen = 0, count = op->out.status == GW_OK ? op->out.row_count : 0;
    bool may_go_on = !worker_is_draining(deferred->worker);
    while (may_go_on && seen < count && start_flow(deferred, &op->out.rows[seen]))
        seen++;
    may_go_on = may_go_on && seen == DEFERRED_ROWS && any_has_room(deferred);
    move_on(deferred, may_go_on ? &op->out.rows[seen - 1] : NULL);
    deferred->pages_left--;
    arena_free(deferred->arena);
    deferred->arena = NULL;
    if (may_go_on && deferred->pages_left > 0)
        ask(deferred);
}

static void ask(struct deferred *deferred)
{
    const struct worker_ports *ports = worker_ports(deferred->worker);
    gw_assert(!deferred->is_busy);
    deferred->arena = arena_new(DEFERRED_BYTES_MAX);
    if (deferred->arena == NULL)
        return;
    deferred->op = (struct store_op){.kind = STORE_SCAN,
                                     .arena = deferred->arena,
                                     .inbox = worker_inbox(deferred->worker),
                                     .done = page_came,
                                     .ctx = deferred};
    deferred->op.in.scan.kind = SCAN_DUE;
    deferred->op.in.scan.now_ms = scan_until_ms(deferred);
    deferred->op.in.scan.rows_max = DEFERRED_ROWS;
    deferred->op.in.scan.after_ms = deferred->after_ms;
    deferred->op.in.scan.after_id = deferred->after_id;
    deferred->is_busy = store_submit(ports->store, &deferred->op) == GW_OK;
    if (!deferred->is_busy) {
        arena_free(deferred->arena);
        deferred->arena = NULL;
    }
}

static bool any_route_defers(const struct conf *conf)
{
    for (uint32_t i = 0; i < conf->routes.count; i++)
        if (conf->routes.routes[i].defer.when != DEFER_NEVER ||
            conf->routes.routes[i].compensate.route != NULL)
            return true;
    return false;
}

static void round_begins(evutil_socket_t fd, short what, void *ctx)
{
    struct deferred *deferred = ctx;
    int64_t period_ms = any_route_defers(worker_conf(deferred->worker)) ? DEFERRED_PERIOD_MS
                                                                        : DEFERRED_IDLE_PERIOD_MS;
    const struct timeval tv = {.tv_sec = (time_t)(period_ms / 1000),
                               .tv_usec = (suseconds_t)(period_ms % 1000 * 1000)};
    (void)fd;
    (void)what;
    if (worker_is_draining(deferred->worker))
        return;
    look_at_clock(deferred);
    if (!deferred->is_busy) {
        deferred->pages_left = DEFERRED_PAGES_MAX;
        deferred->has_more = false;
        let_go_of_held(deferred);
        ask(deferred);
    }
    (void)event_add(deferred->timer, &tv); /* a pure timer: fails only without memory */
}

struct deferred *deferred_new(struct worker *worker)
{
    struct deferred *deferred = calloc(1, sizeof(*deferred));
    if (deferred == NULL)
        return NULL;
    deferred->tag_deferred = DEFERRED_TAG;
    deferred->worker = worker;
    deferred->timer = event_new(worker_base(worker), -1, 0, round_begins, deferred);
    if (deferred->timer == NULL) {
        free(deferred);
        return NULL;
    }
    return deferred;
}

void deferred_start(struct deferred *deferred)
{
    round_begins(-1, 0, deferred);
}

void deferred_adopt(struct deferred *deferred)
{
    static const struct timeval at_once = {0, 0};
    const struct route_table *table = &worker_conf(deferred->worker)->routes;
    for (uint32_t i = 0; i < DEFERRED_SLOTS; i++) {
        struct deferred_slot *slot = &deferred->slots[i];
        if (slot->row_id != 0 && slot->route != NULL)
            slot->route = route_by_name(table, slot->route->name);
    }
    (void)event_add(deferred->timer, &at_once); /* a pure timer: fails only without memory */
}

bool deferred_is_idle(const struct deferred *deferred)
{
    return !deferred->is_busy;
}

void deferred_free(struct deferred *deferred)
{
    if (deferred == NULL)
        return;
    gw_assert(deferred_is_idle(deferred));
    event_free(deferred->timer);
    free(deferred);
}
