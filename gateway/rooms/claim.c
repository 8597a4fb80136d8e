/* Room `claim`: take the receipt, or learn who has it. It asks the store, lets
 * admit() judge what is there, and does what the verdict says: run, now or later, wait,
 * or answer from the receipt. Nothing has left for the upstream when it is left. */
#include "gateway/prefer.h"
#include "gateway/receipts.h"
#include "gateway/rooms/accepted.h"
#include "gateway/rooms/again.h"
#include "gateway/rooms/claim_parts.h"
#include "gateway/rooms/due.h"
#include "gateway/rooms/outcome.h"
#include "gateway/rooms/waiting.h"
#include "gateway/worker.h"

/* false: a wake-up is on its way to this flow, and must arrive before it can end. */
static bool may_end(struct flow *flow)
{
    if (waiting_end(flow))
        return true;
    flow->stage = CLAIM_WAITING;
    return false;
}

enum flow_next claim_failed(struct flow *flow)
{
    if (!may_end(flow))
        return FLOW_PARK;
    receipts_log_failure(flow);
    /* The row that was seen may stand for an attempt that ran; the key of a free one may
     * be taken by now, and so may a key that had no row when it was looked up. */
    flow->no_new_key = flow->row.id != 0;
    flow->was_looked_up = flow->row.id != 0;
    board_leave(worker_ports(flow->worker)->board, flow->route, flow->owner, BOARD_NOT_RUN,
                flow_now_ticks(flow), &flow->ticket);
    return flow_refuse(flow, PROBLEM_STORE_UNAVAILABLE, SPAN(""));
}

enum flow_next claim_park(struct flow *flow, enum claim_stage stage, bool submitted)
{
    flow->stage = (uint8_t)stage;
    return submitted ? FLOW_PARK : claim_failed(flow);
}

enum admit_gate claim_gate(struct flow *flow)
{
    if (flow->ticket.held)
        return GATE_OPEN;
    /* What runs later takes no place now, and an open breaker may be closed by then. */
    if (flow->defers)
        return (board_held_by(worker_ports(flow->worker)->board, flow->route) &
                (HELD_BY_ROUTE | HELD_BY_UPSTREAM)) == 0
                   ? GATE_OPEN
                   : GATE_PAUSED;
    return board_enter(worker_ports(flow->worker)->board, flow->route, flow->owner,
                       flow_now_ticks(flow), &flow->ticket);
}

/* Claims if the gate is open; else only looks, so that repeats are still answered. */
static enum flow_next ask(struct flow *flow)
{
    if (claim_gate(flow) != GATE_OPEN)
        return claim_park(flow, CLAIM_ASKED, receipts_look_up(flow));
    if (!(flow->defers ? receipts_new_promise(flow) : receipts_new(flow)))
        return claim_failed(flow);
    flow->op.kind = STORE_CLAIM;
    flow->op.in.claim.row = &flow->row;
    flow->op.in.claim.load_answer = true;
    flow->op.in.claim.audit_count = 0;
    return claim_park(flow, CLAIM_ASKED, flow_submit(flow));
}

static enum flow_next claim_again(struct flow *flow)
{
    uint32_t expect = 0;
    if (receipts_claim_again(flow, &expect) != RECEIPT_MOVED)
        return claim_failed(flow);
    return claim_park(flow, CLAIM_RETAKEN, receipts_advance(flow, expect, true, true));
}

/* What comes after the time of a row is a new operation with an id of its own: the old
 * row goes, as the sweeper would have let it go, and the key is claimed anew. */
static enum flow_next forget_first(struct flow *flow)
{
    uint32_t expect = 0;
    if (receipts_forget(flow, &expect) != RECEIPT_MOVED)
        return claim_failed(flow);
    return claim_park(flow, CLAIM_FORGOTTEN, receipts_advance(flow, expect, true, true));
}

/* The verdict of an operator is about to be told: from now on it cannot be taken back. And
 * with whatever outcome is told first the window of a content key begins. */
static bool must_be_marked(const struct flow *flow, enum admit_verdict verdict)
{
    uint32_t marks = flow->row.receipt.marks;
    bool tells = verdict == ADMIT_REPLAY || verdict == ADMIT_UNAVAILABLE;
    bool matters = (marks & RECEIPT_SETTLED) != 0 || flow->route->key.from == KEY_FROM_CONTENT;
    return tells && matters && (marks & RECEIPT_CONSUMED) == 0;
}

