/* One configured upstream as this worker sees it: which connections are kept, how
 * many there may be, and who waits for one. It never speaks to the upstream, and
 * it never runs a callback of an exchange. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/upstream/connection.h"

#define ORIGIN_PORT_BYTES 7 /* ":65535" and a NUL */

static struct origin *find(struct upstream_port *port, const struct upstream_policy *policy);
static struct origin *origin_new(struct upstream_port *port, const struct upstream_policy *policy);
static bool make_room(struct upstream_port *port);
static void on_queue_timer(evutil_socket_t fd, short what, void *ctx);
static void arm_queue(struct origin *origin, int64_t now_ms, int64_t at_ms);

enum gw_status origin_get(struct upstream_port *port, const struct upstream_policy *policy,
                          struct origin **ret)
{
    struct origin *origin = find(port, policy);
    if (origin == NULL) {
        if (policy->host.len == 0 || policy->host.len > UPSTREAM_NAME_BYTES_MAX)
            return GW_INVALID;
        if (!make_room(port))
            return GW_LIMIT;
        origin = origin_new(port, policy);
        if (origin == NULL)
            return GW_NOMEM;
    }
    uint32_t workers = port->options.workers == 0 ? 1 : port->options.workers;
    origin->slots = policy->connections_max / workers; /* a reload may have changed it */
    if (origin->slots == 0)
        origin->slots = 1;
    *ret = origin;
    return GW_OK;
}

/* By what it is, not by the address of its policy: that changes with each reload. */
static struct origin *find(struct upstream_port *port, const struct upstream_policy *policy)
{
    for (struct origin *origin = TAILQ_FIRST(&port->origins); origin != NULL;
         origin = TAILQ_NEXT(origin, link))
        if (origin->port_number == policy->port && origin->is_tls == policy->tls.is_on &&
            span_equal(origin->name, policy->name) && span_equal(origin->host, policy->host))
            return origin;
    return NULL;
}

static bool make_room(struct upstream_port *port)
{
    if (port->origin_count < UPSTREAM_ORIGINS_MAX)
        return true;
    struct origin *origin = TAILQ_FIRST(&port->origins);
    while (origin != NULL && (origin->exchanges > 0 || origin->connections > 0))
        origin = TAILQ_NEXT(origin, link);
    if (origin == NULL)
        return false;
    TAILQ_REMOVE(&port->origins, origin, link);
    origin_free(origin);
    return true;
}

static struct origin *origin_new(struct upstream_port *port, const struct upstream_policy *policy)
{
    struct origin *origin = calloc(1, sizeof(*origin));
    if (origin == NULL)
        return NULL;
    size_t host = policy->host.len, name = policy->name.len;
    origin->text = calloc(1, name + host + 1 + host + ORIGIN_PORT_BYTES);
    if (origin->text == NULL ||
        event_assign(&origin->queue_timer, port->options.base, -1, 0, on_queue_timer, origin)) {
        free(origin->text);
        free(origin);
        return NULL;
    }
    origin->tag_origin = ORIGIN_TAG;
    origin->port = port;
    origin->port_number = policy->port;
    origin->is_tls = policy->tls.is_on;
    if (origin->is_tls)
        origin->tls = tls_book_upstream(port->options.tls, policy->name);
    char *text = origin->text;
    memcpy(text, policy->host.ptr, host);
    origin->host = span_of(text, host);
    text += host + 1;
    if (name > 0)
        memcpy(text, policy->name.ptr, name);
    origin->name = span_of(text, name);
    text += name;
    memcpy(text, policy->host.ptr, host);
    int port_bytes = snprintf(text + host, ORIGIN_PORT_BYTES, ":%u", policy->port);
    origin->label = span_of(text, host + (size_t)port_bytes);
    if (address_parse(origin->host, policy->port, &origin->found.items[0])) {
        origin->found.count = 1;
        origin->found_until_ms = INT64_MAX;
    }
    TAILQ_INIT(&origin->kept);
    TAILQ_INIT(&origin->waiting);
    TAILQ_INSERT_TAIL(&port->origins, origin, link);
    port->origin_count++;
    return origin;
}

