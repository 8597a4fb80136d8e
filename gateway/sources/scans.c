/* The sources `recovery` and `retention`: from time to time they ask the store for
 * rows that time has something to say about, and start a flow for each. They judge
 * nothing: the event is what the scan was for, receipt_step() decides if it fits. */
#include "gateway/receipts.h"
#include "gateway/sources/deferred.h"
#include "gateway/sources/probes.h"
#include "gateway/sources/sources.h"

#include "base/fault.h"

#include <event2/event.h>
#include <stdlib.h>

#define SCAN_PERIOD_MS 5000
#define SCAN_BYTES_MAX ((size_t)64 * 1024 * 1024) /* of one page of rows */
#define SCAN_ROWS      STORE_PAGE_ROWS_MAX

struct scan {
    GW_TAG(scan);
#define SCAN_TAG 0x5343414eu
    struct sources *all;
    enum store_scan_kind kind;
    struct store_op op;
    struct arena *arena;
    bool is_busy;
    uint32_t rows_left; /* of this round */
};
enum { SCAN_COUNT = 3 };

struct sources {
    struct worker *worker;
    struct event *timer;
    struct scan scans[SCAN_COUNT];
    struct probes *probes;
    struct deferred *deferred;
};

static enum receipt_event_kind event_of(enum store_scan_kind kind, const struct store_row *row)
{
    if (kind == SCAN_LAPSED)
        return RECEIPT_EV_LAPSED;
    return row->receipt.state == RECEIPT_EXPIRED ? RECEIPT_EV_FORGET : RECEIPT_EV_EXPIRE;
}

static enum flow_source source_of(enum store_scan_kind kind)
{
    switch (kind) {
    case SCAN_LAPSED:
        return FLOW_FROM_RECOVERY;
    case SCAN_EXPIRED:
        return FLOW_FROM_RETENTION;
    case SCAN_EVIDENCE:
    case SCAN_PROBES: /* probes.c */
    case SCAN_DUE:    /* deferred.c */
        break;
    }
    return FLOW_FROM_EVIDENCE;
}

/* false: no more flows can be started now; the next round goes on. */
static bool start_flow(struct scan *scan, const struct store_row *row)
{
    if ((scan->kind == SCAN_LAPSED && GW_FAULT(recovery_row)) ||
        (scan->kind == SCAN_EXPIRED && GW_FAULT(sweep_row)))
        return false;
    struct flow *flow = flow_new(scan->all->worker, source_of(scan->kind));
    if (flow == NULL)
        return false;
    if (!row_copy(flow->arena, row, &flow->row)) {
        flow_run(flow, FLOW_ROOM_leave);
        return false;
    }
    /* NULL: the route is gone, and the room takes the defaults. */
    flow->route = route_by_name(&flow->conf->routes, flow->row.route);
    flow->identity = flow->row.identity;
    flow->owner = flow->row.owner;
    flow->scope = flow->row.scope;
    flow->key = flow->row.key;
    flow->event = event_of(scan->kind, row);
    if (scan->kind == SCAN_LAPSED)
        receipts_lost_attempt(flow);
    flow_run(flow, FLOW_ROOM_record);
    return true;
}

/* The time that a scan of this kind goes by; the leases go by id. */
static int64_t place_of(enum store_scan_kind kind, const struct store_row *row)
{
    switch (kind) {
    case SCAN_EXPIRED:
        return row->receipt.expire_ms;
    case SCAN_EVIDENCE:
        return row->evidence_until_ms;
    case SCAN_LAPSED:
    case SCAN_PROBES:
    case SCAN_DUE:
        break;
    }
    return 0;
}

static void ask(struct scan *scan, int64_t after_ms, int64_t after_id);

static void page_came(struct store_op *op, void *ctx)
{
    struct scan *scan;
    GW_CAST(scan, ctx, scan, SCAN_TAG);
    scan->is_busy = false;
    uint32_t started = 0;
    int64_t last_ms = 0, last_id = 0;
    if (op->out.status == GW_OK) {
        while (started < op->out.row_count && start_flow(scan, &op->out.rows[started])) {
            last_ms = place_of(scan->kind, &op->out.rows[started]);
            last_id = op->out.rows[started++].id;
        }
    }
    bool is_full = started == SCAN_ROWS;
    scan->rows_left -= started < scan->rows_left ? started : scan->rows_left;
    arena_free(scan->arena);
    scan->arena = NULL;
    if (is_full && scan->rows_left > 0 && !worker_is_draining(scan->all->worker))
        ask(scan, last_ms, last_id);
}

