/* Nothing is lost, told twice or used after its end: many calls over few
 * connections, a cancel at every stage, and callbacks that call back. */
#include <sys/epoll.h>

#include "tests/unit/gateway/upstream_fixture.h"

#define GOOD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* ---- an upstream that serves many connections at once ---- */
struct crowd {
    int epoll;
    int open;
};

static void crowd_accept(struct server *server, struct crowd *crowd)
{
    int fd = server_accept(server);
    if (fd < 0)
        return;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    assert_int_equal(epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, fd, &event), 0);
    crowd->open++;
}

static void serve_crowd(struct server *server)
{
    struct crowd crowd = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
    struct epoll_event event = {.events = EPOLLIN, .data.fd = server->listener};
    assert_int_equal(epoll_ctl(crowd.epoll, EPOLL_CTL_ADD, server->listener, &event), 0);
    event.data.fd = server->go[0];
    assert_int_equal(epoll_ctl(crowd.epoll, EPOLL_CTL_ADD, server->go[0], &event), 0);
    bool stops = false;
    while (!stops || crowd.open > 0) {
        if (epoll_wait(crowd.epoll, &event, 1, FIXTURE_HANG_S * 1000) != 1)
            break;
        int fd = event.data.fd;
        if (fd == server->go[0]) {
            stops = true;
            server_wait(server);
        } else if (fd == server->listener) {
            crowd_accept(server, &crowd);
        } else if (server_read(server, fd)) {
            server_say(fd, GOOD);
        } else {
            close(fd);
            crowd.open--;
        }
    }
    close(crowd.epoll);
}

/* ---- many calls ---- */
#define MANY         2000
#define MANY_AT_ONCE 16

struct many {
    struct world *world;
    int started, done, answered;
    uint64_t bytes_out, bytes_in;
};

static void start_next(struct many *many);

static void on_many(const struct upstream_facts *facts, struct upstream_answer *answer, void *ctx)
{
    struct many *many = ctx;
    many->done++;
    many->bytes_out += facts->bytes_out;
    many->bytes_in += facts->bytes_in;
    if (facts->end == END_answered) {
        many->answered++;
        assert_true(span_equal(gw_buf_span(&answer->body.memory), SPAN("ok")));
        http_head_free(answer->head);
        body_fini(&answer->body);
    }
    start_next(many); /* from inside a callback */
}

static void start_next(struct many *many)
{
    if (many->started == MANY)
        return;
    many->started++;
    struct upstream_call *call;
    struct upstream_call_options options = {
        .upstream = &many->world->policy,
        .request = {.head = SPAN(POST_TEXT), .body = SPAN("a=1")},
        .memory_max = 4096,
        .done = on_many,
        .ctx = many};
    assert_int_equal(upstream_http_ops.start(many->world->port, &options, &call), GW_OK);
}

static void test_many_calls(void **state)
{
    /* 2,000 calls, 16 at once, over at most 8 connections: each sent once, each told once. */
    (void)state;
    struct server server;
    struct world world;
    server_start(&server, serve_crowd, NULL);
    world_init(&world, server.port);
    world.policy.connections_max = 8;
    struct many many = {.world = &world};
    for (int i = 0; i < MANY_AT_ONCE; i++)
        start_next(&many);
    world_run(&world, &many.done, MANY);
    world_settle(&world);
    assert_int_equal(many.done, MANY);
    assert_int_equal(many.answered, MANY);
    assert_int_equal(many.bytes_out, MANY * POST_BYTES);
    assert_int_equal(many.bytes_in, MANY * (sizeof(GOOD) - 1));
    struct upstream_port_stats stats = world_stats(&world);
    assert_int_equal(stats.calls, 0);
    assert_int_equal(stats.connections, stats.kept);
    assert_true(stats.kept >= 1 && stats.kept <= 8);
    world_fini(&world);
    server_go(&server);
    server_join(&server);
    assert_true(server.accepted <= 8);
    assert_int_equal(server.requests, MANY);
}

