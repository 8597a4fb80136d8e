/* The attempts after the first: a free row that is held back is claimed ahead, one that
 * was accepted for later is promised, one in doubt is sent again where the upstream
 * deduplicates, and the next attempt of a row that is ours goes on. Nothing has left for
 * the upstream when the room is left. */
#include "gateway/receipts.h"
#include "gateway/rooms/accepted.h"
#include "gateway/rooms/again.h"
#include "gateway/rooms/claim_parts.h"
#include "gateway/rooms/outcome.h"
#include "gateway/worker.h"

/* The row is free, and held back for a little longer: claimed now, sent then. */
enum flow_next next_claim_ahead(struct flow *flow)
{
    uint32_t expect = 0;
    const struct retry_budget budget = receipts_budget(&flow->row);
    const struct retry_pass pass = retry_ask(&flow->route->retry, &budget, flow_now_ms(flow));
    flow->retry = (struct retry_verdict){.next = RETRY_WAIT, .wait_ms = pass.wait_ms};
    if (!again_reserve(flow) ||
        receipts_claim_for_later(flow, pass.wait_ms, &expect) != RECEIPT_MOVED)
        return claim_failed(flow);
    return claim_park(flow, CLAIM_AHEAD, receipts_advance(flow, expect, true, true));
}

enum flow_next next_promise(struct flow *flow)
{
    uint32_t expect = 0;
    if (receipts_promise_again(flow, &expect) != RECEIPT_MOVED)
        return claim_failed(flow);
    return claim_park(flow, CLAIM_PROMISED, receipts_advance(flow, expect, true, true));
}

enum flow_next next_resend(struct flow *flow)
{
    uint32_t expect = 0;
    if (receipts_resend(flow, &expect) != RECEIPT_MOVED)
        return claim_failed(flow);
    return claim_park(flow, CLAIM_GONE_ON, receipts_advance(flow, expect, false, false));
}

/* ---- the next attempt of a row that is ours ---- */

/* The gate is shut, or the process stops: the row is free again, and says so. */
static enum flow_next give_back(struct flow *flow)
{
    uint32_t expect = 0;
    if (receipts_give_back(flow, &expect) != RECEIPT_MOVED)
        return claim_look_again(flow);
    return claim_park(flow, CLAIM_GIVEN_BACK, receipts_advance(flow, expect, false, true));
}

enum flow_next next_go_on(struct flow *flow)
{
    bool in_doubt = flow->row.receipt.state == RECEIPT_UNKNOWN;
    uint32_t expect = 0;
    flow->goes_on = false;
    if (worker_is_draining(flow->worker) || claim_gate(flow) != GATE_OPEN)
        return in_doubt ? outcome_of_own(flow) : give_back(flow);
    again_begin(flow);
    if (in_doubt)
        return next_resend(flow);
    if (receipts_go_on(flow, &expect) != RECEIPT_MOVED)
        return claim_failed(flow);
    return claim_park(flow, CLAIM_GONE_ON, receipts_advance(flow, expect, false, false));
}

/* Somebody was faster, by a cancel or a late answer: his is the row now. */
enum flow_next next_went_on(struct flow *flow)
{
    if (flow->op.out.status != GW_OK)
        return claim_failed(flow);
    if (flow->op.out.found == STORE_WON)
        return flow_go(flow, FLOW_ROOM_forward);
    flow->attempt = (struct attempt_record){0};
    return claim_look_again(flow);
}

enum flow_next next_was_given_back(struct flow *flow)
{
    struct board *board = worker_ports(flow->worker)->board;
    if (flow->op.out.status != GW_OK)
        return claim_failed(flow);
    if (flow->op.out.found != STORE_WON)
        return claim_look_again(flow);
    board_wake(board, &flow->identity);
    receipts_log_move(flow, RECEIPT_EV_REFUSED);
    flow->retry_after_s = board_retry_seconds(board, flow->route, flow_now_ticks(flow));
    if (flow->row.receipt.state != RECEIPT_RELEASED)
        return outcome_of_own(flow);
    if (worker_is_draining(flow->worker))
        return claim_answer(flow, OUTCOME_RELEASED, PROBLEM_SHUTTING_DOWN);
    bool is_paused = board_held_by(board, flow->route) != 0;
    return is_paused ? claim_answer(flow, OUTCOME_PAUSED, PROBLEM_PAUSED)
                     : claim_answer(flow, OUTCOME_RELEASED, PROBLEM_OVERLOADED);
}

enum flow_next next_is_claimed_ahead(struct flow *flow)
{
    if (flow->op.out.status != GW_OK)
        return claim_failed(flow);
    if (flow->op.out.found != STORE_WON)
        return claim_look_again(flow);
    board_leave(worker_ports(flow->worker)->board, flow->route, flow->owner, BOARD_NOT_RUN,
                flow_now_ticks(flow), &flow->ticket);
    again_rest(flow, flow->retry.wait_ms);
    return FLOW_PARK;
}

enum flow_next next_was_promised(struct flow *flow)
{
    if (flow->op.out.status != GW_OK)
        return claim_failed(flow);
    return flow->op.out.found == STORE_WON ? accepted(flow, OUTCOME_DEFERRED)
                                           : claim_look_again(flow);
}
