/* The worker as rooms see it, without a thread: lists, timers and scratch of one loop
 * on virtual time. It must keep to what gateway/worker.h says, and to nothing more. */
#include "gateway/worker.h"
#include "gateway/late.h"
#include "gateway/rooms/again.h"
#include "gateway/sources/sources.h"

#include "base/digest.h"
#include "tests/sim/bugs.h"

#include <stdlib.h>

#define FLOW_GRAVES_MAX 100000

struct flow_timer {
    struct sim_timer timer;
    struct flow *flow;
    void (*fire)(struct flow *flow);
};

const struct worker_ports *worker_ports(const struct worker *worker)
{
    return &worker->ports;
}

struct store_inbox *worker_inbox(const struct worker *worker)
{
    return &((struct worker *)(uintptr_t)worker)->inbox;
}

struct upstream_port *worker_upstream(const struct worker *worker)
{
    return &((struct worker *)(uintptr_t)worker)->upstream;
}

/* The scans hand it back to loop.c, which knows what it is. */
struct event_base *worker_base(const struct worker *worker)
{
    return (struct event_base *)(uintptr_t)worker;
}

const struct conf *worker_conf(const struct worker *worker)
{
    return worker->conf;
}

size_t worker_flow_bytes_max(const struct worker *worker)
{
    return worker->flow_bytes_max;
}

/* No route observes here. */
struct observed *worker_observed(const struct worker *worker)
{
    (void)worker;
    return NULL;
}

bool worker_is_draining(const struct worker *worker)
{
    return worker->draining;
}

uint32_t worker_index(const struct worker *worker)
{
    return worker->index;
}

struct gw_sha256 *worker_sha256(struct worker *worker, uint32_t index)
{
    gw_assert(index < WORKER_DIGESTS);
    return worker->sha256[index];
}

struct json_node *worker_json_nodes(struct worker *worker, uint32_t count, uint32_t **ret_order)
{
    if (count > worker->json_room) {
        free(worker->json_nodes);
        free(worker->json_order);
        worker->json_nodes = malloc(count * sizeof(*worker->json_nodes));
        worker->json_order = malloc(count * sizeof(*worker->json_order));
        gw_assert(worker->json_nodes != NULL && worker->json_order != NULL);
        worker->json_room = count;
    }
    *ret_order = worker->json_order;
    return worker->json_nodes;
}

/* ---- flows ---- */