static enum flow_next mark_consumed(struct flow *flow)
{
    uint32_t expect = flow->row.receipt.version;
    flow->row.receipt = receipt_mark(&flow->row.receipt, RECEIPT_CONSUMED);
    flow->row.updated_ms = flow_now_ms(flow);
    return claim_park(flow, CLAIM_CONSUMED, receipts_advance(flow, expect, false, false));
}

enum flow_next claim_answer(struct flow *flow, enum outcome outcome, enum problem problem)
{
    flow->outcome = outcome;
    if (problem == PROBLEM_NONE) {
        /* A slow reader holds the answer in memory until it has taken it. */
        if (!flow_hold(flow, flow->row.answer.len)) {
            flow->outcome = OUTCOME_NONE;
            flow->no_new_key = true;
            return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
        }
        flow->replays = true;
        return flow_go(flow, FLOW_ROOM_reply);
    }
    flow->no_new_key = outcome != OUTCOME_PAUSED && outcome != OUTCOME_NONE &&
                       outcome != OUTCOME_RELEASED && outcome != OUTCOME_EXHAUSTED;
    return flow_refuse(flow, problem, SPAN(""));
}

/* Others were faster again and again: one of them has the key now. */
static enum flow_next give_way(struct flow *flow)
{
    if (!may_end(flow))
        return FLOW_PARK;
    board_leave(worker_ports(flow->worker)->board, flow->route, flow->owner, BOARD_NOT_RUN,
                flow_now_ticks(flow), &flow->ticket);
    flow->retry_after_s = 1;
    return claim_answer(flow, OUTCOME_PENDING, PROBLEM_IN_PROGRESS);
}

enum flow_next claim_look_again(struct flow *flow)
{
    if (++flow->turns >= FLOW_TURNS_MAX)
        return give_way(flow);
    return claim_park(flow, CLAIM_ASKED, receipts_look_up(flow));
}

static enum flow_next ask_again(struct flow *flow)
{
    return ++flow->turns >= FLOW_TURNS_MAX ? give_way(flow) : ask(flow);
}

/* The holder died in an earlier life of the process: what was SENT is in doubt now. */
static enum flow_next put_lapse_on_record(struct flow *flow)
{
    const struct receipt_event event = {.kind = RECEIPT_EV_LAPSED,
                                        .now_ms = flow_now_ms(flow),
                                        .until_ms = flow_now_ms(flow) + flow->route->retention_ms,
                                        .lease_is_dead = flow->row.lease_is_dead};
    struct receipt next;
    uint32_t expect = flow->row.receipt.version;
    if (receipt_step(&flow->row.receipt, &event, &next) != RECEIPT_MOVED)
        return claim_look_again(flow);
    receipts_lost_attempt(flow);
    if (!receipts_add_attempt(flow))
        return claim_failed(flow);
    flow->row.receipt = next;
    flow->row.end = END_crashed;
    flow->row.updated_ms = flow_now_ms(flow);
    flow->row.probe_due_ms = receipts_probe_due_ms(flow);
    return claim_park(flow, CLAIM_LAPSED, receipts_advance(flow, expect, false, false));
}

static enum flow_next lapse_is_on_record(struct flow *flow)
{
    struct board *board = worker_ports(flow->worker)->board;
    if (flow->op.out.found == STORE_WON) {
        atomic_fetch_add(&board_route(board, flow->route)->ends[END_crashed], 1);
        board_wake(board, &flow->identity);
        receipts_log_move(flow, RECEIPT_EV_LAPSED);
    }
    return claim_look_again(flow);
}

static enum flow_next count_repeat(struct flow *flow)
{
    flow->op.kind = STORE_TOUCH;
    flow->op.in.touch.id = flow->row.id;
    flow->op.in.touch.now_ms = flow_now_ms(flow);
    flow->stage = CLAIM_TOUCHED;
    if (flow_submit(flow))
        return FLOW_PARK;
    /* A repeat that cannot be counted is answered all the same. */
    return claim_answer(flow, OUTCOME_UNKNOWN, PROBLEM_OUTCOME_UNKNOWN);
}

