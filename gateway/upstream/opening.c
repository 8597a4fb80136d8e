/* How a connection comes to stand: the name, its addresses one after the other,
 * connect. It never tries another address after a byte has left, and what fails
 * here is told in the next turn. */
#include <errno.h>
#include <netinet/tcp.h>

#include "base/log.h"
#include "gateway/upstream/connection.h"

static void on_names(const struct address_list *found, void *ctx);
static void use_addresses(struct connection *connection, const struct address_list *found);
static void connect_next(struct connection *connection);
static bool connect_to(struct connection *connection, const struct address *address);
static bool watch_descriptor(struct connection *connection);
static enum attempt_end end_of_errno(int error);
static void stands(struct connection *connection);
static void begin_shaking(struct connection *connection);
static void tell_failure(struct connection *connection, const char *why);
static bool is_connected_to_itself(const struct connection *connection);

void connection_open(struct connection *connection)
{
    struct origin *origin = connection->origin;
    struct upstream_port *port = connection->port;
    if (origin->found.count > 0 && port_now(port) < origin->found_until_ms) {
        use_addresses(connection, &origin->found);
        return;
    }
    if (port->resolver == NULL)
        port->resolver = resolver_new(port->options.base, NULL, NULL);
    struct resolve_options options = {
        .host = origin->host.ptr, .port = origin->port_number, .done = on_names, .ctx = connection};
    struct address_list found;
    enum resolve_state state = RESOLVE_FAILED;
    if (port->resolver != NULL)
        state = resolve_start(port->resolver, &options, &found, &connection->resolve);
    switch (state) {
    case RESOLVE_FOUND:
        use_addresses(connection, &found);
        return;
    case RESOLVE_FAILED:
        exchange_end_later(connection->exchange, END_dns_failed);
        return;
    case RESOLVE_PENDING:
        connection_watch(connection);
        return;
    }
}

static void on_names(const struct address_list *found, void *ctx)
{
    struct connection *connection;
    GW_CAST(connection, ctx, connection, CONNECTION_TAG);
    connection->resolve = NULL;
    if (found == NULL)
        exchange_end_later(connection->exchange, END_dns_failed);
    else
        use_addresses(connection, found);
}

static void use_addresses(struct connection *connection, const struct address_list *found)
{
    struct origin *origin = connection->origin;
    connection->addresses = *found;
    if (origin->found_until_ms < INT64_MAX && found != &origin->found) {
        origin->found = *found;
        origin->found_until_ms = port_now(origin->port) + UPSTREAM_NAME_MS;
    }
    connect_next(connection);
}

static void connect_next(struct connection *connection)
{
    gw_assert(connection->exchange->bytes_out == 0);
    while (connection->address_next < connection->addresses.count)
        if (connect_to(connection, &connection->addresses.items[connection->address_next++]))
            return;
    exchange_end_later(connection->exchange, connection->connect_end);
}

