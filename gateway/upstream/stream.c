/* The streaming use: bytes of both bodies pass through, in memory that does not
 * grow with them. It never runs a callback from inside a call of its user, and it
 * never keeps a piece of the answer but while its receiver has paused. */
#include <stdio.h>
#include <stdlib.h>

#include "gateway/upstream/connection.h"

#define STREAM_FRAME_BYTES 20 /* 16 hex digits, CR LF, a NUL, and one to spare */

struct upstream_stream {
    struct exchange exchange; /* first: one is found from the other */
    const struct upstream_stream_events *events;
    void *ctx;
    struct gw_buf pending; /* exchange.out[1] is its unsent end */
    bool is_chunked, wants_room, is_resuming;
    char head[]; /* exchange.out[0] is its unsent end */
};

static struct upstream_stream *stream_of(struct exchange *exchange)
{
    return (struct upstream_stream *)exchange;
}

static bool stream_head(struct exchange *exchange, struct http_head *take_head);
static bool stream_body(struct exchange *exchange, struct span bytes);
static void stream_drained(struct exchange *exchange);
static void stream_turn(struct exchange *exchange);
static void stream_ended(struct exchange *exchange, enum attempt_end end);
static void stream_free(struct exchange *exchange);
static bool takes_more(const struct exchange *exchange);
static bool has_room(const struct upstream_stream *stream);
static bool store(struct upstream_stream *stream, struct span bytes);
static void send_direct(struct upstream_stream *stream, struct span line, struct span bytes);
static void flush_soon(struct upstream_stream *stream);

static const struct exchange_ops stream_ops = {.head = stream_head,
                                               .body = stream_body,
                                               .drained = stream_drained,
                                               .turn = stream_turn,
                                               .ended = stream_ended,
                                               .free = stream_free};

enum gw_status upstream_stream_start(struct upstream_port *port,
                                     const struct upstream_stream_options *options,
                                     struct upstream_stream **ret)
{
    gw_assert(options->head.len > 0);
    struct upstream_stream *stream = malloc(sizeof(*stream) + options->head.len);
    if (stream == NULL)
        return GW_NOMEM;
    exchange_init(&stream->exchange, port, &stream_ops, options->upstream);
    stream->events = options->events;
    stream->ctx = options->ctx;
    gw_buf_init(&stream->pending, UPSTREAM_STREAM_BYTES_MAX);
    stream->is_chunked = options->has_body && options->chunked;
    stream->wants_room = stream->is_resuming = false;
    memcpy(stream->head, options->head.ptr, options->head.len);
    stream->exchange.out[0] = span_of(stream->head, options->head.len);
    stream->exchange.is_head = options->is_head;
    stream->exchange.out_whole = !options->has_body;
    stream->exchange.holds_back = options->has_body; /* the head leaves with what follows */
    enum gw_status status = exchange_begin(&stream->exchange, options->upstream);
    if (status != GW_OK) {
        stream_free(&stream->exchange);
        return status;
    }
    *ret = stream;
    return GW_OK;
}

/* ---- the request ---- */

bool upstream_stream_send(struct upstream_stream *stream, struct span bytes)
{
    struct exchange *exchange = &stream->exchange;
    gw_assert(exchange->tag_exchange == EXCHANGE_TAG);
    if (!takes_more(exchange))
        return true; /* goes nowhere: the upstream has answered, or is gone and end() follows */
    gw_assert(!exchange->out_whole);
    if (bytes.len == 0)
        return has_room(stream);
    if (!exchange_has_output(exchange))
        exchange->progress_ms = port_now(exchange->port); /* until now it waited for us */
    char frame[STREAM_FRAME_BYTES] = "";
    int len = stream->is_chunked ? snprintf(frame, sizeof(frame), "%zx\r\n", bytes.len) : 0;
    struct span line = span_of(frame, (size_t)len);
    if (bytes.len >= UPSTREAM_DIRECT_BYTES && exchange->stage == EXCHANGE_OPEN &&
        exchange->out[1].len == 0) {
        send_direct(stream, line, bytes);
    } else if (store(stream, line) && store(stream, bytes) &&
               store(stream, stream->is_chunked ? SPAN("\r\n") : SPAN(""))) {
        flush_soon(stream);
    }
    if (!takes_more(exchange))
        return true;
    stream->wants_room = !has_room(stream);
    return !stream->wants_room;
}

void upstream_stream_finish(struct upstream_stream *stream)
{
    struct exchange *exchange = &stream->exchange;
    gw_assert(exchange->tag_exchange == EXCHANGE_TAG);
    if (!takes_more(exchange))
        return;
    gw_assert(!exchange->out_whole);
    if (stream->is_chunked && !store(stream, SPAN("0\r\n\r\n")))
        return;
    exchange->out_whole = true;
    exchange->holds_back = false;
    stream->wants_room = false;
    exchange->progress_ms = port_now(exchange->port);
    if (exchange->stage == EXCHANGE_OPEN && !exchange->connection->is_writing)
        connection_flush(exchange->connection);
    else if (exchange->stage == EXCHANGE_OPEN)
        connection_watch(exchange->connection);
}

static bool takes_more(const struct exchange *exchange)
{
    return exchange->stage != EXCHANGE_OVER && !exchange->out_stopped;
}