static enum flow_next wait_or_tell(struct flow *flow)
{
    switch (waiting_begin(flow)) {
    case WAITING_LOOK:
        return claim_park(flow, CLAIM_ASKED, receipts_look_up(flow));
    case WAITING_PARKED:
        flow->stage = CLAIM_WAITING;
        return FLOW_PARK;
    case WAITING_NO:
        break;
    }
    flow->retry_after_s = 1;
    return claim_answer(flow, OUTCOME_PENDING, PROBLEM_IN_PROGRESS);
}

/* What the attempts so far say to another one. */
static void judge_attempts(struct flow *flow, struct admit_facts *facts)
{
    const struct store_row *row = &flow->row;
    const struct retry_budget budget = receipts_budget(row);
    const uint32_t settled = RECEIPT_CONTRADICTED | RECEIPT_CANCEL_REQUESTED;
    facts->budget = retry_ask(&flow->route->retry, &budget, facts->now_ms).gate;
    if (row->receipt.state == RECEIPT_UNKNOWN && (row->receipt.marks & settled) == 0 &&
        facts->budget == RETRY_OPEN)
        facts->may_resend =
            retry_may_resend(flow->route, receipts_first_sent_ms(flow->arena, row),
                             facts->now_ms + store_skew_ms(worker_ports(flow->worker)->store));
}

static enum admit_verdict judge(struct flow *flow, bool is_there)
{
    const struct store_row *row = &flow->row;
    struct admit_facts facts = {.print = &flow->print,
                                .gate = claim_gate(flow),
                                .defers = flow->defers,
                                .now_ms = flow_now_ms(flow)};
    if (is_there) {
        facts.seen = &row->receipt;
        facts.seen_print = &row->print;
        facts.same_mode = span_equal(row->print_mode, flow->route->fingerprint.mode_text);
        facts.lease_is_dead = row_lease_is_over(row, facts.now_ms);
        facts.answer_kept = row->answer_kept;
        facts.updated_ms = row->updated_ms;
        judge_attempts(flow, &facts);
    }
    return admit(flow->route, &facts);
}

/* Free, but not yet. */
static enum flow_next tell_later(struct flow *flow, enum outcome outcome, enum problem problem)
{
    const struct retry_budget budget = receipts_budget(&flow->row);
    flow->retry_after_s =
        outcome_seconds(retry_ask(&flow->route->retry, &budget, flow_now_ms(flow)).wait_ms);
    return claim_answer(flow, outcome, problem);
}

static enum flow_next tell(struct flow *flow, enum admit_verdict verdict)
{
    switch (verdict) {
    case ADMIT_LATER:
        return tell_later(flow, OUTCOME_RELEASED, PROBLEM_RETRY_LATER);
    case ADMIT_EXHAUSTED:
        return tell_later(flow, OUTCOME_EXHAUSTED, PROBLEM_EXHAUSTED);
    case ADMIT_REPLAY:
        return claim_answer(flow, OUTCOME_REPLAYED, PROBLEM_NONE);
    case ADMIT_UNAVAILABLE:
        return claim_answer(flow, OUTCOME_REPLAYED, PROBLEM_RESULT_UNAVAILABLE);
    case ADMIT_DEFERRED:
        return accepted(flow, OUTCOME_DEFERRED);
    case ADMIT_MISMATCH:
        return claim_answer(flow, OUTCOME_MISMATCH, PROBLEM_KEY_REUSED);
    case ADMIT_MODE:
        return claim_answer(flow, OUTCOME_MISMATCH, PROBLEM_COMPARISON_CHANGED);
    case ADMIT_CANCELLED:
        return claim_answer(flow, OUTCOME_CANCELLED, PROBLEM_CANCELLED);
    case ADMIT_ABANDONED:
        return claim_answer(flow, OUTCOME_ABANDONED, PROBLEM_ABANDONED);
    case ADMIT_EXPIRED:
        return claim_answer(flow, OUTCOME_EXPIRED, PROBLEM_RESULT_EXPIRED);
    case ADMIT_PAUSED:
        flow->retry_after_s = board_retry_seconds(worker_ports(flow->worker)->board, flow->route,
                                                  flow_now_ticks(flow));
        return claim_answer(flow, OUTCOME_PAUSED, PROBLEM_PAUSED);
    case ADMIT_FULL:
        flow->retry_after_s = 1;
        return claim_answer(flow, OUTCOME_NONE, PROBLEM_OVERLOADED);
    case ADMIT_UNKNOWN:
        return count_repeat(flow);
    case ADMIT_RUN:
    case ADMIT_RERUN:
    case ADMIT_RENEW:
    case ADMIT_NEXT:
    case ADMIT_DEFER:
    case ADMIT_NEAR:
    case ADMIT_RESEND:
    case ADMIT_WAIT:
    case ADMIT_LAPSED:
    case ADMIT_VERDICT_COUNT:
        break;
    }
    gw_assert(verdict < ADMIT_VERDICT_COUNT);
    return claim_failed(flow);
}

