/* Requests between the gateway and the upstream: when they land, what the upstream does
 * with them, and what comes back. It remembers the truth for the checkers. */
#include "tests/sim/network.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ANSWER_LARGE 2000 /* over replay_body_max */
#define ANSWER_HUGE  5000 /* over answer_body_max */
#define HEAD_BYTES   512

unsigned long long network_token(const struct upstream_call *call)
{
    return call->attempt == NULL ? 0 : (unsigned long long)call->attempt->token >> 40;
}

static void delivery_free(struct delivery *delivery)
{
    struct delivery **at = &delivery->world->deliveries;
    while (*at != delivery)
        at = &(*at)->next;
    *at = delivery->next;
    timer_stop(delivery->world, &delivery->timer);
    if (delivery->call != NULL)
        delivery->call->delivery = NULL;
    free(delivery);
}

void network_let_go(struct upstream_call *call)
{
    struct delivery *delivery = call->delivery;
    call->delivery = NULL;
    if (delivery == NULL)
        return;
    delivery->call = NULL;
    if (delivery->timer.place == 0) /* everything of it has happened */
        delivery_free(delivery);
}

void upstream_free_all(struct world *world)
{
    while (world->deliveries != NULL)
        delivery_free(world->deliveries);
}

/* ---- what the upstream is going to do ---- */

static void draw_answer(struct world *world, struct delivery *delivery)
{
    static const uint16_t known[] = {201, 201, 201, 200, 204, 409, 404};
    static const uint16_t refused[] = {429, 401};
    static const uint16_t unclear[] = {500, 503, 408, 302};
    uint64_t kind = draw_below(world, 1000);
    delivery->runs = true;
    delivery->status = known[draw_below(world, GW_COUNT(known))];
    bool is_refused = kind < 100 || (world->plan.overlaps && kind >= 600);
    if (is_refused) {
        delivery->runs = false;
        delivery->status = refused[draw_below(world, GW_COUNT(refused))];
        if (world->plan.retries && delivery->status == 429 && draw_chance(world, 400))
            delivery->wish_s = (uint32_t)draw_between(world, 1, 6);
    } else if (kind < 150) {
        delivery->runs = false;
        delivery->is_refusal = true;
        delivery->status = 200;
    } else if (kind < 250) {
        delivery->runs = draw_chance(world, 500);
        delivery->status = unclear[draw_below(world, GW_COUNT(unclear))];
    } else if (kind < 290 && delivery->status != 204) {
        delivery->padding = ANSWER_LARGE;
    } else if (kind < 310 && delivery->status != 204) {
        delivery->padding = ANSWER_HUGE;
    }
}

/* The upstream answers what it is asked, or fails; it never lies. */
static void draw_question(struct world *world, struct delivery *delivery)
{
    const struct flow *flow = delivery->call->options.ctx;
    delivery->is_question = true;
    memcpy(delivery->operation_id, flow->row.operation_id, sizeof(delivery->operation_id));
    delivery->status = draw_chance(world, 100) ? 500 : 200;
}

static int64_t draw_landing(struct world *world)
{
    const struct plan *plan = &world->plan;
    if (!draw_chance(world, plan->loss_per_mille / 3))
        return draw_delay(world, 100);
    if (plan->rude_network && draw_chance(world, 300))
        return draw_between(world, 0, 10 * plan->late_ms);
    if (plan->skew_ms > 0 && draw_chance(world, 500)) /* as late as it may be */
        return draw_between(world, plan->late_ms - 500, plan->late_ms);
    /* As long as a request can live by the word of the route: its quiet time. */
    return draw_between(world, 0, plan->late_ms);
}

static void comes_back(void *ctx);

/* The same key within the window: nothing runs, and the answer tells of the first run. */
static bool remembers(struct delivery *delivery)
{
    struct world *world = delivery->world;
    struct attempt *attempt = delivery->attempt;
    if (!world->plan.dedups)
        return false;
    const struct attempt *first = check_remembered(attempt, world->ticks - SIM_DEDUP_WINDOW_MS);
    if (first == NULL)
        return false;
    delivery->run_id = attempt->run_id = first->run_id;
    attempt->ran_ticks = first->ran_ticks;
    attempt->ran = true;
    attempt->will_run = false;
    return true;
}

