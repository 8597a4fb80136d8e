/* The upstream and the network before it, as the port would tell of them. A call that
 * has let bytes go has a delivery: it lands or not, now or long after its sender is
 * dead, and knows what the upstream is going to do. The upstream never lies: what it
 * answers with a status of the refused ones it did not carry out. */
#include <stdlib.h>

#include "tests/sim/network.h"

static void bytes_leave(void *ctx);
static void opening_fails(void *ctx);
static void time_is_up(void *ctx);
static void something_came(void *ctx);

static struct upstream_call *call_new(struct upstream_port *port,
                                      const struct upstream_call_options *options)
{
    struct upstream_call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return NULL;
    struct worker *worker = port->worker;
    call->port = port;
    call->options = *options;
    call->start_ticks = port->world->ticks;
    call->open_timer = (struct sim_timer){.worker = worker, .fire = bytes_leave, .ctx = call};
    call->answer_timer = (struct sim_timer){.worker = worker, .fire = time_is_up, .ctx = call};
    call->end_timer = (struct sim_timer){.worker = worker, .fire = something_came, .ctx = call};
    call->next = port->calls;
    port->calls = call;
    return call;
}

static void call_free(struct upstream_call *call)
{
    struct world *world = call->port->world;
    struct upstream_call **at = &call->port->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    timer_stop(world, &call->open_timer);
    timer_stop(world, &call->answer_timer);
    timer_stop(world, &call->end_timer);
    network_let_go(call);
    if (call->is_late)
        call->port->late_listening--;
    free(call);
}

/* ---- how a call begins ---- */

static enum gw_status start(struct upstream_port *port, const struct upstream_call_options *options,
                            struct upstream_call **ret_call)
{
    struct world *world = port->world;
    const struct flow *flow = options->ctx;
    if (draw_chance(world, world->plan.loss_per_mille / 20))
        return GW_LIMIT; /* the queue of the origin is full */
    struct upstream_call *call = call_new(port, options);
    if (call == NULL)
        return GW_NOMEM;
    bool asks = flow->source == FLOW_FROM_PROBE;
    if (!asks)
        check_start(world, flow);
    call->attempt = asks ? NULL : check_attempt(world, flow->attempt.token);
    int64_t connect_ms = options->upstream->connect_ms;
    if (draw_chance(world, world->plan.loss_per_mille / 4)) {
        call->open_timer.fire = opening_fails;
        timer_set(world, &call->open_timer, draw_delay(world, connect_ms));
    } else {
        timer_set(world, &call->open_timer, draw_delay(world, connect_ms - 1));
    }
    timer_set(world, &call->answer_timer, options->upstream->answer_ms);
    *ret_call = call;
    return GW_OK;
}

/* ---- how it ends ---- */

static void facts_of(const struct upstream_call *call, enum attempt_end end,
                     struct upstream_facts *ret)
{
    *ret = (struct upstream_facts){.end = end,
                                   .bytes_out = call->bytes_out,
                                   .bytes_in = call->bytes_in,
                                   .status = call->status,
                                   .elapsed_ms = call->port->world->ticks - call->start_ticks};
}

static void end_call(struct upstream_call *call, enum attempt_end end)
{
    struct upstream_facts facts;
    struct upstream_answer answer = {0};
    facts_of(call, end, &facts);
    struct world *world = call->port->world;
    upstream_done_fn *tell = call->is_late ? call->options.late : call->options.done;
    world_say(world, "  upstream call of attempt %llx ends %s%s", network_token(call),
              call->is_late ? "late " : "", end_name(end));
    if (call->is_late && end == END_answered)
        world->counts[COUNT_LATE]++;
    if (end != END_answered) {
        tell(&facts, NULL, call->options.ctx);
    } else {
        gw_assert(call->delivery != NULL);
        network_make_answer(call->delivery, &answer);
        tell(&facts, &answer, call->options.ctx);
        http_head_free(answer.head);
        body_fini(&answer.body);
    }
    call_free(call);
}

static void opening_fails(void *ctx)
{
    static const enum attempt_end ends[] = {END_connect_refused,  END_dns_failed,
                                            END_connect_timeout,  END_queue_timeout,
                                            END_stale_connection, END_tls_failed};
    struct upstream_call *call = ctx;
    end_call(call, ends[draw_below(call->port->world, GW_COUNT(ends))]);
}

