/* Room `claim`: take the receipt, or learn who has it. It asks the store, lets
 * admit() judge what is there, and does what the verdict says: run, wait, or answer
 * from the receipt. Nothing has left for the upstream when it is left. */
#include "gateway/receipts.h"
#include "gateway/rooms/waiting.h"
#include "gateway/worker.h"

enum claim_stage {
    CLAIM_ENTER,
    CLAIM_ASKED,     /* the claim or the look-up came back */
    CLAIM_RETAKEN,   /* a released row was claimed again */
    CLAIM_FORGOTTEN, /* a row whose time is over was removed */
    CLAIM_LAPSED,    /* a dead lease was put on record */
    CLAIM_CONSUMED,  /* an operator's verdict was marked as told */
    CLAIM_TOUCHED,   /* a repeat of an unknown was counted */
    CLAIM_WAITING,   /* for the first call, or standing back after it was refused */
};

/* false: a wake-up is on its way to this flow, and must arrive before it can end. */
static bool may_end(struct flow *flow)
{
    if (waiting_end(flow))
        return true;
    flow->stage = CLAIM_WAITING;
    return false;
}

static enum flow_next store_failed(struct flow *flow)
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

static enum flow_next park_at(struct flow *flow, enum claim_stage stage, bool submitted)
{
    flow->stage = (uint8_t)stage;
    return submitted ? FLOW_PARK : store_failed(flow);
}

static enum admit_gate gate_of(struct flow *flow)
{
    if (flow->ticket.held)
        return GATE_OPEN;
    return board_enter(worker_ports(flow->worker)->board, flow->route, flow->owner,
                       flow_now_ticks(flow), &flow->ticket);
}

/* Claims if the gate is open; else only looks, so that repeats are still answered. */
static enum flow_next ask(struct flow *flow)
{
    if (gate_of(flow) != GATE_OPEN)
        return park_at(flow, CLAIM_ASKED, receipts_look_up(flow));
    if (!receipts_new(flow))
        return store_failed(flow);
    flow->op.kind = STORE_CLAIM;
    flow->op.in.claim.row = &flow->row;
    flow->op.in.claim.load_answer = true;
    return park_at(flow, CLAIM_ASKED, flow_submit(flow));
}

static enum flow_next claim_again(struct flow *flow)
{
    uint32_t expect = 0;
    if (receipts_claim_again(flow, &expect) != RECEIPT_MOVED)
        return store_failed(flow);
    return park_at(flow, CLAIM_RETAKEN, receipts_advance(flow, expect, true, true));
}

/* What comes after the time of a row is a new operation with an id of its own: the old
 * row goes, as the sweeper would have let it go, and the key is claimed anew. */
static enum flow_next forget_first(struct flow *flow)
{
    uint32_t expect = 0;
    if (receipts_forget(flow, &expect) != RECEIPT_MOVED)
        return store_failed(flow);
    return park_at(flow, CLAIM_FORGOTTEN, receipts_advance(flow, expect, true, true));
}

/* The verdict of an operator is about to be told: from now on it cannot be taken back. */
static bool must_be_marked(const struct flow *flow, enum admit_verdict verdict)
{
    uint32_t marks = flow->row.receipt.marks;
    bool tells = verdict == ADMIT_REPLAY || verdict == ADMIT_UNAVAILABLE;
    return tells && (marks & RECEIPT_SETTLED) != 0 && (marks & RECEIPT_CONSUMED) == 0;
}

static enum flow_next mark_consumed(struct flow *flow)
{
    uint32_t expect = flow->row.receipt.version;
    flow->row.receipt = receipt_mark(&flow->row.receipt, RECEIPT_CONSUMED);
    flow->row.updated_ms = flow_now_ms(flow);
    return park_at(flow, CLAIM_CONSUMED, receipts_advance(flow, expect, false, false));
}

static enum flow_next answer_with(struct flow *flow, enum outcome outcome, enum problem problem)
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
    flow->no_new_key = outcome != OUTCOME_PAUSED && outcome != OUTCOME_NONE;
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
    return answer_with(flow, OUTCOME_PENDING, PROBLEM_IN_PROGRESS);
}

