/* Room `forward`: one call to the upstream. SENT is durable when it is entered; it
 * reports facts and judges nothing. A caller who leaves does not stop it. */
#include "gateway/call_head.h"
#include "gateway/late.h"
#include "gateway/receipts.h"
#include "gateway/worker.h"

#include "base/fault.h"

enum forward_stage { FORWARD_START, FORWARD_CALLED };

static enum flow_next not_sent(struct flow *flow, enum attempt_end end)
{
    flow->facts = (struct upstream_facts){.end = end};
    flow->attempt.ended_ms = flow_now_ms(flow);
    return flow_go(flow, FLOW_ROOM_classify);
}

static void note_upstream_time(struct flow *flow)
{
    const struct upstream_policy *upstream = flow->route->upstream;
    board_observe(board_upstream_seconds(worker_ports(flow->worker)->board, upstream),
                  flow->facts.elapsed_ms);
}

static void call_done(const struct upstream_facts *facts, struct upstream_answer *answer, void *ctx)
{
    struct flow *flow;
    GW_CAST(flow, ctx, flow, FLOW_TAG);
    gw_assert(flow->room == FLOW_ROOM_forward);
    worker_timer_stop(flow);
    flow->facts = *facts;
    if (answer != NULL) {
        (void)GW_FAULT(answer_whole); /* what has come cannot fail any more */
        flow->answer = *answer;
        *answer = (struct upstream_answer){0};
        body_init(&answer->body, 0);
    }
    flow->attempt.ended_ms = flow_now_ms(flow);
    flow->attempt.bytes_out = facts->bytes_out;
    flow->attempt.bytes_in = facts->bytes_in;
    flow->attempt.status = facts->status;
    struct span address = worker_ports(flow->worker)->upstream->address(flow->call);
    if (address.len > 0 && !arena_copy(flow->arena, address, &flow->attempt.upstream))
        flow->attempt.upstream = SPAN("");
    if (facts->bytes_out > 0)
        flow->attempt.sent_ms = flow->attempt.ended_ms - facts->elapsed_ms;
    note_upstream_time(flow);
    /* What still listens reports to a flow of its own: this one is about to end. */
    if (facts->still_listening)
        late_begin(flow);
    flow->call = NULL;
    flow_resume(flow);
}

/* No answer byte for longer than the breaker's `overdue`: it counts before it ends. */
static void is_overdue(struct flow *flow)
{
    if (flow->call != NULL && !worker_ports(flow->worker)->upstream->has_answer_byte(flow->call))
        board_mark_overdue(worker_ports(flow->worker)->board, flow->route, &flow->ticket);
}

/* As a member of the body; what was compared and kept is the body as it came. */
static bool add_operation_id(struct flow *flow)
{
    const struct json_pointer *pointer = &flow->route->add_id.pointer;
    return splice_apply(&flow->splice, pointer->steps[pointer->step_count - 1],
                        span_str(flow->row.operation_id), &flow->body);
}

/* Sent again to an upstream that remembers the key; but by now it may have forgotten it. */
static bool is_too_late_again(struct flow *flow)
{
    return (flow->row.receipt.marks & RECEIPT_RESENT) != 0 &&
           !retry_may_resend(flow->route, receipts_first_sent_ms(flow->arena, &flow->row),
                             flow_now_ms(flow) + store_skew_ms(worker_ports(flow->worker)->store));
}

/* On a store that others share they take what a gateway leased that was not heard of; then
 * no first byte may leave any more, and opening the connection takes its time before that.
 * What came back with the claim says under which number it was leased. */
static bool is_held(const struct flow *flow)
{
    const struct upstream_policy *upstream = flow->route->upstream;
    const struct store_row *claimed = flow->op.out.rows;
    gw_assert(claimed != NULL);
    return store_holds(worker_ports(flow->worker)->store, claimed->holder,
                       flow_now_ticks(flow) + upstream->connect_ms + upstream->tls_ms);
}

enum flow_next room_forward(struct flow *flow)
{
    if (flow->stage == FORWARD_CALLED)
        return flow_go(flow, FLOW_ROOM_classify);
    /* A worker that wakes up after its own lease must not write any more: somebody may
     * have been told by now that nothing will be sent. */
    if (flow_now_ticks(flow) >= flow->lease_ticks || is_too_late_again(flow))
        return not_sent(flow, END_queue_timeout);
    /* The operation was accepted before the route of its name was made a local one. */
    if (flow->route->upstream == NULL || !is_held(flow))
        return not_sent(flow, END_queue_timeout);
    if (flow->splice.is_on && !add_operation_id(flow))
        return not_sent(flow, END_queue_timeout);
    bool has_body = flow->body.len > 0 || flow->head->framing != HTTP1_NO_BODY;
    if (!call_head_write(flow, has_body ? CALL_LENGTH : CALL_NO_BODY, flow->body.len))
        return not_sent(flow, END_queue_timeout);
    flow->attempt.trace_id = flow->trace_id;
    const struct upstream_call_options options = {
        .upstream = flow->route->upstream,
        .request = {.head = gw_buf_span(&flow->call_head),
                    .body = gw_buf_span(&flow->body),
                    .is_head = span_equal(flow->head->method, SPAN("HEAD"))},
        .memory_max = (size_t)flow->route->replay_body_max,
        .done = call_done,
        .late = late_arrives,
        .ctx = flow,
    };
    flow->stage = FORWARD_CALLED;
    if (worker_ports(flow->worker)
            ->upstream->start(worker_upstream(flow->worker), &options, &flow->call) != GW_OK)
        return not_sent(flow, END_queue_timeout);
    if (flow->route->breaker.is_on)
        (void)worker_timer_start(flow, flow->route->breaker.overdue_ms,
                                 is_overdue); /* without it the breaker only sees it later */
    return FLOW_PARK;
}
