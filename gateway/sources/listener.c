/* The source `listener`: accepts callers. All workers listen on the same
 * descriptors, so that a drain loses none of the queued connections (SO_REUSEPORT
 * would). */
#include "gateway/client.h"
#include "gateway/sources/sources.h"

#include "base/log.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS_MAX  64  /* in one turn: others wait meanwhile */
#define ACCEPT_PAUSE 100 /* ms without accepting after the process ran out of descriptors */

struct listener {
    struct listeners *all;
    struct event *event;
    int fd;
    struct tls_context *tls; /* NULL: plain */
};

struct listeners {
    struct worker *worker;
    struct event *pause;
    uint32_t count;
    struct listener items[];
};

static const char too_many[] =
    "{\"type\":\"urn:recibo:problem:overloaded\",\"title\":\"A limit is reached\",\"status\":503,"
    "\"detail\":\"Too many connections. Nothing was sent.\",\"code\":\"overloaded\","
    "\"retry_may_help\":true,\"error\":{\"type\":\"api_error\",\"code\":\"overloaded\","
    "\"message\":\"Too many connections. Nothing was sent.\"}}\n";

/* Over the limit: said at once, so that the caller knows that nothing happened. */
static void turn_away(int fd, bool is_tls)
{
    if (is_tls) {        /* a handshake for it would cost what there is too little of */
        (void)close(fd); /* nothing was read */
        return;
    }
    char answer[sizeof(too_many) + 256];
    int len = snprintf(answer, sizeof(answer),
                       "HTTP/1.1 503 Service Unavailable\r\n"
                       "Content-Type: application/problem+json\r\nCache-Control: no-store\r\n"
                       "Retry-After: 1\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                       sizeof(too_many) - 1, too_many);
    gw_assert(len > 0 && (size_t)len < sizeof(answer));
    ssize_t sent = send(fd, answer, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent; /* a caller that takes no answer gets none */
    (void)close(fd);
}

static bool has_room(struct worker *worker)
{
    const struct board_gauges *gauges = board_gauges(worker_ports(worker)->board);
    return atomic_load(&gauges->connections) < worker_conf(worker)->limits.connections;
}

static void pause_accepting(struct listeners *all)
{
    const struct timeval tv = {.tv_sec = 0, .tv_usec = ACCEPT_PAUSE * 1000};
    gw_log_text(GW_LOG_WARN, "listener.paused", "accept failed, trying again in %d ms: %s",
                ACCEPT_PAUSE, strerror(errno));
    for (uint32_t i = 0; i < all->count; i++)
        (void)event_del(all->items[i].event); /* level-triggered: it would spin */
    (void)event_add(all->pause, &tv);         /* without it nothing is accepted: as bad as it is */
}

static void acceptable(evutil_socket_t fd, short what, void *ctx)
{
    struct listener *listener = ctx;
    (void)what;
    for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof(peer);
        int client = accept4(fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                pause_accepting(listener->all);
            return; /* EAGAIN, or a connection that died in the queue */
        }
        struct worker *worker = listener->all->worker;
        if (has_room(worker)) {
            const struct client_arrival arrival = {.fd = client,
                                                   .peer = (const struct sockaddr *)&peer,
                                                   .peer_len = len,
                                                   .tls = listener->tls};
            client_accept(worker, &arrival);
            continue;
        }
        board_count_refused(worker_ports(worker)->board, PROBLEM_OVERLOADED);
        turn_away(client, listener->tls != NULL);
    }
}

static void pause_is_over(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    listeners_start(ctx);
}

enum gw_status listeners_new(struct worker *worker, const struct worker_options *options,
                             struct listeners **ret, struct gw_error *err)
{
    const uint32_t count = options->listen_count;
    struct listeners *all = calloc(1, sizeof(*all) + count * sizeof(all->items[0]));
    if (all == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    all->worker = worker;
    all->pause = event_new(worker_base(worker), -1, 0, pause_is_over, all);
    bool ok = all->pause != NULL;
    for (uint32_t i = 0; i < count && ok; i++) {
        struct listener *listener = &all->items[all->count++];
        listener->all = all;
        listener->fd = options->listen_fds[i];
        listener->tls = tls_book_listener(options->tls, i);
        listener->event = event_new(worker_base(worker), listener->fd, EV_READ | EV_PERSIST,
                                    acceptable, listener);
        ok = listener->event != NULL;
    }
    if (!ok) {
        listeners_free(all);
        return gw_error_set(err, GW_NOMEM, "out of memory");
    }
    *ret = all;
    return GW_OK;
}

void listeners_start(struct listeners *listeners)
{
    for (uint32_t i = 0; i < listeners->count; i++)
        (void)event_add(listeners->items[i].event, NULL); /* a descriptor we made: cannot fail */
}

void listeners_stop(struct listeners *listeners)
{
    (void)event_del(listeners->pause); /* fine if it does not run */
    for (uint32_t i = 0; i < listeners->count; i++)
        (void)event_del(listeners->items[i].event);
}

void listeners_free(struct listeners *listeners)
{
    if (listeners == NULL)
        return;
    for (uint32_t i = 0; i < listeners->count; i++)
        if (listeners->items[i].event != NULL)
            event_free(listeners->items[i].event);
    if (listeners->pause != NULL)
        event_free(listeners->pause);
    free(listeners);
}
