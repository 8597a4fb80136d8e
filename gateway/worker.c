/* The worker: its loop, its lists, its graveyard. It starts nothing by itself; the
 * sources do. */
#include "gateway/worker.h"
#include "gateway/client.h"
#include "gateway/late.h"
#include "gateway/rooms/again.h"
#include "gateway/sources/observed.h"
#include "gateway/sources/sources.h"

#include "base/digest.h"
#include "base/log.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>
#include <stdlib.h>

#define COMMON_TIMEOUTS_MAX 16
#define FLOWS_SPARE         1024 /* flows without a connection: recovery, retention, late ones */
#define FLOW_BYTES_SPARE    (512 * 1024)

struct flow_timer {
    struct event event;
    struct flow *flow;
    void (*fire)(struct flow *flow);
};

struct common_timeout {
    int64_t ms;
    const struct timeval *tv;
};

struct worker {
    struct worker_options options;
    struct worker_ports ports;
    struct conf *conf;
    struct event_base *base;
    struct store_inbox *inbox;
    struct event *inbox_event, *grace_timer;
    struct upstream_port *upstream;
    struct listeners *listeners;
    struct sources *sources; /* of the first worker only */
    struct observed *observed;
    bool observes; /* a route does */
    struct gw_sha256 *sha256[WORKER_DIGESTS];
    struct flow *flows, *flow_grave;
    uint32_t flow_count, flows_max;
    struct client *clients, *client_grave;
    uint64_t flow_id;
    size_t flow_bytes_max;
    struct json_node *json_nodes;
    uint32_t *json_order;
    uint32_t json_room;
    struct common_timeout timeouts[COMMON_TIMEOUTS_MAX];
    uint32_t timeout_count;
    struct store_op drain_op;
    int64_t grace_ms;
    bool draining;
    atomic_bool finished;
    pthread_t thread;
    bool started;
    char read_room[WORKER_READ_BYTES];
};

const struct worker_ports *worker_ports(const struct worker *worker)
{
    return &worker->ports;
}

struct store_inbox *worker_inbox(const struct worker *worker)
{
    return worker->inbox;
}

struct upstream_port *worker_upstream(const struct worker *worker)
{
    return worker->upstream;
}

struct event_base *worker_base(const struct worker *worker)
{
    return worker->base;
}

const struct conf *worker_conf(const struct worker *worker)
{
    return worker->conf;
}

size_t worker_flow_bytes_max(const struct worker *worker)
{
    return worker->flow_bytes_max;
}

struct observed *worker_observed(const struct worker *worker)
{
    return worker->observes ? worker->observed : NULL;
}

bool worker_is_draining(const struct worker *worker)
{
    return atomic_load(&board_gauges(worker->ports.board)->draining);
}

char *worker_read_room(struct worker *worker)
{
    return worker->read_room;
}

uint32_t worker_index(const struct worker *worker)
{
    return worker->options.index;
}

struct gw_sha256 *worker_sha256(struct worker *worker, uint32_t index)
{
    gw_assert(index < WORKER_DIGESTS);
    return worker->sha256[index];
}

