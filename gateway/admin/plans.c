/* The calls of plans that are there: looked at, applied, stopped. It must never make a
 * plan go on that was applied or stopped before, nor one that has expired; and of
 * several who change a plan at once one alone may do it. */
#include "gateway/admin/plans.h"

#include "gateway/admin/body.h"
#include "gateway/admin/plane.h"
#include "gateway/admin/query.h"

#define STOP_TRIES_MAX 8 /* while others change the plan */

struct plan_change {
    struct plan_entry seen;  /* as it was read */
    struct plan_entry entry; /* as it is to be */
    struct plan_hold hold;   /* of a stop */
    uint32_t tries;
    struct span items, answer; /* the parts, to be shown */
    struct span note;
    struct audit_entry audit;
};

/* ---- GET /v1/plans ---- */

static void on_plans(struct call *call)
{
    if (!call_store_is_well(call))
        return;
    call_begin(call, 200);
    writer_open(&call->json, "plans", '[');
    for (uint32_t i = 0; i < call->op.out.plan_count; i++) {
        writer_open(&call->json, NULL, '{');
        plan_print_members(&call->json, &call->op.out.plans[i]);
        writer_close(&call->json, '}');
    }
    writer_close(&call->json, ']');
    call_end(call);
}

void call_plans(struct call *call)
{
    call->op.kind = STORE_PLANS;
    call_submit(call, on_plans);
}

/* ---- one ---- */

/* false: the call was answered. */
static bool find(struct call *call, call_fn *next)
{
    if (!plan_id_is_sound(call->parameter)) {
        call_problem(call, ADMIN_NOT_FOUND,
                     "A plan id is \"plan_\" and 26 characters; this is something else.");
        return false;
    }
    call->op = (struct store_op){.kind = STORE_PLAN_GET};
    call->op.in.find.operation_id = call->parameter;
    call_submit(call, next);
    return !call->is_answered;
}

static void refuse_gone(struct call *call)
{
    call_problem(call, ADMIN_NOT_FOUND, "There is no plan with this id (any more).");
}

/* NULL: the call was answered. */
static const struct plan_entry *found(struct call *call)
{
    if (!call_store_is_well(call))
        return NULL;
    if (call->op.out.found == STORE_HELD && call->op.out.plan_count == 1)
        return &call->op.out.plans[0];
    refuse_gone(call);
    return NULL;
}

static void on_plan(struct call *call)
{
    const struct plan_entry *entry = found(call);
    if (entry != NULL)
        plan_show(call, entry, 200);
}

void call_plan(struct call *call)
{
    (void)find(call, on_plan); /* it answers if it cannot */
}

/* ---- changes ---- */

static struct plan_change *change_new(struct call *call)
{
    struct plan_change *change = arena_take(call->arena, sizeof(*change));
    if (change == NULL)
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
    call->state = change;
    return change;
}

/* change->entry is as it is to be, change->seen as it was read. false: the call was
 * answered. */
static bool put(struct call *call, struct span action, call_fn *next)
{
    struct plan_change *change = call->state;
    struct plan_entry *entry = &change->entry;
    change->items = entry->items;
    change->answer = entry->answer;
    entry->answer = SPAN(""); /* what is on record stays */
    if (!change->hold.is_on)
        entry->items = SPAN(""); /* likewise */
    change->audit =
        (struct audit_entry){.at_ms = call->now_ms,
                             .actor = call_actor(call),
                             .action = action,
                             .subject = call->parameter,
                             .note = change->note,
                             .detail = arena_print(call->arena, "verdict=%.*s count=%u settled=%u",
                                                   (int)entry->verdict.len, entry->verdict.ptr,
                                                   entry->count, entry->settled)};
    call->op = (struct store_op){.kind = STORE_PLAN_SET};
    call->op.in.plan.entry = entry;
    call->op.in.plan.audit = &change->audit;
    call->op.in.plan.seen = &change->seen;
    call_submit(call, next);
    return !call->is_answered;
}

static void show_changed(struct call *call)
{
    struct plan_change *change = call->state;
    change->entry.items = change->items;
    change->entry.answer = change->answer;
    plan_show(call, &change->entry, 200);
}

/* ---- POST /v1/plans/{id}/apply ---- */

static void refuse_no_draft(struct call *call, enum plan_state state)
{
    call_problem(call, ADMIN_PLAN_NOT_DRAFT,
                 "The plan is %s: it was applied or stopped before. Nothing was changed. For what "
                 "is left make a new plan.",
                 plan_state_words[state]);
}

