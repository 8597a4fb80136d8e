/* Lets policy say what follows an attempt, and waits for it. It must never make an
 * attempt that policy did not ask for, nor one after somebody asked to cancel. */
#include "gateway/rooms/again.h"
#include "gateway/receipts.h"
#include "gateway/worker.h"

#include "base/log.h"

#define REST_RESERVED_MS ((int64_t)24 * 3600 * 1000) /* longer than any wait: set anew in time */

/* ---- the timer ---- */

static void next_attempt_begins(struct flow *flow)
{
    if (!flow->rests) /* it was only reserved */
        return;
    flow->rests = false;
    flow->goes_on = true;
    flow_run(flow, FLOW_ROOM_claim);
}

/* A timer that runs already can be set anew without memory. */
bool again_reserve(struct flow *flow)
{
    return worker_timer_start(flow, REST_RESERVED_MS, next_attempt_begins);
}

void again_rest(struct flow *flow, int64_t wait_ms)
{
    gw_assert(!flow->ticket.held);
    flow->rests = true;
    bool started = worker_timer_start(flow, wait_ms, next_attempt_begins);
    gw_assert(started); /* reserved */
}

void again_wake(struct flow *flow)
{
    gw_assert(flow->rests);
    worker_timer_stop(flow);
    next_attempt_begins(flow);
}

void again_begin(struct flow *flow)
{
    http_head_free(flow->answer.head);
    body_fini(&flow->answer.body);
    flow->answer = (struct upstream_answer){0};
    body_init(&flow->answer.body, 0);
    flow->facts = (struct upstream_facts){0};
    flow->result = (struct classify_result){0};
    flow->retry = (struct retry_verdict){0};
}

/* ---- the verdict ---- */

static int64_t wished_ms(const struct flow *flow)
{
    int64_t ms = 0;
    const struct http_field *field = NULL;
    if (flow->answer.head != NULL)
        field = http_head_find(flow->answer.head, SPAN("Retry-After"), 0);
    if (field == NULL || !retry_after_ms(field->value, flow_now_ms(flow), RETRY_AFTER_MAX_MS, &ms))
        return 0;
    return ms;
}

/* Of this sending, or of an earlier one that is in doubt, too. */
static int64_t first_sent_ms(struct flow *flow)
{
    int64_t before_ms = receipts_first_sent_ms(flow->arena, &flow->row);
    int64_t this_ms = flow->attempt.sent_ms;
    return before_ms > 0 && before_ms < this_ms ? before_ms : this_ms;
}

static struct retry_verdict ask_policy(struct flow *flow)
{
    const struct receipt *receipt = &flow->row.receipt;
    struct retry_budget budget = receipts_budget(&flow->row);
    bool is_promised =
        receipt->state != RECEIPT_RELEASED && (receipt->marks & RECEIPT_PROMISED) != 0;
    struct retry_facts facts = {.event = receipt->state == RECEIPT_UNKNOWN ? RECEIPT_EV_LOST
                                                                           : flow->event,
                                .basis = flow->result.basis,
                                .status = flow->facts.status,
                                .by_rule = flow->result.rule != CLASSIFY_NO_RULE,
                                .budget = &budget,
                                .promised_ms = !is_promised                ? 0
                                               : flow->row.promised_ms > 0 ? flow->row.promised_ms
                                                                           : flow->row.created_ms,
                                .first_sent_ms = first_sent_ms(flow),
                                .may_defer = flow->may_defer,
                                .retry_after_ms = wished_ms(flow),
                                .now_ms = flow_now_ms(flow)};
    if (budget.attempts == 0) /* the row was written by an older program */
        budget = (struct retry_budget){.window_ms = facts.now_ms, .attempts = 1};
    worker_ports(flow->worker)->random(&facts.random, sizeof(facts.random));
    return retry_judge(flow->route, &facts);
}

/* Nobody waits for a late answer, nor when the process is stopping. */
static void do_without_waiting(struct flow *flow)
{
    struct retry_verdict *retry = &flow->retry;
    bool is_doubt = retry->next == RETRY_RESEND;
    retry->next = is_doubt ? RETRY_NO : RETRY_RELEASE;
    retry->at_ms = flow_now_ms(flow) + (retry->wait_ms > 0 ? retry->wait_ms : 1);
}

