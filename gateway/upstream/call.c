/* The collected call: the whole request is at hand, the whole answer is wanted.
 * After the caller was told that time is up it may go on listening; it never sends
 * then, and never tells anything twice. A spool file that cannot be written counts
 * as an answer that is too large: there is no room for it here, and what the
 * upstream did is as unclear as with any answer over the limit. */
#include <stdlib.h>

#include "gateway/upstream/connection.h"

#define CALL_RESERVE_BYTES (64 * 1024) /* of a declared length, believed before a byte has come */

struct upstream_call {
    struct exchange exchange; /* first: one is found from the other */
    struct upstream_call_options options;
    struct http_head *head;
    struct body body;
    bool is_late;
};

static struct upstream_call *call_of(struct exchange *exchange)
{
    return (struct upstream_call *)exchange;
}

static bool call_head(struct exchange *exchange, struct http_head *take_head);
static bool call_body(struct exchange *exchange, struct span bytes);
static bool call_listens_on(struct exchange *exchange);
static void call_ended(struct exchange *exchange, enum attempt_end end);
static void call_free(struct exchange *exchange);

static const struct exchange_ops call_ops = {.stops_at_early_answer = true,
                                             .head = call_head,
                                             .body = call_body,
                                             .listens_on = call_listens_on,
                                             .ended = call_ended,
                                             .free = call_free};

static enum gw_status call_start(struct upstream_port *port,
                                 const struct upstream_call_options *options,
                                 struct upstream_call **ret_call)
{
    gw_assert(options->done != NULL);
    gw_assert(options->request.head.len > 0);
    struct upstream_call *call = malloc(sizeof(*call));
    if (call == NULL)
        return GW_NOMEM;
    exchange_init(&call->exchange, port, &call_ops, options->upstream);
    call->options = *options;
    call->head = NULL;
    call->is_late = false;
    body_init(&call->body, options->memory_max);
    call->exchange.is_head = options->request.is_head;
    call->exchange.out[0] = options->request.head;
    call->exchange.out[1] = options->request.body;
    call->exchange.out_whole = true;
    call->exchange.answer_until_ms = call->exchange.start_ms + options->upstream->answer_ms;
    enum gw_status status = exchange_begin(&call->exchange, options->upstream);
    if (status != GW_OK) {
        call_free(&call->exchange);
        return status;
    }
    *ret_call = call;
    return GW_OK;
}

static bool call_head(struct exchange *exchange, struct http_head *take_head)
{
    struct upstream_call *call = call_of(exchange);
    gw_assert(call->head == NULL);
    call->head = take_head;
    if (take_head->framing != HTTP1_LENGTH)
        return true;
    if (take_head->content_length > exchange->port->options.answer_body_max)
        return false;
    if (take_head->content_length <= CALL_RESERVE_BYTES &&
        take_head->content_length <= call->options.memory_max)
        /* Only spares copies; without it the memory grows as the bytes come. */
        (void)gw_buf_reserve(&call->body.memory, (size_t)take_head->content_length);
    return true;
}

static bool call_body(struct exchange *exchange, struct span bytes)
{
    struct upstream_call *call = call_of(exchange);
    const struct upstream_port_options *options = &exchange->port->options;
    return bytes.len <= options->answer_body_max - call->body.bytes &&
           body_add(&call->body, bytes, options->spool_dir) == GW_OK;
}

/* The time of the answer is over. The caller is told at once; if there is a place
 * to listen from, the connection is read on, outside the slots of its origin: a
 * lost call must not keep new ones from an upstream that has recovered. */
static bool call_listens_on(struct exchange *exchange)
{
    struct upstream_call *call = call_of(exchange);
    struct upstream_port *port = exchange->port;
    if (call->is_late || exchange->bytes_out == 0 || call->options.late == NULL ||
        exchange->late_ms <= 0 || port->late_listening >= port->options.late_max)
        return false;
    port->late_listening++;
    exchange->stage = EXCHANGE_LATE;
    exchange->late_until_ms = port_now(port) + exchange->late_ms;
    exchange->out_stopped = true;
    call->is_late = true;
    connection_wants_write(exchange->connection, false);
    connection_release_slot(exchange->connection);
    connection_watch(exchange->connection);
    struct upstream_facts facts;
    exchange_facts(exchange, END_answer_timeout, &facts);
    facts.still_listening = true;
    call->options.done(&facts, NULL, call->options.ctx);
    return true;
}

static void call_ended(struct exchange *exchange, enum attempt_end end)
{
    struct upstream_call *call = call_of(exchange);
    struct upstream_facts facts;
    exchange_facts(exchange, end, &facts);
    upstream_done_fn *tell = call->is_late ? call->options.late : call->options.done;
    if (end != END_answered) {
        tell(&facts, NULL, call->options.ctx);
        return;
    }
    gw_assert(call->head != NULL);
    struct upstream_answer answer = {.head = call->head, .body = call->body};
    call->head = NULL; /* both are the receiver's now */
    body_init(&call->body, 0);
    tell(&facts, &answer, call->options.ctx);
}

static void call_free(struct exchange *exchange)
{
    struct upstream_call *call = call_of(exchange);
    http_head_free(call->head);
    body_fini(&call->body);
    free(call);
}

static void call_cancel(struct upstream_call *call)
{
    gw_assert(call->exchange.tag_exchange == EXCHANGE_TAG);
    if (call->exchange.stage != EXCHANGE_OVER) /* else its end is about to be told */
        exchange_end_later(&call->exchange, END_drained);
}

static void call_set_context(struct upstream_call *call, void *ctx)
{
    gw_assert(call->exchange.tag_exchange == EXCHANGE_TAG);
    call->options.ctx = ctx;
}

static struct span call_address(const struct upstream_call *call)
{
    const struct exchange *exchange = &call->exchange;
    return exchange->address[0] == '\0' ? exchange->origin->label : span_str(exchange->address);
}

static bool call_has_answer_byte(const struct upstream_call *call)
{
    return call->exchange.answer_begun;
}

const struct upstream_ops upstream_http_ops = {.start = call_start,
                                               .cancel = call_cancel,
                                               .set_context = call_set_context,
                                               .address = call_address,
                                               .has_answer_byte = call_has_answer_byte};