static enum flow_next look_again(struct flow *flow)
{
    if (++flow->turns >= FLOW_TURNS_MAX)
        return give_way(flow);
    return park_at(flow, CLAIM_ASKED, receipts_look_up(flow));
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
        return look_again(flow);
    receipts_lost_attempt(flow);
    if (!receipts_add_attempt(flow))
        return store_failed(flow);
    flow->row.receipt = next;
    flow->row.end = END_crashed;
    flow->row.updated_ms = flow_now_ms(flow);
    flow->row.probe_due_ms = receipts_probe_due_ms(flow);
    return park_at(flow, CLAIM_LAPSED, receipts_advance(flow, expect, false, false));
}

static enum flow_next lapse_is_on_record(struct flow *flow)
{
    struct board *board = worker_ports(flow->worker)->board;
    if (flow->op.out.found == STORE_WON) {
        atomic_fetch_add(&board_route(board, flow->route)->ends[END_crashed], 1);
        board_wake(board, &flow->identity);
        receipts_log_move(flow, RECEIPT_EV_LAPSED);
    }
    return look_again(flow);
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
    return answer_with(flow, OUTCOME_UNKNOWN, PROBLEM_OUTCOME_UNKNOWN);
}

static enum flow_next wait_or_tell(struct flow *flow)
{
    switch (waiting_begin(flow)) {
    case WAITING_LOOK:
        return park_at(flow, CLAIM_ASKED, receipts_look_up(flow));
    case WAITING_PARKED:
        flow->stage = CLAIM_WAITING;
        return FLOW_PARK;
    case WAITING_NO:
        break;
    }
    flow->retry_after_s = 1;
    return answer_with(flow, OUTCOME_PENDING, PROBLEM_IN_PROGRESS);
}

static enum admit_verdict judge(struct flow *flow, bool is_there)
{
    const struct store_row *row = &flow->row;
    struct admit_facts facts = {
        .print = &flow->print, .gate = gate_of(flow), .now_ms = flow_now_ms(flow)};
    if (is_there) {
        facts.seen = &row->receipt;
        facts.seen_print = &row->print;
        facts.same_mode = span_equal(row->print_mode, flow->route->fingerprint.mode_text);
        facts.lease_is_dead = row->lease_is_dead || (receipt_is_leased(row->receipt.state) &&
                                                     row->receipt.lease_until_ms <= facts.now_ms);
        facts.answer_kept = row->answer_kept;
    }
    return admit(flow->route, &facts);
}

static enum flow_next tell(struct flow *flow, enum admit_verdict verdict)
{
    switch (verdict) {
    case ADMIT_REPLAY:
        return answer_with(flow, OUTCOME_REPLAYED, PROBLEM_NONE);
    case ADMIT_UNAVAILABLE:
        return answer_with(flow, OUTCOME_REPLAYED, PROBLEM_RESULT_UNAVAILABLE);
    case ADMIT_DEFERRED:
        return answer_with(flow, OUTCOME_DEFERRED, PROBLEM_DEFERRED);
    case ADMIT_MISMATCH:
        return answer_with(flow, OUTCOME_MISMATCH, PROBLEM_KEY_REUSED);
    case ADMIT_MODE:
        return answer_with(flow, OUTCOME_MISMATCH, PROBLEM_COMPARISON_CHANGED);
    case ADMIT_CANCELLED:
        return answer_with(flow, OUTCOME_CANCELLED, PROBLEM_CANCELLED);
    case ADMIT_ABANDONED:
        return answer_with(flow, OUTCOME_ABANDONED, PROBLEM_ABANDONED);
    case ADMIT_EXPIRED:
        return answer_with(flow, OUTCOME_EXPIRED, PROBLEM_RESULT_EXPIRED);
    case ADMIT_PAUSED:
        flow->retry_after_s = board_retry_seconds(worker_ports(flow->worker)->board, flow->route,
                                                  flow_now_ticks(flow));
        return answer_with(flow, OUTCOME_PAUSED, PROBLEM_PAUSED);
    case ADMIT_FULL:
        flow->retry_after_s = 1;
        return answer_with(flow, OUTCOME_NONE, PROBLEM_OVERLOADED);
    case ADMIT_UNKNOWN:
        return count_repeat(flow);
    case ADMIT_RUN:
    case ADMIT_RERUN:
    case ADMIT_RENEW:
    case ADMIT_WAIT:
    case ADMIT_LAPSED:
    case ADMIT_VERDICT_COUNT:
        break;
    }
    gw_assert(verdict < ADMIT_VERDICT_COUNT);
    return store_failed(flow);
}

