/* An operator cancels an operation, or lets a deferred one run now. Each is audited in
 * the transaction of its change. It must never call stopped what may have been sent. */
#include "gateway/admin/body.h"
#include "gateway/admin/operation.h"
#include "gateway/admin/verdict.h"

#include "base/log.h"
#include "policy/cancel.h"

#define STOPPING_TRIES_MAX 8

struct stopping {
    bool runs_now; /* else it cancels */
    uint32_t tries;
    struct span note;
    struct store_row row; /* as it is to be */
    struct audit_entry audit;
    enum cancel_says says;
};

static void on_found(struct call *call);

/* ---- answers ---- */

static void print_operation(struct call *call, const struct store_row *row)
{
    writer_open(&call->json, "operation", '{');
    operation_print_members(call, row, false);
    writer_close(&call->json, '}');
    call_end(call);
}

static void print_done(struct call *call, const struct store_row *row)
{
    const struct stopping *stopping = call->state;
    if (stopping->runs_now) {
        call_begin(call, 202);
        print_operation(call, row);
        return;
    }
    call_begin(call, stopping->says == CANCEL_REQUESTED ? 202 : 200);
    writer_text(&call->json, "cancel", span_str(cancel_says_word(stopping->says)));
    print_operation(call, row);
}

/* Too late to stop it; perhaps it can be taken back. */
static void refuse_executed(struct call *call, const struct store_row *row)
{
    const struct route_policy *route = call_route(call, row->route);
    bool may = route != NULL && route->compensate.route != NULL &&
               (route->compensate.by & COMPENSATE_BY_OPERATOR) != 0;
    call_begin_problem(call, ADMIN_ALREADY_EXECUTED,
                       "It has been carried out, and that cannot be stopped any more. Nothing was "
                       "changed.%s",
                       may ? " It can be taken back: recibo compensate." : "");
    if (may)
        writer_text(&call->json, "compensate",
                    arena_print(call->arena, "/v1/operations/%s/compensate", row->operation_id));
}

static void refuse(struct call *call, const struct store_row *row)
{
    const struct stopping *stopping = call->state;
    switch (stopping->says) {
    case CANCEL_EXECUTED:
        refuse_executed(call, row);
        break;
    case CANCEL_EXPIRED:
        call_begin_problem(
            call, ADMIN_NOT_SETTLEABLE,
            "Its time is over, and nothing of it is under way. Nothing was changed.");
        break;
    case CANCEL_UNKNOWN:
    case CANCEL_ABANDONED:
    case CANCEL_STOPPED:
    case CANCEL_REQUESTED:
    case CANCEL_SAYS_COUNT:
        call_begin_problem(call, ADMIN_OUTCOME_UNKNOWN,
                           "It was sent, and it is not known whether it was carried out: there is "
                           "nothing left to stop. Find out, and settle it.");
        break;
    }
    print_operation(call, row);
}

/* ---- the change ---- */

static void find(struct call *call)
{
    call->op.kind = STORE_FIND;
    call->op.in.find.operation_id = call->parameter;
    call->op.in.find.load = 0;
    call_submit(call, on_found);
}

static void on_changed(struct call *call)
{
    struct stopping *stopping = call->state;
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found == STORE_NONE) {
        call_problem(call, ADMIN_NOT_FOUND, "The operation is gone: its time was over.");
        return;
    }
    if (call->op.out.found != STORE_WON) {
        if (++stopping->tries < STOPPING_TRIES_MAX)
            find(call); /* somebody was faster: judge what stands there now */
        else
            call_problem(
                call, ADMIN_OVERLOADED,
                "The operation changed %d times meanwhile. Nothing was changed; ask again.",
                STOPPING_TRIES_MAX);
        return;
    }
    const struct store_row *row = &call->op.out.rows[0];
    const struct gw_log_pair pairs[] = {{"operation", span_str(row->operation_id), 0},
                                        {"route", row->route, 0},
                                        {"actor", stopping->audit.actor, 0},
                                        {"action", stopping->audit.action, 0},
                                        GW_LOG_END};
    gw_log(GW_LOG_INFO, "operation.handled", pairs);
    if (!stopping->runs_now)
        board_wake(call->options->board, &row->identity);
    if (stopping->runs_now || stopping->says == CANCEL_STOPPED ||
        stopping->says == CANCEL_REQUESTED)
        print_done(call, row);
    else
        refuse(call, row);
}

