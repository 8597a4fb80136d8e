/* One connection: write, time, keep, close. Every byte that leaves is counted where
 * the kernel says how many it took. It never sends a byte twice, and never runs a
 * callback of its exchange but from an event. */
#include <errno.h>
#include <stdlib.h>

#include "base/fault.h"
#include "gateway/upstream/connection.h"

static void on_timer(evutil_socket_t fd, short what, void *ctx);
static void lose_events(struct connection *connection);

struct connection *connection_new(struct origin *origin)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    if (connection == NULL)
        return NULL;
    struct upstream_port *port = origin->port;
    if (event_assign(&connection->timer, port->options.base, -1, 0, on_timer, connection) != 0) {
        free(connection);
        return NULL;
    }
    connection->tag_connection = CONNECTION_TAG;
    connection->origin = origin;
    connection->port = port;
    connection->transport.fd = -1;
    connection->holds_slot = true;
    connection->connect_end = END_connect_refused;
    struct http1_limits limits = {.head_bytes_max = port->options.answer_head_bytes_max,
                                  .fields_max = port->options.answer_fields_max};
    http1_parser_init(&connection->parser, HTTP1_RESPONSES, &limits);
    gw_buf_init(&connection->leftover, UPSTREAM_READ_BYTES);
    origin->connections++;
    port->connections++;
    return connection;
}

void connection_free(struct connection *connection)
{
    gw_assert(connection->is_closed);
    http1_parser_fini(&connection->parser);
    gw_buf_fini(&connection->leftover);
    connection->tag_connection = 0;
    free(connection);
}

void connection_attach(struct connection *connection, struct exchange *exchange)
{
    gw_assert(connection->exchange == NULL);
    gw_assert(!connection->is_closed);
    connection->exchange = exchange;
    exchange->connection = connection;
    http1_parser_answers_head(&connection->parser, exchange->is_head);
}

/* ---- writing ---- */

void connection_writable(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd; /* the connection knows it */
    (void)what;
    struct connection *connection;
    GW_CAST(connection, ctx, connection, CONNECTION_TAG);
    struct exchange *exchange = connection->exchange;
    gw_assert(exchange != NULL);
    if (exchange->stage == EXCHANGE_OPENING) {
        if (connection->is_shaking)
            connection_shake(connection);
        else
            connection_connected(connection);
        return;
    }
    connection_flush(connection);
    if (connection->exchange == exchange && exchange->ops->drained != NULL &&
        !exchange_has_output(exchange))
        exchange->ops->drained(exchange);
}

/* All of a record counts from its first byte on, for nobody knows what the peer makes of a
 * part. true: more has left than before. */
static bool count_bytes(struct connection *connection, size_t taken)
{
    size_t begun = transport_begun(&connection->transport);
    uint64_t whole = connection->exchange->bytes_out + taken + begun - connection->begun;
    bool is_more = whole > connection->exchange->bytes_out || taken > 0;
    connection->begun = begun;
    connection->exchange->bytes_out = whole;
    return is_more;
}

size_t connection_send(struct connection *connection, struct iovec *parts, size_t count)
{
    struct exchange *exchange = connection->exchange;
    ssize_t taken = -1;
    if (exchange->bytes_out == 0 && GW_FAULT(first_byte))
        errno = EPIPE;
    else
        taken = transport_send(&connection->transport, parts, count);
    if (count_bytes(connection, taken > 0 ? (size_t)taken : 0))
        exchange->progress_ms = port_now(connection->port);
    if (taken >= 0)
        return (size_t)taken;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return 0;
    /* The kernel tells a reset once; from here on an end of file is not a clean one. */
    connection->was_reset = true;
    if (exchange->bytes_out == 0) {
        exchange_end_later(exchange, END_reset_no_answer);
    } else {
        exchange->out_stopped = true; /* an answer may have come before the reset: it is read */
        exchange->progress_ms = port_now(connection->port);
    }
    return 0;
}

void connection_flush(struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    gw_assert(exchange != NULL);
    if (exchange->stage != EXCHANGE_OPEN)
        return;
    struct iovec parts[2];
    size_t count = 0;
    for (size_t i = 0; i < 2 && !exchange->out_stopped; i++)
        if (exchange->out[i].len > 0)
            parts[count++] =
                (struct iovec){(void *)(uintptr_t)exchange->out[i].ptr, exchange->out[i].len};
    size_t taken = count == 0 ? 0 : connection_send(connection, parts, count);
    if (connection->exchange != exchange)
        return;
    for (size_t i = 0; i < 2 && taken > 0; i++) {
        size_t part = taken < exchange->out[i].len ? taken : exchange->out[i].len;
        exchange->out[i] = span_of(exchange->out[i].ptr + part, exchange->out[i].len - part);
        taken -= part;
    }
    if (count > 0 && exchange_is_written(exchange))
        (void)GW_FAULT(request_written); /* the kernel has it: it cannot fail any more */
    connection_wants_write(connection, !exchange->out_stopped && exchange_has_output(exchange));
    connection_watch(connection);
}

/* ---- events ---- */

