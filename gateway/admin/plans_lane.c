/* One entry of a plan: read, judged, changed by compare-and-set with its line of the
 * audit. It must never settle an entry whose version is not the plan's, nor count one
 * as changed by others that this very plan has settled before a crash. */
#include "gateway/admin/operation.h"
#include "gateway/admin/plans.h"

#include "base/log.h"

#define LANE_BYTES_MAX ((size_t)8 << 20)

static struct plan_item *item_of(const struct plan_lane *lane)
{
    return &lane->run->items[lane->at];
}

/* PLAN_OPEN: the store could not say, and it stays as it is. */
static void end(struct plan_lane *lane, enum plan_outcome outcome)
{
    struct plan_run *run = lane->run;
    gw_assert(run->in_flight > 0);
    run->in_flight--;
    if (outcome == PLAN_OPEN)
        run->has_failed = true;
    else
        run->has_changed = true;
    item_of(lane)->outcome = (uint8_t)outcome;
    run->entry.settled += outcome == PLAN_SETTLED;
    run->entry.changed += outcome == PLAN_CHANGED;
    run->entry.refused += outcome == PLAN_REFUSED;
    arena_free(lane->arena);
    lane->arena = NULL;
    lane->run = NULL;
    plans_lane_ended(lane->plans);
}

static struct plan_lane *came_back(void *ctx)
{
    struct plan_lane *lane;
    GW_CAST(lane, ctx, lane, LANE_TAG);
    gw_assert(lane->run != NULL);
    plans_came_back(lane->plans);
    return lane;
}

static const struct route_policy *route_of(const struct plan_lane *lane)
{
    return route_by_name(&lane->run->options->conf->routes, lane->seen.route);
}

/* ---- was it this plan? ---- */

static bool names_plan(const struct audit_entry *entry, struct span plan_id)
{
    return span_equal(entry->action, SPAN("settle")) && entry->detail.len >= plan_id.len &&
           memcmp(entry->detail.ptr + entry->detail.len - plan_id.len, plan_id.ptr, plan_id.len) ==
               0;
}

static void audit_came(struct store_op *op, void *ctx)
{
    struct plan_lane *lane = came_back(ctx);
    enum plan_outcome outcome = op->out.status == GW_OK ? PLAN_CHANGED : PLAN_OPEN;
    for (uint32_t i = 0; i < op->out.audit_count && outcome == PLAN_CHANGED; i++)
        if (names_plan(&op->out.audit[i], lane->run->verdict.plan_id))
            outcome = PLAN_SETTLED;
    end(lane, outcome);
}

static void ask_audit(struct plan_lane *lane)
{
    lane->op = (struct store_op){.kind = STORE_AUDIT, .arena = lane->arena, .ctx = lane};
    lane->op.in.find.operation_id = span_str(lane->seen.operation_id);
    if (!plans_submit(lane->plans, &lane->op, audit_came))
        end(lane, PLAN_OPEN);
}

/* ---- the change ---- */

static void say_settled(struct plan_lane *lane, const struct store_row *row)
{
    const struct plan_run *run = lane->run;
    board_count_settled(run->options->board, route_of(lane), SETTLED_BY_PLAN, run->verdict.kind);
    const struct gw_log_pair pairs[] = {
        {"operation", span_str(row->operation_id), 0},
        {"route", row->route, 0},
        {"actor", run->entry.applied_by, 0},
        {"verdict", span_str(settle_word(run->verdict.kind)), 0},
        {"state", span_str(receipt_public_state(row->receipt.state)), 0},
        {"plan", run->verdict.plan_id, 0},
        GW_LOG_END};
    gw_log(GW_LOG_INFO, "operation.settled", pairs);
}

/* A store that is ill is asked again later; a row that it cannot take is left out. */
static enum plan_outcome outcome_of(enum gw_status status)
{
    switch (status) {
    case GW_OK:
    case GW_NOMEM:
    case GW_IO:
    case GW_BUSY:
    case GW_STATUS_COUNT:
        break;
    case GW_INVALID:
    case GW_LIMIT:
    case GW_CORRUPT:
        return PLAN_REFUSED;
    }
    return PLAN_OPEN;
}