static bool may_apply(struct call *call, const struct plan_entry *entry)
{
    if (entry->state != PLAN_DRAFT)
        refuse_no_draft(call, entry->state);
    else if (call->now_ms >= entry->expires_ms)
        call_problem(call, ADMIN_PLAN_EXPIRED,
                     "The plan is older than 30 minutes: what it was made for may have changed. "
                     "Nothing was changed. Make a new one.");
    else
        return true;
    return false;
}

static void on_applied(struct call *call)
{
    const struct store_op *op = &call->op;
    if (!call_store_is_well(call))
        return;
    if (op->out.found == STORE_STALE && op->out.plan_count == 1) {
        refuse_no_draft(call, op->out.plans[0].state);
    } else if (op->out.found != STORE_WON) {
        refuse_gone(call);
    } else {
        plans_look(call->admin->plans);
        show_changed(call);
    }
}

static void on_plan_to_apply(struct call *call)
{
    struct plan_change *change = call->state;
    const struct plan_entry *entry = found(call);
    if (entry == NULL || !may_apply(call, entry))
        return;
    change->seen = change->entry = *entry;
    /* "It did not run" sends everything again: the one verdict that harms by the thousand. */
    bool waits = span_equal(entry->verdict, SPAN("not_executed"));
    int64_t delay_ms = waits ? call->conf->settle_delay_ms : 0;
    change->entry.state = delay_ms > 0 ? PLAN_WAITING : PLAN_APPLYING;
    change->entry.apply_at_ms = call->now_ms + delay_ms;
    change->entry.applied_by = call_actor(call);
    change->entry.note = change->note;
    (void)put(call, SPAN("apply"), on_applied); /* it answers if it cannot */
}

void call_plan_apply(struct call *call)
{
    struct json_doc doc;
    struct plan_change *change = change_new(call);
    if (change == NULL || !body_parse(call, &doc) || !body_knows_members(call, &doc, 0, "note") ||
        !body_note(call, &doc, &change->note))
        return;
    (void)find(call, on_plan_to_apply); /* it answers if it cannot */
}

/* ---- DELETE /v1/plans/{id} ---- */

static void on_plan_to_stop(struct call *call);

/* The call is answered, or will be without the hold. */
static void let_go(struct call *call)
{
    struct plan_change *change = call->state;
    plans_let_go(call->admin->plans, &change->hold);
}

/* What was read of the plan may be old by now. */
static void look_again(struct call *call)
{
    if (!find(call, on_plan_to_stop))
        let_go(call);
}

static void on_stopped(struct call *call)
{
    struct plan_change *change = call->state;
    bool is_well = call_store_is_well(call);
    bool is_stale = is_well && call->op.out.found == STORE_STALE;
    if (is_stale && ++change->tries < STOP_TRIES_MAX) {
        look_again(call);
        return;
    }
    bool is_won = is_well && call->op.out.found == STORE_WON;
    if (is_won)
        plans_stopped(call->admin->plans, &change->hold, &change->entry);
    let_go(call);
    if (is_won) {
        show_changed(call);
    } else if (is_stale) {
        call_problem(call, ADMIN_OVERLOADED,
                     "The plan is being changed by others. It was not stopped; ask again.");
    } else if (is_well) {
        refuse_gone(call);
    }
}

static void stop(struct call *call, const struct plan_entry *entry)
{
    struct plan_change *change = call->state;
    change->seen = change->entry = *entry;
    if (!plans_tell(call->admin->plans, &change->hold, &change->entry, call->arena)) {
        let_go(call);
        call_problem(call, ADMIN_OVERLOADED, "Out of memory. The plan was not stopped; ask again.");
        return;
    }
    change->entry.state = PLAN_STOPPED;
    change->entry.ended_ms = call->now_ms;
    change->entry.applied_by = call_actor(call);
    change->note = SPAN("stopped");
    if (!put(call, SPAN("stop"), on_stopped))
        let_go(call);
}

/* First what is under way comes to its end: then the answer tells all that was settled,
 * and nothing is after it. */
static void on_plan_to_stop(struct call *call)
{
    struct plan_change *change = call->state;
    const struct plan_entry *entry = found(call);
    if (entry != NULL && !plan_is_over(entry->state)) {
        change->hold.call = call;
        change->hold.next = look_again;
        if (plans_hold(call->admin->plans, entry->plan_id, &change->hold))
            stop(call, entry);
        return;
    }
    let_go(call);
    if (entry != NULL && entry->state == PLAN_STOPPED)
        plan_show(call, entry, 200);
    else if (entry != NULL)
        call_problem(call, ADMIN_PLAN_DONE,
                     "The plan is done: there is nothing left to stop. A verdict can be taken back "
                     "for each operation, as long as nobody has acted on it.");
}

void call_plan_stop(struct call *call)
{
    if (change_new(call) != NULL)
        look_again(call);
}