static void lands(void *ctx)
{
    struct delivery *delivery = ctx;
    struct world *world = delivery->world;
    struct attempt *attempt = delivery->attempt;
    if (!delivery->lands) {
        delivery->back = draw_chance(world, 500) ? BACK_RESET : BACK_SILENT;
    } else if (delivery->runs && attempt != NULL && remembers(delivery)) {
        world_say(world, "  the upstream knows the key of attempt %llx: run %" PRIu64,
                  (unsigned long long)attempt->token >> 40, delivery->run_id);
    } else if (delivery->runs && attempt != NULL) {
        delivery->run_id = ++world->run_id;
        world->counts[COUNT_RUNS]++;
        world_say(world, "  the upstream RUNS attempt %llx: run %" PRIu64,
                  (unsigned long long)attempt->token >> 40, delivery->run_id);
        attempt->run_id = delivery->run_id;
        attempt->ran_ticks = world->ticks;
        check_run(world, attempt);
    } else if (delivery->is_question) {
        delivery->run_id = check_find_run(world, delivery->operation_id);
        world_say(world, "  the upstream finds run %" PRIu64, delivery->run_id);
    }
    delivery->timer.fire = comes_back;
    int64_t works_ms = draw_delay(world, 200);
    if (draw_chance(world, world->plan.loss_per_mille / 3))
        works_ms = draw_between(world, 0, world->plan.answer_ms + 2 * world->plan.late_ms);
    else if (world->plan.overlaps && draw_chance(world, 700))
        works_ms = draw_between(world, 200, 5 * world->plan.answer_ms);
    timer_set(world, &delivery->timer, works_ms);
}

void network_send(struct upstream_call *call)
{
    struct world *world = call->port->world;
    struct delivery *delivery = calloc(1, sizeof(*delivery));
    gw_assert(delivery != NULL);
    delivery->world = world;
    delivery->call = call;
    delivery->attempt = call->attempt;
    delivery->next = world->deliveries;
    world->deliveries = delivery;
    call->delivery = delivery;
    const struct flow *flow = call->options.ctx;
    if (flow != NULL && flow->source == FLOW_FROM_PROBE)
        draw_question(world, delivery);
    else
        draw_answer(world, delivery);
    delivery->lands = !draw_chance(world, world->plan.loss_per_mille / 4);
    delivery->back = BACK_ANSWER;
    if (draw_chance(world, world->plan.loss_per_mille / 2))
        delivery->back = (enum delivery_back)draw_below(world, BACK_COUNT);
    if (delivery->attempt != NULL)
        delivery->attempt->will_run = delivery->lands && delivery->runs;
    delivery->timer = (struct sim_timer){.fire = lands, .ctx = delivery};
    timer_set(world, &delivery->timer, draw_landing(world));
}

/* ---- what comes back ---- */

static struct span answer_body(const struct delivery *delivery, struct gw_buf *out)
{
    static const char pad[] = "aaaaaaaaaaaaaaaaaaaa";
    if (delivery->status == 204)
        return SPAN("");
    if (delivery->is_refusal)
        return SPAN("{\"ok\":false}");
    if (delivery->is_question && delivery->run_id == 0)
        return SPAN("{}");
    /* Bounded by the buffer, which is made to hold it. */
    if (delivery->is_question) {
        (void)gw_buf_print(out, "{\"found\":%" PRIu64 "}", delivery->run_id);
        return gw_buf_span(out);
    }
    (void)gw_buf_print(out, "{\"run\":%" PRIu64 ",\"pad\":\"", delivery->run_id);
    for (size_t i = 0; i < delivery->padding; i += sizeof(pad) - 1)
        (void)gw_buf_add(out, SPAN(pad));
    (void)gw_buf_add(out, SPAN("\"}"));
    return gw_buf_span(out);
}