static enum flow_next act(struct flow *flow, bool is_there)
{
    enum admit_verdict verdict = judge(flow, is_there);
    bool runs = verdict == ADMIT_RUN || verdict == ADMIT_RERUN || verdict == ADMIT_RENEW;
    if (verdict != ADMIT_WAIT && !may_end(flow))
        return FLOW_PARK;
    if (runs && flow->only_reads)
        return store_failed(flow);
    bool stands_back =
        (verdict == ADMIT_WAIT || verdict == ADMIT_RERUN) && waiting_stands_back(flow);
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
    if (verdict == ADMIT_WAIT)
        return wait_or_tell(flow);
    if (verdict == ADMIT_RUN)
        return ask_again(flow);
    if (verdict == ADMIT_RENEW)
        return forget_first(flow);
    return runs ? claim_again(flow) : tell(flow, verdict);
}

static enum flow_next asked(struct flow *flow)
{
    if (flow->op.out.status != GW_OK) {
        if (flow->op.kind != STORE_CLAIM)
            return store_failed(flow);
        /* A store that cannot be written may still be read: repeats get their answers. */
        flow->only_reads = true;
        return park_at(flow, CLAIM_ASKED, receipts_look_up(flow));
    }
    flow->was_looked_up = true;
    switch (flow->op.out.found) {
    case STORE_WON:
        flow->row.id = flow->op.out.rows[0].id;
        return flow_go(flow, FLOW_ROOM_forward);
    case STORE_HELD:
        flow->row = flow->op.out.rows[0];
        return act(flow, true);
    case STORE_NONE:
        return act(flow, false);
    case STORE_STALE:
    case STORE_PAGE:
        break;
    }
    gw_assert(flow->op.out.found == STORE_NONE);
    return store_failed(flow);
}

enum flow_next room_claim(struct flow *flow)
{
    switch ((enum claim_stage)flow->stage) {
    case CLAIM_ENTER:
        /* A key or a fingerprint that was put together without memory is another one. */
        if (arena_has_failed(flow->arena))
            return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
        return ask(flow);
    case CLAIM_ASKED:
        return asked(flow);
    case CLAIM_RETAKEN:
        if (flow->op.out.status != GW_OK)
            return store_failed(flow);
        return flow->op.out.found == STORE_WON ? flow_go(flow, FLOW_ROOM_forward)
                                               : look_again(flow);
    case CLAIM_FORGOTTEN:
        return flow->op.out.status == GW_OK ? ask_again(flow) : store_failed(flow);
    case CLAIM_LAPSED:
        return flow->op.out.status == GW_OK ? lapse_is_on_record(flow) : store_failed(flow);
    case CLAIM_CONSUMED:
        return flow->op.out.status == GW_OK ? look_again(flow) : store_failed(flow);
    case CLAIM_TOUCHED:
        return answer_with(flow, OUTCOME_UNKNOWN, PROBLEM_OUTCOME_UNKNOWN);
    case CLAIM_WAITING:
        flow->turns = 0; /* a round of waiting is no race: its time bounds it */
        return park_at(flow, CLAIM_ASKED, receipts_look_up(flow));
    }
    gw_assert(flow->stage <= CLAIM_WAITING);
    return store_failed(flow);
}
