/* Carries out what was applied: one plan at a time, a few entries at once, its progress
 * put on record every so often. It must never begin before the process is ready, never
 * go on with a plan that is over on record, and never hold up the loop. */
#include "gateway/admin/plane.h"
#include "gateway/admin/plans.h"

#include "base/log.h"

#include <event2/event.h>
#include <stdlib.h>

#define RUN_BYTES_MAX  (CALL_ARENA_BYTES_MAX + PLANS_PAGE_BYTES_MAX)
#define LIST_BYTES_MAX ((size_t)32 << 20)
#define SAVE_EVERY_MS  1000
#define AGAIN_MS       1000 /* after the store has failed */
#define SOON_MS        100  /* not ready, or the store's queue was full */
#define TIMER_MS_MAX   60000

struct plans {
    GW_TAG(plans);
#define PLANS_TAG 0x504c4e53u
    struct admin *admin;
    struct event *timer;
    struct store_op op; /* looks, loads and saves: one at a time */
    struct arena *op_arena;
    bool is_busy;    /* op is in the store's hands */
    bool wants_look; /* somebody applied a plan meanwhile */
    bool is_closing; /* the process ends */
    int64_t save_due_ticks;
    struct plan_entry saved; /* as it is being saved */
    struct plan_run *run;    /* NULL: none */
    struct plan_lane lanes[PLANS_LANES];
    char bad_ids[STORE_PLANS_MAX][PLAN_ID_BYTES + 1]; /* damaged ones, passed over */
    uint32_t bad_count;
    char loading_id[PLAN_ID_BYTES + 1];
};

static void go_on(struct plans *plans);
static void save(struct plans *plans);

/* ---- the store ---- */

bool plans_submit(struct plans *plans, struct store_op *op, store_done_fn *done)
{
    op->inbox = plans->admin->inbox;
    op->done = done;
    memset(&op->out, 0, sizeof(op->out));
    if (store_submit(plans->admin->options.store, op) != GW_OK)
        return false;
    plans->admin->calls_in_store++;
    return true;
}

void plans_came_back(struct plans *plans)
{
    gw_assert(plans->admin->calls_in_store > 0);
    plans->admin->calls_in_store--;
}

/* Into the plans' own operation; its arena lasts until done() has run. */
static bool submit_own(struct plans *plans, store_done_fn *done)
{
    gw_assert(!plans->is_busy);
    plans->op.arena = plans->op_arena;
    plans->op.ctx = plans;
    plans->is_busy = plans->op_arena != NULL && plans_submit(plans, &plans->op, done);
    if (!plans->is_busy) {
        arena_free(plans->op_arena);
        plans->op_arena = NULL;
    }
    return plans->is_busy;
}

static struct plans *own_came_back(void *ctx)
{
    struct plans *plans;
    GW_CAST(plans, ctx, plans, PLANS_TAG);
    gw_assert(plans->is_busy);
    plans->is_busy = false;
    plans_came_back(plans);
    return plans;
}

static void forget_own(struct plans *plans)
{
    arena_free(plans->op_arena);
    plans->op_arena = NULL;
}

static void look_in(struct plans *plans, int64_t ms)
{
    int64_t wait_ms = ms < 0 ? 0 : ms > TIMER_MS_MAX ? TIMER_MS_MAX : ms;
    const struct timeval tv = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
    if (!plans->is_closing)
        (void)event_add(plans->timer, &tv); /* a pure timer: fails only without memory */
}

static bool is_ending(const struct plans *plans)
{
    return plans->is_closing || atomic_load(&board_gauges(plans->admin->options.board)->draining);
}

static int64_t now_ticks(const struct plans *plans)
{
    struct gw_clock *clock = plans->admin->options.clock;
    return clock->ticks_ms(clock);
}

static int64_t now_ms(const struct plans *plans)
{
    struct gw_clock *clock = plans->admin->options.clock;
    return clock->wall_ms(clock);
}

/* ---- a run ---- */

static void say(const struct plan_run *run, const char *event)
{
    const struct gw_log_pair pairs[] = {
        {"plan", span_str(run->entry.plan_id), 0},  {"verdict", run->entry.verdict, 0},
        {"actor", run->entry.applied_by, 0},        {"count", {NULL, 0}, run->entry.count},
        {"settled", {NULL, 0}, run->entry.settled}, {"changed", {NULL, 0}, run->entry.changed},
        {"refused", {NULL, 0}, run->entry.refused}, GW_LOG_END};
    gw_log(GW_LOG_INFO, event, pairs);
}

static void drop_run(struct plans *plans)
{
    gw_assert(plans->run->in_flight == 0);
    gw_assert(plans->run->hold_count == 0);
    arena_free(plans->run->arena);
    plans->run = NULL;
}

