/* Watches the connections of an evhttp from the outside, through its public hooks.
 * Must never touch a connection after its close callback. */
#include "gateway/admin/connections.h"

#include "gateway/tls/tls.h"

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <stdlib.h>

struct connection {
    GW_TAG(connection);
#define CONNECTION_TAG 0x434f4e4eu
    struct connections *all;
    struct bufferevent *bev;          /* a reference, until the evhttp connection is known */
    struct event *known;              /* the deferred look at it */
    struct evhttp_connection *evhttp; /* NULL: not known yet */
    bool is_writing;
    struct connection *next;
};

struct connections {
    GW_TAG(connections);
#define CONNECTIONS_TAG 0x434f4e53u
    struct evconnlistener *listener; /* NULL: none, or stopped for good */
    struct tls_context *tls;         /* NULL: plain */
    struct connection *first;
    uint32_t count, writing;
};

static struct bufferevent *on_accept(struct event_base *base, void *arg);
static void on_known(evutil_socket_t fd, short what, void *arg);
static void on_close(struct evhttp_connection *evhttp, void *arg);
static void on_written(struct evhttp_request *request, void *arg);
static void forget(struct connection *connection);

struct connections *connections_new(struct evhttp *http, struct tls_context *tls)
{
    struct connections *all = calloc(1, sizeof(*all));
    if (all == NULL)
        return NULL;
    all->tag_connections = CONNECTIONS_TAG;
    all->tls = tls;
    evhttp_set_bevcb(http, on_accept, all);
    return all;
}

void connections_free(struct connections *all)
{
    if (all == NULL)
        return;
    while (all->first != NULL) { /* accepted in the very last turn of the loop */
        gw_assert(all->first->evhttp == NULL);
        forget(all->first);
    }
    all->tag_connections = 0;
    free(all);
}

void connections_listen(struct connections *all, struct evhttp_bound_socket *socket)
{
    all->listener = evhttp_bound_socket_get_listener(socket);
}

void connections_stop(struct connections *all)
{
    all->listener = NULL;
}

uint32_t connections_writing(const struct connections *all)
{
    return all->writing;
}

/* NULL only without memory: evhttp then makes a plain stream of its own, on which a
 * caller's handshake is no HTTP, and no token was said yet. */
static struct bufferevent *stream_new(struct connections *all, struct event_base *base)
{
    if (all->tls == NULL)
        return bufferevent_socket_new(base, -1, 0);
    struct ssl_st *ssl = tls_new_ssl(all->tls);
    struct bufferevent *bev =
        ssl == NULL ? NULL
                    : bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                                     BEV_OPT_CLOSE_ON_FREE);
    if (bev != NULL)
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    return bev;
}

/* evhttp asks for the stream of a new connection; which connection it becomes is
 * known only after this returns, so a deferred event looks. */
static struct bufferevent *on_accept(struct event_base *base, void *arg)
{
    struct connections *all;
    GW_CAST(all, arg, connections, CONNECTIONS_TAG);
    struct bufferevent *bev = stream_new(all, base);
    struct connection *connection = bev == NULL ? NULL : calloc(1, sizeof(*connection));
    if (connection == NULL)
        return bev;
    *connection = (struct connection){.tag_connection = CONNECTION_TAG, .all = all, .bev = bev};
    connection->known = event_new(base, -1, 0, on_known, connection);
    if (connection->known == NULL) {
        free(connection);
        return bev; /* served, but neither counted nor waited for */
    }
    event_active(connection->known, EV_TIMEOUT, 0);
    bufferevent_incref(bev);
    connection->next = all->first;
    all->first = connection;
    if (++all->count >= ADMIN_CONNECTIONS_MAX && all->listener != NULL)
        (void)evconnlistener_disable(all->listener); /* else the cap is one higher */
    return bev;
}

static void forget(struct connection *connection)
{
    struct connections *all = connection->all;
    struct connection **at = &all->first;
    while (*at != connection)
        at = &(*at)->next;
    *at = connection->next;
    gw_assert(all->count > 0);
    if (all->count-- == ADMIN_CONNECTIONS_MAX && all->listener != NULL)
        (void)evconnlistener_enable(all->listener); /* it was enabled before */
    if (connection->is_writing)
        all->writing--;
    if (connection->bev != NULL)
        (void)bufferevent_decref(connection->bev); /* whether it was the last does not matter */
    event_free(connection->known);
    connection->tag_connection = 0;
    free(connection);
}

static void on_known(evutil_socket_t fd, short what, void *arg)
{
    struct connection *connection;
    struct evhttp_connection *evhttp = NULL;
    (void)fd;   /* a deferred call has none */
    (void)what; /* nor a reason */
    GW_CAST(connection, arg, connection, CONNECTION_TAG);
    void *found = NULL;
    bufferevent_getcb(connection->bev, NULL, NULL, NULL, &found);
    evhttp = found;
    (void)bufferevent_decref(connection->bev); /* whether it was the last does not matter */
    connection->bev = NULL;
    if (evhttp == NULL) { /* already gone */
        forget(connection);
        return;
    }
    connection->evhttp = evhttp;
    evhttp_connection_set_closecb(evhttp, on_close, connection);
}

static void on_close(struct evhttp_connection *evhttp, void *arg)
{
    struct connection *connection;
    (void)evhttp; /* being freed */
    GW_CAST(connection, arg, connection, CONNECTION_TAG);
    forget(connection);
}

void connections_answering(struct connections *all, struct evhttp_request *request)
{
    struct evhttp_connection *evhttp = evhttp_request_get_connection(request);
    struct connection *connection = all->first;
    while (connection != NULL && (evhttp == NULL || connection->evhttp != evhttp))
        connection = connection->next;
    if (connection == NULL) /* lost meanwhile, or never counted */
        return;
    gw_assert(!connection->is_writing);
    connection->is_writing = true;
    all->writing++;
    evhttp_request_set_on_complete_cb(request, on_written, connection);
}

/* The end of TLS, where the connection ends: evhttp itself just closes. */
static void say_goodbye(struct evhttp_request *request)
{
    struct evhttp_connection *evhttp = evhttp_request_get_connection(request);
    const char *asked = evhttp_find_header(evhttp_request_get_input_headers(request), "Connection");
    const char *told = evhttp_find_header(evhttp_request_get_output_headers(request), "Connection");
    bool closes = (asked != NULL && evutil_ascii_strcasecmp(asked, "close") == 0) ||
                  (told != NULL && evutil_ascii_strcasecmp(told, "close") == 0);
    if (evhttp != NULL && closes)
        tls_ssl_shut(bufferevent_openssl_get_ssl(evhttp_connection_get_bufferevent(evhttp)));
}

static void on_written(struct evhttp_request *request, void *arg)
{
    struct connection *connection;
    GW_CAST(connection, arg, connection, CONNECTION_TAG);
    say_goodbye(request);
    gw_assert(connection->is_writing);
    connection->is_writing = false;
    gw_assert(connection->all->writing > 0);
    connection->all->writing--;
}