/* Does it take a place in flight, or a row? */
static bool begins(enum admit_verdict verdict)
{
    return verdict == ADMIT_RUN || verdict == ADMIT_RERUN || verdict == ADMIT_RENEW ||
           verdict == ADMIT_NEXT || verdict == ADMIT_DEFER || verdict == ADMIT_NEAR ||
           verdict == ADMIT_RESEND;
}

/* May it be that somebody else is about to run it, so that a woken one stands back? */
static bool may_stand_back(enum admit_verdict verdict)
{
    return verdict == ADMIT_WAIT || verdict == ADMIT_RERUN || verdict == ADMIT_NEAR;
}

static enum flow_next begin(struct flow *flow, enum admit_verdict verdict, bool is_there)
{
    if (flow->route->local != NULL)
        return give_way(flow); /* the room before this one runs it, when it is asked again */
    again_begin(flow);
    if (verdict == ADMIT_RUN || (verdict == ADMIT_DEFER && !is_there))
        return ask_again(flow);
    if (verdict == ADMIT_DEFER)
        return next_promise(flow);
    if (verdict == ADMIT_RENEW)
        return forget_first(flow);
    if (verdict == ADMIT_NEXT) /* and then as if there were none */
        return claim_park(flow, CLAIM_FORGOTTEN, receipts_set_aside(flow));
    if (verdict == ADMIT_NEAR)
        return next_claim_ahead(flow);
    return verdict == ADMIT_RESEND ? next_resend(flow) : claim_again(flow);
}

/* Promised, and its runs are under way: that is its state. */
static bool is_promised(const struct flow *flow)
{
    return (flow->row.receipt.marks & RECEIPT_PROMISED) != 0 && flow->may_defer;
}

static enum flow_next act(struct flow *flow, bool is_there)
{
    enum admit_verdict verdict = judge(flow, is_there);
    bool runs = begins(verdict);
    if (verdict != ADMIT_WAIT && !may_end(flow))
        return FLOW_PARK;
    if (runs && flow->only_reads)
        return claim_failed(flow);
    bool stands_back = may_stand_back(verdict) && waiting_stands_back(flow);
    if (!runs || stands_back)
        board_leave(worker_ports(flow->worker)->board, flow->route, flow->owner, BOARD_NOT_RUN,
                    flow_now_ticks(flow), &flow->ticket);
    if (stands_back) {
        flow->stage = CLAIM_WAITING;
        return FLOW_PARK;
    }
    if (verdict == ADMIT_LAPSED)
        return put_lapse_on_record(flow);
    if (must_be_marked(flow, verdict))
        return mark_consumed(flow);
    if (verdict == ADMIT_WAIT && is_promised(flow) && may_end(flow))
        return accepted(flow, OUTCOME_PENDING);
    if (verdict == ADMIT_WAIT)
        return wait_or_tell(flow);
    return runs ? begin(flow, verdict, is_there) : tell(flow, verdict);
}

/* What this flow has waited for may have been set aside, since the other caller has its
 * answer: it is this one's answer, too. */
static bool was_waited_for(const struct flow *flow)
{
    return flow->op.kind == STORE_LOOKUP && flow->waiting != NULL &&
           flow->route->key.from == KEY_FROM_CONTENT && flow->row.operation_id[0] != '\0';
}