/* Every entry has an outcome, or nobody wants one any more. */
static bool has_more(struct plan_run *run)
{
    while (run->next < run->item_count && run->items[run->next].outcome != PLAN_OPEN)
        run->next++;
    return run->next < run->item_count;
}

static void start_lanes(struct plans *plans)
{
    struct plan_run *run = plans->run;
    run->is_crowded = false;
    for (uint32_t i = 0; i < PLANS_LANES && !run->is_crowded && has_more(run); i++) {
        struct plan_lane *lane = &plans->lanes[i];
        if (lane->run != NULL)
            continue;
        lane->run = run;
        if (lane_start(lane, run->next)) {
            run->in_flight++;
            run->next++;
        } else {
            lane->run = NULL;
            run->is_crowded = true;
        }
    }
}

/* Nothing of the run is under way, and nothing of it can begin. */
static void end_run(struct plans *plans)
{
    struct plan_run *run = plans->run;
    bool is_over = plan_is_over(run->entry.state);
    if (is_over)
        say(run, run->entry.state == PLAN_DONE ? "plan.done" : "plan.stopped");
    int64_t wait_ms = run->has_failed ? AGAIN_MS : 0;
    drop_run(plans);
    look_in(plans, wait_ms);
}

/* Nothing is under way: whoever stops the plan can go on. */
static void wake(struct plan_run *run)
{
    while (run->waiting != NULL) { /* each is there once, and none comes back at once */
        struct plan_hold *hold = run->waiting;
        struct call *call = hold->call;
        run->waiting = hold->behind;
        hold->behind = NULL;
        hold->next(call);
        call_settle_up(call); /* the hold went with it if it was answered */
    }
}

static void go_on(struct plans *plans)
{
    struct plan_run *run = plans->run;
    bool may_begin = run->is_loaded && run->hold_count == 0 && !plan_is_over(run->entry.state) &&
                     !run->has_failed && !is_ending(plans);
    if (may_begin)
        start_lanes(plans);
    if (plans->is_busy)
        return; /* the save comes back here */
    if (run->in_flight > 0) {
        if (run->has_changed && run->hold_count == 0 && now_ticks(plans) >= plans->save_due_ticks)
            save(plans);
        return;
    }
    if (run->hold_count > 0)
        wake(run); /* plans_let_go() looks again */
    else if (run->has_failed || (plan_is_over(run->entry.state) && !run->has_changed))
        end_run(plans);
    else if (may_begin && run->is_crowded)
        look_in(plans, SOON_MS);
    else if (is_ending(plans) && !run->has_changed)
        drop_run(plans);
    else
        save(plans);
}

void plans_lane_ended(struct plans *plans)
{
    go_on(plans);
}

/* ---- what is on record ---- */

/* Somebody stopped it: his words stand. */
static void adopt(struct plan_run *run, const struct plan_entry *on_record)
{
    run->entry.state = on_record->state;
    run->entry.ended_ms = on_record->ended_ms;
    run->has_changed = false;
    if (!arena_copy(run->arena, on_record->applied_by, &run->entry.applied_by))
        run->entry.applied_by = SPAN(""); /* it is for the log alone */
}

static void save_came(struct store_op *op, void *ctx)
{
    struct plans *plans = own_came_back(ctx);
    struct plan_run *run = plans->run;
    gw_assert(run != NULL);
    if (op->out.status != GW_OK) {
        run->has_failed = true;
    } else if (op->out.found == STORE_NONE) { /* stopped, and given way to another since */
        run->entry.state = PLAN_STOPPED;
        run->has_changed = false;
    } else if (op->out.found == STORE_STALE) {
        if (op->out.plan_count == 1 && plan_is_over(op->out.plans[0].state))
            adopt(run, &op->out.plans[0]);
        else
            run->has_failed = true; /* what goes on there is not ours: read it again */
    } else {
        run->is_loaded = true;
        run->entry.state = plans->saved.state;
        run->entry.ended_ms = plans->saved.ended_ms;
        run->on_record = plans->saved;
    }
    forget_own(plans);
    go_on(plans);
}

static bool pack_items(const struct plan_run *run, struct arena *arena, struct span *ret)
{
    struct gw_buf packed;
    gw_buf_init(&packed, PLAN_ITEMS_BYTES_MAX);
    bool ok = plan_items_encode(&packed, run->items, run->item_count) &&
              arena_copy(arena, gw_buf_span(&packed), ret);
    gw_buf_fini(&packed);
    return ok;
}