void origin_free(struct origin *origin)
{
    gw_assert(origin->connections == 0);
    gw_assert(TAILQ_EMPTY(&origin->waiting));
    origin->port->origin_count--;
    (void)event_del(&origin->queue_timer); /* fails only where it was never assigned */
    tls_kept_fini(&origin->tls_kept);
    free(origin->text);
    free(origin);
}

/* Each turn takes one connection out of the list. */
struct connection *origin_take_kept(struct origin *origin, int64_t idle_max_ms)
{
    int64_t now_ms = port_now(origin->port);
    struct connection *connection;
    while ((connection = TAILQ_FIRST(&origin->kept)) != NULL) {
        TAILQ_REMOVE(&origin->kept, connection, link);
        connection->is_kept = false;
        origin->port->kept--;
        if (now_ms - connection->kept_ms < idle_max_ms && connection_is_clean(connection))
            return connection;
        connection_close(connection);
    }
    return NULL;
}

void origin_close_kept(struct origin *origin, int64_t until_ms)
{
    struct connection *connection = TAILQ_FIRST(&origin->kept);
    while (connection != NULL) {
        struct connection *next = TAILQ_NEXT(connection, link);
        if (connection->kept_until_ms <= until_ms)
            connection_close(connection);
        connection = next;
    }
}

bool origin_enqueue(struct origin *origin, struct exchange *exchange, uint32_t waiting_max)
{
    if (origin->waiting_count >= waiting_max)
        return false;
    exchange->stage = EXCHANGE_WAITING;
    TAILQ_INSERT_TAIL(&origin->waiting, exchange, wait_link);
    origin->waiting_count++;
    arm_queue(origin, exchange->start_ms, exchange->open_until_ms);
    return true;
}

void origin_unqueue(struct exchange *exchange)
{
    gw_assert(exchange->stage == EXCHANGE_WAITING);
    gw_assert(exchange->origin->waiting_count > 0);
    TAILQ_REMOVE(&exchange->origin->waiting, exchange, wait_link);
    exchange->origin->waiting_count--;
}

/* Each turn takes one exchange out of the queue. */
void origin_serve(struct origin *origin)
{
    struct exchange *exchange;
    while ((exchange = TAILQ_FIRST(&origin->waiting)) != NULL)
        if (!exchange_connect(exchange))
            return;
}

static void on_queue_timer(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd; /* there is none */
    (void)what;
    struct origin *origin;
    GW_CAST(origin, ctx, origin, ORIGIN_TAG);
    int64_t now_ms = port_now(origin->port), next_ms = INT64_MAX;
    struct exchange *exchange = TAILQ_FIRST(&origin->waiting);
    while (exchange != NULL) {
        struct exchange *next = TAILQ_NEXT(exchange, wait_link);
        if (exchange->open_until_ms <= now_ms)
            exchange_end_later(exchange, END_queue_timeout);
        else if (exchange->open_until_ms < next_ms)
            next_ms = exchange->open_until_ms;
        exchange = next;
    }
    if (next_ms < INT64_MAX)
        arm_queue(origin, now_ms, next_ms);
}

/* A timer that is pending already and runs too late only makes the wait longer if
 * waiting times differ, so it is moved forward and never back. */
static void arm_queue(struct origin *origin, int64_t now_ms, int64_t at_ms)
{
    int64_t wait_ms = at_ms > now_ms ? at_ms - now_ms : 1;
    if (evtimer_pending(&origin->queue_timer, NULL) && origin->queue_until_ms <= at_ms)
        return;
    struct timeval wait = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
    if (event_add(&origin->queue_timer, &wait) == 0)
        origin->queue_until_ms = at_ms;
}
