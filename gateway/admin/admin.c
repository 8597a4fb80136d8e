/* The operator plane's listener and dispatcher. It judges who may call, finds the
 * endpoint, and hands the call over. It must never pass on a call that was not
 * checked, and never free an evhttp that still owes an answer. */
#include "gateway/admin/admin.h"

#include "gateway/admin/access.h"
#include "gateway/admin/call.h"
#include "gateway/admin/connections.h"
#include "gateway/admin/listener.h"
#include "gateway/admin/plane.h"
#include "gateway/admin/plans.h"

#include <event2/event.h>
#include <event2/http.h>

#include <poll.h>
#include <stdlib.h>

#define ADMIN_HEAD_BYTES_MAX 16384
#define ADMIN_IDLE_SECONDS   30
#define ADMIN_GRACE_MS       5000
#define ADMIN_POLL_MS        100

static void on_request(struct evhttp_request *request, void *arg);
static void on_inbox(evutil_socket_t fd, short what, void *arg);

static size_t answer_body_max(const struct conf *conf)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < conf->routes.count; i++)
        if (conf->routes.routes[i].replay_body_max > most)
            most = conf->routes.routes[i].replay_body_max;
    /* Twice: escapes and base64 make a body longer on its way here. */
    return CALL_BODY_BYTES_MAX + 2 * (size_t)most;
}

static enum gw_status start_http(struct admin *admin, struct gw_error *err)
{
    admin->http = evhttp_new(admin->options.base);
    if (admin->http == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    admin->connections = connections_new(admin->http, admin->options.tls);
    if (admin->connections == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    admin->body_max = answer_body_max(admin->options.conf);
    evhttp_set_default_content_type(admin->http, NULL);
    evhttp_set_max_headers_size(admin->http, ADMIN_HEAD_BYTES_MAX);
    /* A little more than is taken, so that the refusal can be a problem of ours. */
    evhttp_set_max_body_size(admin->http, (ev_ssize_t)(admin->body_max + CALL_BODY_BYTES_MAX));
    evhttp_set_timeout(admin->http, ADMIN_IDLE_SECONDS);
    evhttp_set_allowed_methods(admin->http, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
                                                EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
                                                EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
    evhttp_set_gencb(admin->http, on_request, admin);
    return GW_OK;
}

static enum gw_status start_inbox(struct admin *admin, struct gw_error *err)
{
    enum gw_status status = store_inbox_new(&admin->inbox, err);
    if (status != GW_OK)
        return status;
    admin->inbox_event = event_new(admin->options.base, store_inbox_fd(admin->inbox),
                                   EV_READ | EV_PERSIST, on_inbox, admin);
    if (admin->inbox_event == NULL || event_add(admin->inbox_event, NULL) != 0)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    return GW_OK;
}

static enum gw_status start_sources(struct admin *admin, struct gw_error *err)
{
    admin->plans = plans_new(admin);
    admin->history = history_new(admin, HISTORY_EVERY_MS);
    return admin->plans != NULL && admin->history != NULL
               ? GW_OK
               : gw_error_set(err, GW_NOMEM, "out of memory");
}

enum gw_status admin_new(const struct admin_options *options, struct admin **ret_admin,
                         struct gw_error *err)
{
    gw_assert(options->conf->has_admin);
    struct admin *admin = calloc(1, sizeof(*admin));
    if (admin == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    admin->tag_admin = ADMIN_TAG;
    admin->options = *options;
    enum gw_status status = start_http(admin, err);
    if (status == GW_OK)
        status = start_inbox(admin, err);
    if (status == GW_OK)
        status = start_sources(admin, err);
    if (status == GW_OK && options->listen_fd > 0)
        status = listener_take(&admin->listener, admin->http, options->listen_fd, err);
    else if (status == GW_OK)
        status = listener_bind(&admin->listener, admin->http, &options->conf->admin, err);
    if (status != GW_OK) {
        admin_free(admin);
        return status;
    }
    connections_listen(admin->connections, admin->listener.socket);
    *ret_admin = admin;
    return GW_OK;
}

void admin_adopt(struct admin *admin, struct conf *conf)
{
    admin->options.conf = conf;
    admin->body_max = answer_body_max(conf);
    evhttp_set_max_body_size(admin->http, (ev_ssize_t)(admin->body_max + CALL_BODY_BYTES_MAX));
}

uint16_t admin_port(const struct admin *admin)
{
    return admin->listener.port;
}

/* What the store still has belongs to it; it always comes back. */
static void wait_for_store(struct admin *admin)
{
    struct pollfd poll_for = {.fd = store_inbox_fd(admin->inbox), .events = POLLIN};
    while (admin->calls_in_store > 0) {
        (void)poll(&poll_for, 1, ADMIN_POLL_MS); /* early or late: the drain tells */
        store_inbox_drain(admin->inbox);
    }
}

static bool is_idle(const struct admin *admin)
{
    return admin->calls == 0 && connections_writing(admin->connections) == 0;
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    /* The loop has come back, which is all that is wanted. */
    (void)fd;
    (void)what;
    (void)arg;
}

static void finish_calls(struct admin *admin)
{
    struct gw_clock *clock = admin->options.clock;
    const int64_t until_ticks = clock->ticks_ms(clock) + ADMIN_GRACE_MS;
    const struct timeval every = {.tv_usec = ADMIN_POLL_MS * 1000};
    struct event *tick = event_new(admin->options.base, -1, EV_PERSIST, on_tick, NULL);
    bool ticks = tick != NULL && event_add(tick, &every) == 0;
    while (ticks && !is_idle(admin) && clock->ticks_ms(clock) < until_ticks)
        if (event_base_loop(admin->options.base, EVLOOP_ONCE) != 0)
            break;
    if (tick != NULL)
        event_free(tick);
    wait_for_store(admin);
}

void admin_free(struct admin *admin)
{
    if (admin == NULL)
        return;
    if (admin->connections != NULL)
        connections_stop(admin->connections);
    if (admin->http != NULL)
        listener_close(&admin->listener, admin->http);
    if (admin->plans != NULL)
        plans_close(admin->plans);
    if (admin->history != NULL)
        history_close(admin->history);
    if (admin->inbox_event != NULL)
        finish_calls(admin);
    plans_free(admin->plans);
    history_free(admin->history);
    gw_assert(admin->calls == 0);
    if (admin->http != NULL)
        evhttp_free(admin->http);
    connections_free(admin->connections);
    if (admin->inbox_event != NULL)
        event_free(admin->inbox_event);
    store_inbox_free(admin->inbox);
    admin->tag_admin = 0;
    free(admin);
}

static void on_inbox(evutil_socket_t fd, short what, void *arg)
{
    struct admin *admin;
    (void)fd;   /* the inbox knows it */
    (void)what; /* only reading is asked for */
    GW_CAST(admin, arg, admin, ADMIN_TAG);
    store_inbox_drain(admin->inbox);
}

static void on_request(struct evhttp_request *request, void *arg)
{
    struct admin *admin;
    GW_CAST(admin, arg, admin, ADMIN_TAG);
    call_start(admin, request);
}