static enum flow_next look_aside(struct flow *flow)
{
    flow->op.kind = STORE_FIND;
    flow->op.in.find.operation_id = span_str(flow->row.operation_id);
    flow->op.in.find.load = LOAD_ANSWER;
    return claim_park(flow, CLAIM_ASKED, flow_submit(flow));
}

static enum flow_next asked(struct flow *flow)
{
    if (flow->op.out.status != GW_OK) {
        if (flow->op.kind != STORE_CLAIM)
            return claim_failed(flow);
        /* A store that cannot be written may still be read: repeats get their answers. */
        flow->only_reads = true;
        return claim_park(flow, CLAIM_ASKED, receipts_look_up(flow));
    }
    flow->was_looked_up = true;
    switch (flow->op.out.found) {
    case STORE_WON:
        flow->row.id = flow->op.out.rows[0].id;
        return flow->row.receipt.state == RECEIPT_DEFERRED ? accepted(flow, OUTCOME_DEFERRED)
                                                           : flow_go(flow, FLOW_ROOM_forward);
    case STORE_HELD:
        flow->row = flow->op.out.rows[0];
        return act(flow, true);
    case STORE_NONE:
        return was_waited_for(flow) ? look_aside(flow) : act(flow, false);
    case STORE_STALE:
    case STORE_PAGE:
    case STORE_REFUSED:
        break;
    }
    gw_assert(flow->op.out.found == STORE_NONE);
    return claim_failed(flow);
}

/* Does the route accept for later, and does this caller agree? With a wait of his own he
 * wants a first attempt before that. */
static void read_preference(struct flow *flow)
{
    struct prefer prefer;
    prefer_read(flow->head, &prefer);
    enum defer_when when = flow->route->defer.when;
    flow->may_defer = when == DEFER_ALWAYS || (when == DEFER_PREFER && prefer.respond_async);
    flow->defers = flow->may_defer && !(prefer.has_wait && prefer.wait_s > 0);
}

static enum flow_next enter(struct flow *flow)
{
    if (flow->goes_on)
        return next_go_on(flow);
    if (flow->route->local != NULL) /* it has looked: what is there is only judged here */
        return act(flow, flow->row.id != 0);
    if (flow->route->defer.when != DEFER_NEVER)
        read_preference(flow);
    return ask(flow);
}

enum flow_next room_claim(struct flow *flow)
{
    if (flow->source == FLOW_FROM_DEFERRED)
        return due_claim(flow);
    switch ((enum claim_stage)flow->stage) {
    case CLAIM_ENTER:
        /* A key or a fingerprint that was put together without memory is another one. */
        if (arena_has_failed(flow->arena))
            return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
        return enter(flow);
    case CLAIM_ASKED:
        return asked(flow);
    case CLAIM_RETAKEN:
        if (flow->op.out.status != GW_OK)
            return claim_failed(flow);
        return flow->op.out.found == STORE_WON ? flow_go(flow, FLOW_ROOM_forward)
                                               : claim_look_again(flow);
    case CLAIM_FORGOTTEN:
        return flow->op.out.status == GW_OK ? ask_again(flow) : claim_failed(flow);
    case CLAIM_LAPSED:
        return flow->op.out.status == GW_OK ? lapse_is_on_record(flow) : claim_failed(flow);
    case CLAIM_CONSUMED:
        return flow->op.out.status == GW_OK ? claim_look_again(flow) : claim_failed(flow);
    case CLAIM_TOUCHED:
        return claim_answer(flow, OUTCOME_UNKNOWN, PROBLEM_OUTCOME_UNKNOWN);
    case CLAIM_WAITING:
        flow->turns = 0; /* a round of waiting is no race: its time bounds it */
        return claim_park(flow, CLAIM_ASKED, receipts_look_up(flow));
    case CLAIM_PROMISED:
        return next_was_promised(flow);
    case CLAIM_AHEAD:
        return next_is_claimed_ahead(flow);
    case CLAIM_GONE_ON:
        return next_went_on(flow);
    case CLAIM_GIVEN_BACK:
        return next_was_given_back(flow);
    }
    gw_assert(flow->stage <= CLAIM_GIVEN_BACK);
    return claim_failed(flow);
}
