/* The batches of observe mode. It must never hold a flow up: whatever fails here is
 * counted, and the exchange goes on. */
#include "gateway/sources/observed.h"

#include <event2/event.h>
#include <stdlib.h>

#define OBSERVED_WAIT_MS    200 /* for more to come before a batch leaves */
#define OBSERVED_BATCH_ROWS STORE_PAGE_ROWS_MAX
#define OBSERVED_HURRY_ROWS (OBSERVED_BATCH_ROWS / 4) /* so many do not wait */

struct batch {
    struct arena *arena; /* NULL: empty */
    struct observation *seen;
    struct board_route **counts; /* the board's own: they outlive the snapshot of a flow */
    uint32_t count;
};

struct observed {
    GW_TAG(observed);
#define OBSERVED_TAG 0x4f425356u
    struct worker *worker;
    struct event *timer;
    struct batch filling, leaving;
    struct store_op op;
    bool is_leaving, is_waiting;
    uint64_t held, held_max;
};

static void timer_fires(evutil_socket_t fd, short what, void *ctx);

enum gw_status observed_new(struct worker *worker, struct observed **ret, struct gw_error *err)
{
    struct observed *observed = calloc(1, sizeof(*observed));
    if (observed == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    observed->tag_observed = OBSERVED_TAG;
    observed->worker = worker;
    observed->held_max = conf_observed_bytes(worker_conf(worker));
    observed->timer = event_new(worker_base(worker), -1, 0, timer_fires, observed);
    if (observed->timer == NULL) {
        free(observed);
        return gw_error_set(err, GW_NOMEM, "out of memory");
    }
    *ret = observed;
    return GW_OK;
}

void observed_free(struct observed *observed)
{
    if (observed == NULL)
        return;
    gw_assert(!observed->is_leaving);
    arena_free(observed->filling.arena);
    event_free(observed->timer);
    free(observed);
}

void observed_adopt(struct observed *observed, const struct conf *conf)
{
    observed->held_max = conf_observed_bytes(conf);
}

bool observed_hold(struct observed *observed, uint64_t bytes)
{
    /* Less may be allowed now than is held from before a reload. */
    if (observed->held > observed->held_max || bytes > observed->held_max - observed->held)
        return false;
    observed->held += bytes;
    return true;
}

void observed_let_go(struct observed *observed, uint64_t bytes)
{
    gw_assert(bytes <= observed->held);
    observed->held -= bytes;
}

static struct board_route *counts_of(struct observed *observed, const struct route_policy *route)
{
    return board_route(worker_ports(observed->worker)->board, route);
}

void observed_lose(struct observed *observed, const struct route_policy *route)
{
    atomic_fetch_add_explicit(&counts_of(observed, route)->observed_lost, 1, memory_order_relaxed);
}

/* ---- on its way ---- */

static void lose_all(const struct batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        atomic_fetch_add_explicit(&batch->counts[i]->observed_lost, 1, memory_order_relaxed);
}

static void count_all(const struct batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        atomic_fetch_add_explicit(&batch->counts[i]->observed, 1, memory_order_relaxed);
}

static void wait_for_more(struct observed *observed)
{
    const struct timeval tv = {.tv_usec = OBSERVED_WAIT_MS * 1000};
    if (!observed->is_waiting)
        observed->is_waiting = event_add(observed->timer, &tv) == 0;
}

static void batch_is_done(struct store_op *op, void *ctx)
{
    struct observed *observed;
    GW_CAST(observed, ctx, observed, OBSERVED_TAG);
    gw_assert(observed->is_leaving);
    observed->is_leaving = false;
    if (op->out.status == GW_OK)
        count_all(&observed->leaving);
    else
        lose_all(&observed->leaving);
    arena_free(observed->leaving.arena);
    observed->leaving = (struct batch){0};
    if (observed->filling.count > 0)
        wait_for_more(observed);
}

static void leave(struct observed *observed)
{
    if (observed->is_leaving || observed->filling.count == 0)
        return;
    observed->leaving = observed->filling;
    observed->filling = (struct batch){0};
    observed->op = (struct store_op){
        .kind = STORE_OBSERVE,
        .arena = observed->leaving.arena,
        .in.observe = {.seen = observed->leaving.seen, .count = observed->leaving.count},
        .inbox = worker_inbox(observed->worker),
        .done = batch_is_done,
        .ctx = observed};
    observed->is_leaving = true;
    if (store_submit(worker_ports(observed->worker)->store, &observed->op) == GW_OK)
        return;
    observed->op.out.status = GW_LIMIT;
    batch_is_done(&observed->op, observed);
}

static void timer_fires(evutil_socket_t fd, short what, void *ctx)
{
    struct observed *observed;
    (void)fd;
    (void)what;
    GW_CAST(observed, ctx, observed, OBSERVED_TAG);
    observed->is_waiting = false;
    leave(observed);
}

bool observed_is_finished(struct observed *observed)
{
    leave(observed);
    return !observed->is_leaving && observed->filling.count == 0;
}

/* ---- what is gathered ---- */

static bool begin_batch(struct batch *batch)
{
    if (batch->arena != NULL)
        return true;
    batch->arena = arena_new(OBSERVED_BATCH_BYTES);
    if (batch->arena == NULL)
        return false;
    batch->seen = arena_take(batch->arena, OBSERVED_BATCH_ROWS * sizeof(*batch->seen));
    batch->counts = arena_take(batch->arena, OBSERVED_BATCH_ROWS * sizeof(void *));
    return batch->seen != NULL && batch->counts != NULL;
}

void observed_add(struct observed *observed, const struct route_policy *route,
                  const struct observation *seen)
{
    struct batch *batch = &observed->filling;
    if (!begin_batch(batch) || batch->count == OBSERVED_BATCH_ROWS ||
        !observation_copy(batch->arena, seen, &batch->seen[batch->count])) {
        observed_lose(observed, route);
        leave(observed);
        return;
    }
    batch->counts[batch->count++] = counts_of(observed, route);
    if (batch->count >= OBSERVED_HURRY_ROWS)
        leave(observed);
    else
        wait_for_more(observed);
}