static bool connect_to(struct connection *connection, const struct address *address)
{
    connection_close_descriptor(connection);
    int family = address->of.any.sa_family;
    connection->transport.fd =
        socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (connection->transport.fd < 0) {
        connection->connect_end = end_of_errno(errno);
        return false;
    }
    int on = 1;
    /* Without it small requests are slower, not wrong. */
    (void)setsockopt(connection->transport.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    address_print(address, connection->address);
    if (connect(connection->transport.fd, &address->of.any, address->len) != 0 &&
        errno != EINPROGRESS) {
        connection->connect_end = end_of_errno(errno);
        connection_close_descriptor(connection);
        return false;
    }
    if (!watch_descriptor(connection)) {
        connection->connect_end = END_queue_timeout;
        connection_close_descriptor(connection);
        return false;
    }
    /* Each address left gets its share of the time, so that one that swallows
     * everything does not use it up alone. */
    int64_t now_ms = port_now(connection->port);
    int64_t left_ms = connection->exchange->open_until_ms - now_ms;
    int64_t left = connection->addresses.count - connection->address_next + 1;
    connection->address_until_ms = now_ms + (left_ms > 0 ? left_ms / left : 0);
    connection_watch(connection);
    return true;
}

static bool watch_descriptor(struct connection *connection)
{
    struct event_base *base = connection->port->options.base;
    if (event_assign(&connection->read_event, base, connection->transport.fd, EV_READ | EV_PERSIST,
                     connection_readable, connection) != 0 ||
        event_assign(&connection->write_event, base, connection->transport.fd,
                     EV_WRITE | EV_PERSIST, connection_writable, connection) != 0)
        return false;
    connection->is_writing = event_add(&connection->write_event, NULL) == 0;
    return connection->is_writing;
}

static enum attempt_end end_of_errno(int error)
{
    switch (error) {
    case ETIMEDOUT:
        return END_connect_timeout;
    case EMFILE: /* ours, not the upstream's: no descriptor, memory or port was free */
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EADDRNOTAVAIL:
        return END_queue_timeout;
    default: /* not an enum: all the errors of a network */
        return END_connect_refused;
    }
}

void connection_connected(struct connection *connection)
{
    int error = 0;
    socklen_t len = sizeof(error);
    if (getsockopt(connection->transport.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error == 0 && is_connected_to_itself(connection))
        error = ECONNREFUSED;
    if (error != 0) {
        connection->connect_end = end_of_errno(error);
        connect_next(connection);
        return;
    }
    if (connection->origin->is_tls)
        begin_shaking(connection);
    else
        stands(connection);
}

static void stands(struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    connection_wants_write(connection, false);
    connection_wants_read(connection, !exchange->is_paused);
    if (connection->exchange == exchange)
        exchange_opened(exchange);
}

/* ---- TLS ---- */

static void begin_shaking(struct connection *connection)
{
    struct origin *origin = connection->origin;
    if (origin->tls != NULL)
        connection->transport.tls =
            tls_connect(origin->tls, connection->transport.fd, &origin->tls_kept);
    if (connection->transport.tls == NULL) {
        tell_failure(connection, origin->tls == NULL ? "there are no certificates to verify with"
                                                     : "out of memory");
        exchange_end_later(connection->exchange, END_tls_failed);
        return;
    }
    connection->is_shaking = true;
    connection->address_until_ms = port_now(connection->port) + connection->exchange->tls_ms;
    if (connection->address_until_ms > connection->exchange->answer_until_ms)
        connection->address_until_ms = connection->exchange->answer_until_ms;
    connection_shake(connection);
}

void connection_shake(struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    gw_assert(exchange->bytes_out == 0);
    enum tls_next next = transport_shake(&connection->transport);
    if (next == TLS_FAILED) {
        tell_failure(connection, tls_why(connection->transport.tls));
        exchange_end_later(exchange, END_tls_failed);
        return;
    }
    if (next == TLS_READY) {
        connection->is_shaking = false;
        stands(connection);
        return;
    }
    connection_wants_read(connection, next == TLS_WANTS_READ);
    if (connection->exchange == exchange)
        connection_wants_write(connection, next == TLS_WANTS_WRITE);
    if (connection->exchange == exchange)
        connection_watch(connection);
}

/* Once in a while: an upstream whose certificate has expired fails every request. */
static void tell_failure(struct connection *connection, const char *why)
{
    struct origin *origin = connection->origin;
    int64_t now_ms = port_now(connection->port);
    if (origin->tls_told_ms != 0 && now_ms < origin->tls_told_ms + UPSTREAM_TLS_TELL_MS)
        return;
    origin->tls_told_ms = now_ms;
    const struct gw_log_pair pairs[] = {{"upstream", origin->name, 0},
                                        {"address", span_str(connection->address), 0},
                                        {"reason", span_str(why), 0},
                                        GW_LOG_END};
    gw_log(GW_LOG_WARN, "upstream.tls_failed", pairs);
}

/* A connect to a free port of this host can meet itself when the kernel picks the
 * same port for our end; the request would come back as its own answer. */
static bool is_connected_to_itself(const struct connection *connection)
{
    struct address own = {.len = sizeof(own.of)};
    const struct address *peer = &connection->addresses.items[connection->address_next - 1];
    if (getsockname(connection->transport.fd, &own.of.any, &own.len) != 0 || own.len != peer->len)
        return false;
    if (own.of.any.sa_family == AF_INET)
        return own.of.v4.sin_port == peer->of.v4.sin_port &&
               own.of.v4.sin_addr.s_addr == peer->of.v4.sin_addr.s_addr;
    return own.of.v6.sin6_port == peer->of.v6.sin6_port &&
           memcmp(&own.of.v6.sin6_addr, &peer->of.v6.sin6_addr, sizeof(own.of.v6.sin6_addr)) == 0;
}

void connection_opening_timer(struct connection *connection, int64_t now_ms)
{
    struct exchange *exchange = connection->exchange;
    bool is_resolving = connection->resolve != NULL;
    if (now_ms < (is_resolving ? exchange->open_until_ms : connection->address_until_ms)) {
        connection_watch(connection);
    } else if (is_resolving) {
        exchange_end_later(exchange, END_dns_failed);
    } else if (connection->is_shaking) {
        tell_failure(connection, "the handshake took longer than timeouts.tls");
        exchange_end_later(exchange, END_tls_failed);
    } else {
        connection->connect_end = END_connect_timeout;
        connect_next(connection);
    }
}