static void ask(struct scan *scan, int64_t after_ms, int64_t after_id)
{
    const struct worker_ports *ports = worker_ports(scan->all->worker);
    gw_assert(!scan->is_busy);
    scan->arena = arena_new(SCAN_BYTES_MAX);
    if (scan->arena == NULL)
        return;
    scan->op = (struct store_op){.kind = STORE_SCAN,
                                 .arena = scan->arena,
                                 .inbox = worker_inbox(scan->all->worker),
                                 .done = page_came,
                                 .ctx = scan};
    scan->op.in.scan.kind = scan->kind;
    scan->op.in.scan.now_ms = ports->clock->wall_ms(ports->clock);
    scan->op.in.scan.rows_max = SCAN_ROWS;
    scan->op.in.scan.after_ms = after_ms;
    scan->op.in.scan.after_id = after_id;
    scan->is_busy = store_submit(ports->store, &scan->op) == GW_OK;
    if (!scan->is_busy) {
        arena_free(scan->arena);
        scan->arena = NULL;
    }
}

static void round_begins(evutil_socket_t fd, short what, void *ctx)
{
    struct sources *sources = ctx;
    const struct timeval tv = {.tv_sec = SCAN_PERIOD_MS / 1000, .tv_usec = 0};
    (void)fd;
    (void)what;
    if (worker_is_draining(sources->worker))
        return;
    for (size_t i = 0; i < SCAN_COUNT; i++) {
        if (sources->scans[i].is_busy)
            continue;
        sources->scans[i].rows_left = 20 * SCAN_ROWS; /* a round is bounded: traffic goes on */
        ask(&sources->scans[i], 0, 0);
    }
    (void)event_add(sources->timer, &tv); /* a pure timer: fails only without memory */
}

enum gw_status sources_new(struct worker *worker, struct sources **ret, struct gw_error *err)
{
    static const enum store_scan_kind kinds[SCAN_COUNT] = {SCAN_LAPSED, SCAN_EXPIRED,
                                                           SCAN_EVIDENCE};
    struct sources *sources = calloc(1, sizeof(*sources));
    if (sources == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    sources->worker = worker;
    sources->timer = event_new(worker_base(worker), -1, 0, round_begins, sources);
    sources->probes = probes_new(worker);
    sources->deferred = deferred_new(worker);
    if (sources->timer == NULL || sources->probes == NULL || sources->deferred == NULL) {
        if (sources->timer != NULL)
            event_free(sources->timer);
        probes_free(sources->probes);
        deferred_free(sources->deferred);
        free(sources);
        return gw_error_set(err, GW_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < SCAN_COUNT; i++) {
        sources->scans[i].tag_scan = SCAN_TAG;
        sources->scans[i].all = sources;
        sources->scans[i].kind = kinds[i];
    }
    *ret = sources;
    return GW_OK;
}

void sources_recover(struct sources *sources, uint32_t rows_max)
{
    sources->scans[0].rows_left = rows_max;
    ask(&sources->scans[0], 0, 0);
}

void sources_start(struct sources *sources)
{
    round_begins(-1, 0, sources);
    probes_start(sources->probes);
    deferred_start(sources->deferred);
}

void sources_adopt(struct sources *sources)
{
    probes_adopt(sources->probes);
    deferred_adopt(sources->deferred);
}

bool sources_are_idle(const struct sources *sources)
{
    for (size_t i = 0; i < SCAN_COUNT; i++)
        if (sources->scans[i].is_busy)
            return false;
    return probes_are_idle(sources->probes) && deferred_is_idle(sources->deferred);
}

void sources_free(struct sources *sources)
{
    if (sources == NULL)
        return;
    gw_assert(sources_are_idle(sources));
    event_free(sources->timer);
    probes_free(sources->probes);
    deferred_free(sources->deferred);
    free(sources);
}
