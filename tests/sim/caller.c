/* Callers: who asks, how he behaves while he waits, and what he is told. He sends few
 * keys and few bodies, so that repeats, parallel ones and changed ones come by
 * themselves. */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD_BYTES 512
#define GAP_MS_MAX (600 * 1000)

static void connects(void *ctx);
static void body_comes(void *ctx);
static void leaves(void *ctx);
static void write_ends(void *ctx);

/* ---- the request ---- */

static struct http_head *make_head(struct client *client, const char *path)
{
    const struct http1_limits limits = {
        .target_bytes_max = 64, .head_bytes_max = HEAD_BYTES, .fields_max = 16};
    struct world *world = client->world;
    struct http1_parser parser;
    struct span body;
    char text[HEAD_BYTES];
    const char *prefer = draw_chance(world, 150) ? "Prefer: wait=2\r\n" : "";
    if (world->plan.defers != DEFER_NEVER && draw_chance(world, 500))
        prefer = draw_chance(world, 300) ? "Prefer: respond-async, wait=1\r\n"
                                         : "Prefer: respond-async\r\n";
    if (world->options.is_one_life)
        prefer = "Prefer: respond-async\r\n";
    int len = snprintf(text, sizeof(text),
                       "POST %s HTTP/1.1\r\nHost: sim\r\nIdempotency-Key: \"%.*s\"\r\n"
                       "Content-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n",
                       path, (int)client->identity->key.len, client->identity->key.ptr, prefer,
                       client->body_len);
    if (client->cancels[0] != '\0')
        len = snprintf(text, sizeof(text),
                       "POST /.recibo/operations/%s/%s HTTP/1.1\r\nHost: sim\r\n\r\n",
                       client->cancels, client->undoes ? "compensate" : "cancel");
    gw_assert(len > 0 && (size_t)len < sizeof(text));
    struct span bytes = span_of(text, (size_t)len);
    http1_parser_init(&parser, HTTP1_REQUESTS, &limits);
    enum http1_event event = http1_feed(&parser, &bytes, &body);
    gw_assert(event == HTTP1_HEAD);
    struct http_head *head = http1_take_head(&parser);
    http1_parser_fini(&parser);
    return head;
}

/* Two contents, each in two spellings that mean the same. */
static void make_body(struct client *client)
{
    struct world *world = client->world;
    struct span key = client->identity->key;
    client->variant = draw_chance(world, 120) && !world->options.is_one_life;
    int len =
        draw_chance(world, 700)
            ? snprintf(client->body, sizeof(client->body), "{\"order\":\"%.*s\",\"n\":%u}",
                       (int)key.len, key.ptr, client->variant)
            : snprintf(client->body, sizeof(client->body), "{ \"n\": %u, \"order\": \"%.*s\" }",
                       client->variant, (int)key.len, key.ptr);
    gw_assert(len > 0 && (size_t)len < sizeof(client->body));
    client->body_len = (size_t)len;
}

static struct client *client_new(struct world *world, struct process *process)
{
    uint32_t slot = 0;
    while (slot < SIM_CALLERS_MAX && world->callers[slot] != NULL)
        slot++;
    if (slot == SIM_CALLERS_MAX)
        return NULL;
    struct client *client = calloc(1, sizeof(*client));
    gw_assert(client != NULL);
    client->world = world;
    client->process = process;
    client->worker = &process->workers[draw_below(world, SIM_WORKERS)];
    client->slot = slot;
    client->id = ++world->caller_id;
    client->start_ticks = client->applied_ticks = world->ticks;
    client->connect_timer =
        (struct sim_timer){.worker = client->worker, .fire = connects, .ctx = client};
    client->body_timer =
        (struct sim_timer){.worker = client->worker, .fire = body_comes, .ctx = client};
    client->leave_timer =
        (struct sim_timer){.worker = client->worker, .fire = leaves, .ctx = client};
    client->write_timer =
        (struct sim_timer){.worker = client->worker, .fire = write_ends, .ctx = client};
    world->callers[slot] = client;
    return client;
}

static void bury(struct client *client)
{
    client->flow = NULL;
    client->is_buried = true;
    worker_bury_caller(client->worker, client);
}

static void ask(struct world *world, struct process *process)
{
    struct client *client = client_new(world, process);
    if (client == NULL)
        return;
    if (!world->options.is_one_life)
        client->space = draw_below(world, 10) < 7 ? 0 : draw_below(world, SIM_SPACES);
    client->identity =
        &world->identities[client->space * SIM_KEYS_MAX + draw_below(world, world->plan.keys)];
    client->reads_slowly = draw_chance(world, 100);
    make_body(client);
    timer_set(world, &client->connect_timer, 0);
}

/* The same owner, by another connection to whichever gateway, about that operation. */
static struct client *come_again(const struct client *client, struct span operation_id)
{
    struct world *world = client->world;
    struct process *process =
        world->plan.gateways == 1 ? client->process : world_any_process(world);
    struct client *other =
        process == NULL || process->phase == PROCESS_RECOVERS ? NULL : client_new(world, process);
    if (other == NULL)
        return NULL;
    other->identity = client->identity;
    other->space = client->space;
    memcpy(other->cancels, operation_id.ptr, OPERATION_ID_BYTES);
    return other;
}

void caller_was_promised(const struct client *client, struct span operation_id)
{
    struct world *world = client->world;
    if (operation_id.len != OPERATION_ID_BYTES || !draw_chance(world, 300))
        return;
    struct client *other = come_again(client, operation_id);
    if (other != NULL)
        timer_set(world, &other->connect_timer, draw_delay(world, 1000));
}

