/* Room `record`: persist the event. When it is left, the outcome is durable, or the
 * store has failed and the caller is told that the outcome is not known. It is the
 * only room that ends an attempt; recovery and retention end here too. */
#include "gateway/late.h"
#include "gateway/receipts.h"
#include "gateway/rooms/again.h"
#include "gateway/rooms/outcome.h"
#include "gateway/rooms/probed.h"
#include "gateway/worker.h"

#include "policy/headers.h"

#define RETENTION_DEFAULT_MS ((int64_t)24 * 3600 * 1000)      /* of a route that is gone */
#define TOMBSTONE_DEFAULT_MS ((int64_t)30 * 24 * 3600 * 1000) /* likewise */
#define RECORD_AGAIN_MS      1000

enum record_stage {
    RECORD_ENTER,
    RECORD_LOOKED,   /* the row as it stands came back */
    RECORD_ADVANCED, /* the compare-and-set came back */
    RECORD_MARKED,   /* evidence that ends no attempt of the row was put on it */
    RECORD_AGAIN,    /* the store failed; a flow without a client tries again */
};

static int64_t until_ms(const struct flow *flow)
{
    int64_t span = flow->route == NULL ? RETENTION_DEFAULT_MS : flow->route->retention_ms;
    if (flow->event != RECEIPT_EV_EXPIRE)
        return flow_now_ms(flow) + span;
    span = flow->route == NULL ? TOMBSTONE_DEFAULT_MS : flow->route->tombstone_ms;
    /* Counted from the end of retention: admit() does, and a late sweep changes nothing. */
    return flow->row.receipt.expire_ms + span;
}

/* May this field of an upstream's answer be kept (REP-4, REP-5)? */
static bool is_stored(const struct flow *flow, const struct http_field *field)
{
    const struct http_head *head = flow->answer.head;
    uint32_t flags = header_flags(field->name);
    if ((flags & HEADER_COOKIE) != 0)
        return flow->route->replay_set_cookie;
    return (flags & (HEADER_HOP | HEADER_OWNED | HEADER_NO_STORE | HEADER_FRAMING)) == 0 &&
           !header_named_by_connection(head->fields, head->field_count, field->name);
}

static bool pack_answer(struct flow *flow)
{
    const struct http_head *head = flow->answer.head;
    const struct body *body = &flow->answer.body;
    struct stored_message message = {
        .status = head->status, .body_kept = true, .body_bytes = body->bytes};
    flow->row.answer_kept = body->file < 0 && body->bytes <= flow->route->replay_body_max;
    flow->row.answer = SPAN("");
    /* Half an answer is none: without its body it must not look like one to replay. */
    if (!flow->row.answer_kept)
        return true;
    message.fields = arena_take(flow->arena, (head->field_count + 1) * sizeof(*message.fields));
    if (message.fields == NULL)
        return false;
    for (uint32_t i = 0; i < head->field_count; i++)
        if (is_stored(flow, &head->fields[i]))
            message.fields[message.field_count++] = head->fields[i];
    message.body = gw_buf_span(&body->memory);
    gw_buf_clear(&flow->packed);
    bool ok = message_encode(&flow->packed, &message);
    flow->row.answer = gw_buf_span(&flow->packed);
    return ok;
}

/* Nothing but identity, fingerprint and final state is left of it (RCP-14). */
static void strip_to_tombstone(struct store_row *row)
{
    row->answer = row->request = row->members = row->labels = row->attempts = SPAN("");
    row->probes = row->claimed_by = SPAN("");
    row->claimed_ms = 0;
    row->answer_kept = false;
    row->evidence_until_ms = 0;
}

/* Of an attempt, by whoever made it; the others speak of the row. */
static bool is_report(const struct flow *flow)
{
    return flow->source == FLOW_FROM_CLIENT || flow->source == FLOW_FROM_LATE ||
           flow->source == FLOW_FROM_DEFERRED;
}

/* Does the flow itself hold what another attempt needs? */
static bool can_go_on(const struct flow *flow)
{
    return flow->source == FLOW_FROM_CLIENT || flow->source == FLOW_FROM_DEFERRED;
}

/* The row has been sent again since, to an upstream that remembers the key: what it says
 * of the earlier sending, which is in doubt, it says of the operation. */
static bool is_of_chain(struct flow *flow)
{
    if ((flow->row.receipt.marks & RECEIPT_RESENT) == 0 || flow->event != RECEIPT_EV_ANSWERED)
        return false;
    return receipts_is_in_doubt(flow);
}

static uint64_t token_of(struct flow *flow)
{
    if (!is_report(flow))
        return 0;
    return is_of_chain(flow) ? flow->row.receipt.token : flow->attempt.token;
}

