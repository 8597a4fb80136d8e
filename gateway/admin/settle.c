/* A person's verdict on an operation (SPEC 4): compare-and-set on the version that
 * he read, audited in the same transaction. Must never move a receipt but by
 * receipt_step(), and never before the quiet time unless told to. */
#include "gateway/admin/answer.h"
#include "gateway/admin/body.h"
#include "gateway/admin/operation.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>

static const struct {
    const char *word;
    enum receipt_event_kind event;
} verdicts[VERDICT_COUNT] = {
    [VERDICT_EXECUTED] = {"executed", RECEIPT_EV_SETTLE_EXECUTED},
    [VERDICT_NOT_EXECUTED] = {"not_executed", RECEIPT_EV_SETTLE_NOT_EXECUTED},
    [VERDICT_ABANDONED] = {"abandoned", RECEIPT_EV_SETTLE_ABANDONED},
    [VERDICT_REOPEN] = {"reopen", RECEIPT_EV_REOPEN},
};

struct settlement {
    enum settle_verdict verdict;
    uint32_t version;
    bool force, has_answer;
    struct stored_message answer;
    struct span note;
    struct store_row row;  /* as it is to be */
    struct store_row seen; /* as it was */
    struct audit_entry audit;
};

enum receipt_event_kind settle_event(enum settle_verdict verdict)
{
    gw_assert(verdict < VERDICT_COUNT);
    return verdicts[verdict].event;
}

const char *settle_word(enum settle_verdict verdict)
{
    gw_assert(verdict < VERDICT_COUNT);
    return verdicts[verdict].word;
}

enum receipt_verdict settle_step(const struct store_row *row, const struct route_policy *route,
                                 enum settle_verdict verdict, int64_t now_ms,
                                 struct receipt *ret_next)
{
    int64_t retention_ms = route == NULL ? SETTLE_RETENTION_MS : route->retention_ms;
    /* What was promised runs again at once; everything else is kept for its time. */
    bool runs_again = verdict == VERDICT_NOT_EXECUTED &&
                      (row->receipt.marks & RECEIPT_PROMISED) != 0 &&
                      (row->receipt.marks & RECEIPT_CANCEL_REQUESTED) == 0;
    struct receipt_event event = {.kind = settle_event(verdict),
                                  .now_ms = now_ms,
                                  .until_ms = runs_again ? now_ms : now_ms + retention_ms};
    return receipt_step(&row->receipt, &event, ret_next);
}

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
    for (uint32_t i = 0; i < VERDICT_COUNT; i++)
        if (span_equal(word, span_str(verdicts[i].word))) {
            settlement->verdict = (enum settle_verdict)i;
            return true;
        }
    return refuse(call, "verdict must be executed, not_executed, abandoned or reopen");
}

static bool read_version(struct call *call, const struct json_doc *doc,
                         struct settlement *settlement)
{
    uint32_t node = body_member(doc, 0, "version");
    uint64_t version;
    if (node == JSON_NONE || doc->nodes[node].kind != JSON_KIND_NUMBER ||
        !gw_parse_u64(body_raw(doc, node), &version) || version > UINT32_MAX)
        return refuse(call, "version must be the version of the operation that you looked at");
    settlement->version = (uint32_t)version;
    return true;
}

static bool read_force(struct call *call, const struct json_doc *doc, struct settlement *settlement)
{
    uint32_t node = body_member(doc, 0, "force");
    if (node == JSON_NONE)
        return true;
    settlement->force = doc->nodes[node].kind == JSON_KIND_TRUE;
    return settlement->force || doc->nodes[node].kind == JSON_KIND_FALSE ||
           refuse(call, "force must be true or false");
}