static bool has_room(const struct upstream_stream *stream)
{
    return stream->exchange.out[1].len < UPSTREAM_STREAM_HIGH_BYTES;
}

/* false: the stream is over, since more came than may wait. Its user did not stop
 * when told to, or memory is short. */
static bool store(struct upstream_stream *stream, struct span bytes)
{
    struct exchange *exchange = &stream->exchange;
    struct gw_buf *pending = &stream->pending;
    gw_buf_drop(pending, pending->len - exchange->out[1].len);
    bool stored = gw_buf_add(pending, bytes);
    exchange->out[1] = gw_buf_span(pending);
    if (!stored)
        exchange_end_later(exchange, END_send_stalled);
    return stored;
}

/* What the kernel does not take at once is stored. */
static void send_direct(struct upstream_stream *stream, struct span line, struct span bytes)
{
    struct exchange *exchange = &stream->exchange;
    struct span pieces[4] = {exchange->out[0], line, bytes,
                             stream->is_chunked ? SPAN("\r\n") : SPAN("")};
    struct iovec parts[UPSTREAM_PARTS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < GW_COUNT(pieces); i++)
        if (pieces[i].len > 0)
            parts[count++] = (struct iovec){(void *)(uintptr_t)pieces[i].ptr, pieces[i].len};
    exchange->holds_back = false;
    size_t taken = exchange->connection->is_writing
                       ? 0 /* the kernel is full: it will say when it is not */
                       : connection_send(exchange->connection, parts, count);
    for (size_t i = 0; i < GW_COUNT(pieces); i++) {
        if (!takes_more(exchange))
            return;
        size_t part = taken < pieces[i].len ? taken : pieces[i].len;
        taken -= part;
        struct span rest = span_of(pieces[i].ptr + part, pieces[i].len - part);
        if (i == 0)
            exchange->out[0] = rest;
        else if (!store(stream, rest))
            return;
    }
    connection_wants_write(exchange->connection, exchange_has_output(exchange));
    if (exchange->connection != NULL)
        connection_watch(exchange->connection);
}

/* Small pieces are gathered: the turn sends what has come together by then. */
static void flush_soon(struct upstream_stream *stream)
{
    struct exchange *exchange = &stream->exchange;
    if (exchange->stage == EXCHANGE_OPEN && !exchange->connection->is_writing)
        exchange_on_turn(exchange);
}

/* ---- the answer ---- */

void upstream_stream_pause(struct upstream_stream *stream)
{
    struct exchange *exchange = &stream->exchange;
    gw_assert(exchange->tag_exchange == EXCHANGE_TAG);
    exchange->is_paused = true;
    if (exchange->stage == EXCHANGE_OPEN)
        connection_wants_read(exchange->connection, false);
}

void upstream_stream_resume(struct upstream_stream *stream)
{
    struct exchange *exchange = &stream->exchange;
    gw_assert(exchange->tag_exchange == EXCHANGE_TAG);
    if (!exchange->is_paused)
        return;
    exchange->is_paused = false;
    if (exchange->stage != EXCHANGE_OPEN)
        return;
    stream->is_resuming = true;
    exchange_on_turn(exchange);
}

void upstream_stream_abort(struct upstream_stream *stream)
{
    gw_assert(stream->exchange.tag_exchange == EXCHANGE_TAG);
    exchange_abandon(&stream->exchange);
}

/* ---- what the exchange tells ---- */

static bool stream_head(struct exchange *exchange, struct http_head *take_head)
{
    struct upstream_stream *stream = stream_of(exchange);
    stream->events->head(take_head, stream->ctx);
    return true;
}

static bool stream_body(struct exchange *exchange, struct span bytes)
{
    struct upstream_stream *stream = stream_of(exchange);
    if (bytes.len > 0)
        stream->events->body(bytes, stream->ctx);
    return true;
}

static void stream_drained(struct exchange *exchange)
{
    struct upstream_stream *stream = stream_of(exchange);
    if (!stream->wants_room || !has_room(stream))
        return;
    stream->wants_room = false;
    stream->events->writable(stream->ctx);
}

static void stream_turn(struct exchange *exchange)
{
    struct upstream_stream *stream = stream_of(exchange);
    if (exchange->stage != EXCHANGE_OPEN)
        return;
    exchange->holds_back = false;
    if (!exchange->connection->is_writing && exchange_has_output(exchange))
        connection_flush(exchange->connection);
    if (exchange->stage == EXCHANGE_OPEN && !exchange_has_output(exchange))
        stream_drained(exchange);
    if (exchange->stage != EXCHANGE_OPEN || !stream->is_resuming || exchange->is_paused)
        return;
    stream->is_resuming = false;
    connection_resume(exchange->connection);
}

static void stream_ended(struct exchange *exchange, enum attempt_end end)
{
    struct upstream_stream *stream = stream_of(exchange);
    struct upstream_facts facts;
    exchange_facts(exchange, end, &facts);
    stream->events->end(&facts, stream->ctx);
}

static void stream_free(struct exchange *exchange)
{
    struct upstream_stream *stream = stream_of(exchange);
    gw_buf_fini(&stream->pending);
    free(stream);
}
