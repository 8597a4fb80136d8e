/* What the caller sees now, and what it would see under each verdict: admit() asked
 * with a pretended row. It must never have an opinion of its own on that. */
#include "gateway/admin/operation.h"
#include "gateway/problem.h"
#include "gateway/receipts.h"
#include "policy/compensate.h"

struct sight_row {
    enum problem problem; /* NONE: the upstream's or the recorded answer */
    const char *text;
};
static const struct sight_row sight_rows[ADMIT_VERDICT_COUNT] = {
    [ADMIT_RUN] = {PROBLEM_NONE, "The next request with this key is sent to the upstream."},
    [ADMIT_RERUN] = {PROBLEM_NONE,
                     "The key is free: the next request with it is sent to the upstream."},
    [ADMIT_NEXT] = {PROBLEM_NONE, "The window of its content is over: the next request with this "
                                  "content is sent to the upstream as a new operation."},
    [ADMIT_RENEW] = {PROBLEM_NONE, "Its time is over: the next request with this key is sent to "
                                   "the upstream as a new operation."},
    [ADMIT_DEFER] = {PROBLEM_NONE, "It is told 202: the operation runs later."},
    [ADMIT_NEAR] = {PROBLEM_NONE,
                    "The key is free: the next request with it waits a little, and is "
                    "sent to the upstream."},
    [ADMIT_RESEND] = {PROBLEM_NONE, "The next request with this key is sent to the upstream again, "
                                    "which deduplicates by it."},
    [ADMIT_LATER] = {PROBLEM_RETRY_LATER,
                     "The key is free, but the next attempt is not due yet: it is told when."},
    [ADMIT_EXHAUSTED] = {PROBLEM_EXHAUSTED, "The key is free, but the attempts of this window are "
                                            "used up: it is told when the next one opens."},
    [ADMIT_REPLAY] = {PROBLEM_NONE, "The recorded answer, marked Idempotent-Replayed: true."},
    [ADMIT_UNAVAILABLE] = {PROBLEM_RESULT_UNAVAILABLE,
                           "It is told that the operation was carried out and that its answer is "
                           "not kept (executed: true)."},
    [ADMIT_WAIT] = {PROBLEM_IN_PROGRESS, "It waits as long as the route says, or is told to ask "
                                         "again."},
    [ADMIT_DEFERRED] = {PROBLEM_NONE, "It is told 202: the operation is accepted and will run at "
                                      "its time."},
    [ADMIT_LAPSED] = {PROBLEM_OUTCOME_UNKNOWN, "It is told that the outcome is not known."},
    [ADMIT_MISMATCH] = {PROBLEM_KEY_REUSED, "It is told that the key was used for another "
                                            "request."},
    [ADMIT_MODE] = {PROBLEM_COMPARISON_CHANGED,
                    "It is told that the requests can no longer be compared: the fingerprint of "
                    "the route was changed since."},
    [ADMIT_UNKNOWN] = {PROBLEM_OUTCOME_UNKNOWN,
                       "It is told that the outcome is not known, and nothing is sent."},
    [ADMIT_CANCELLED] = {PROBLEM_CANCELLED,
                         "It is told that the operation was cancelled before it ran."},
    [ADMIT_ABANDONED] = {PROBLEM_ABANDONED,
                         "It is told that the outcome could not be found out; the key is never "
                         "sent again."},
    [ADMIT_EXPIRED] = {PROBLEM_RESULT_EXPIRED, "It is told that the result is no longer kept."},
    [ADMIT_PAUSED] = {PROBLEM_PAUSED, "It is told that the route is paused; nothing is sent."},
    [ADMIT_FULL] = {PROBLEM_OVERLOADED, "It is told that a limit is reached; nothing is sent."},
};

/* Nobody repeats a compensation by its key: it is asked for once more, by the operation
 * that it takes back. */