/* Without an answer on record nobody was told one; but the first of two sendings may have
 * told its caller. */
static bool none_was_told(const struct store_row *row)
{
    return !row->answer_kept && (row->receipt.marks & RECEIPT_RESENT) == 0;
}

/* Does the report of an attempt end a doubt? */
static bool ends_a_doubt(const struct flow *flow, enum receipt_state from)
{
    return is_report(flow) && flow->event != RECEIPT_EV_LOST &&
           (from == RECEIPT_UNKNOWN || from == RECEIPT_ABANDONED);
}

/* Does an answer that says "it ran" speak against this state? */
static bool is_against(enum receipt_state state)
{
    return !receipt_may_have_run(state) || state == RECEIPT_ABANDONED;
}

/* The row after the step; RECEIPT_MOVED: flow->row is what to write. */
static enum receipt_verdict step(struct flow *flow, bool *ret_set_answer, bool *ret_set_request)
{
    struct receipt_event event = {.kind = flow->event,
                                  .now_ms = flow_now_ms(flow),
                                  .token = token_of(flow),
                                  .until_ms = until_ms(flow),
                                  .lease_is_dead = flow->row.lease_is_dead,
                                  .none_was_told = none_was_told(&flow->row)};
    const struct receipt cur = flow->row.receipt;
    struct receipt next;
    *ret_set_answer = *ret_set_request = flow->settles = false;
    if (flow->source == FLOW_FROM_EVIDENCE) {
        if (flow->row.evidence_until_ms > event.now_ms)
            return RECEIPT_STALE;
        flow->row.receipt = receipt_mark(&flow->row.receipt, 0);
        flow->row.request = SPAN("");
        flow->row.evidence_until_ms = 0;
        *ret_set_request = true;
        return RECEIPT_MOVED;
    }
    /* The row may have begun a new life since the scan saw it, or have been leased anew by
     * somebody whose clock is another one. */
    if (flow->source == FLOW_FROM_RETENTION && flow->row.receipt.expire_ms > event.now_ms)
        return RECEIPT_STALE;
    if (flow->event == RECEIPT_EV_LAPSED && !row_lease_is_over(&flow->row, event.now_ms))
        return RECEIPT_STALE;
    enum receipt_verdict verdict = receipt_step(&cur, &event, &next);
    if (verdict == RECEIPT_MOVED && next.state == RECEIPT_DEFERRED) {
        event.until_ms = receipts_due_ms(flow); /* what is promised is tried again */
        verdict = receipt_step(&cur, &event, &next);
    }
    if (verdict != RECEIPT_MOVED)
        return verdict;
    flow->contradicts = flow->event == RECEIPT_EV_ANSWERED && is_against(cur.state);
    flow->settles = ends_a_doubt(flow, cur.state);
    flow->row.receipt = next;
    /* The window of a content key begins when its outcome is told: by this flow, then. */
    if (next.state == RECEIPT_COMPLETED && can_go_on(flow) &&
        flow->route->key.from == KEY_FROM_CONTENT)
        flow->row.receipt.marks |= RECEIPT_CONSUMED;
    flow->row.updated_ms = event.now_ms;
    flow->row.probe_due_ms = receipts_probe_due_ms(flow);
    if (flow->event == RECEIPT_EV_EXPIRE || flow->event == RECEIPT_EV_FORGET) {
        strip_to_tombstone(&flow->row);
        *ret_set_answer = *ret_set_request = true;
    }
    return RECEIPT_MOVED;
}

static bool ends_an_attempt(const struct flow *flow)
{
    return flow->source != FLOW_FROM_RETENTION && flow->source != FLOW_FROM_EVIDENCE;
}

/* What an answer meant when it came: for whoever asks why. */
static void say_late(struct flow *flow, const char *text)
{
    const char *why = flow->result.reason == NULL ? "" : flow->result.reason;
    struct span reason = arena_print(flow->arena, "%s; %s", why, text);
    if (reason.len > 0)
        flow->attempt.reason = reason;
}

/* Known, and not tried again by itself. */
static bool is_at_rest(enum receipt_state state)
{
    return state != RECEIPT_UNKNOWN && state != RECEIPT_DEFERRED && !receipt_is_leased(state);
}

/* What the end of an attempt leaves on the row; false: out of memory. */
static bool describe_end(struct flow *flow, enum receipt_state from, bool *ret_set_answer,
                         bool *ret_set_request)
{
    if (flow->contradicts)
        say_late(flow, "it came late, against what had been decided");
    else if (from == RECEIPT_COMPLETED)
        say_late(flow, "it came late, and is the answer from now on");
    flow->row.end = flow->attempt.end;
    flow->row.status = flow->attempt.status;
    *ret_set_answer = flow->event == RECEIPT_EV_ANSWERED;
    /* What never was in doubt needs no evidence: the request is not kept longer than needed. */
    *ret_set_request = from == RECEIPT_SENT && is_at_rest(flow->row.receipt.state);
    if (*ret_set_request) {
        flow->row.request = SPAN("");
        flow->row.evidence_until_ms = 0;
    }
    return receipts_add_attempt(flow) && (!*ret_set_answer || pack_answer(flow));
}