const struct timeval *worker_timeout(struct worker *worker, int64_t ms, struct timeval *room)
{
    for (uint32_t i = 0; i < worker->timeout_count; i++)
        if (worker->timeouts[i].ms == ms)
            return worker->timeouts[i].tv;
    *room =
        (struct timeval){.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
    if (worker->timeout_count == COMMON_TIMEOUTS_MAX)
        return room;
    const struct timeval *tv = event_base_init_common_timeout(worker->base, room);
    if (tv == NULL)
        return room;
    worker->timeouts[worker->timeout_count++] = (struct common_timeout){ms, tv};
    return tv;
}

struct json_node *worker_json_nodes(struct worker *worker, uint32_t count, uint32_t **ret_order)
{
    if (count > worker->json_room) {
        free(worker->json_nodes);
        free(worker->json_order);
        worker->json_nodes = malloc(count * sizeof(*worker->json_nodes));
        worker->json_order = malloc(count * sizeof(*worker->json_order));
        worker->json_room = worker->json_nodes == NULL || worker->json_order == NULL ? 0 : count;
    }
    *ret_order = worker->json_order;
    return worker->json_room < count ? NULL : worker->json_nodes;
}

/* ---- flows ---- */

bool worker_adopt_flow(struct worker *worker, struct flow *flow)
{
    if (worker->flow_count >= worker->flows_max)
        return false;
    worker->flow_count++;
    atomic_fetch_add(&board_gauges(worker->ports.board)->flows, 1);
    flow->id = (++worker->flow_id << 8) | worker->options.index;
    flow->worker = worker;
    flow->conf = conf_ref(worker->conf);
    flow->newer = NULL;
    flow->older = worker->flows;
    if (worker->flows != NULL)
        worker->flows->newer = flow;
    worker->flows = flow;
    return true;
}

void worker_bury(struct worker *worker, struct flow *flow)
{
    if (flow->newer != NULL)
        flow->newer->older = flow->older;
    else
        worker->flows = flow->older;
    if (flow->older != NULL)
        flow->older->newer = flow->newer;
    worker->flow_count--;
    atomic_fetch_sub(&board_gauges(worker->ports.board)->flows, 1);
    flow->newer = NULL;
    flow->older = worker->flow_grave;
    worker->flow_grave = flow;
}

void worker_bury_client(struct worker *worker, struct client *client)
{
    client_unlink(client, &worker->clients);
    client_bury_on(client, &worker->client_grave);
}

/* After a loop turn no callback can be on the stack: now memory may go. */
static void free_the_dead(struct worker *worker)
{
    while (worker->flow_grave != NULL) {
        struct flow *flow = worker->flow_grave;
        worker->flow_grave = flow->older;
        http_head_free(flow->head);
        tls_peer_unref(flow->certificate);
        conf_unref((struct conf *)(uintptr_t)flow->conf);
        arena_free(flow->arena);
        flow->tag_flow = 0;
        free(flow);
    }
    while (worker->client_grave != NULL) {
        struct client *client = worker->client_grave;
        worker->client_grave = client_next(client);
        client_free(client);
    }
}

static void timer_fires(evutil_socket_t fd, short what, void *ctx)
{
    struct flow_timer *timer = ctx;
    (void)fd;
    (void)what;
    gw_assert(timer->flow->tag_flow == FLOW_TAG);
    timer->fire(timer->flow);
}

bool worker_timer_start(struct flow *flow, int64_t ms, void (*fire)(struct flow *flow))
{
    struct flow_timer *timer = flow->wait_timer;
    if (timer == NULL) {
        timer = arena_take(flow->arena, sizeof(*timer));
        if (timer == NULL ||
            event_assign(&timer->event, flow->worker->base, -1, 0, timer_fires, timer) != 0)
            return false;
        flow->wait_timer = timer;
        timer->flow = flow;
    }
    timer->fire = fire;
    if (ms < 0)
        ms = 0;
    const struct timeval tv = {.tv_sec = (time_t)(ms / 1000),
                               .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
    return event_add(&timer->event, &tv) == 0;
}

void worker_timer_stop(struct flow *flow)
{
    struct flow_timer *timer = flow->wait_timer;
    if (timer != NULL)
        (void)event_del(&timer->event); /* fine if it does not run */
}

/* ---- the loop ---- */

static void inbox_readable(evutil_socket_t fd, short what, void *ctx)
{
    struct worker *worker = ctx;
    (void)fd;
    (void)what;
    store_inbox_drain(worker->inbox);
}

void worker_take_client(struct worker *worker, struct client *client)
{
    client_link(client, &worker->clients);
}

static void grace_is_over(evutil_socket_t fd, short what, void *ctx)
{
    struct worker *worker = ctx;
    (void)fd;
    (void)what;
    listeners_stop(worker->listeners);
    for (struct flow *flow = worker->flows, *older; flow != NULL; flow = older) {
        older = flow->older;
        bool is_attempt = flow->source == FLOW_FROM_CLIENT || flow->source == FLOW_FROM_DEFERRED;
        if (is_attempt && flow->call != NULL)
            worker->ports.upstream->cancel(flow->call);
    }
    for (struct client *client = worker->clients, *next; client != NULL; client = next) {
        next = client_next(client);
        client_abort(client);
    }
}

static void start_drain(struct store_op *op, void *ctx)
{
    struct worker *worker = ctx;
    (void)op;
    /* The listeners stay: who comes now is told 503 at once instead of being left in the
     * kernel's queue, to be reset at the end. */
    worker->draining = true;
    if (worker->options.leaves_queue) {
        listeners_stop(worker->listeners);
        gw_log_text(GW_LOG_INFO, "listener.left", "callers who come now wait for the next process");
    }
    for (struct client *client = worker->clients, *next; client != NULL; client = next) {
        next = client_next(client);
        client_drain(client);
    }
    /* A lost call is unknown already; what it may still bring is for the next life's probes. */
    for (struct flow *flow = worker->flows, *older; flow != NULL; flow = older) {
        older = flow->older;
        if (flow->source == FLOW_FROM_LATE)
            late_cancel(flow);
        else if (flow->source == FLOW_FROM_PROBE && flow->call != NULL)
            worker->ports.upstream->cancel(flow->call); /* the next life asks again */
        else if (flow->rests)
            again_wake(flow); /* nothing is under way: it ends now */
    }
    const struct timeval tv = {.tv_sec = (time_t)(worker->grace_ms / 1000),
                               .tv_usec = (suseconds_t)(worker->grace_ms % 1000 * 1000)};
    if (event_add(worker->grace_timer, &tv) != 0)
        grace_is_over(-1, 0, worker);
}

/* ---- another configuration ---- */

struct worker_adoption {
    struct store_op op;
    struct worker *worker;
    struct conf *conf; /* a reference */
    atomic_uint *left;
    struct store_op *done;
};

static size_t flow_bytes(const struct conf *conf);

static void adopt(struct store_op *op, void *ctx)
{
    struct worker_adoption *adoption = ctx;
    struct worker *worker = adoption->worker;
    struct conf *before = worker->conf;
    gw_assert(op == &adoption->op);
    size_t flow_bytes_max = flow_bytes(adoption->conf);
    worker->conf = adoption->conf;
    /* Never less: a late answer of an older configuration finds the room that it had. */
    if (flow_bytes_max > worker->flow_bytes_max)
        worker->flow_bytes_max = flow_bytes_max;
    if (worker->sources != NULL)
        sources_adopt(worker->sources);
    worker->observes = conf_observed_bytes(worker->conf) > 0;
    observed_adopt(worker->observed, worker->conf);
    conf_unref(before);
    atomic_uint *left = adoption->left;
    struct store_op *done = adoption->done;
    free(adoption);
    if (atomic_fetch_sub(left, 1) == 1)
        store_inbox_deliver(done);
}

struct worker_adoption *worker_adoption_new(struct worker *worker, struct conf *conf,
                                            atomic_uint *left, struct store_op *done)
{
    struct worker_adoption *adoption = calloc(1, sizeof(*adoption));
    if (adoption == NULL)
        return NULL;
    adoption->worker = worker;
    adoption->conf = conf_ref(conf);
    adoption->left = left;
    adoption->done = done;
    return adoption;
}

void worker_adoption_free(struct worker_adoption *adoption)
{
    if (adoption == NULL)
        return;
    conf_unref(adoption->conf);
    free(adoption);
}

void worker_adopt(struct worker_adoption *take_adoption)
{
    gw_assert(take_adoption->worker->started);
    take_adoption->op = (struct store_op){
        .inbox = take_adoption->worker->inbox, .done = adopt, .ctx = take_adoption};
    store_inbox_deliver(&take_adoption->op);
}

static bool is_finished(const struct worker *worker)
{
    if (!worker->draining || worker->flow_count > 0 ||
        (worker->sources != NULL && !sources_are_idle(worker->sources)))
        return false;
    for (const struct client *client = worker->clients; client != NULL;
         client = client_next(client))
        if (client_holds_drain(client))
            return false;
    return worker->observed == NULL || observed_is_finished(worker->observed);
}

/* Callers who came during the drain may come for ever; the end does not wait for them. */
static void close_the_rest(struct worker *worker)
{
    listeners_stop(worker->listeners);
    for (struct client *client = worker->clients, *next; client != NULL; client = next) {
        next = client_next(client);
        client_die(client);
    }
    free_the_dead(worker);
}

static void *run(void *ctx)
{
    struct worker *worker = ctx;
    listeners_start(worker->listeners);
    if (worker->sources != NULL)
        sources_start(worker->sources);
    while (!is_finished(worker)) {
        int rc = event_base_loop(worker->base, EVLOOP_ONCE);
        gw_assert(rc >= 0);
        free_the_dead(worker);
    }
    close_the_rest(worker);
    atomic_store(&worker->finished, true);
    return NULL;
}

bool worker_is_finished(const struct worker *worker)
{
    return !worker->started || atomic_load(&worker->finished);
}

void worker_recover(struct worker *worker, uint32_t rows_max)
{
    gw_assert(!worker->started);
    if (worker->sources == NULL)
        return;
    sources_recover(worker->sources, rows_max);
    while (!sources_are_idle(worker->sources) || worker->flow_count > 0) {
        int rc = event_base_loop(worker->base, EVLOOP_ONCE);
        gw_assert(rc >= 0);
        free_the_dead(worker);
    }
}

/* ---- life ---- */

static size_t flow_bytes(const struct conf *conf)
{
    uint64_t body = 0, answer = 0;
    for (uint32_t i = 0; i < conf->routes.count; i++) {
        const struct route_policy *route = &conf->routes.routes[i];
        body = route->request_body_max > body ? route->request_body_max : body;
        answer = route->replay_body_max > answer ? route->replay_body_max : answer;
    }
    return (size_t)(2 * body + 2 * answer) + 4u * conf->limits.head_bytes + FLOW_BYTES_SPARE;
}

static bool make_loop(struct worker *worker)
{
    struct event_config *config = event_config_new();
    if (config == NULL)
        return false;
    /* No changelist: it would speak to the kernel of descriptors that are closed by then
     * and may be another thread's. Events stay registered over many requests anyway. */
    bool ok = event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK) == 0;
    worker->base = ok ? event_base_new_with_config(config) : NULL;
    event_config_free(config);
    if (worker->base == NULL || store_inbox_new(&worker->inbox, NULL) != GW_OK)
        return false;
    worker->inbox_event = event_new(worker->base, store_inbox_fd(worker->inbox),
                                    EV_READ | EV_PERSIST, inbox_readable, worker);
    worker->grace_timer = event_new(worker->base, -1, 0, grace_is_over, worker);
    for (uint32_t i = 0; i < WORKER_DIGESTS; i++) {
        worker->sha256[i] = gw_sha256_new();
        if (worker->sha256[i] == NULL)
            return false;
    }
    return worker->inbox_event != NULL && worker->grace_timer != NULL &&
           event_add(worker->inbox_event, NULL) == 0;
}

static enum gw_status make_port(struct worker *worker, struct gw_error *err)
{
    const struct conf *conf = worker->conf;
    const struct upstream_port_options options = {
        .base = worker->base,
        .workers = conf->workers,
        .late_max = (conf->limits.late_max + conf->workers - 1) / conf->workers,
        .answer_body_max = conf->limits.answer_body_max,
        .answer_head_bytes_max = 64 * 1024,
        .answer_fields_max = 100,
        .spool_dir = worker->options.spool_dir,
        .clock = worker->ports.clock,
        .tls = worker->options.tls,
    };
    return upstream_port_new(&options, &worker->upstream, err);
}

enum gw_status worker_new(const struct worker_options *options, const struct worker_ports *ports,
                          struct conf *conf, struct worker **ret_worker, struct gw_error *err)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    if (worker == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    worker->options = *options;
    worker->ports = *ports;
    worker->conf = conf_ref(conf);
    worker->flow_bytes_max = flow_bytes(conf);
    worker->observes = conf_observed_bytes(conf) > 0;
    worker->flows_max = conf->limits.connections + conf->limits.late_max + FLOWS_SPARE;
    enum gw_status status = GW_OK;
    if (!make_loop(worker))
        status = gw_error_set(err, GW_NOMEM, "the event loop cannot be made");
    if (status == GW_OK)
        status = make_port(worker, err);
    if (status == GW_OK)
        status = listeners_new(worker, options, &worker->listeners, err);
    if (status == GW_OK && options->index == 0)
        status = sources_new(worker, &worker->sources, err);
    if (status == GW_OK) /* a reload may bring a route that observes */
        status = observed_new(worker, &worker->observed, err);
    if (status != GW_OK) {
        worker_free(worker);
        return status;
    }
    *ret_worker = worker;
    return GW_OK;
}

enum gw_status worker_start(struct worker *worker, struct gw_error *err)
{
    if (pthread_create(&worker->thread, NULL, run, worker) != 0)
        return gw_error_set(err, GW_IO, "a worker thread cannot be started");
    worker->started = true;
    return GW_OK;
}

void worker_drain(struct worker *worker, int64_t grace_ms)
{
    if (!worker->started) /* nobody would take it out of the inbox */
        return;
    worker->grace_ms = grace_ms;
    worker->drain_op =
        (struct store_op){.inbox = worker->inbox, .done = start_drain, .ctx = worker};
    store_inbox_deliver(&worker->drain_op);
}

void worker_join(struct worker *worker)
{
    if (!worker->started)
        return;
    int rc = pthread_join(worker->thread, NULL);
    gw_assert(rc == 0);
    worker->started = false;
}

void worker_free(struct worker *worker)
{
    if (worker == NULL)
        return;
    gw_assert(!worker->started);
    sources_free(worker->sources);
    observed_free(worker->observed);
    listeners_free(worker->listeners);
    upstream_port_free(worker->upstream);
    free_the_dead(worker);
    if (worker->inbox_event != NULL)
        event_free(worker->inbox_event);
    if (worker->grace_timer != NULL)
        event_free(worker->grace_timer);
    store_inbox_free(worker->inbox);
    for (uint32_t i = 0; i < WORKER_DIGESTS; i++)
        gw_sha256_free(worker->sha256[i]);
    if (worker->base != NULL)
        event_base_free(worker->base);
    free(worker->json_nodes);
    free(worker->json_order);
    conf_unref(worker->conf);
    free(worker);
}