static void test_many_connections(void **state)
{
    /* The same with a new connection each: nothing is left behind. */
    (void)state;
    struct server server;
    struct world world;
    server_start(&server, serve_crowd, NULL);
    world_init(&world, server.port);
    world.policy.reuse = REUSE_NEVER;
    struct many many = {.world = &world, .started = MANY - 200};
    for (int i = 0; i < 8; i++)
        start_next(&many);
    world_run(&world, &many.done, 200);
    world_settle(&world);
    assert_int_equal(many.answered, 200);
    assert_int_equal(world_stats(&world).connections, 0);
    world_fini(&world);
    server_go(&server);
    server_join(&server);
    assert_int_equal(server.accepted, 200);
}

/* ---- cancel at every stage ---- */
static void serve_slow(struct server *server)
{
    int fd = server_accept(server);
    if (fd >= 0 && server_read(server, fd)) {
        server_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
        server_drain(fd);
    }
    if (fd >= 0)
        close(fd);
}

enum stage { AT_RESOLVE, AT_START, AT_CONNECTED, AT_BODY, STAGES };

static void run_to(struct world *world, struct caller *caller, enum stage stage)
{
    struct exchange *exchange = (struct exchange *)caller->call;
    while (!world->hangs && ((stage == AT_CONNECTED && exchange->stage != EXCHANGE_OPEN) ||
                             (stage == AT_BODY && exchange->status == 0)))
        assert_int_equal(event_base_loop(world->base, EVLOOP_ONCE), 0);
}

static void cancel_at(enum stage stage)
{
    struct server server;
    struct world world;
    struct caller caller, next;
    server_start(&server, serve_slow, NULL);
    world_init(&world, server.port);
    if (stage == AT_RESOLVE)
        world.policy.host = SPAN("no-such-host.invalid");
    world.policy.connections_max = 1;
    call_begin(&world, &caller);
    run_to(&world, &caller, stage);
    call_begin(&world, &next); /* waits for the slot; cancelled while it waits */
    upstream_http_ops.cancel(next.call);
    upstream_http_ops.cancel(caller.call);
    upstream_http_ops.cancel(caller.call); /* twice is once */
    assert_int_equal(caller.done, 0);
    assert_int_equal(world_stats(&world).connections, 0);
    world_run(&world, &caller.done, 1);
    world_run(&world, &next.done, 1);
    assert_int_equal(caller.facts.end, END_drained);
    assert_int_equal(caller.facts.bytes_out, stage < AT_CONNECTED ? 0 : POST_BYTES);
    assert_int_equal(caller.facts.status, stage == AT_BODY ? 200 : 0);
    assert_int_equal(next.facts.end, END_drained);
    assert_int_equal(next.facts.bytes_out, 0);
    assert_int_equal(world_stats(&world).calls, 0);
    world_fini(&world);
    (void)shutdown(server.listener, SHUT_RDWR);
    server_join(&server);
}

static void test_cancel_at_every_stage(void **state)
{
    /* Cancelled while resolving, connecting, waiting, sent and half answered: drained, once. */
    (void)state;
    for (int stage = 0; stage < STAGES; stage++)
        cancel_at((enum stage)stage);
}

