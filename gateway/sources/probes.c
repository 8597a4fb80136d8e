/* Finds what is due to be asked about. It judges nothing, and must never let one
 * upstream have more than PROBES_AT_ONCE questions, nor one row have two. */
#include "gateway/sources/probes.h"

#include <event2/event.h>
#include <stdlib.h>

#define PROBES_PERIOD_MS 1000
#define PROBES_ROWS      100   /* of one page */
#define PROBES_PAGES_MAX 5     /* of one round: traffic goes on */
#define PROBES_FRESH_MS  3000  /* what fell due so lately goes first */
#define PROBES_HOLD_MS   30000 /* a row whose finding could not be put on record */
#define PROBES_SLOTS     256   /* questions under way, at all upstreams */
#define PROBES_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct probe_slot {
    int64_t row_id;                         /* 0: free */
    int64_t held_until_ticks;               /* 0: its question is under way */
    const struct upstream_policy *upstream; /* NULL: none; nothing is sent */
};

struct probes {
    GW_TAG(probes);
#define PROBES_TAG 0x50524f42u
    struct worker *worker;
    struct event *timer;
    struct store_op op;
    struct arena *arena;
    bool is_busy;
    bool is_fresh;              /* the page that was asked for is of what just fell due */
    uint32_t pages_left;        /* of this round */
    int64_t after_ms, after_id; /* where the page before ended; 0: begin with the oldest */
    struct probe_slot slots[PROBES_SLOTS];
};

/* A store that is ill must not make the upstream be asked the same every second. */
static void question_is_over(struct flow *flow, void *ctx)
{
    struct probe_slot *slot = ctx;
    gw_assert(slot->row_id == flow->row.id);
    if (flow->probe != NULL && flow->probe->is_over)
        slot->row_id = 0;
    else
        slot->held_until_ticks = flow_now_ticks(flow) + PROBES_HOLD_MS;
}

static void let_go_of_held(struct probes *probes)
{
    struct gw_clock *clock = worker_ports(probes->worker)->clock;
    int64_t now_ticks = clock->ticks_ms(clock);
    for (uint32_t i = 0; i < PROBES_SLOTS; i++) {
        struct probe_slot *slot = &probes->slots[i];
        if (slot->held_until_ticks != 0 && slot->held_until_ticks <= now_ticks)
            *slot = (struct probe_slot){0};
    }
}

/* A slot for the row; NULL: it is being asked about, or its upstream has enough. */
static struct probe_slot *slot_for(struct probes *probes, int64_t row_id,
                                   const struct upstream_policy *upstream)
{
    struct probe_slot *free_slot = NULL;
    uint32_t at_upstream = 0;
    for (uint32_t i = 0; i < PROBES_SLOTS; i++) {
        struct probe_slot *slot = &probes->slots[i];
        if (slot->row_id == row_id)
            return NULL;
        if (slot->row_id == 0)
            free_slot = slot;
        else
            at_upstream += slot->upstream == upstream;
    }
    return at_upstream < PROBES_AT_ONCE ? free_slot : NULL;
}

/* Is there an upstream that could be asked more? Else the rest of the list waits. */
static bool has_room(const struct probes *probes)
{
    const struct route_table *table = &worker_conf(probes->worker)->routes;
    for (uint32_t i = 0; i < table->count; i++) {
        uint32_t at_upstream = 0;
        for (uint32_t j = 0; j < PROBES_SLOTS; j++)
            at_upstream += probes->slots[j].row_id != 0 &&
                           probes->slots[j].upstream == table->routes[i].upstream;
        if (table->routes[i].probe.is_on && at_upstream < PROBES_AT_ONCE)
            return true;
    }
    return false;
}

/* false: no more flows can be started now. */
static bool start_flow(struct probes *probes, const struct store_row *row)
{
    const struct route_policy *route =
        route_by_name(&worker_conf(probes->worker)->routes, row->route);
    struct probe_slot *slot = slot_for(probes, row->id, route == NULL ? NULL : route->upstream);
    if (slot == NULL)
        return true;
    struct flow *flow = flow_new(probes->worker, FLOW_FROM_PROBE);
    if (flow == NULL)
        return false;
    if (!row_copy(flow->arena, row, &flow->row)) {
        flow_run(flow, FLOW_ROOM_leave);
        return false;
    }
    /* NULL: the route is gone, and the room takes the row off the list. */
    flow->route = route_by_name(&flow->conf->routes, flow->row.route);
    flow->identity = flow->row.identity;
    flow->owner = flow->row.owner;
    flow->scope = flow->row.scope;
    flow->key = flow->row.key;
    slot->row_id = row->id;
    slot->held_until_ticks = 0;
    slot->upstream = route == NULL ? NULL : route->upstream;
    flow->on_leave = question_is_over;
    flow->on_leave_ctx = slot;
    flow_run(flow, FLOW_ROOM_probe);
    return true;
}

