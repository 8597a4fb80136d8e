/* The bytes of the answer: from the descriptor through the codec to the exchange.
 * It never gives an answer away that did not come whole, and never reads past the
 * end of one. */
#include <errno.h>

#include "gateway/upstream/connection.h"

static void feed(struct connection *connection, struct span *bytes);
static bool feed_step(struct connection *connection, struct span *bytes);
static bool on_head(struct connection *connection);
static bool on_interim(struct exchange *exchange, uint16_t status);
static bool on_end(struct connection *connection, struct span rest);
static bool goes_on(const struct connection *connection, const struct exchange *exchange);
static bool may_be_kept(const struct http_head *head);
static enum attempt_end end_of_fault(const struct connection *connection);
static void on_closed(struct connection *connection);

void connection_readable(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd; /* the connection knows it */
    (void)what;
    struct connection *connection;
    GW_CAST(connection, ctx, connection, CONNECTION_TAG);
    struct exchange *exchange = connection->exchange;
    if (exchange != NULL && exchange->stage == EXCHANGE_OPENING) {
        connection_shake(connection); /* reading is wanted then for it alone */
        return;
    }
    /* Nobody asked: what comes now belongs to nobody, unless it is between the two ends of TLS. */
    if (exchange == NULL || exchange->bytes_out == 0) {
        if (connection_is_clean(connection))
            return;
        if (exchange == NULL)
            connection_close(connection);
        else
            exchange_finish(exchange, END_closed_no_answer);
        return;
    }
    struct upstream_port *port = connection->port;
    for (int i = 0; i < UPSTREAM_READS_MAX; i++) {
        ssize_t count =
            transport_receive(&connection->transport, port->read_buffer, sizeof(port->read_buffer));
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return;
        if (count <= 0) {
            connection->was_reset = connection->was_reset || count < 0;
            on_closed(connection);
            return;
        }
        exchange->bytes_in += (uint64_t)count;
        exchange->progress_ms = port_now(port);
        struct span bytes = span_of(port->read_buffer, (size_t)count);
        feed(connection, &bytes);
        if (connection->exchange != exchange)
            return;
        if (exchange->is_paused) {
            /* As large as the read buffer and empty before: it always fits. */
            bool kept = gw_buf_add(&connection->leftover, bytes);
            if (!kept)
                exchange_finish(exchange, END_cut_answer); /* no memory */
            return;
        }
        if ((size_t)count < sizeof(port->read_buffer) && !transport_is_over(&connection->transport))
            return;
    }
    if (transport_is_over(&connection->transport))
        event_active(&connection->read_event, EV_READ, 1);
}

void connection_resume(struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    gw_assert(exchange != NULL);
    gw_assert(!exchange->is_paused);
    exchange->progress_ms = port_now(connection->port);
    struct span bytes = gw_buf_span(&connection->leftover);
    feed(connection, &bytes);
    if (connection->exchange != exchange)
        return;
    gw_buf_drop(&connection->leftover, connection->leftover.len - bytes.len);
    if (exchange->is_paused)
        return;
    gw_buf_fini(&connection->leftover);
    connection_wants_read(connection, true);
    connection_watch(connection);
}

/* Leaves in *bytes what a paused receiver has not taken. */
static void feed(struct connection *connection, struct span *bytes)
{
    const struct exchange *exchange = connection->exchange;
    bool more = true;
    while (more) /* each step takes bytes, or a message further, or ends */
        more = feed_step(connection, bytes);
    if (connection->exchange == exchange)
        connection_watch(connection);
}

/* false: nothing more to feed, the receiver has paused, or the exchange is over. */
static bool feed_step(struct connection *connection, struct span *bytes)
{
    struct exchange *exchange = connection->exchange;
    struct span body = {NULL, 0};
    if (bytes->len > 0)
        exchange->answer_begun = true;
    switch (http1_feed(&connection->parser, bytes, &body)) {
    case HTTP1_MORE:
        return false;
    case HTTP1_HEAD:
        return on_head(connection);
    case HTTP1_BODY:
        if (!exchange->ops->body(exchange, body)) {
            exchange_finish(exchange, END_answer_too_large);
            return false;
        }
        return goes_on(connection, exchange);
    case HTTP1_END:
        return on_end(connection, *bytes);
    case HTTP1_ERROR:
        exchange_finish(exchange, end_of_fault(connection));
        return false;
    }
    gw_assert(false); /* every event is above */
    return false;
}

static bool goes_on(const struct connection *connection, const struct exchange *exchange)
{
    return connection->exchange == exchange && !exchange->is_paused;
}

static bool on_head(struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    struct http_head *head = http1_take_head(&connection->parser);
    uint16_t status = head->status;
    if (status < 200) {
        http_head_free(head);
        return on_interim(exchange, status);
    }
    exchange->status = status;
    connection->may_be_kept = may_be_kept(head);
    if (exchange->ops->stops_at_early_answer && !exchange_is_written(exchange)) {
        exchange->out_stopped = true;
        connection_wants_write(connection, false);
    }
    if (!exchange->ops->head(exchange, head)) {
        exchange_finish(exchange, END_answer_too_large);
        return false;
    }
    return goes_on(connection, exchange);
}

/* Dropped, but not without end; and nobody asked for another protocol. */
static bool on_interim(struct exchange *exchange, uint16_t status)
{
    if (status == 101 || exchange->interims == UPSTREAM_INTERIM_MAX) {
        exchange_finish(exchange, END_bad_answer);
        return false;
    }
    exchange->interims++;
    return true;
}

static bool on_end(struct connection *connection, struct span rest)
{
    struct exchange *exchange = connection->exchange;
    if (exchange->status == 0) { /* the end of a 1xx: the answer is still to come */
        http1_parser_reset(&connection->parser);
        exchange->answer_begun = false;
        return true;
    }
    if (rest.len > 0)
        connection->may_be_kept = false; /* bytes that belong to no answer */
    exchange_finish(exchange, END_answered);
    return false;
}

/* UP-9; keep_alive is false also where a 204 or 304 declares a body. */
static bool may_be_kept(const struct http_head *head)
{
    return head->keep_alive && head->minor > 0 && head->framing != HTTP1_UNTIL_CLOSE;
}

static enum attempt_end end_of_fault(const struct connection *connection)
{
    return connection->parser.over_limit ? END_answer_too_large : END_bad_answer;
}

/* A FIN may end an answer without a length; a reset never ends one well. */
static void on_closed(struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    bool has_begun = http1_has_begun(&connection->parser);
    bool was_reset = connection->was_reset;
    connection->may_be_kept = false;
    enum attempt_end end = was_reset ? END_reset_no_answer : END_closed_no_answer;
    if (has_begun)
        end = END_cut_answer;
    if (has_begun && !was_reset && http1_eof(&connection->parser) == HTTP1_END)
        end = END_answered;
    exchange_finish(exchange, end);
}