static void bytes_leave(void *ctx)
{
    struct upstream_call *call = ctx;
    struct world *world = call->port->world;
    size_t bytes = call->options.request.head.len + call->options.request.body.len;
    /* Its time was over before it could begin: the loop stood still. */
    if (world->ticks - call->start_ticks >= call->options.upstream->connect_ms) {
        end_call(call, END_connect_timeout);
        return;
    }
    if (call->attempt != NULL)
        check_first_byte(world, call->attempt);
    bool stalls = draw_chance(world, world->plan.loss_per_mille / 10);
    call->bytes_out = stalls ? 1 + draw_below(world, bytes - 1) : bytes;
    world_say(world, "  bytes of attempt %llx leave%s", network_token(call),
              stalls ? ", not all of them" : "");
    if (!stalls)
        network_send(call);
    else if (draw_chance(world, 500))
        network_end_later(call, END_send_stalled, draw_delay(world, 3000));
}

static void time_is_up(void *ctx)
{
    struct upstream_call *call = ctx;
    struct upstream_port *port = call->port;
    struct world *world = port->world;
    uint32_t late_max = (world->conf->limits.late_max + SIM_WORKERS - 1) / SIM_WORKERS;
    if (call->bytes_out == 0) {
        end_call(call, END_connect_timeout);
        return;
    }
    if (call->is_late || port->late_listening >= late_max) {
        end_call(call, END_answer_timeout);
        return;
    }
    struct upstream_facts facts;
    facts_of(call, END_answer_timeout, &facts);
    facts.still_listening = true;
    call->is_late = true;
    port->late_listening++;
    world_say(world, "  attempt %llx gets no answer in time, and is listened to",
              network_token(call));
    timer_set(world, &call->answer_timer, call->options.upstream->late_ms);
    call->options.done(&facts, NULL, call->options.ctx);
}

static void something_came(void *ctx)
{
    struct upstream_call *call = ctx;
    end_call(call, call->end);
}

void network_end_later(struct upstream_call *call, enum attempt_end end, int64_t delay_ms)
{
    if (call->end_timer.place != 0 && call->end == END_drained)
        return; /* its own side has given it up already */
    call->end = end;
    timer_set(call->port->world, &call->end_timer, delay_ms);
}

/* ---- the rest of the port ---- */

static void cancel(struct upstream_call *call)
{
    call->end = END_drained;
    timer_set(call->port->world, &call->end_timer, 0);
}

static void set_context(struct upstream_call *call, void *ctx)
{
    call->options.ctx = ctx;
}

static struct span address(const struct upstream_call *call)
{
    (void)call;
    return SPAN("127.0.0.1:9000");
}

static bool has_answer_byte(const struct upstream_call *call)
{
    return call->bytes_in > 0;
}

const struct upstream_ops sim_upstream_ops = {.start = start,
                                              .cancel = cancel,
                                              .set_context = set_context,
                                              .address = address,
                                              .has_answer_byte = has_answer_byte};

void upstream_crash(struct upstream_port *port)
{
    while (port->calls != NULL)
        call_free(port->calls);
}

/* ---- streams: no story of the simulator passes anything through ---- */

enum gw_status upstream_stream_start(struct upstream_port *port,
                                     const struct upstream_stream_options *options,
                                     struct upstream_stream **ret)
{
    (void)port;
    (void)options;
    (void)ret;
    gw_assert(port == NULL);
    return GW_LIMIT;
}

bool upstream_stream_send(struct upstream_stream *stream, struct span bytes)
{
    (void)bytes;
    gw_assert(stream == NULL);
    return false;
}

void upstream_stream_finish(struct upstream_stream *stream)
{
    gw_assert(stream == NULL);
}

void upstream_stream_pause(struct upstream_stream *stream)
{
    gw_assert(stream == NULL);
}

void upstream_stream_resume(struct upstream_stream *stream)
{
    gw_assert(stream == NULL);
}

void upstream_stream_abort(struct upstream_stream *stream)
{
    gw_assert(stream == NULL);
}