static const struct sight_row compensation_rows[ADMIT_VERDICT_COUNT] = {
    [ADMIT_RERUN] = {PROBLEM_NONE, "Nothing of it ran: whoever asks again to compensate begins it "
                                   "anew."},
    [ADMIT_REPLAY] = {PROBLEM_NONE, "Whoever asks again to compensate is told that it is done."},
    [ADMIT_DEFERRED] = {PROBLEM_NONE, "Whoever asks again to compensate is told 202: it is on its "
                                      "way."},
    [ADMIT_UNKNOWN] = {PROBLEM_OUTCOME_UNKNOWN, "Whoever asks again to compensate is told that the "
                                                "outcome is not known, and nothing is sent."},
    [ADMIT_CANCELLED] = {PROBLEM_CANCELLED, "Whoever asks again to compensate is told that it was "
                                            "cancelled; it is not begun again."},
    [ADMIT_ABANDONED] = {PROBLEM_ABANDONED, "Whoever asks again to compensate is told that the "
                                            "outcome could not be found out; it is never sent "
                                            "again."},
    [ADMIT_EXPIRED] = {PROBLEM_RESULT_EXPIRED, "Whoever asks again to compensate is told that it "
                                               "is over."},
};

/* The same rule as for whoever asks: compensate_again(). */
static enum admit_verdict ask_compensation(const struct receipt *receipt, int64_t now_ms)
{
    switch (compensate_again(receipt, now_ms)) {
    case COMPENSATE_ANEW:
        return ADMIT_RERUN;
    case COMPENSATE_UNDER_WAY:
        return ADMIT_DEFERRED;
    case COMPENSATE_DONE:
        return ADMIT_REPLAY;
    case COMPENSATE_CANCELLED:
        return ADMIT_CANCELLED;
    case COMPENSATE_ABANDONED:
        return ADMIT_ABANDONED;
    case COMPENSATE_OVER:
        return ADMIT_EXPIRED;
    case COMPENSATE_UNKNOWN:
        break;
    }
    return ADMIT_UNKNOWN;
}

static enum admit_gate gate_of(const struct call *call, const struct route_policy *route)
{
    const struct board_route *counts = board_route(call->options->board, route);
    bool is_open = atomic_load(&counts->breaker) == (int)BREAKER_OPEN;
    return atomic_load(&counts->paused) || is_open ? GATE_PAUSED : GATE_OPEN;
}

static enum admit_verdict ask(const struct call *call, const struct store_row *row,
                              const struct route_policy *route)
{
    if (route->is_compensation)
        return ask_compensation(&row->receipt, call->now_ms);
    const struct retry_budget budget = receipts_budget(row);
    enum retry_gate pass = retry_ask(&route->retry, &budget, call->now_ms).gate;
    struct admit_facts facts = {
        .seen = &row->receipt,
        .print = &row->print,
        .seen_print = &row->print,
        .same_mode = span_equal(row->print_mode, route->fingerprint.mode_text),
        .lease_is_dead = row->lease_is_dead,
        .answer_kept = row->answer_kept,
        .updated_ms = row->updated_ms,
        .gate = gate_of(call, route),
        .budget = pass,
        .may_resend = (row->receipt.marks & RECEIPT_CONTRADICTED) == 0 && pass == RETRY_OPEN &&
                      retry_may_resend(route, receipts_first_sent_ms(call->arena, row),
                                       call->now_ms + store_skew_ms(call->options->store)),
        .now_ms = call->now_ms,
    };
    return admit(route, &facts);
}

/* A dead lease is put on record by whoever comes first; then it is asked again. */
static enum admit_verdict ask_now(const struct call *call, const struct store_row *row,
                                  const struct route_policy *route)
{
    enum admit_verdict verdict = ask(call, row, route);
    if (verdict != ADMIT_LAPSED)
        return verdict;
    struct store_row lapsed = *row;
    struct receipt_event event = {.kind = RECEIPT_EV_LAPSED,
                                  .now_ms = call->now_ms,
                                  .until_ms = call->now_ms + route->retention_ms,
                                  .lease_is_dead = true};
    if (receipt_step(&row->receipt, &event, &lapsed.receipt) != RECEIPT_MOVED)
        return verdict;
    lapsed.lease_is_dead = false;
    return ask(call, &lapsed, route);
}

static uint16_t recorded_status(struct call *call, const struct store_row *row)
{
    struct stored_message message;
    if (row->answer.len == 0 || message_decode(call->arena, row->answer, &message) != GW_OK)
        return row->status;
    return message.status;
}