static void save(struct plans *plans)
{
    struct plan_run *run = plans->run;
    bool is_whole = run->is_loaded && run->in_flight == 0 && !has_more(run);
    gw_assert(run->hold_count == 0);
    plans->op_arena = arena_new(RUN_BYTES_MAX);
    plans->saved = run->entry;
    plans->saved.answer = SPAN("");
    plans->saved.state = is_whole ? PLAN_DONE : PLAN_APPLYING;
    if (is_whole)
        plans->saved.ended_ms = now_ms(plans);
    plans->save_due_ticks = now_ticks(plans) + SAVE_EVERY_MS;
    plans->op = (struct store_op){.kind = STORE_PLAN_SET};
    plans->op.in.plan.entry = &plans->saved;
    plans->op.in.plan.seen = &run->on_record;
    run->has_changed = false;
    bool is_packed =
        plans->op_arena != NULL && pack_items(run, plans->op_arena, &plans->saved.items);
    if (is_packed && submit_own(plans, save_came))
        return;
    forget_own(plans);
    run->has_failed = true;
    if (run->in_flight == 0)
        end_run(plans);
}

/* ---- the next plan ---- */

static enum gw_status make_run(struct plans *plans, const struct plan_entry *entry)
{
    struct plan_run *run = arena_take(plans->op_arena, sizeof(*run));
    if (run == NULL)
        return GW_NOMEM;
    *run = (struct plan_run){.arena = plans->op_arena,
                             .options = &plans->admin->options,
                             .entry = *entry,
                             .on_record = *entry};
    run->verdict = (struct verdict){.kind = verdict_by_word(entry->verdict),
                                    .force = entry->force,
                                    .has_answer = entry->answer.len > 0,
                                    .plan_id = span_of(run->entry.plan_id, PLAN_ID_BYTES)};
    if (run->verdict.kind == VERDICT_COUNT || run->verdict.kind == VERDICT_REOPEN)
        return GW_CORRUPT;
    enum gw_status status =
        plan_items_decode(run->arena, entry->items, &run->items, &run->item_count);
    if (status == GW_OK && run->verdict.has_answer)
        status = message_decode(run->arena, entry->answer, &run->verdict.answer);
    if (status != GW_OK)
        return status;
    plan_count(&run->entry, run->items, run->item_count);
    plans->op_arena = NULL; /* the run's now */
    plans->run = run;
    return GW_OK;
}

/* One damaged plan must not keep the others from being carried out. */
static void pass_over(struct plans *plans)
{
    const struct gw_log_pair pairs[] = {{"plan", span_str(plans->loading_id), 0}, GW_LOG_END};
    gw_log(GW_LOG_ERROR, "plan.damaged", pairs);
    if (plans->bad_count < STORE_PLANS_MAX)
        memcpy(plans->bad_ids[plans->bad_count++], plans->loading_id, sizeof(plans->loading_id));
}

static bool is_passed_over(const struct plans *plans, const char *id)
{
    uint32_t at = 0;
    while (at < plans->bad_count && strcmp(plans->bad_ids[at], id) != 0)
        at++;
    return at < plans->bad_count;
}

static void plan_came(struct store_op *op, void *ctx)
{
    struct plans *plans = own_came_back(ctx);
    enum gw_status status = op->out.status;
    bool is_open =
        status == GW_OK && op->out.plan_count == 1 &&
        (op->out.plans[0].state == PLAN_WAITING || op->out.plans[0].state == PLAN_APPLYING);
    if (is_open)
        status = make_run(plans, &op->out.plans[0]);
    forget_own(plans);
    if (plans->run != NULL) {
        say(plans->run, "plan.applying");
        go_on(plans);
        return;
    }
    if (status == GW_CORRUPT)
        pass_over(plans);
    look_in(plans, status == GW_OK ? 0 : AGAIN_MS);
}

/* The one that has been due for longest; NULL: none is, *ret_due_ms says when (0: never). */
static const struct plan_entry *choose(const struct plans *plans, int64_t *ret_due_ms)
{
    const struct store_op *op = &plans->op;
    const struct plan_entry *first = NULL;
    *ret_due_ms = 0;
    for (uint32_t i = 0; i < op->out.plan_count; i++) {
        const struct plan_entry *entry = &op->out.plans[i];
        bool is_open = entry->state == PLAN_WAITING || entry->state == PLAN_APPLYING;
        if (is_open && !is_passed_over(plans, entry->plan_id) &&
            (first == NULL || entry->apply_at_ms < first->apply_at_ms))
            first = entry;
    }
    if (first == NULL || first->apply_at_ms <= now_ms(plans))
        return first;
    *ret_due_ms = first->apply_at_ms;
    return NULL;
}