static void remember_answer(const struct delivery *delivery, struct span body)
{
    struct attempt *attempt = delivery->attempt;
    if (attempt == NULL || attempt->answered)
        return;
    attempt->answered = true;
    attempt->status = delivery->status;
    bool ok = gw_buf_add(&attempt->body, body);
    gw_assert(ok);
}

static void comes_back(void *ctx)
{
    static const enum attempt_end ends[BACK_COUNT] = {
        [BACK_ANSWER] = END_answered,         [BACK_RESET] = END_reset_no_answer,
        [BACK_CLOSED] = END_closed_no_answer, [BACK_CUT] = END_cut_answer,
        [BACK_BAD] = END_bad_answer,          [BACK_SILENT] = END_none};
    struct delivery *delivery = ctx;
    struct upstream_call *call = delivery->call;
    struct gw_buf out;
    gw_buf_init(&out, 8192);
    struct span body = answer_body(delivery, &out);
    if (delivery->back == BACK_ANSWER)
        remember_answer(delivery, body);
    if (call == NULL) {
        gw_buf_fini(&out);
        delivery_free(delivery);
        return;
    }
    enum attempt_end end = ends[delivery->back];
    if (end == END_answered && body.len > call->port->world->conf->limits.answer_body_max)
        end = END_answer_too_large;
    gw_buf_fini(&out);
    if (end == END_answered || end == END_cut_answer || end == END_answer_too_large) {
        call->status = delivery->status;
        call->bytes_in = 100;
    }
    if (end != END_none)
        network_end_later(call, end, 0);
    /* The answer is made of the delivery when the loop reads it. */
}

static struct http_head *parse_head(struct span text)
{
    const struct http1_limits limits = {
        .target_bytes_max = 64, .head_bytes_max = HEAD_BYTES, .fields_max = 16};
    struct http1_parser parser;
    struct span body;
    http1_parser_init(&parser, HTTP1_RESPONSES, &limits);
    enum http1_event event = http1_feed(&parser, &text, &body);
    gw_assert(event == HTTP1_HEAD);
    struct http_head *head = http1_take_head(&parser);
    http1_parser_fini(&parser);
    return head;
}

/* As the port does it: what is larger than is kept waits in a file without a name. */
static void fill_body(struct body *ret, size_t memory_max, struct span bytes)
{
    body_init(ret, memory_max);
    if (bytes.len <= memory_max) {
        enum gw_status status = body_add(ret, bytes, NULL);
        gw_assert(status == GW_OK);
        return;
    }
    ret->file = memfd_create("sim", MFD_CLOEXEC);
    gw_assert(ret->file >= 0);
    ssize_t written = write(ret->file, bytes.ptr, bytes.len);
    gw_assert(written == (ssize_t)bytes.len);
    ret->bytes = bytes.len;
}

void network_make_answer(const struct delivery *delivery, struct upstream_answer *ret)
{
    char head[HEAD_BYTES];
    struct gw_buf out;
    gw_buf_init(&out, 8192);
    struct span body = answer_body(delivery, &out);
    char wish[64] = "";
    if (delivery->wish_s > 0)
        (void)snprintf(wish, sizeof(wish), "Retry-After: %u\r\n", delivery->wish_s); /* fits */
    int len =
        delivery->status == 204
            ? snprintf(head, sizeof(head), "HTTP/1.1 204 No Content\r\nX-Run: %" PRIu64 "\r\n\r\n",
                       delivery->run_id)
            : snprintf(head, sizeof(head),
                       "HTTP/1.1 %u Sim\r\nContent-Type: application/json\r\nX-Run: %" PRIu64
                       "\r\n%sContent-Length: %zu\r\n\r\n",
                       delivery->status, delivery->run_id, wish, body.len);
    gw_assert(len > 0 && (size_t)len < sizeof(head));
    if (delivery->attempt != NULL && delivery->wish_s > 0) {
        delivery->attempt->wish_ms = (int64_t)delivery->wish_s * 1000;
        delivery->attempt->wished_ticks = delivery->world->ticks;
    }
    ret->head = parse_head(span_of(head, (size_t)len));
    fill_body(&ret->body, delivery->call->options.memory_max, body);
    gw_buf_fini(&out);
}