static void ask(struct probes *probes);

/* Where the next page begins: a full upstream must not hide the rows of another. */
static void move_on(struct probes *probes, const struct store_row *last)
{
    probes->after_ms = last == NULL ? 0 : last->probe_due_ms;
    probes->after_id = last == NULL ? 0 : last->id;
}

static void page_came(struct store_op *op, void *ctx)
{
    struct probes *probes;
    GW_CAST(probes, ctx, probes, PROBES_TAG);
    bool was_fresh = probes->is_fresh;
    probes->is_busy = probes->is_fresh = false;
    uint32_t seen = 0, count = op->out.status == GW_OK ? op->out.row_count : 0;
    bool may_go_on = op->out.status == GW_OK && !worker_is_draining(probes->worker);
    while (may_go_on && seen < count && start_flow(probes, &op->out.rows[seen]))
        seen++;
    if (!was_fresh) {
        may_go_on = may_go_on && seen == PROBES_ROWS && has_room(probes);
        move_on(probes, may_go_on ? &op->out.rows[seen - 1] : NULL);
        probes->pages_left--;
    }
    arena_free(probes->arena);
    probes->arena = NULL;
    if (may_go_on && probes->pages_left > 0)
        ask(probes);
}

/* An operator's question is due at the moment he asks; it does not wait for a backlog
 * that has been due for hours. */
static void ask(struct probes *probes)
{
    const struct worker_ports *ports = worker_ports(probes->worker);
    gw_assert(!probes->is_busy);
    probes->arena = arena_new(PROBES_BYTES_MAX);
    if (probes->arena == NULL)
        return;
    probes->op = (struct store_op){.kind = STORE_SCAN,
                                   .arena = probes->arena,
                                   .inbox = worker_inbox(probes->worker),
                                   .done = page_came,
                                   .ctx = probes};
    int64_t now_ms = ports->clock->wall_ms(ports->clock);
    probes->op.in.scan.kind = SCAN_PROBES;
    probes->op.in.scan.now_ms = now_ms;
    probes->op.in.scan.rows_max = PROBES_ROWS;
    probes->op.in.scan.after_id = probes->is_fresh ? 0 : probes->after_id;
    probes->op.in.scan.after_ms = probes->is_fresh ? now_ms - PROBES_FRESH_MS : probes->after_ms;
    probes->is_busy = store_submit(ports->store, &probes->op) == GW_OK;
    if (!probes->is_busy) {
        arena_free(probes->arena);
        probes->arena = NULL;
    }
}

static bool any_route_probes(const struct conf *conf)
{
    for (uint32_t i = 0; i < conf->routes.count; i++)
        if (conf->routes.routes[i].probe.is_on)
            return true;
    return false;
}

static void round_begins(evutil_socket_t fd, short what, void *ctx)
{
    struct probes *probes = ctx;
    const struct timeval tv = {.tv_sec = PROBES_PERIOD_MS / 1000, .tv_usec = 0};
    (void)fd;
    (void)what;
    if (worker_is_draining(probes->worker))
        return;
    if (!probes->is_busy && any_route_probes(worker_conf(probes->worker))) {
        probes->pages_left = PROBES_PAGES_MAX;
        probes->is_fresh = true;
        let_go_of_held(probes);
        ask(probes);
    }
    (void)event_add(probes->timer, &tv); /* a pure timer: fails only without memory */
}

struct probes *probes_new(struct worker *worker)
{
    struct probes *probes = calloc(1, sizeof(*probes));
    if (probes == NULL)
        return NULL;
    probes->tag_probes = PROBES_TAG;
    probes->worker = worker;
    probes->timer = event_new(worker_base(worker), -1, 0, round_begins, probes);
    if (probes->timer == NULL) {
        free(probes);
        return NULL;
    }
    return probes;
}

void probes_start(struct probes *probes)
{
    round_begins(-1, 0, probes);
}

/* An upstream is the same one as long as it has its name. */
static const struct upstream_policy *upstream_by_name(const struct conf *conf, struct span name)
{
    for (uint32_t i = 0; i < conf->upstream_count; i++)
        if (span_equal(conf->upstreams[i].name, name))
            return &conf->upstreams[i];
    return NULL;
}

void probes_adopt(struct probes *probes)
{
    for (uint32_t i = 0; i < PROBES_SLOTS; i++) {
        struct probe_slot *slot = &probes->slots[i];
        if (slot->row_id != 0 && slot->upstream != NULL)
            slot->upstream = upstream_by_name(worker_conf(probes->worker), slot->upstream->name);
    }
}

bool probes_are_idle(const struct probes *probes)
{
    return !probes->is_busy;
}

void probes_free(struct probes *probes)
{
    if (probes == NULL)
        return;
    gw_assert(probes_are_idle(probes));
    event_free(probes->timer);
    free(probes);
}
