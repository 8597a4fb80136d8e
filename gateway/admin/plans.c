/* The calls of plans that are there: looked at, applied, stopped. It must never make a
 * plan go on that was applied or stopped before, nor one that has expired. */
#include "gateway/admin/plans.h"

#include "gateway/admin/body.h"
#include "gateway/admin/plane.h"
#include "gateway/admin/query.h"

struct plan_change {
    struct plan_entry entry;   /* as it is to be, without its parts */
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

static void find(struct call *call, call_fn *next)
{
    if (!plan_id_is_sound(call->parameter)) {
        call_problem(call, ADMIN_NOT_FOUND,
                     "A plan id is \"plan_\" and 26 characters; this is something else.");
        return;
    }
    call->op.kind = STORE_PLAN_GET;
    call->op.in.find.operation_id = call->parameter;
    call_submit(call, next);
}

/* NULL: the call was answered. */
static const struct plan_entry *found(struct call *call)
{
    if (!call_store_is_well(call))
        return NULL;
    if (call->op.out.found == STORE_HELD && call->op.out.plan_count == 1)
        return &call->op.out.plans[0];
    call_problem(call, ADMIN_NOT_FOUND, "There is no plan with this id (any more).");
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
    find(call, on_plan);
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

static void on_changed(struct call *call)
{
    struct plan_change *change = call->state;
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found == STORE_STALE) {
        call_problem(call, ADMIN_PLAN_NOT_DRAFT,
                     "The plan was stopped, or came to its end, just now. Nothing was changed.");
        return;
    }
    plans_look(call->admin->plans);
    change->entry.items = change->items;
    change->entry.answer = change->answer;
    plan_show(call, &change->entry, 200);
}

/* change->entry is as it is to be. */
static void put(struct call *call, struct span action)
{
    struct plan_change *change = call->state;
    struct plan_entry *entry = &change->entry;
    change->items = entry->items;
    change->answer = entry->answer;
    entry->items = entry->answer = SPAN(""); /* those on record stay */
    change->audit =
        (struct audit_entry){.at_ms = call->now_ms,
                             .actor = call_actor(call),
                             .action = action,
                             .subject = call->parameter,
                             .note = change->note,
                             .detail = arena_print(call->arena, "verdict=%.*s count=%u settled=%u",
                                                   (int)entry->verdict.len, entry->verdict.ptr,
                                                   entry->count, entry->settled)};
    call->op.kind = STORE_PLAN_SET;
    call->op.in.plan.entry = entry;
    call->op.in.plan.audit = &change->audit;
    call_submit(call, on_changed);
}

/* ---- POST /v1/plans/{id}/apply ---- */

static bool may_apply(struct call *call, const struct plan_entry *entry)
{
    if (entry->state != PLAN_DRAFT)
        call_problem(call, ADMIN_PLAN_NOT_DRAFT,
                     "The plan is %s: it was applied or stopped before. Nothing was changed. For "
                     "what is left make a new plan.",
                     plan_state_words[entry->state]);
    else if (call->now_ms >= entry->expires_ms)
        call_problem(call, ADMIN_PLAN_EXPIRED,
                     "The plan is older than 30 minutes: what it was made for may have changed. "
                     "Nothing was changed. Make a new one.");
    else
        return true;
    return false;
}

static void on_plan_to_apply(struct call *call)
{
    struct plan_change *change = call->state;
    const struct plan_entry *entry = found(call);
    if (entry == NULL || !may_apply(call, entry))
        return;
    change->entry = *entry;
    /* "It did not run" sends everything again: the one verdict that harms by the thousand. */
    bool waits = span_equal(entry->verdict, SPAN("not_executed"));
    int64_t delay_ms = waits ? call->options->conf->settle_delay_ms : 0;
    change->entry.state = delay_ms > 0 ? PLAN_WAITING : PLAN_APPLYING;
    change->entry.apply_at_ms = call->now_ms + delay_ms;
    change->entry.applied_by = call_actor(call);
    change->entry.note = change->note;
    put(call, SPAN("apply"));
}

void call_plan_apply(struct call *call)
{
    struct json_doc doc;
    struct plan_change *change = change_new(call);
    if (change == NULL || !body_parse(call, &doc) || !body_knows_members(call, &doc, 0, "note") ||
        !body_note(call, &doc, &change->note))
        return;
    find(call, on_plan_to_apply);
}

/* ---- DELETE /v1/plans/{id} ---- */

static void on_plan_to_stop(struct call *call)
{
    struct plan_change *change = call->state;
    const struct plan_entry *entry = found(call);
    if (entry == NULL)
        return;
    if (entry->state == PLAN_STOPPED) {
        plan_show(call, entry, 200);
        return;
    }
    change->entry = *entry;
    if (entry->state == PLAN_DONE || !plans_hold(call->admin->plans, &change->entry)) {
        call_problem(call, ADMIN_PLAN_DONE,
                     "The plan is done: there is nothing left to stop. A verdict can be taken back "
                     "for each operation, as long as nobody has acted on it.");
        return;
    }
    change->entry.state = PLAN_STOPPED;
    change->entry.ended_ms = call->now_ms;
    change->entry.applied_by = call_actor(call);
    change->note = SPAN("stopped");
    put(call, SPAN("stop"));
}

void call_plan_stop(struct call *call)
{
    if (change_new(call) != NULL)
        find(call, on_plan_to_stop);
}