static bool read_answer(struct call *call, const struct json_doc *doc,
                        struct settlement *settlement)
{
    uint32_t node = body_member(doc, 0, "response");
    if (node == JSON_NONE || doc->nodes[node].kind == JSON_KIND_NULL)
        return true;
    if (settlement->verdict != VERDICT_EXECUTED)
        return refuse(call, "a response goes only with the verdict executed");
    settlement->has_answer = true;
    return answer_read(call, doc, node, &settlement->answer);
}

static bool read_settlement(struct call *call, struct settlement *settlement)
{
    struct json_doc doc;
    return body_parse(call, &doc) &&
           body_knows_members(call, &doc, 0, "verdict version response note force") &&
           read_verdict(call, &doc, settlement) && read_version(call, &doc, settlement) &&
           body_note(call, &doc, &settlement->note) && read_force(call, &doc, settlement) &&
           read_answer(call, &doc, settlement);
}

/* ---- refusals that show the operation as it is ---- */

static void end_with_operation(struct call *call, const struct store_row *row)
{
    writer_open(&call->json, "operation", '{');
    operation_print_members(call, row, false);
    writer_close(&call->json, '}');
    call_end(call);
}

static void refuse_changed(struct call *call, const struct store_row *row)
{
    const struct settlement *settlement = call->state;
    call_begin_problem(call, ADMIN_CHANGED,
                       "You looked at version %u; it is version %u now, state %s. Nothing was "
                       "changed. Look again before you decide.",
                       settlement->version, row->receipt.version,
                       receipt_public_state(row->receipt.state));
    end_with_operation(call, row);
}

static void refuse_state(struct call *call, const struct store_row *row)
{
    const struct settlement *settlement = call->state;
    call_begin_problem(call, ADMIN_NOT_SETTLEABLE,
                       "The verdict %s does not go with the state %s. Nothing was changed.",
                       settle_word(settlement->verdict), receipt_public_state(row->receipt.state));
    end_with_operation(call, row);
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
    end_with_operation(call, &settlement->seen);
}

static void refuse_move(struct call *call)
{
    const struct settlement *settlement = call->state;
    if (settlement->verdict != VERDICT_REOPEN) {
        refuse_state(call, &settlement->seen);
        return;
    }
    call->op.kind = STORE_AUDIT;
    call->op.in.find.operation_id = call->parameter;
    call_submit(call, refuse_reopen);
}

/* Bytes of a paused upstream may still land: "it did not run" is too early to say. */
static bool quiet_time_is_over(struct call *call, const struct route_policy *route)
{
    const struct settlement *settlement = call->state;
    uint32_t count;
    if (settlement->verdict != VERDICT_NOT_EXECUTED || settlement->force)
        return true;
    const struct attempt_record *attempts = operation_attempts(call, &settlement->seen, &count);
    int64_t quiet_ms = route == NULL ? SETTLE_QUIET_MS : route->quiet_ms;
    int64_t last_ms = operation_last_end_ms(attempts, count);
    /* Without evidence of an attempt the row's own last change is the latest it can be. */
    int64_t until_ms = (last_ms == 0 ? settlement->seen.updated_ms : last_ms) + quiet_ms;
    if (call->now_ms >= until_ms)
        return true;
    char when[GW_RFC3339_BYTES];
    gw_rfc3339(until_ms, when);
    call_begin_problem(call, ADMIN_QUIET_TIME,
                       "The request may still arrive at the upstream until %s. Ask again then, or "
                       "say force if you know better.",
                       when);
    writer_time(&call->json, "quiet_until", until_ms);
    end_with_operation(call, &settlement->seen);
    return false;
}

/* ---- the change ---- */

