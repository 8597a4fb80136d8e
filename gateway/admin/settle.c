/* A person's verdict on an operation (SPEC 4): compare-and-set on the version that
 * he read, audited in the same transaction. Must never move a receipt but as
 * verdict_judge() says. */
#include "gateway/admin/answer.h"
#include "gateway/admin/body.h"
#include "gateway/admin/operation.h"
#include "gateway/admin/verdict.h"
#include "gateway/receipts.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>

struct settlement {
    struct verdict verdict;
    uint32_t version;
    struct span note;
    struct store_row row;  /* as it is to be */
    struct store_row seen; /* as it was */
    struct audit_entry audit;
};

/* ---- what was asked ---- */

static bool refuse(struct call *call, const char *text)
{
    call_problem(call, ADMIN_BODY_INVALID, "%s.", text);
    return false;
}

static bool read_verdict(struct call *call, const struct json_doc *doc,
                         struct settlement *settlement)
{
    uint32_t node = body_member(doc, 0, "verdict");
    struct span word = {"", 0};
    if (node != JSON_NONE && !body_text(call, doc, node, &word))
        word = SPAN("");
    settlement->verdict.kind = verdict_by_word(word);
    return settlement->verdict.kind != VERDICT_COUNT ||
           refuse(call, "verdict must be executed, not_executed, abandoned or reopen");
}

static bool read_answer(struct call *call, const struct json_doc *doc,
                        struct settlement *settlement)
{
    uint32_t node = body_member(doc, 0, "response");
    if (node == JSON_NONE || doc->nodes[node].kind == JSON_KIND_NULL)
        return true;
    if (settlement->verdict.kind != VERDICT_EXECUTED)
        return refuse(call, "a response goes only with the verdict executed");
    settlement->verdict.has_answer = true;
    return answer_read(call, doc, node, &settlement->verdict.answer);
}

static bool read_settlement(struct call *call, struct settlement *settlement)
{
    struct json_doc doc;
    return body_parse(call, &doc) &&
           body_knows_members(call, &doc, 0, "verdict version response note force") &&
           read_verdict(call, &doc, settlement) && body_version(call, &doc, &settlement->version) &&
           body_note(call, &doc, &settlement->note) &&
           body_flag(call, &doc, "force", &settlement->verdict.force) &&
           read_answer(call, &doc, settlement);
}

/* ---- refusals that show the operation as it is ---- */

static void refuse_changed(struct call *call, const struct store_row *row)
{
    const struct settlement *settlement = call->state;
    call_begin_problem(call, ADMIN_CHANGED,
                       "You looked at version %u; it is version %u now, state %s. Nothing was "
                       "changed. Look again before you decide.",
                       settlement->version, row->receipt.version,
                       receipt_public_state(row->receipt.state));
    operation_end(call, row);
}

static void refuse_state(struct call *call, const struct store_row *row)
{
    const struct settlement *settlement = call->state;
    call_begin_problem(call, ADMIN_NOT_SETTLEABLE,
                       "The verdict %s does not go with the state %s. Nothing was changed.",
                       settle_word(settlement->verdict.kind),
                       receipt_public_state(row->receipt.state));
    operation_end(call, row);
}

/* The moment the verdict was acted on: the start of the first attempt made since;
 * else, where a replay was marked as told, the last change of the row. 0: it was not. */
static int64_t consumed_ms(struct call *call, const struct store_row *row)
{
    const uint32_t consumed = RECEIPT_SETTLED | RECEIPT_CONSUMED;
    int64_t settled_ms = 0;
    uint32_t count;
    for (uint32_t i = 0; i < call->op.out.audit_count; i++) {
        const struct audit_entry *entry = &call->op.out.audit[i];
        if (span_equal(entry->action, SPAN("settle")) && entry->at_ms > settled_ms)
            settled_ms = entry->at_ms;
    }
    const struct attempt_record *attempts = operation_attempts(call, row, &count);
    for (uint32_t i = 0; i < count && settled_ms != 0; i++)
        if (attempts[i].started_ms >= settled_ms)
            return attempts[i].started_ms;
    return (row->receipt.marks & consumed) == consumed ? row->updated_ms : 0;
}

static void refuse_reopen(struct call *call)
{
    const struct settlement *settlement = call->state;
    if (!call_store_is_well(call))
        return;
    int64_t at_ms = consumed_ms(call, &settlement->seen);
    if (at_ms == 0) {
        refuse_state(call, &settlement->seen);
        return;
    }
    char when[GW_RFC3339_BYTES];
    gw_rfc3339(at_ms, when);
    call_begin_problem(call, ADMIN_CONSUMED,
                       "The verdict cannot be taken back: a caller was answered on it, or its key "
                       "was used again, at %s.",
                       when);
    writer_time(&call->json, "consumed_at", at_ms);
    operation_end(call, &settlement->seen);
}

static void refuse_move(struct call *call)
{
    const struct settlement *settlement = call->state;
    if (settlement->verdict.kind != VERDICT_REOPEN) {
        refuse_state(call, &settlement->seen);
        return;
    }
    call->op.kind = STORE_AUDIT;
    call->op.in.find.operation_id = call->parameter;
    call_submit(call, refuse_reopen);
}

