/* Room `pass`: stream through, unprotected. Bodies flow both ways in bounded
 * buffers; nothing is stored, nothing is tried twice. */
#include "gateway/call_head.h"
#include "gateway/observe.h"
#include "gateway/reply_head.h"
#include "gateway/worker.h"

#include "base/text.h"
#include "policy/headers.h"

enum pass_stage { PASS_START, PASS_STREAMING, PASS_OVER };

struct pass {
    struct upstream_stream *stream; /* NULL: ended or aborted */
    bool head_sent;
    bool chunked; /* towards the caller */
    bool until_close;
    bool without_body;
};

static struct pass *pass_of(struct flow *flow)
{
    return flow->stream;
}

static void over(struct flow *flow)
{
    if (flow->stage == PASS_OVER)
        return;
    flow->stage = PASS_OVER;
    flow->stream_events = NULL;
    flow_resume(flow);
}

/* ---- from the upstream ---- */

/* An answer without a body still says how long it would have been, if that is clear. */
static bool write_said_length(const struct http_head *head, struct gw_buf *out)
{
    const struct http_field *field = http_head_find(head, SPAN("Content-Length"), 0);
    uint64_t length = 0;
    if (field == NULL || !gw_parse_u64(field->value, &length) ||
        http_head_find(head, SPAN("Content-Length"), (uint32_t)(field - head->fields) + 1) != NULL)
        return true;
    return http1_write_number_field(out, SPAN("Content-Length"), length);
}

static bool write_framing(struct flow *flow, struct pass *pass)
{
    const struct http_head *head = flow->answer.head;
    struct gw_buf *out = &flow->reply.head;
    pass->without_body =
        span_equal(flow->head->method, SPAN("HEAD")) || head->status == 204 || head->status == 304;
    if (pass->without_body)
        return head->status == 204 || write_said_length(head, out);
    if (head->framing == HTTP1_LENGTH)
        return http1_write_number_field(out, SPAN("Content-Length"), head->content_length);
    if (head->framing == HTTP1_NO_BODY)
        return http1_write_number_field(out, SPAN("Content-Length"), 0);
    pass->chunked = flow->head->minor > 0;
    pass->until_close = !pass->chunked;
    return !pass->chunked || http1_write_field(out, SPAN("Transfer-Encoding"), SPAN("chunked"));
}

static bool write_head(struct flow *flow, struct pass *pass)
{
    const struct http_head *head = flow->answer.head;
    struct gw_buf *out = &flow->reply.head;
    gw_buf_clear(out);
    if (!http1_write_status_line(out, head->status, head->reason))
        return false;
    for (uint32_t i = 0; i < head->field_count; i++)
        if (reply_passes(head, &head->fields[i]) &&
            !http1_write_field(out, head->fields[i].name, head->fields[i].value))
            return false;
    return write_framing(flow, pass) && reply_own_fields(flow) && http1_write_end_of_head(out);
}

static void stop(struct flow *flow, bool whole)
{
    struct pass *pass = pass_of(flow);
    flow->client_ops->end_stream(flow->client, whole, pass->until_close || flow->reply.close);
    over(flow);
}

static void answer_head(struct http_head *head, void *ctx)
{
    struct flow *flow;
    GW_CAST(flow, ctx, flow, FLOW_TAG);
    struct pass *pass = pass_of(flow);
    flow->answer.head = head;
    if (flow->stage == PASS_OVER)
        return;
    pass->head_sent = true;
    if (!write_head(flow, pass)) {
        upstream_stream_abort(pass->stream);
        pass->stream = NULL;
        stop(flow, false);
        return;
    }
    if (!flow->client_ops->write(flow->client, gw_buf_span(&flow->reply.head)) &&
        pass->stream != NULL)
        upstream_stream_pause(pass->stream);
}

static void answer_body(struct span bytes, void *ctx)
{
    struct flow *flow;
    GW_CAST(flow, ctx, flow, FLOW_TAG);
    struct pass *pass = pass_of(flow);
    if (flow->stage == PASS_OVER || pass->without_body)
        return;
    observe_answer_body(flow, bytes);
    if (pass->chunked) {
        gw_buf_clear(&flow->packed);
        /* Bounded by the port's reads; a full buffer shows as a broken chunk below. */
        (void)http1_write_chunk_size(&flow->packed, bytes.len);
        (void)gw_buf_add(&flow->packed, bytes);
        (void)gw_buf_add(&flow->packed, SPAN("\r\n"));
        bytes = gw_buf_span(&flow->packed);
    }
    if (!flow->client_ops->write(flow->client, bytes) && pass->stream != NULL)
        upstream_stream_pause(pass->stream);
}

static void answer_wants_more(void *ctx)
{
    struct flow *flow;
    GW_CAST(flow, ctx, flow, FLOW_TAG);
    if (flow->stage != PASS_OVER)
        flow->client_ops->resume_body(flow->client);
}