void connection_wants_read(struct connection *connection, bool wanted)
{
    if (connection->is_reading == wanted || connection->transport.fd < 0)
        return;
    if (wanted) {
        connection->is_reading = event_add(&connection->read_event, NULL) == 0;
        if (!connection->is_reading)
            lose_events(connection);
        else if (transport_is_over(&connection->transport))
            event_active(&connection->read_event, EV_READ, 1);
        return;
    }
    connection->is_reading = false;
    (void)event_del(&connection->read_event); /* was added: nothing to fail */
}

void connection_wants_write(struct connection *connection, bool wanted)
{
    if (connection->is_writing == wanted || connection->transport.fd < 0)
        return;
    if (wanted) {
        connection->is_writing = event_add(&connection->write_event, NULL) == 0;
        if (!connection->is_writing)
            lose_events(connection);
        return;
    }
    connection->is_writing = false;
    (void)event_del(&connection->write_event); /* was added: nothing to fail */
}

/* The kernel takes no more watches: a connection that nobody watches is closed. */
static void lose_events(struct connection *connection)
{
    if (connection->exchange != NULL)
        exchange_end_later(connection->exchange, END_closed_no_answer);
    else
        connection_close(connection);
}

void connection_watch(struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    if (exchange == NULL)
        return;
    int64_t at_ms;
    if (exchange->stage == EXCHANGE_OPENING)
        at_ms =
            connection->resolve != NULL ? exchange->open_until_ms : connection->address_until_ms;
    else
        at_ms = exchange_deadline(exchange).at_ms;
    /* A timer that runs too early looks again; so most requests on a kept
     * connection arm none. */
    if (at_ms == INT64_MAX || (connection->armed_ms != 0 && connection->armed_ms <= at_ms))
        return;
    int64_t wait_ms = at_ms - port_now(connection->port);
    wait_ms = wait_ms < 1 ? 1 : wait_ms;
    struct timeval wait = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
    connection->armed_ms = at_ms;
    if (event_add(&connection->timer, &wait) != 0)
        lose_events(connection);
}

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd; /* there is none */
    (void)what;
    struct connection *connection;
    GW_CAST(connection, ctx, connection, CONNECTION_TAG);
    connection->armed_ms = 0;
    struct exchange *exchange = connection->exchange;
    if (exchange == NULL)
        return;
    int64_t now_ms = port_now(connection->port);
    if (exchange->stage == EXCHANGE_OPENING) {
        connection_opening_timer(connection, now_ms);
        return;
    }
    struct exchange_times deadline = exchange_deadline(exchange);
    if (now_ms < deadline.at_ms)
        connection_watch(connection);
    else if (deadline.end != END_answer_timeout || exchange->ops->listens_on == NULL ||
             !exchange->ops->listens_on(exchange))
        exchange_finish(exchange, deadline.end);
}

/* ---- keeping and closing ---- */

bool connection_is_clean(struct connection *connection)
{
    return transport_is_quiet(&connection->transport);
}

void connection_keep(struct connection *connection, int64_t idle_max_ms)
{
    struct upstream_port *port = connection->port;
    gw_assert(connection->exchange == NULL);
    gw_assert(connection->holds_slot);
    gw_assert(!connection->is_writing);
    http1_parser_reset(&connection->parser);
    gw_buf_fini(&connection->leftover);
    gw_assert(connection->begun == 0);
    connection->may_be_kept = false;
    connection->kept_ms = port_now(port);
    connection->kept_until_ms = connection->kept_ms + idle_max_ms;
    connection->is_kept = true;
    port->kept++;
    TAILQ_INSERT_HEAD(&connection->origin->kept, connection, link);
    connection_wants_read(connection, true);
    if (!TAILQ_EMPTY(&connection->origin->waiting))
        port_schedule_service(port);
    port_schedule_sweep(port);
}

void connection_release_slot(struct connection *connection)
{
    struct origin *origin = connection->origin;
    if (!connection->holds_slot)
        return;
    gw_assert(origin->connections > 0);
    connection->holds_slot = false;
    origin->connections--;
    if (!TAILQ_EMPTY(&origin->waiting))
        port_schedule_service(connection->port);
}

void connection_close(struct connection *connection)
{
    struct upstream_port *port = connection->port;
    if (connection->is_closed)
        return;
    gw_assert(connection->exchange == NULL);
    connection->is_closed = true;
    if (connection->is_kept) {
        connection->is_kept = false;
        port->kept--;
        TAILQ_REMOVE(&connection->origin->kept, connection, link);
    }
    if (connection->resolve != NULL)
        resolve_cancel(connection->resolve);
    connection->resolve = NULL;
    connection_close_descriptor(connection);
    (void)event_del(&connection->timer); /* fails only where it was never assigned */
    connection_release_slot(connection);
    port->connections--;
    TAILQ_INSERT_TAIL(&port->dead, connection, link);
    port_schedule_turn(port);
}

void connection_close_descriptor(struct connection *connection)
{
    if (connection->transport.fd < 0)
        return;
    connection_wants_read(connection, false);
    connection_wants_write(connection, false);
    transport_close(&connection->transport, !connection->was_reset);
    connection->is_shaking = false;
}
