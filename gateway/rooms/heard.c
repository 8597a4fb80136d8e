/* Looks whether an answer has reached its caller. It must never take one for delivered
 * that was not: the caller would ask again, and it would run twice. */
#include "gateway/rooms/heard.h"
#include "gateway/receipts.h"
#include "gateway/worker.h"

/* The outcome of the operation, and not a word about another one's state. */
static bool tells_outcome(const struct flow *flow)
{
    bool is_outcome = flow->outcome == OUTCOME_EXECUTED || flow->outcome == OUTCOME_REPLAYED ||
                      flow->outcome == OUTCOME_LOCAL;
    return is_outcome &&
           (flow->problem == PROBLEM_NONE || flow->problem == PROBLEM_RESULT_UNAVAILABLE);
}

bool heard_matters(const struct flow *flow)
{
    const struct receipt *receipt = &flow->row.receipt;
    return flow->route != NULL && flow->route->key.from == KEY_FROM_CONTENT &&
           flow->route->key.only_undelivered && flow->row.id != 0 &&
           receipt->state == RECEIPT_COMPLETED && (receipt->marks & RECEIPT_CONSUMED) != 0 &&
           tells_outcome(flow) && flow->client_ops->listens(flow->client);
}

static void look_again(struct flow *flow)
{
    flow_resume(flow);
}

bool heard_waits(struct flow *flow)
{
    bool is_in_doubt = !flow->client_gone && !flow->client_ops->has_all(flow->client);
    return is_in_doubt && ++flow->looks < HEARD_LOOKS_MAX &&
           worker_timer_start(flow, HEARD_LOOK_MS, look_again);
}

bool heard_frees(struct flow *flow)
{
    return !flow->client_gone && flow->client_ops->has_all(flow->client) &&
           receipts_set_aside(flow);
}