static enum flow_next failed(struct flow *flow)
{
    receipts_log_failure(flow);
    /* A stopping process does not wait for its store: the next life finds the dead lease. */
    bool tries_again = flow->source == FLOW_FROM_LATE || flow->source == FLOW_FROM_DEFERRED;
    if (tries_again && flow_now_ticks(flow) < flow->lease_ticks &&
        !worker_is_draining(flow->worker)) {
        flow->stage = RECORD_AGAIN;
        if (worker_timer_start(flow, RECORD_AGAIN_MS, flow_resume))
            return FLOW_PARK;
    }
    if (flow->source != FLOW_FROM_CLIENT && flow->source != FLOW_FROM_DEFERRED)
        return flow_go(flow, FLOW_ROOM_leave);
    board_leave(worker_ports(flow->worker)->board, flow->route, flow->owner, BOARD_UNKNOWN,
                flow_now_ticks(flow), &flow->ticket);
    if (flow->source == FLOW_FROM_DEFERRED)
        return flow_go(flow, FLOW_ROOM_leave);
    struct flow *late = late_take_over(flow);
    if (late != NULL)
        flow_run(late, FLOW_ROOM_record);
    return outcome_not_recorded(flow);
}

static enum flow_next look(struct flow *flow)
{
    flow->stage = RECORD_LOOKED;
    if (++flow->turns >= FLOW_TURNS_MAX || !receipts_look_up(flow))
        return failed(flow);
    return FLOW_PARK;
}

/* The row is left as it is. */
static enum flow_next moves_nothing(struct flow *flow)
{
    return flow->source == FLOW_FROM_CLIENT ? outcome_of_other(flow)
                                            : flow_go(flow, FLOW_ROOM_leave);
}

/* The attempt goes on the row, which is as it is to be, as evidence. */
static enum flow_next add_evidence(struct flow *flow, const struct receipt *next, const char *text)
{
    uint32_t expect = flow->row.receipt.version;
    bool falls_in_doubt =
        next->state == RECEIPT_UNKNOWN && flow->row.receipt.state != RECEIPT_UNKNOWN;
    const struct doubt_times times = {.now_ms = flow_now_ms(flow),
                                      .last_end_ms = flow->attempt.ended_ms};
    say_late(flow, text);
    receipts_take_doubt(&flow->row, next, flow->route, &times);
    if (falls_in_doubt) {
        flow->row.end = flow->attempt.end;
        flow->row.status = flow->attempt.status;
    }
    flow->stage = RECORD_MARKED;
    if (!receipts_add_attempt(flow) || !receipts_advance(flow, expect, false, false))
        return failed(flow);
    return FLOW_PARK;
}

static enum flow_next contradict(struct flow *flow, const char *text)
{
    const struct receipt_event event = {
        .kind = RECEIPT_EV_CONTRADICT, .now_ms = flow_now_ms(flow), .until_ms = until_ms(flow)};
    struct receipt next;
    flow->contradicts = true;
    if (receipt_step(&flow->row.receipt, &event, &next) != RECEIPT_MOVED)
        return moves_nothing(flow); /* a tombstone keeps no evidence */
    return add_evidence(flow, &next, text);
}

/* A report of an attempt that the row takes no outcome from. What it knows is not lost:
 * who is told "it ran" by one attempt must not free the key for what another one says. */
static enum flow_next keep_report(struct flow *flow)
{
    const struct receipt *receipt = &flow->row.receipt;
    bool is_own = receipt->token == flow->attempt.token || is_of_chain(flow);
    bool was_resent = (receipt->marks & RECEIPT_RESENT) != 0;
    bool is_settled =
        receipt->state == RECEIPT_COMPLETED && (receipt->marks & RECEIPT_SETTLED) != 0;
    if (flow->event == RECEIPT_EV_LOST || receipts_has_attempt(flow))
        return moves_nothing(flow);
    if (flow->event == RECEIPT_EV_ANSWERED && receipt->state == RECEIPT_EXPIRED)
        receipts_log_forgotten(flow);
    if (flow->event == RECEIPT_EV_ANSWERED && !is_own)
        return contradict(flow, "it came late, when the key had been claimed again");
    if (flow->event == RECEIPT_EV_ANSWERED && is_settled)
        return contradict(flow, "it came late, and callers had been told another answer");
    if (receipt->state != RECEIPT_COMPLETED || !is_own)
        return moves_nothing(flow);
    /* Somebody said that it ran, and the upstream that it did not; or a probe, or the answer
     * of another sending, was faster. */
    flow->contradicts = flow->event == RECEIPT_EV_REFUSED && !was_resent;
    const struct receipt next = receipt_mark(receipt, flow->contradicts ? RECEIPT_CONTRADICTED : 0);
    return add_evidence(flow, &next, "it came late, and changed nothing");
}

