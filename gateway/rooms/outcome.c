/* Chooses the reply of a caller whose attempt has ended. The upstream's own answer
 * is passed on wherever there is one; Recibo speaks only where there is none. */
#include "gateway/rooms/outcome.h"
#include "gateway/rooms/accepted.h"

static enum problem problem_of_end(const struct flow *flow)
{
    switch (end_group(flow->facts.end)) {
    case END_GROUP_NOT_SENT:
        return PROBLEM_UNREACHABLE;
    case END_GROUP_ANSWERED:
        return PROBLEM_NONE;
    case END_GROUP_UNCLEAR:
        break;
    }
    bool in_time = flow->facts.end == END_closed_no_answer ||
                   flow->facts.end == END_reset_no_answer || flow->facts.end == END_cut_answer ||
                   flow->facts.end == END_bad_answer || flow->facts.end == END_answer_too_large;
    return in_time ? PROBLEM_BAD_RESPONSE : PROBLEM_UPSTREAM_TIMEOUT;
}

static enum flow_next tell(struct flow *flow, enum outcome outcome)
{
    bool passes_on = flow->answer.head != NULL;
    flow->outcome = outcome;
    flow->was_looked_up = true;
    if (passes_on)
        return flow_go(flow, FLOW_ROOM_reply);
    enum problem problem = problem_of_end(flow);
    /* A proof that nothing was sent, whatever the end is called. */
    if (flow->event == RECEIPT_EV_REFUSED || problem == PROBLEM_NONE)
        problem = PROBLEM_UNREACHABLE;
    if (problem == PROBLEM_UNREACHABLE)
        flow->retry_after_s = 1;
    return flow_refuse(flow, problem, SPAN(""));
}

/* Free, and policy has said when it may be tried next: that is Recibo's to tell, whatever
 * the upstream has answered. */
static enum flow_next tell_free(struct flow *flow)
{
    bool is_spent = flow->retry.next == RETRY_EXHAUSTED;
    if (!is_spent && flow->retry.next != RETRY_RELEASE)
        return tell(flow, OUTCOME_RELEASED);
    flow->was_looked_up = true;
    flow->outcome = is_spent ? OUTCOME_EXHAUSTED : OUTCOME_RELEASED;
    flow->retry_after_s = outcome_seconds(flow->retry.at_ms - flow_now_ms(flow));
    return flow_refuse(flow, is_spent ? PROBLEM_EXHAUSTED : PROBLEM_RETRY_LATER, SPAN(""));
}

uint32_t outcome_seconds(int64_t ms)
{
    int64_t seconds = (ms + 999) / 1000;
    return seconds < 1 ? 1 : seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
}

enum flow_next outcome_of_own(struct flow *flow)
{
    switch (flow->row.receipt.state) {
    case RECEIPT_COMPLETED:
        return tell(flow, OUTCOME_EXECUTED);
    case RECEIPT_RELEASED:
        return tell_free(flow);
    case RECEIPT_CANCELLED:
        flow->no_new_key = true;
        flow->was_looked_up = true;
        flow->outcome = OUTCOME_CANCELLED;
        return flow_refuse(flow, PROBLEM_CANCELLED, SPAN(""));
    case RECEIPT_DEFERRED:
        return accepted(flow, OUTCOME_DEFERRED);
    case RECEIPT_UNKNOWN:
    case RECEIPT_ABSENT:
    case RECEIPT_CLAIMED:
    case RECEIPT_SENT:
    case RECEIPT_ABANDONED:
    case RECEIPT_EXPIRED:
    case RECEIPT_STATE_COUNT:
        break;
    }
    flow->no_new_key = true;
    if (flow->event == RECEIPT_EV_REFUSED && flow->answer.head == NULL) {
        /* That attempt did not run; the one before it is still in doubt. */
        flow->was_looked_up = true;
        flow->outcome = OUTCOME_UNKNOWN;
        return flow_refuse(flow, PROBLEM_OUTCOME_UNKNOWN, SPAN(""));
    }
    return tell(flow, OUTCOME_UNKNOWN);
}

enum flow_next outcome_of_other(struct flow *flow)
{
    flow->no_new_key = true;
    flow->was_looked_up = true;
    /* A verdict that nobody has been told yet is told by the next repeat, which marks it. */
    uint32_t told = flow->row.receipt.marks & (RECEIPT_SETTLED | RECEIPT_CONSUMED);
    if (flow->row.receipt.state == RECEIPT_COMPLETED && flow->row.answer_kept &&
        flow->row.answer.len > 0 && told != RECEIPT_SETTLED) {
        flow->outcome = OUTCOME_REPLAYED;
        flow->replays = true;
        return flow_go(flow, FLOW_ROOM_reply);
    }
    flow->outcome = OUTCOME_UNKNOWN;
    return flow_refuse(flow, PROBLEM_OUTCOME_UNKNOWN, SPAN(""));
}

enum flow_next outcome_not_recorded(struct flow *flow)
{
    flow->no_new_key = true;
    flow->outcome = OUTCOME_UNKNOWN;
    return flow_refuse(flow, PROBLEM_OUTCOME_UNKNOWN,
                       SPAN("The request was sent, and its outcome could not be put on record. Do "
                            "not send it under a new key. Sending it again with the same key is "
                            "safe: it is not passed on again."));
}