static void test_cancel_after_the_end(void **state)
{
    /* A cancel between the end and its telling changes nothing. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_slow, NULL);
    world_init(&world, server.port);
    call_begin(&world, &caller);
    run_to(&world, &caller, AT_CONNECTED);
    exchange_end_later((struct exchange *)caller.call, END_cut_answer);
    upstream_http_ops.cancel(caller.call);
    world_run(&world, &caller.done, 1);
    assert_int_equal(caller.facts.end, END_cut_answer);
    world_fini(&world);
    server_join(&server);
}

static void on_done_cancel(const struct upstream_facts *facts, struct upstream_answer *answer,
                           void *ctx)
{
    struct caller *caller = ctx;
    on_done(facts, answer, ctx);
    upstream_http_ops.cancel(caller->call);
    assert_int_equal(caller->late, 0);
}

static void cancel_inside_done(bool with_late)
{
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_slow, NULL);
    world_init(&world, server.port);
    world.policy.answer_ms = 300;
    world.policy.late_ms = with_late ? FIXTURE_LONG_MS : 0;
    struct upstream_call_options options = caller_options(&world, &caller);
    options.done = on_done_cancel;
    assert_int_equal(upstream_http_ops.start(world.port, &options, &caller.call), GW_OK);
    world_run(&world, &caller.done, 1);
    assert_int_equal(caller.facts.still_listening, with_late);
    if (with_late) {
        world_run(&world, &caller.late, 1);
        assert_int_equal(caller.late_facts.end, END_drained);
    }
    world_settle(&world);
    assert_int_equal(caller.done, 1);
    assert_int_equal(world_stats(&world).calls, 0);
    world_fini(&world);
    server_join(&server);
}

static void test_cancel_inside_done(void **state)
{
    /* cancel() from inside done(): late() follows if it was promised, else nothing. */
    (void)state;
    cancel_inside_done(true);
    cancel_inside_done(false);
}

/* ---- what cannot be ---- */
static void test_bad_policies(void **state)
{
    /* A host that is no host is refused before anything is begun. */
    (void)state;
    struct world world;
    struct caller caller;
    char host[400];
    memset(host, 'a', sizeof(host));
    world_init(&world, 1);
    struct upstream_call_options options = caller_options(&world, &caller);
    world.policy.host = SPAN("");
    assert_int_equal(upstream_http_ops.start(world.port, &options, &caller.call), GW_INVALID);
    world.policy.host = span_of(host, sizeof(host));
    assert_int_equal(upstream_http_ops.start(world.port, &options, &caller.call), GW_INVALID);
    assert_int_equal(world_stats(&world).calls, 0);
    world_fini(&world);
}

static void test_slots_are_shared_out(void **state)
{
    /* connections_max is of the process: one of four workers uses a quarter of it. */
    (void)state;
    struct server server;
    struct world world;
    struct caller callers[4];
    server_start(&server, serve_crowd, NULL);
    struct upstream_port_options options = world_options();
    options.workers = 4;
    world_init_with(&world, server.port, options);
    world.policy.connections_max = 8;
    for (size_t i = 0; i < 4; i++)
        call_begin(&world, &callers[i]);
    assert_int_equal(world_stats(&world).connections, 2);
    for (size_t i = 0; i < 4; i++) {
        world_run(&world, &callers[i].done, 1);
        assert_int_equal(callers[i].facts.end, END_answered);
    }
    world_fini(&world);
    server_go(&server);
    server_join(&server);
    assert_int_equal(server.accepted, 2);
}

static void test_origins_are_bounded(void **state)
{
    /* Upstreams that came and went with reloads make room for new ones. */
    (void)state;
    struct world world;
    struct caller caller;
    char name[16];
    world_init(&world, 1);
    world.policy.connections_max = 1;
    for (int i = 0; i < UPSTREAM_ORIGINS_MAX + 10; i++) {
        snprintf(name, sizeof(name), "u%d", i);
        world.policy.name = span_str(name);
        call_run(&world, &caller);
        assert_int_equal(caller.facts.end, END_connect_refused);
        world_settle(&world);
    }
    assert_int_equal(world.port->origin_count, UPSTREAM_ORIGINS_MAX);
    world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_calls),
        cmocka_unit_test(test_many_connections),
        cmocka_unit_test(test_cancel_at_every_stage),
        cmocka_unit_test(test_cancel_after_the_end),
        cmocka_unit_test(test_cancel_inside_done),
        cmocka_unit_test(test_bad_policies),
        cmocka_unit_test(test_slots_are_shared_out),
        cmocka_unit_test(test_origins_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