static void load(struct plans *plans, const struct plan_entry *entry)
{
    struct arena *arena = arena_new(RUN_BYTES_MAX);
    struct span id = SPAN("");
    bool ok = arena != NULL && arena_copy(arena, span_of(entry->plan_id, PLAN_ID_BYTES), &id);
    memcpy(plans->loading_id, entry->plan_id, sizeof(plans->loading_id));
    forget_own(plans); /* and the entry with it */
    plans->op_arena = arena;
    plans->op = (struct store_op){.kind = STORE_PLAN_GET};
    plans->op.in.find.operation_id = id;
    if (!ok || !submit_own(plans, plan_came)) {
        forget_own(plans);
        look_in(plans, AGAIN_MS);
    }
}

static void list_came(struct store_op *op, void *ctx)
{
    struct plans *plans = own_came_back(ctx);
    int64_t due_ms = 0;
    bool is_well = op->out.status == GW_OK;
    const struct plan_entry *next = is_well ? choose(plans, &due_ms) : NULL;
    bool looks_again = plans->wants_look;
    if (next != NULL && !is_ending(plans)) {
        load(plans, next);
        return;
    }
    forget_own(plans);
    if (!is_well)
        look_in(plans, AGAIN_MS);
    else if (looks_again)
        look_in(plans, 0);
    else if (due_ms != 0)
        look_in(plans, due_ms - now_ms(plans));
}

static void look(evutil_socket_t fd, short what, void *ctx)
{
    struct plans *plans;
    (void)fd;   /* a timer */
    (void)what; /* likewise */
    GW_CAST(plans, ctx, plans, PLANS_TAG);
    if (plans->run != NULL) {
        go_on(plans); /* the store's queue was full */
        return;
    }
    if (plans->is_busy || is_ending(plans))
        return;
    if (!atomic_load(plans->admin->options.ready)) {
        look_in(plans, SOON_MS);
        return;
    }
    plans->wants_look = false;
    plans->op_arena = arena_new(LIST_BYTES_MAX);
    plans->op = (struct store_op){.kind = STORE_PLANS};
    if (!submit_own(plans, list_came))
        look_in(plans, AGAIN_MS);
}

void plans_look(struct plans *plans)
{
    plans->wants_look = true;
    if (!plans->is_busy && plans->run == NULL)
        look_in(plans, 0);
}

/* ---- who stops a plan ---- */

bool plans_hold(struct plans *plans, const char *plan_id, struct plan_hold *hold)
{
    struct plan_run *run = plans->run;
    if (run == NULL || strcmp(run->entry.plan_id, plan_id) != 0)
        return true;
    if (!hold->is_on)
        run->hold_count++;
    hold->is_on = true;
    if (!plans->is_busy && run->in_flight == 0)
        return true;
    hold->behind = run->waiting;
    run->waiting = hold;
    return false;
}

void plans_let_go(struct plans *plans, struct plan_hold *hold)
{
    if (!hold->is_on)
        return;
    gw_assert(plans->run != NULL);
    gw_assert(plans->run->hold_count > 0);
    plans->run->hold_count--;
    hold->is_on = false;
    look_in(plans, 0);
}

bool plans_tell(const struct plans *plans, const struct plan_hold *hold, struct plan_entry *entry,
                struct arena *arena)
{
    const struct plan_run *run = plans->run;
    if (!hold->is_on)
        return true;
    gw_assert(run->in_flight == 0);
    plan_count(entry, run->items, run->item_count);
    return pack_items(run, arena, &entry->items);
}

void plans_stopped(struct plans *plans, const struct plan_hold *hold,
                   const struct plan_entry *entry)
{
    if (hold->is_on)
        adopt(plans->run, entry);
}

/* ---- its life ---- */

struct plans *plans_new(struct admin *admin)
{
    struct plans *plans = calloc(1, sizeof(*plans));
    if (plans == NULL)
        return NULL;
    plans->tag_plans = PLANS_TAG;
    plans->admin = admin;
    for (uint32_t i = 0; i < PLANS_LANES; i++)
        plans->lanes[i] = (struct plan_lane){.tag_lane = LANE_TAG, .plans = plans};
    plans->timer = event_new(admin->options.base, -1, 0, look, plans);
    if (plans->timer == NULL) {
        free(plans);
        return NULL;
    }
    look_in(plans, 0);
    return plans;
}

void plans_close(struct plans *plans)
{
    (void)event_del(plans->timer); /* cannot fail for an event of ours */
    plans->is_closing = true;
    if (plans->run != NULL)
        go_on(plans);
}

void plans_free(struct plans *plans)
{
    if (plans == NULL)
        return;
    gw_assert(!plans->is_busy);
    if (plans->run != NULL)
        drop_run(plans);
    event_free(plans->timer);
    plans->tag_plans = 0;
    free(plans);
}