static void change_came(struct store_op *op, void *ctx)
{
    struct plan_lane *lane = came_back(ctx);
    if (op->out.status != GW_OK) {
        end(lane, outcome_of(op->out.status));
        return;
    }
    if (op->out.found != STORE_WON) {
        end(lane, PLAN_CHANGED);
        return;
    }
    say_settled(lane, &op->out.rows[0]);
    board_wake(lane->run->options->board, &op->out.rows[0].identity);
    end(lane, PLAN_SETTLED);
}

static void change(struct plan_lane *lane, int64_t now_ms)
{
    const struct plan_run *run = lane->run;
    if (!verdict_write(&run->verdict, run->entry.answer, now_ms, lane->arena, &lane->row)) {
        end(lane, PLAN_OPEN);
        return;
    }
    uint32_t version = lane->seen.receipt.version;
    lane->audit =
        (struct audit_entry){.at_ms = now_ms,
                             .actor = run->entry.applied_by,
                             .action = SPAN("settle"),
                             .subject = span_str(lane->seen.operation_id),
                             .note = run->entry.note,
                             .detail = verdict_describe(&run->verdict, version, lane->arena)};
    lane->op = (struct store_op){.kind = STORE_ADVANCE, .arena = lane->arena, .ctx = lane};
    lane->op.in.advance.id = lane->seen.id;
    lane->op.in.advance.expect_version = version;
    lane->op.in.advance.next = &lane->row;
    lane->op.in.advance.set_answer = verdict_sets_answer(&run->verdict);
    lane->op.in.advance.audit = &lane->audit;
    if (!plans_submit(lane->plans, &lane->op, change_came))
        end(lane, PLAN_OPEN);
}

static void row_came(struct store_op *op, void *ctx)
{
    struct plan_lane *lane = came_back(ctx);
    struct gw_clock *clock = lane->run->options->clock;
    const struct plan_item *item = item_of(lane);
    int64_t quiet_until_ms = 0;
    if (op->out.status != GW_OK) {
        end(lane, PLAN_OPEN);
        return;
    }
    if (op->out.row_count == 0 || op->out.rows[0].id != item->id) {
        end(lane, PLAN_CHANGED); /* it is no longer kept */
        return;
    }
    lane->seen = lane->row = op->out.rows[0];
    if (lane->seen.receipt.version != item->version) {
        ask_audit(lane);
        return;
    }
    const struct verdict_facts facts = {.row = &lane->seen,
                                        .route = route_of(lane),
                                        .now_ms = clock->wall_ms(clock),
                                        .skew_ms = store_skew_ms(lane->run->options->store),
                                        .arena = lane->arena};
    if (verdict_judge(&lane->run->verdict, &facts, &lane->row.receipt, &quiet_until_ms) ==
        VERDICT_FITS)
        change(lane, facts.now_ms);
    else
        end(lane, PLAN_REFUSED);
}

bool lane_start(struct plan_lane *lane, uint32_t at)
{
    gw_assert(lane->run != NULL);
    gw_assert(lane->arena == NULL);
    gw_assert(lane->run->items[at].outcome == PLAN_OPEN);
    lane->arena = arena_new(LANE_BYTES_MAX);
    if (lane->arena == NULL)
        return false;
    lane->at = at;
    lane->op = (struct store_op){.kind = STORE_LIST, .arena = lane->arena, .ctx = lane};
    lane->op.in.list.rows_max = 1;
    lane->op.in.list.oldest_first = true;
    lane->op.in.list.cursor = item_of(lane)->id - 1;
    if (plans_submit(lane->plans, &lane->op, row_came))
        return true;
    arena_free(lane->arena);
    lane->arena = NULL;
    return false;
}
