/* The port itself: its life, its turn and its numbers. The turn is where results
 * are told that were found out inside a call of the user, and where memory is
 * given back; it must never wait for anything. */
#include <stdlib.h>

#include "gateway/upstream/connection.h"

static void on_turn(evutil_socket_t fd, short what, void *ctx);
static void on_sweep(evutil_socket_t fd, short what, void *ctx);
static void free_dead(struct upstream_port *port);

enum gw_status upstream_port_new(const struct upstream_port_options *options,
                                 struct upstream_port **ret, struct gw_error *err)
{
    gw_assert(options->base != NULL);
    gw_assert(options->clock != NULL);
    struct upstream_port *port = calloc(1, sizeof(*port));
    if (port == NULL)
        return gw_error_set(err, GW_NOMEM, "there is no memory for the upstream port");
    port->tag_upstream_port = UPSTREAM_PORT_TAG;
    port->options = *options;
    TAILQ_INIT(&port->origins);
    TAILQ_INIT(&port->turn_list);
    TAILQ_INIT(&port->dead);
    if (event_assign(&port->turn, options->base, -1, 0, on_turn, port) != 0 ||
        event_assign(&port->sweep, options->base, -1, 0, on_sweep, port) != 0) {
        free(port);
        return gw_error_set(err, GW_IO, "the event loop takes no timers of the upstream port");
    }
    *ret = port;
    return GW_OK;
}

void upstream_port_free(struct upstream_port *port)
{
    if (port == NULL)
        return;
    gw_assert(port->calls == 0);
    struct origin *origin;
    while ((origin = TAILQ_FIRST(&port->origins)) != NULL) {
        origin_close_kept(origin, INT64_MAX);
        gw_assert(origin->connections == 0);
        TAILQ_REMOVE(&port->origins, origin, link);
        origin_free(origin);
    }
    struct exchange *exchange;
    while ((exchange = TAILQ_FIRST(&port->turn_list)) != NULL) {
        gw_assert(exchange->is_dead);
        TAILQ_REMOVE(&port->turn_list, exchange, turn_link);
        exchange->ops->free(exchange);
    }
    free_dead(port);
    gw_assert(port->connections == 0);
    resolver_free(port->resolver);
    (void)event_del(&port->turn); /* neither is added: nothing to fail */
    (void)event_del(&port->sweep);
    free(port);
}

void upstream_port_stats(const struct upstream_port *port, struct upstream_port_stats *ret)
{
    *ret = (struct upstream_port_stats){.connections = port->connections,
                                        .kept = port->kept,
                                        .late_listening = port->late_listening,
                                        .calls = port->calls};
}

void port_schedule_turn(struct upstream_port *port)
{
    if (port->turn_is_due)
        return;
    port->turn_is_due = true;
    event_active(&port->turn, EV_TIMEOUT, 0);
}

void port_schedule_service(struct upstream_port *port)
{
    port->service_is_due = true;
    port_schedule_turn(port);
}

/* Takes as many exchanges as wait at its beginning: those that come meanwhile get
 * the next turn, so a turn always ends. */
static void on_turn(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd; /* there is none */
    (void)what;
    struct upstream_port *port;
    GW_CAST(port, ctx, upstream_port, UPSTREAM_PORT_TAG);
    port->turn_is_due = false;
    if (port->service_is_due) {
        port->service_is_due = false;
        for (struct origin *origin = TAILQ_FIRST(&port->origins); origin != NULL;
             origin = TAILQ_NEXT(origin, link))
            origin_serve(origin);
    }
    const struct exchange *last = TAILQ_LAST(&port->turn_list, exchange_list);
    bool is_last = last == NULL;
    while (!is_last) {
        struct exchange *exchange = TAILQ_FIRST(&port->turn_list);
        gw_assert(exchange != NULL);
        is_last = exchange == last;
        TAILQ_REMOVE(&port->turn_list, exchange, turn_link);
        exchange->is_on_turn = false;
        exchange_take_turn(exchange);
    }
    free_dead(port);
}

static void free_dead(struct upstream_port *port)
{
    struct connection *connection;
    while ((connection = TAILQ_FIRST(&port->dead)) != NULL) {
        TAILQ_REMOVE(&port->dead, connection, link);
        connection_free(connection);
    }
}

static void on_sweep(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd; /* there is none */
    (void)what;
    struct upstream_port *port;
    GW_CAST(port, ctx, upstream_port, UPSTREAM_PORT_TAG);
    port->sweep_is_on = false;
    int64_t now_ms = port_now(port);
    for (struct origin *origin = TAILQ_FIRST(&port->origins); origin != NULL;
         origin = TAILQ_NEXT(origin, link))
        origin_close_kept(origin, now_ms);
    port_schedule_sweep(port);
}

void port_schedule_sweep(struct upstream_port *port)
{
    static const struct timeval every = {.tv_sec = UPSTREAM_SWEEP_MS / 1000,
                                         .tv_usec = UPSTREAM_SWEEP_MS % 1000 * 1000};
    if (port->kept == 0 || port->sweep_is_on)
        return;
    /* Without the sweep an old connection is found out when it is wanted. */
    port->sweep_is_on = event_add(&port->sweep, &every) == 0;
}