static void refuse_early(struct call *call, int64_t until_ms)
{
    const struct settlement *settlement = call->state;
    char when[GW_RFC3339_BYTES];
    gw_rfc3339(until_ms, when);
    call_begin_problem(call, ADMIN_QUIET_TIME,
                       "The request may still arrive at the upstream until %s. Ask again then, or "
                       "say force if you know better.",
                       when);
    writer_time(&call->json, "quiet_until", until_ms);
    operation_end(call, &settlement->seen);
}

/* ---- the change ---- */

static void count_and_log(struct call *call, const struct store_row *row)
{
    const struct settlement *settlement = call->state;
    board_count_settled(call->options->board, call_route(call, row->route), SETTLED_BY_OPERATOR,
                        settlement->verdict.kind);
    const struct gw_log_pair pairs[] = {
        {"operation", span_str(row->operation_id), 0},
        {"route", row->route, 0},
        {"actor", settlement->audit.actor, 0},
        {"verdict", span_str(settle_word(settlement->verdict.kind)), 0},
        {"state", span_str(receipt_public_state(row->receipt.state)), 0},
        GW_LOG_END};
    gw_log(GW_LOG_INFO, "operation.settled", pairs);
}

static void on_settled(struct call *call)
{
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found == STORE_NONE) {
        call_problem(call, ADMIN_NOT_FOUND, "The operation is gone: its time was over.");
        return;
    }
    const struct store_row *row = &call->op.out.rows[0];
    if (call->op.out.found != STORE_WON) {
        refuse_changed(call, row);
        return;
    }
    (void)GW_FAULT(settle_changed); /* the change is made: it cannot fail any more */
    count_and_log(call, row);
    board_wake(call->options->board, &row->identity);
    call_begin(call, 200);
    operation_print_members(call, row, false);
    visible_print(call, row);
    call_end(call);
}

static void change(struct call *call)
{
    struct settlement *settlement = call->state;
    const struct verdict *verdict = &settlement->verdict;
    struct span packed = SPAN("");
    if (GW_FAULT(settle_change) || !verdict_pack(verdict, call->arena, &packed) ||
        !verdict_write(verdict, packed, call->now_ms, call->arena, &settlement->row)) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory. Nothing was changed.");
        return;
    }
    settlement->audit =
        (struct audit_entry){.at_ms = call->now_ms,
                             .actor = call_actor(call),
                             .action = SPAN("settle"),
                             .subject = call->parameter,
                             .note = settlement->note,
                             .detail = verdict_describe(verdict, settlement->version, call->arena)};
    call->op.kind = STORE_ADVANCE;
    call->op.in.advance.id = settlement->row.id;
    call->op.in.advance.expect_version = settlement->version;
    call->op.in.advance.next = &settlement->row;
    call->op.in.advance.set_answer = verdict_sets_answer(verdict);
    call->op.in.advance.set_request = false;
    call->op.in.advance.audit = &settlement->audit;
    call_submit(call, on_settled);
}

static void judge(struct call *call)
{
    struct settlement *settlement = call->state;
    const struct route_policy *route = call_route(call, settlement->seen.route);
    const struct verdict_facts facts = {.row = &settlement->seen,
                                        .route = route,
                                        .now_ms = call->now_ms,
                                        .skew_ms = store_skew_ms(call->options->store),
                                        .arena = call->arena};
    uint32_t count;
    const struct attempt_record *attempts = operation_attempts(call, &settlement->seen, &count);
    const struct doubt_times times = {.now_ms = call->now_ms,
                                      .last_end_ms = operation_last_end_ms(attempts, count)};
    struct receipt next;
    int64_t quiet_until_ms = 0;
    switch (verdict_judge(&settlement->verdict, &facts, &next, &quiet_until_ms)) {
    case VERDICT_FITS:
        receipts_take_doubt(&settlement->row, &next, route, &times);
        change(call);
        break;
    case VERDICT_NO_MOVE:
        refuse_move(call);
        break;
    case VERDICT_TOO_EARLY:
        refuse_early(call, quiet_until_ms);
        break;
    case VERDICT_ANSWER_UNFIT:
        answer_refuse(call, route, &settlement->verdict.answer);
        break;
    }
}

static void on_found(struct call *call)
{
    struct settlement *settlement = call->state;
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found != STORE_HELD) {
        call_problem(call, ADMIN_NOT_FOUND, "There is no operation with this id.");
        return;
    }
    settlement->seen = settlement->row = call->op.out.rows[0];
    if (settlement->seen.receipt.version != settlement->version) {
        refuse_changed(call, &settlement->seen);
        return;
    }
    judge(call);
}

void call_settle(struct call *call)
{
    struct settlement *settlement = arena_take(call->arena, sizeof(*settlement));
    if (settlement == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    call->state = settlement;
    if (!call_takes_operation_id(call) || !read_settlement(call, settlement))
        return;
    call->op.kind = STORE_FIND;
    call->op.in.find.operation_id = call->parameter;
    call->op.in.find.load = 0;
    call_submit(call, on_found);
}