static void change(struct call *call, uint32_t seen_version)
{
    struct stopping *stopping = call->state;
    struct span what = stopping->runs_now
                           ? SPAN("")
                           : arena_print(call->arena, " %s", cancel_says_word(stopping->says));
    stopping->row.updated_ms = call->now_ms;
    stopping->audit =
        (struct audit_entry){.at_ms = call->now_ms,
                             .actor = call_actor(call),
                             .action = stopping->runs_now ? SPAN("run-now") : SPAN("cancel"),
                             .subject = call->parameter,
                             .note = stopping->note,
                             .detail = arena_print(call->arena, "version=%u%.*s", seen_version,
                                                   (int)what.len, what.ptr)};
    call->op.kind = STORE_ADVANCE;
    call->op.in.advance.id = stopping->row.id;
    call->op.in.advance.expect_version = seen_version;
    call->op.in.advance.next = &stopping->row;
    call->op.in.advance.set_answer = false;
    call->op.in.advance.set_request = false;
    call->op.in.advance.set_kept = false;
    call->op.in.advance.audit = &stopping->audit;
    call_submit(call, on_changed);
}

static void cancel(struct call *call)
{
    struct stopping *stopping = call->state;
    const struct route_policy *route = call_route(call, stopping->row.route);
    int64_t retention_ms = route == NULL ? SETTLE_RETENTION_MS : route->retention_ms;
    const struct cancel_verdict verdict =
        cancel_judge(&stopping->row.receipt, call->now_ms, call->now_ms + retention_ms);
    uint32_t seen_version = stopping->row.receipt.version;
    stopping->says = verdict.says;
    if (verdict.changes) {
        stopping->row.receipt = verdict.next;
        change(call, seen_version);
    } else if (verdict.says == CANCEL_STOPPED || verdict.says == CANCEL_REQUESTED) {
        print_done(call, &stopping->row);
    } else {
        refuse(call, &stopping->row);
    }
}

static void run_now(struct call *call)
{
    struct stopping *stopping = call->state;
    struct receipt *receipt = &stopping->row.receipt;
    uint32_t seen_version = receipt->version;
    if (receipt->state != RECEIPT_DEFERRED) {
        call_begin_problem(call, ADMIN_NOT_DEFERRED,
                           "It is %s, not deferred: there is nothing to run. Nothing was changed.",
                           receipt_public_state(receipt->state));
        print_operation(call, &stopping->row);
        return;
    }
    if (receipt->due_ms <= call->now_ms) {
        print_done(call, &stopping->row);
        return;
    }
    *receipt = receipt_mark(receipt, 0);
    receipt->due_ms = call->now_ms; /* the state stays what it is */
    change(call, seen_version);
}

static void on_found(struct call *call)
{
    struct stopping *stopping = call->state;
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found != STORE_HELD) {
        call_problem(call, ADMIN_NOT_FOUND, "There is no operation with this id.");
        return;
    }
    stopping->row = call->op.out.rows[0];
    if (stopping->runs_now)
        run_now(call);
    else
        cancel(call);
}

/* NULL: the call was answered. */
static struct stopping *stopping_new(struct call *call, bool runs_now)
{
    struct stopping *stopping = arena_take(call->arena, sizeof(*stopping));
    if (stopping == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return NULL;
    }
    stopping->runs_now = runs_now;
    call->state = stopping;
    return call_takes_operation_id(call) ? stopping : NULL;
}

void call_cancel(struct call *call)
{
    struct json_doc doc;
    struct stopping *stopping = stopping_new(call, false);
    if (stopping == NULL || !body_parse(call, &doc) || !body_knows_members(call, &doc, 0, "note") ||
        !body_note(call, &doc, &stopping->note))
        return;
    find(call);
}

void call_run_now(struct call *call)
{
    struct json_doc doc;
    struct stopping *stopping = stopping_new(call, true);
    if (stopping == NULL || !body_parse(call, &doc) || !body_knows_members(call, &doc, 0, "note") ||
        !body_optional_note(call, &doc, &stopping->note))
        return;
    find(call);
}