bool worker_adopt_flow(struct worker *worker, struct flow *flow)
{
    if (worker->flow_count >= worker->flows_max)
        return false;
    worker->flow_count++;
    atomic_fetch_add(&board_gauges(worker->ports.board)->flows, 1);
    flow->id = (++worker->flow_id << 8) | worker->index;
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

void worker_bury_caller(struct worker *worker, struct client *client)
{
    client->next = worker->client_grave;
    worker->client_grave = client;
}

void worker_bury_the_dead(struct worker *worker)
{
    for (uint32_t i = 0; i < FLOW_GRAVES_MAX && worker->flow_grave != NULL; i++) {
        struct flow *flow = worker->flow_grave;
        worker->flow_grave = flow->older;
        http_head_free(flow->head);
        conf_unref((struct conf *)(uintptr_t)flow->conf);
        arena_free(flow->arena);
        flow->tag_flow = 0;
        free(flow);
    }
    for (uint32_t i = 0; i < SIM_CALLERS_MAX && worker->client_grave != NULL; i++) {
        struct client *client = worker->client_grave;
        worker->client_grave = client->next;
        caller_free(client);
    }
}

static void flow_timer_fires(void *ctx)
{
    struct flow_timer *timer = ctx;
    gw_assert(timer->flow->tag_flow == FLOW_TAG);
    timer->fire(timer->flow);
}

bool worker_timer_start(struct flow *flow, int64_t ms, void (*fire)(struct flow *flow))
{
    struct flow_timer *timer = flow->wait_timer;
    if (timer == NULL) {
        timer = arena_take(flow->arena, sizeof(*timer));
        if (timer == NULL)
            return false;
        flow->wait_timer = timer;
        timer->flow = flow;
        timer->timer.worker = flow->worker;
        timer->timer.fire = flow_timer_fires;
        timer->timer.ctx = timer;
    }
    timer->fire = fire;
    timer_set(flow->worker->world, &timer->timer, bug_waits_for_nobody(flow, ms));
    return true;
}

void worker_timer_stop(struct flow *flow)
{
    struct flow_timer *timer = flow->wait_timer;
    if (timer != NULL)
        timer_stop(flow->worker->world, &timer->timer);
}

/* ---- the end of a process that goes in peace ---- */

static void grace_is_over(void *ctx)
{
    struct worker *worker = ctx;
    for (struct flow *flow = worker->flows, *older; flow != NULL; flow = older) {
        older = flow->older;
        bool is_attempt = flow->source == FLOW_FROM_CLIENT || flow->source == FLOW_FROM_DEFERRED;
        if (is_attempt && flow->call != NULL)
            worker->ports.upstream->cancel(flow->call);
    }
}

void worker_begin_drain(struct worker *worker, int64_t grace_ms)
{
    worker->draining = true;
    for (struct flow *flow = worker->flows, *older; flow != NULL; flow = older) {
        older = flow->older;
        if (flow->source == FLOW_FROM_LATE)
            late_cancel(flow);
        else if (flow->source == FLOW_FROM_PROBE && flow->call != NULL)
            worker->ports.upstream->cancel(flow->call); /* the next life asks again */
        else if (flow->rests)
            again_wake(flow);
    }
    timer_set(worker->world, &worker->grace_timer, grace_ms);
}

bool worker_is_done(const struct worker *worker)
{
    return worker->flow_count == 0 && worker->flow_grave == NULL && worker->client_grave == NULL &&
           (worker->sources == NULL || sources_are_idle(worker->sources));
}

/* ---- life ---- */

static void fresh_random(void *ret_bytes, size_t len)
{
    struct world *world = world_now();
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)ret_bytes)[i] = (uint8_t)draw(world);
}

void worker_init(struct worker *worker, struct process *process, uint32_t index)
{
    struct world *world = process->world;
    *worker = (struct worker){.world = world,
                              .process = process,
                              .index = index,
                              .conf = conf_ref(world->conf),
                              .ports = {.clock = &process->place->clock.clock,
                                        .store = &process->store,
                                        .board = process->board,
                                        .upstream = &sim_upstream_ops,
                                        .random = fresh_random},
                              .flows_max = world->plan.flows_max,
                              .flow_bytes_max = world->plan.flow_bytes,
                              .grace_timer = {.worker = worker, .fire = grace_is_over}};
    worker->grace_timer.ctx = worker;
    worker->upstream = (struct upstream_port){.world = world, .worker = worker};
    inbox_init(&worker->inbox, world, worker);
    for (uint32_t i = 0; i < WORKER_DIGESTS; i++) {
        worker->sha256[i] = gw_sha256_new();
        gw_assert(worker->sha256[i] != NULL);
    }
    if (index == 0) {
        enum gw_status status = sources_new(worker, &worker->sources, NULL);
        gw_assert(status == GW_OK);
    }
}

/* What the operating system does with a dead process: memory goes, nothing is told. */
static void drop_flow(struct flow *flow)
{
    worker_timer_stop(flow);
    http_head_free(flow->answer.head);
    body_fini(&flow->answer.body);
    gw_buf_fini(&flow->body);
    gw_buf_fini(&flow->packed);
    gw_buf_fini(&flow->packed_request);
    gw_buf_fini(&flow->call_head);
    gw_buf_fini(&flow->reply.head);
    worker_bury(flow->worker, flow);
}

void worker_crash(struct worker *worker)
{
    /* The sources let go of what they have in the store once they hear of its end. */
    worker->draining = true;
    inbox_drop(&worker->inbox);
    upstream_crash(&worker->upstream);
    while (worker->flows != NULL)
        drop_flow(worker->flows);
    worker_bury_the_dead(worker);
    sources_free(worker->sources);
    timer_stop(worker->world, &worker->grace_timer);
    for (uint32_t i = 0; i < WORKER_DIGESTS; i++)
        gw_sha256_free(worker->sha256[i]);
    free(worker->json_nodes);
    free(worker->json_order);
    conf_unref(worker->conf);
}