static enum problem problem_of(const struct upstream_facts *facts)
{
    if (facts->bytes_out == 0)
        return PROBLEM_UNREACHABLE;
    return facts->end == END_answer_timeout || facts->end == END_send_stalled ||
                   facts->end == END_idle_timeout
               ? PROBLEM_UPSTREAM_TIMEOUT
               : PROBLEM_BAD_RESPONSE;
}

static void answer_end(const struct upstream_facts *facts, void *ctx)
{
    struct flow *flow;
    GW_CAST(flow, ctx, flow, FLOW_TAG);
    struct pass *pass = pass_of(flow);
    pass->stream = NULL;
    flow->facts = *facts;
    if (flow->stage == PASS_OVER)
        return;
    const struct upstream_policy *upstream = flow->route->upstream;
    board_observe(board_upstream_seconds(worker_ports(flow->worker)->board, upstream),
                  facts->elapsed_ms);
    if (!pass->head_sent) {
        flow->problem = problem_of(facts);
        over(flow);
        return;
    }
    bool whole = facts->end == END_answered;
    if (whole && pass->chunked)
        (void)flow->client_ops->write(flow->client, SPAN("0\r\n\r\n")); /* the end comes anyway */
    if (flow->stage != PASS_OVER)
        stop(flow, whole);
}

static const struct upstream_stream_events upstream_events = {
    .head = answer_head, .body = answer_body, .writable = answer_wants_more, .end = answer_end};

/* ---- from the caller ---- */

static void request_body(struct flow *flow, struct span bytes)
{
    struct pass *pass = pass_of(flow);
    observe_request_body(flow, bytes);
    if (pass->stream != NULL && !upstream_stream_send(pass->stream, bytes))
        flow->client_ops->pause_body(flow->client);
}

static void request_end(struct flow *flow)
{
    struct pass *pass = pass_of(flow);
    observe_request_end(flow);
    if (pass->stream != NULL)
        upstream_stream_finish(pass->stream);
}

static void caller_takes_more(struct flow *flow)
{
    struct pass *pass = pass_of(flow);
    if (pass->stream != NULL)
        upstream_stream_resume(pass->stream);
}

static void caller_is_gone(struct flow *flow)
{
    struct pass *pass = pass_of(flow);
    if (pass->stream != NULL)
        upstream_stream_abort(pass->stream);
    pass->stream = NULL;
    over(flow);
}

static void request_broke(struct flow *flow, enum problem problem)
{
    struct pass *pass = pass_of(flow);
    if (pass->stream != NULL)
        upstream_stream_abort(pass->stream);
    pass->stream = NULL;
    observe_request_broke(flow, problem);
    if (pass->head_sent) {
        stop(flow, false);
        return;
    }
    flow->problem = problem;
    flow->problem_detail = SPAN("The body did not arrive whole and well-formed. The call to the "
                                "upstream was broken off in the middle.");
    over(flow);
}

static const struct flow_stream_events client_events = {.body = request_body,
                                                        .body_end = request_end,
                                                        .writable = caller_takes_more,
                                                        .gone = caller_is_gone,
                                                        .broken = request_broke};

static enum flow_next begin(struct flow *flow)
{
    const struct http_head *head = flow->head;
    if (head->expects_other)
        return flow_refuse(flow, PROBLEM_EXPECTATION, SPAN(""));
    struct pass *pass = arena_take(flow->arena, sizeof(*pass));
    enum call_framing framing = head->framing == HTTP1_CHUNKED  ? CALL_CHUNKED
                                : head->framing == HTTP1_LENGTH ? CALL_LENGTH
                                                                : CALL_NO_BODY;
    if (pass == NULL || !call_head_write(flow, framing, head->content_length))
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    bool has_body = framing == CALL_CHUNKED || (framing == CALL_LENGTH && head->content_length > 0);
    const struct upstream_stream_options options = {
        .upstream = flow->route->upstream,
        .head = gw_buf_span(&flow->call_head),
        .is_head = span_equal(head->method, SPAN("HEAD")),
        .has_body = has_body,
        .chunked = framing == CALL_CHUNKED,
        .events = &upstream_events,
        .ctx = flow,
    };
    flow->stream = pass;
    if (upstream_stream_start(worker_upstream(flow->worker), &options, &pass->stream) != GW_OK)
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    flow->stage = PASS_STREAMING;
    flow->stream_events = &client_events;
    observe_begin(flow);
    if (has_body)
        flow->client_ops->stream_body(flow->client);
    return FLOW_PARK;
}

static void count(struct flow *flow)
{
    struct board_route *counts = board_route(worker_ports(flow->worker)->board, flow->route);
    atomic_fetch_add_explicit(&counts->outcomes[flow->outcome], 1, memory_order_relaxed);
    board_observe(&counts->request_seconds, flow_now_ticks(flow) - flow->started_ticks);
}

enum flow_next room_pass(struct flow *flow)
{
    if (flow->stage == PASS_START)
        return begin(flow);
    gw_assert(flow->stage == PASS_OVER);
    observe_end(flow);
    if (flow->problem != PROBLEM_NONE && !flow->client_gone)
        return flow_go(flow, FLOW_ROOM_reply);
    count(flow);
    return flow_go(flow, FLOW_ROOM_leave);
}
