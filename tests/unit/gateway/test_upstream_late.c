/* After the caller was told that time is up, the answer is still listened for: a
 * bounded number of calls, a bounded time, and told exactly once. */
#include "tests/unit/gateway/upstream_fixture.h"

#define GOOD "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nlate"

/* Reads one request on each connection; answers all of them when told. */
static void serve_late(struct server *server)
{
    int fds[8];
    int count = *(int *)server->ctx;
    for (int i = 0; i < count; i++) {
        fds[i] = server_accept(server);
        (void)server_read(server, fds[i]);
    }
    server_wait(server);
    for (int i = 0; i < count; i++)
        server_say(fds[i], GOOD);
    server_wait(server);
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

static void test_late_answer(void **state)
{
    /* The late answer is told whole, with the context set in done(), and frees no slot meanwhile
     * taken. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    int connections = 1;
    server_start(&server, serve_late, &connections);
    world_init(&world, server.port);
    world.policy.answer_ms = 300;
    world.policy.connections_max = 1;
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_answer_timeout);
    assert_true(caller.facts.still_listening);
    assert_int_equal(caller.facts.bytes_out, POST_BYTES);
    assert_int_equal(world_stats(&world).late_listening, 1);
    assert_int_equal(world_stats(&world).calls, 1);
    struct caller heir = caller;
    upstream_http_ops.set_context(caller.call, &heir);
    server_go(&server);
    world_run(&world, &heir.late, 1);
    assert_int_equal(caller.late, 0);
    assert_int_equal(heir.late_facts.end, END_answered);
    assert_int_equal(heir.late_facts.bytes_out, POST_BYTES);
    assert_int_equal(heir.status, 201);
    assert_string_equal(heir.text, "late");
    world_settle(&world);
    assert_int_equal(world_stats(&world).late_listening, 0);
    assert_int_equal(world_stats(&world).connections, 0);
    assert_int_equal(world_stats(&world).calls, 0);
    server_go(&server);
    world_fini(&world);
    server_join(&server);
}

static void test_late_is_bounded(void **state)
{
    /* Of three lost calls two are listened to; a lost call holds no slot of its upstream. */
    (void)state;
    struct server server;
    struct world world;
    struct caller callers[3];
    int connections = 3;
    server_start(&server, serve_late, &connections);
    struct upstream_port_options options = world_options();
    options.late_max = 2;
    world_init_with(&world, server.port, options);
    world.policy.first_byte_ms = 50;
    world.policy.connections_max = 1;
    int listening = 0;
    for (size_t i = 0; i < 3; i++) {
        call_run(&world, &callers[i]);
        assert_int_equal(callers[i].facts.end, END_answer_timeout);
        listening += callers[i].facts.still_listening;
    }
    assert_int_equal(listening, 2);
    assert_false(callers[2].facts.still_listening);
    assert_int_equal(world_stats(&world).late_listening, 2);
    server_go(&server);
    world_run(&world, &callers[0].late, 1);
    world_run(&world, &callers[1].late, 1);
    assert_int_equal(callers[0].late_facts.end, END_answered);
    assert_int_equal(callers[1].late_facts.end, END_answered);
    server_go(&server);
    world_fini(&world);
    server_join(&server);
}

static void test_listening_ends(void **state)
{
    /* Listening ends by time, by a lost connection, and by cancel; each is told once. */
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct server server;
        struct world world;
        struct caller caller;
        int connections = 1;
        server_start(&server, serve_late, &connections);
        world_init(&world, server.port);
        world.policy.answer_ms = 300;
        world.policy.late_ms = way == 0 ? 50 : FIXTURE_LONG_MS;
        call_run(&world, &caller);
        assert_true(caller.facts.still_listening);
        if (way == 1) { /* the upstream dies */
            const struct exchange *exchange = (const struct exchange *)caller.call;
            assert_int_equal(shutdown(exchange->connection->transport.fd, SHUT_RD), 0);
        } else if (way == 2) {
            upstream_http_ops.cancel(caller.call);
            upstream_http_ops.cancel(caller.call); /* twice is once */
            assert_int_equal(caller.late, 0);
        }
        world_run(&world, &caller.late, 1);
        const enum attempt_end ends[] = {END_answer_timeout, END_closed_no_answer, END_drained};
        assert_int_equal(caller.late_facts.end, ends[way]);
        assert_int_equal(caller.late_facts.bytes_out, POST_BYTES);
        assert_int_equal(world_stats(&world).late_listening, 0);
        server_go(&server);
        server_go(&server);
        world_fini(&world);
        server_join(&server);
    }
}

static void serve_partial(struct server *server)
{
    int fd = server_accept(server);
    (void)server_read(server, fd);
    server_say(fd, "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nla");
    server_wait(server);
    server_say(fd, "te");
    server_wait(server);
    close(fd);
}

static void test_half_an_answer_in_time(void **state)
{
    /* The part of the answer that came in time is part of the late one. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_partial, NULL);
    world_init(&world, server.port);
    world.policy.answer_ms = 300;
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_answer_timeout);
    assert_true(caller.facts.still_listening);
    server_go(&server);
    world_run(&world, &caller.late, 1);
    assert_int_equal(caller.late_facts.end, END_answered);
    assert_string_equal(caller.text, "late");
    server_go(&server);
    world_fini(&world);
    server_join(&server);
}

static void serve_unread(struct server *server)
{
    int fd = server_accept(server);
    server_wait(server);
    server_drain(fd);
    close(fd);
}

static void test_nothing_is_sent_late(void **state)
{
    /* What had not left when the caller was told does not leave afterwards. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_unread, NULL);
    world_init(&world, server.port);
    world.policy.answer_ms = 300;
    world.policy.late_ms = 300;
    size_t len = 32 << 20;
    char *bytes = calloc(1, len);
    struct upstream_call_options options = caller_options(&world, &caller);
    options.request.body = span_of(bytes, len);
    assert_int_equal(upstream_http_ops.start(world.port, &options, &caller.call), GW_OK);
    world_run(&world, &caller.done, 1);
    assert_true(caller.facts.still_listening);
    assert_true(caller.facts.bytes_out > 0 && caller.facts.bytes_out < len);
    server_go(&server); /* it reads now */
    world_run(&world, &caller.late, 1);
    assert_int_equal(caller.late_facts.end, END_answer_timeout);
    assert_int_equal(caller.late_facts.bytes_out, caller.facts.bytes_out);
    world_fini(&world);
    server_join(&server);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_answer),          cmocka_unit_test(test_late_is_bounded),
        cmocka_unit_test(test_listening_ends),       cmocka_unit_test(test_half_an_answer_in_time),
        cmocka_unit_test(test_nothing_is_sent_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