/* Nobody waits for a compensation: until its next attempt it is deferred, on record. */
static void defer_instead(struct retry_verdict *retry)
{
    if (retry->next == RETRY_WAIT || retry->next == RETRY_RELEASE)
        retry->next = RETRY_DEFER;
}

static bool step_for_later(struct flow *flow)
{
    struct receipt next;
    if (flow->row.receipt.state == RECEIPT_RELEASED)
        return receipts_promise(flow, flow->retry.at_ms) == RECEIPT_MOVED;
    gw_assert(flow->row.receipt.state == RECEIPT_DEFERRED);
    next = flow->row.receipt;
    next.due_ms = flow->retry.at_ms; /* the state is as receipt_step() made it */
    flow->row.receipt = next;
    return true;
}

static bool give_up(struct flow *flow)
{
    uint32_t expect = 0; /* of a row that is not written yet */
    return receipts_give_up(flow, &expect) == RECEIPT_MOVED;
}

static bool apply(struct flow *flow)
{
    int64_t wish_ms = wished_ms(flow);
    /* In doubt for an earlier sending: the wish of the one that was refused counts all the same. */
    if (flow->row.receipt.state == RECEIPT_UNKNOWN && flow->route->retry.is_on && wish_ms > 0)
        flow->row.retry_ms = flow_now_ms(flow) + wish_ms;
    switch (flow->retry.next) {
    case RETRY_WAIT:
        return receipts_claim_ahead(flow, flow->retry.wait_ms) == RECEIPT_MOVED;
    case RETRY_RESEND:
        flow->row.retry_ms = flow_now_ms(flow) + flow->retry.wait_ms;
        return true;
    case RETRY_DEFER:
        return step_for_later(flow);
    case RETRY_RELEASE:
    case RETRY_EXHAUSTED:
        flow->row.retry_ms = flow->retry.at_ms;
        return true;
    case RETRY_GIVE_UP:
        return give_up(flow);
    case RETRY_NO:
    case RETRY_NEXT_COUNT:
        break;
    }
    return true;
}

static bool may_follow(const struct flow *flow)
{
    const struct receipt *receipt = &flow->row.receipt;
    bool is_doubt = receipt->state == RECEIPT_UNKNOWN;
    if ((receipt->marks & RECEIPT_CANCEL_REQUESTED) != 0 ||
        (is_doubt && (receipt->marks & RECEIPT_CONTRADICTED) != 0))
        return false;
    return is_doubt || receipt->state == RECEIPT_RELEASED || receipt->state == RECEIPT_DEFERRED;
}

bool again_decide(struct flow *flow)
{
    flow->retry = (struct retry_verdict){0};
    worker_timer_stop(flow);
    if (!may_follow(flow))
        return true;
    flow->retry = ask_policy(flow);
    if (flow->route->is_compensation)
        defer_instead(&flow->retry);
    bool waits = flow->retry.next == RETRY_WAIT || flow->retry.next == RETRY_RESEND;
    /* Who still listens for the lost answer has the body, where there was no room for two. */
    if (flow->retry.next == RETRY_RESEND && flow->body_state != BODY_WHOLE)
        flow->retry.next = RETRY_NO;
    else if (waits && (flow->source == FLOW_FROM_LATE || worker_is_draining(flow->worker) ||
                       !again_reserve(flow)))
        do_without_waiting(flow);
    if (flow->retry.next != RETRY_NO && gw_log_is_on(GW_LOG_DEBUG)) {
        const struct gw_log_pair pairs[] = {
            {"flow", {NULL, 0}, (int64_t)flow->id},
            {"operation", span_str(flow->row.operation_id), 0},
            {"next", span_str(retry_next_name(flow->retry.next)), 0},
            {"wait_ms", {NULL, 0}, flow->retry.wait_ms},
            {"reason", span_str(flow->retry.reason), 0},
            GW_LOG_END};
        gw_log(GW_LOG_DEBUG, "attempt.follows", pairs);
    }
    return apply(flow);
}

bool again_is_wanted(const struct flow *flow)
{
    return flow->retry.next == RETRY_WAIT || flow->retry.next == RETRY_RESEND;
}