/* The last attempt is what the verdict speaks of. */
static bool mark_basis(struct call *call, struct settlement *settlement)
{
    struct attempt_record *attempts = NULL;
    struct store_row *row = &settlement->row;
    uint32_t count = 0;
    bool is_said = settlement->verdict == VERDICT_NOT_EXECUTED;
    if (row->attempts.len == 0 || (!is_said && settlement->verdict != VERDICT_REOPEN))
        return true;
    if (attempts_decode(call->arena, row->attempts, &attempts, &count) != GW_OK || count == 0)
        return true; /* the evidence stays as it is */
    uint8_t *basis = &attempts[count - 1].basis;
    if (is_said || *basis == BASIS_ASSERTED)
        *basis = is_said ? BASIS_ASSERTED : BASIS_NONE;
    struct gw_buf packed;
    gw_buf_init(&packed, CALL_BODY_BYTES_MAX);
    bool ok = attempts_encode(&packed, attempts, count) &&
              arena_copy(call->arena, gw_buf_span(&packed), &row->attempts);
    gw_buf_fini(&packed);
    return ok;
}

static bool pack_answer(struct call *call, struct settlement *settlement)
{
    struct store_row *row = &settlement->row;
    struct gw_buf packed;
    if (settlement->verdict == VERDICT_EXECUTED || settlement->verdict == VERDICT_REOPEN) {
        row->answer = SPAN("");
        row->answer_kept = settlement->has_answer;
    }
    if (!settlement->has_answer)
        return true;
    gw_buf_init(&packed, settlement->answer.body.len + CALL_BODY_BYTES_MAX);
    bool ok = message_encode(&packed, &settlement->answer) &&
              arena_copy(call->arena, gw_buf_span(&packed), &row->answer);
    gw_buf_fini(&packed);
    return ok;
}

static struct span describe(struct call *call, const struct settlement *settlement)
{
    struct span answer = SPAN("");
    if (settlement->has_answer)
        answer = arena_print(call->arena, " response=%u", settlement->answer.status);
    else if (settlement->verdict == VERDICT_EXECUTED)
        answer = SPAN(" response=none");
    return arena_print(call->arena, "verdict=%s version=%u%.*s%s", settle_word(settlement->verdict),
                       settlement->version, (int)answer.len, answer.ptr,
                       settlement->force ? " force" : "");
}

static void count_and_log(struct call *call, const struct store_row *row)
{
    const struct settlement *settlement = call->state;
    const struct route_policy *route = call_route(call, row->route);
    if (route != NULL)
        atomic_fetch_add(&board_route(call->options->board, route)->settled[settlement->verdict],
                         1);
    const struct gw_log_pair pairs[] = {
        {"operation", span_str(row->operation_id), 0},
        {"route", row->route, 0},
        {"actor", settlement->audit.actor, 0},
        {"verdict", span_str(settle_word(settlement->verdict)), 0},
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
    if (GW_FAULT(settle_change) || !mark_basis(call, settlement) ||
        !pack_answer(call, settlement)) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory. Nothing was changed.");
        return;
    }
    settlement->row.updated_ms = call->now_ms;
    settlement->audit = (struct audit_entry){.at_ms = call->now_ms,
                                             .actor = call_actor(call),
                                             .action = SPAN("settle"),
                                             .subject = call->parameter,
                                             .note = settlement->note,
                                             .detail = describe(call, settlement)};
    call->op.kind = STORE_ADVANCE;
    call->op.in.advance.id = settlement->row.id;
    call->op.in.advance.expect_version = settlement->version;
    call->op.in.advance.next = &settlement->row;
    call->op.in.advance.set_answer =
        settlement->verdict == VERDICT_EXECUTED || settlement->verdict == VERDICT_REOPEN;
    call->op.in.advance.set_request = false;
    call->op.in.advance.audit = &settlement->audit;
    call_submit(call, on_settled);
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
    const struct route_policy *route = call_route(call, settlement->seen.route);
    if (settlement->has_answer && route != NULL &&
        !answer_fits_route(call, route, &settlement->answer))
        return;
    if (settle_step(&settlement->seen, route, settlement->verdict, call->now_ms,
                    &settlement->row.receipt) != RECEIPT_MOVED) {
        refuse_move(call);
        return;
    }
    if (quiet_time_is_over(call, route))
        change(call);
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