static enum flow_next apply(struct flow *flow)
{
    bool set_answer, set_request;
    uint32_t expect = flow->row.receipt.version;
    enum receipt_state from = flow->row.receipt.state;
    flow->marks_anew = (flow->row.receipt.marks & RECEIPT_CONTRADICTED) == 0;
    switch (step(flow, &set_answer, &set_request)) {
    case RECEIPT_MOVED:
        flow->stage = RECORD_ADVANCED;
        if (is_report(flow) && !again_decide(flow))
            return failed(flow);
        if (ends_an_attempt(flow) && !describe_end(flow, from, &set_answer, &set_request))
            return failed(flow);
        return receipts_advance(flow, expect, set_answer, set_request) ? FLOW_PARK : failed(flow);
    case RECEIPT_STALE:
    case RECEIPT_ILLEGAL:
        break;
    }
    return is_report(flow) ? keep_report(flow) : moves_nothing(flow);
}

static void count(struct flow *flow)
{
    struct board *board = worker_ports(flow->worker)->board;
    struct board_route *counts = board_route(board, flow->route);
    if (flow->event == RECEIPT_EV_LAPSED)
        atomic_fetch_add(&counts->ends[END_crashed], 1);
    if (flow->contradicts && flow->marks_anew)
        atomic_fetch_add(&counts->contradictions, 1);
    if (flow->settles)
        board_count_settled(board, flow->route, SETTLED_BY_LATE,
                            flow->event == RECEIPT_EV_ANSWERED ? VERDICT_EXECUTED
                                                               : VERDICT_NOT_EXECUTED);
}

static enum flow_next on_record(struct flow *flow)
{
    struct board *board = worker_ports(flow->worker)->board;
    enum receipt_state state = flow->row.receipt.state;
    count(flow);
    if (flow->ticket.held)
        board_leave(board, flow->route, flow->owner,
                    state == RECEIPT_UNKNOWN ? BOARD_UNKNOWN : BOARD_KNOWN, flow_now_ticks(flow),
                    &flow->ticket);
    if (!receipt_is_leased(state)) /* else whoever waits for its outcome goes on waiting */
        board_wake(board, &flow->row.identity);
    receipts_log_move(flow, flow->event);
    if (flow->contradicts)
        receipts_log_contradiction(flow);
    if (flow->stage == RECORD_MARKED)
        return moves_nothing(flow);
    if (can_go_on(flow) && again_is_wanted(flow)) {
        again_rest(flow, flow->retry.wait_ms);
        return FLOW_PARK;
    }
    return flow->source == FLOW_FROM_CLIENT ? outcome_of_own(flow) : flow_go(flow, FLOW_ROOM_leave);
}

/* The row of another operation may have the key by now: it is none of ours. */
static enum flow_next looked(struct flow *flow)
{
    const struct store_row *row = flow->op.out.rows;
    if (flow->op.out.status != GW_OK)
        return failed(flow);
    if (flow->op.out.found == STORE_HELD &&
        strcmp(row->operation_id, flow->row.operation_id) == 0) {
        flow->row = *row;
        return apply(flow);
    }
    if (is_report(flow) && flow->event == RECEIPT_EV_ANSWERED)
        receipts_log_forgotten(flow);
    return flow->source == FLOW_FROM_CLIENT ? outcome_not_recorded(flow)
                                            : flow_go(flow, FLOW_ROOM_leave);
}

enum flow_next room_record(struct flow *flow)
{
    if (flow->source == FLOW_FROM_PROBE)
        return probed_record(flow);
    switch ((enum record_stage)flow->stage) {
    case RECORD_ENTER:
        return flow->source == FLOW_FROM_LATE ? look(flow) : apply(flow);
    case RECORD_AGAIN:
        flow->turns = 0;
        return look(flow);
    case RECORD_LOOKED:
        return looked(flow);
    case RECORD_ADVANCED:
    case RECORD_MARKED:
        if (flow->op.out.status != GW_OK)
            return failed(flow);
        return flow->op.out.found == STORE_WON ? on_record(flow) : look(flow);
    }
    gw_assert(flow->stage <= RECORD_AGAIN);
    return failed(flow);
}