void caller_asks_to_undo(const struct client *client, struct span operation_id, int64_t delay_ms)
{
    struct client *other = come_again(client, operation_id);
    if (other == NULL)
        return;
    other->undoes = true;
    timer_set(client->world, &other->connect_timer, delay_ms);
}

/* The worker has accepted the connection and read the head. */
static void connects(void *ctx)
{
    static const char *const paths[SIM_SPACES] = {"/acme", "/bolt", "/solo"};
    struct client *client = ctx;
    struct world *world = client->world;
    struct flow *flow = flow_new(client->worker, FLOW_FROM_CLIENT);
    if (flow == NULL) {
        bury(client);
        return;
    }
    world->counts[COUNT_CALLS]++;
    world_say(world, "caller %llu %s %s key %.*s body %u at worker %u",
              (unsigned long long)client->id,
              client->undoes               ? "takes back"
              : client->cancels[0] == '\0' ? "asks"
                                           : "cancels",
              paths[client->space], (int)client->identity->key.len, client->identity->key.ptr,
              client->variant, client->worker->index);
    client->start_ticks = client->applied_ticks = world->ticks;
    client->flow = flow;
    flow->client = client;
    flow->client_ops = &caller_ops;
    flow->head = make_head(client, paths[client->space]);
    if (draw_chance(world, 120))
        timer_set(world, &client->leave_timer, draw_delay(world, 10000));
    flow_run(flow, FLOW_ROOM_route);
}

void caller_arrives(void *ctx)
{
    struct world *world = ctx;
    if (world->is_winding_down ||
        (world->options.is_one_life && world->identities[0].version_count > 0))
        return;
    uint64_t crowd = draw_chance(world, 250) ? draw_below(world, 4) + 1 : 1;
    for (uint64_t i = 0; i < crowd; i++) {
        struct process *process = world_any_process(world);
        if (process != NULL && process->phase != PROCESS_RECOVERS)
            ask(world, process);
    }
    int64_t gap = draw_delay(world, world->plan.arrivals_gap_ms);
    if (world->plan.long_gaps && draw_chance(world, 15))
        gap = draw_between(world, 0, GAP_MS_MAX);
    timer_set(world, &world->arrival_timer, gap);
}

/* ---- what the rooms ask for ---- */

static void read_body(struct client *client, uint64_t bytes_max)
{
    gw_assert(client->body_len <= bytes_max);
    client->waits_for_body = true;
    timer_set(client->world, &client->body_timer, draw_delay(client->world, 100));
}

static void body_comes(void *ctx)
{
    struct client *client = ctx;
    struct flow *flow = client->flow;
    client->waits_for_body = false;
    if (draw_chance(client->world, 5)) {
        flow->body_state = draw_chance(client->world, 500) ? BODY_TIMEOUT : BODY_BAD;
    } else {
        bool ok = gw_buf_add(&flow->body, span_of(client->body, client->body_len));
        flow->body_state = ok ? BODY_WHOLE : BODY_TOO_LARGE;
    }
    flow_resume(flow);
}

static bool must_close(const struct client *client)
{
    (void)client;
    return false;
}

static bool take_reply(struct client *client, struct reply *reply)
{
    if (client->answered)
        world_fail(client->world, "caller %llu is answered twice", (unsigned long long)client->id);
    check_told(client, reply);
    client->answered = true;
    if (!client->reads_slowly)
        return true;
    client->waits_for_write = true;
    timer_set(client->world, &client->write_timer, draw_delay(client->world, 5000));
    return false;
}

static void write_ends(void *ctx)
{
    struct client *client = ctx;
    client->waits_for_write = false;
    flow_resume(client->flow);
}

static void end_stream(struct client *client, bool whole, bool close)
{
    (void)whole;
    (void)close;
    if (!client->world->plan.is_short_of_memory)
        world_fail(client->world, "a reply could not be written");
    client->answered = true; /* by the end of his connection */
}

static void has_left(struct client *client)
{
    if (!client->answered)
        world_fail(client->world, "caller %llu is left without an answer",
                   (unsigned long long)client->id);
    bury(client);
}

static void no_stream(struct client *client)
{
    world_fail(client->world, "a guarded route streams");
}

static bool no_write(struct client *client, struct span bytes)
{
    (void)bytes;
    world_fail(client->world, "a guarded route streams");
    return true;
}

const struct client_ops caller_ops = {.read_body = read_body,
                                      .must_close = must_close,
                                      .send = take_reply,
                                      .stream_body = no_stream,
                                      .pause_body = no_stream,
                                      .resume_body = no_stream,
                                      .write = no_write,
                                      .end_stream = end_stream,
                                      .left = has_left};

/* ---- the end ---- */

/* As a broken connection is told: only who waits for its bytes is resumed. */
static void leaves(void *ctx)
{
    struct client *client = ctx;
    struct flow *flow = client->flow;
    if (flow == NULL)
        return;
    world_say(client->world, "caller %llu leaves", (unsigned long long)client->id);
    bury(client);
    flow->client_gone = true;
    if (client->waits_for_body) {
        flow->body_state = BODY_GONE;
        flow_resume(flow);
    } else if (client->waits_for_write) {
        flow_resume(flow);
    }
}

void caller_dies(struct client *client)
{
    if (!client->is_buried)
        bury(client);
}

void caller_free(struct client *client)
{
    struct world *world = client->world;
    timer_stop(world, &client->connect_timer);
    timer_stop(world, &client->body_timer);
    timer_stop(world, &client->leave_timer);
    timer_stop(world, &client->write_timer);
    gw_assert(world->callers[client->slot] == client);
    world->callers[client->slot] = NULL;
    free(client);
}