static void print_compensation_sight(struct json_writer *json, enum admit_verdict verdict)
{
    const struct sight_row *sight = &compensation_rows[verdict];
    bool is_begun = verdict == ADMIT_RERUN;
    gw_assert(sight->text != NULL);
    uint16_t status = is_begun || verdict == ADMIT_DEFERRED ? 202
                      : verdict == ADMIT_REPLAY             ? 200
                                                            : problem_status(sight->problem);
    writer_text(json, "verdict", span_str(admit_verdict_name(verdict)));
    writer_number(json, "status", status);
    writer_text_or_null(json, "code", span_str(problem_code(sight->problem)));
    writer_bool(json, "sent_upstream", is_begun);
    writer_text(json, "text", span_str(sight->text));
}

void visible_print_sight(struct json_writer *json, enum admit_verdict verdict,
                         uint16_t replayed_status)
{
    gw_assert(verdict < ADMIT_VERDICT_COUNT);
    const struct sight_row *sight = &sight_rows[verdict];
    bool is_sent = verdict == ADMIT_RUN || verdict == ADMIT_RERUN || verdict == ADMIT_RENEW ||
                   verdict == ADMIT_NEXT || verdict == ADMIT_NEAR || verdict == ADMIT_RESEND;
    uint16_t status = sight->problem == PROBLEM_NONE ? 0 : problem_status(sight->problem);
    if (verdict == ADMIT_REPLAY)
        status = replayed_status;
    if (verdict == ADMIT_DEFER || verdict == ADMIT_DEFERRED)
        status = 202;
    writer_text(json, "verdict", span_str(admit_verdict_name(verdict)));
    if (status == 0)
        writer_null(json, "status");
    else
        writer_number(json, "status", status);
    writer_text_or_null(json, "code", span_str(problem_code(sight->problem)));
    writer_bool(json, "sent_upstream", is_sent);
    writer_text(json, "text", span_str(sight->text));
}

struct sight {
    const char *name;
    enum admit_verdict verdict;
    uint16_t replayed_status;
    bool is_compensation;
};

static void print_sight(struct call *call, const struct sight *sight)
{
    writer_open(&call->json, sight->name, '{');
    if (sight->is_compensation)
        print_compensation_sight(&call->json, sight->verdict);
    else
        visible_print_sight(&call->json, sight->verdict, sight->replayed_status);
    writer_close(&call->json, '}');
}

enum admit_verdict visible_under(const struct call *call, const struct store_row *row,
                                 enum settle_verdict verdict, bool has_answer)
{
    const struct route_policy *route = call_route(call, row->route);
    struct store_row pretended = *row;
    if (route == NULL ||
        settle_step(row, route, verdict, call->now_ms, &pretended.receipt) != RECEIPT_MOVED)
        return ADMIT_VERDICT_COUNT;
    pretended.answer_kept = has_answer;
    return ask(call, &pretended, route);
}

static void print_pretended(struct call *call, const char *name, const struct store_row *row,
                            enum settle_verdict verdict, bool has_answer)
{
    enum admit_verdict seen = visible_under(call, row, verdict, has_answer);
    if (seen == ADMIT_VERDICT_COUNT)
        writer_null(&call->json, name);
    else
        print_sight(call, &(struct sight){.name = name,
                                          .verdict = seen,
                                          .is_compensation =
                                              call_route(call, row->route)->is_compensation});
}

void visible_print(struct call *call, const struct store_row *row)
{
    const struct route_policy *route = call_route(call, row->route);
    if (route == NULL) { /* no longer configured: what a caller gets is up to other routes */
        writer_null(&call->json, "client_sees");
        return;
    }
    writer_open(&call->json, "client_sees", '{');
    print_sight(call, &(struct sight){.name = "now",
                                      .verdict = ask_now(call, row, route),
                                      .replayed_status = recorded_status(call, row),
                                      .is_compensation = route->is_compensation});
    print_pretended(call, "executed", row, VERDICT_EXECUTED, true);
    print_pretended(call, "executed_without_response", row, VERDICT_EXECUTED, false);
    print_pretended(call, "not_executed", row, VERDICT_NOT_EXECUTED, false);
    print_pretended(call, "abandoned", row, VERDICT_ABANDONED, false);
    print_pretended(call, "reopen", row, VERDICT_REOPEN, false);
    writer_close(&call->json, '}');
}
