/* A stream can end, time out or be given up at any point: told once or not at all,
 * and nothing is left behind. */
#include "tests/unit/gateway/upstream_stream_fixture.h"

/* ---- giving up ---- */
static void serve_until_gone(struct server *server)
{
    int fd = server_accept(server);
    char line[128];
    while (fd >= 0 && read_line(fd, line, sizeof(line)) > 1)
        continue;
    if (fd < 0)
        return;
    server_say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n");
    char first = byte_at(0);
    server_send(fd, span_of(&first, 1));
    server_say(fd, "\r\n0\r\n\r\n");
    server_drain(fd);
    close(fd);
}

static void abort_at(enum point point)
{
    struct server server;
    struct world world;
    struct user user;
    server_start(&server, serve_until_gone, NULL);
    world_init(&world, server.port);
    user_init(&user, &world);
    user.abort_at = point;
    user.to_send = point == AT_WRITABLE ? 64 << 20 : 100;
    user_start(&user, "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", true,
               true);
    if (point == NOWHERE) {
        user.aborted++;
        upstream_stream_abort(user.stream);
        upstream_stream_abort(user.stream); /* twice is once */
    }
    world_run(&world, &user.aborted, 1);
    world_settle(&world);
    assert_int_equal(user.ends, point == AT_END ? 1 : 0);
    assert_int_equal(world_stats(&world).calls, 0);
    assert_int_equal(world_stats(&world).connections, world_stats(&world).kept);
    user_fini(&user);
    world_fini(&world);
    (void)shutdown(server.listener, SHUT_RDWR);
    server_join(&server);
}

static void test_abort_anywhere(void **state)
{
    /* Given up right after the start and inside each callback: end() does not run, all is freed. */
    (void)state;
    for (int point = NOWHERE; point <= AT_END; point++)
        abort_at((enum point)point);
}

static void test_abort_while_waiting(void **state)
{
    /* Given up while another stream has the only slot. */
    (void)state;
    struct server server;
    struct world world;
    struct user first, second;
    server_start(&server, serve_one, GOOD);
    world_init(&world, server.port);
    world.policy.connections_max = 1;
    user_init(&first, &world);
    user_init(&second, &world);
    user_start(&first, GET_TEXT, false, false);
    user_start(&second, GET_TEXT, false, false);
    upstream_stream_abort(second.stream);
    world_run(&world, &first.ends, 1);
    world_settle(&world);
    assert_int_equal(first.facts.end, END_answered);
    assert_int_equal(second.ends, 0);
    assert_int_equal(world_stats(&world).calls, 0);
    user_fini(&first);
    user_fini(&second);
    world_fini(&world);
    server_join(&server);
    assert_int_equal(server.requests, 1);
}

/* ---- ends ---- */
static void serve_ctx_and_close(struct server *server)
{
    int fd = server_accept(server);
    char line[128];
    while (read_line(fd, line, sizeof(line)) > 1)
        continue;
    server_say(fd, server->ctx);
    shutdown(fd, SHUT_WR);
    server_drain(fd);
    close(fd);
}

static void test_ends(void **state)
{
    /* A stream tells the same ends as a call; what came before the end was passed on. */
    (void)state;
    const struct {
        const char *text;
        enum attempt_end end;
        int heads;
        uint64_t received;
    } table[] = {
        {"", END_closed_no_answer, 0, 0},
        {"HTTP/1.1 200 O", END_cut_answer, 0, 0},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", END_cut_answer, 1, 3},
        {"HTTP/1.1 200 OK\r\n\r\nabc", END_answered, 1, 3},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", END_bad_answer, 1, 0},
        {"HTTP/1.1 101 Switching Protocols\r\n\r\n", END_bad_answer, 0, 0},
        {GOOD, END_answered, 1, 2},
    };
    for (size_t i = 0; i < GW_COUNT(table); i++) {
        struct server server;
        struct world world;
        struct user user;
        server_start(&server, serve_ctx_and_close, (void *)(uintptr_t)table[i].text);
        world_init(&world, server.port);
        user_init(&user, &world);
        get_run(&user);
        if (user.facts.end != table[i].end)
            fail_msg("case %zu: end %s", i, end_name(user.facts.end));
        assert_int_equal(user.heads, table[i].heads);
        assert_int_equal(user.received, table[i].received);
        user_fini(&user);
        world_fini(&world);
        server_join(&server);
    }
}

static void serve_and_wait(struct server *server)
{
    int fd = server_accept(server);
    char line[128];
    while (read_line(fd, line, sizeof(line)) > 1)
        continue;
    server_say(fd, server->ctx);
    server_wait(server);
    close(fd);
}

static void early_answer(const char *text, uint64_t upload, enum attempt_end end)
{
    struct server server;
    struct world world;
    struct user user;
    server_start(&server, serve_and_wait, (void *)(uintptr_t)text);
    world_init(&world, server.port);
    world.policy.send_ms = text[0] == '\0' ? 100 : FIXTURE_LONG_MS;
    user_init(&user, &world);
    user.to_send = upload;
    user_start(&user, "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", true,
               true);
    while (user.ends == 0 && !world.hangs)
        assert_int_equal(event_base_loop(world.base, EVLOOP_ONCE), 0);
    assert_int_equal(user.facts.end, end);
    assert_int_equal(user.facts.status, end == END_answered ? 413 : 0);
    assert_true(user.sent < upload);
    assert_int_equal(world_stats(&world).kept, 0);
    user_fini(&user);
    world_fini(&world);
    server_go(&server);
    server_join(&server);
}

static void test_early_answer(void **state)
{
    /* An answer during the upload ends the stream well; no answer and no progress ends it badly. */
    (void)state;
    early_answer("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n", 64 << 20,
                 END_answered);
    early_answer("", 64 << 20, END_send_stalled);
}

static void test_timeouts(void **state)
{
    /* first_byte and idle hold for streams; the time of a whole answer does not. */
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct server server;
        struct world world;
        struct user user;
        server_start(&server, serve_and_wait,
                     way == 0 ? "" : "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
        world_init(&world, server.port);
        world.policy.answer_ms = 1;
        world.policy.first_byte_ms = way == 0 ? 50 : FIXTURE_LONG_MS;
        world.policy.idle_ms = way == 1 ? 50 : FIXTURE_LONG_MS;
        user_init(&user, &world);
        get_run(&user);
        assert_int_equal(user.facts.end, way == 0 ? END_answer_timeout : END_idle_timeout);
        assert_false(user.facts.still_listening);
        assert_int_equal(user.received, way == 0 ? 0 : 2);
        user_fini(&user);
        world_fini(&world);
        server_go(&server);
        server_join(&server);
    }
}

static void test_stale_connection(void **state)
{
    /* A kept connection that takes no byte: told as stale, soon but not inside start. */
    (void)state;
    struct server server;
    struct world world;
    struct user user;
    server_start(&server, serve_and_wait, GOOD);
    world_init(&world, server.port);
    user_init(&user, &world);
    get_run(&user);
    user_fini(&user);
    const struct origin *origin = TAILQ_FIRST(&world.port->origins);
    const struct connection *kept = TAILQ_FIRST(&origin->kept);
    assert_non_null(kept);
    assert_int_equal(shutdown(kept->transport.fd, SHUT_WR), 0);
    user_init(&user, &world);
    get_run(&user);
    assert_int_equal(user.facts.end, END_stale_connection);
    assert_int_equal(user.facts.bytes_out, 0);
    user_fini(&user);
    world_fini(&world);
    server_go(&server);
    server_join(&server);
}

static void test_send_buffer_is_bounded(void **state)
{
    /* Whoever does not stop when told to loses the stream, not the memory. */
    (void)state;
    struct server server;
    struct world world;
    struct user user;
    server_start(&server, serve_and_wait, "");
    world_init(&world, server.port);
    user_init(&user, &world);
    struct upstream_stream_options options = {.upstream = &world.policy,
                                              .head = SPAN("POST /a HTTP/1.1\r\n\r\n"),
                                              .has_body = true,
                                              .chunked = true,
                                              .events = &user_events,
                                              .ctx = &user};
    assert_int_equal(upstream_stream_start(world.port, &options, &user.stream), GW_OK);
    char *bytes = calloc(1, 100000);
    int refused = 0;
    for (int i = 0; i < 100; i++)
        refused += !upstream_stream_send(user.stream, span_of(bytes, 100000));
    assert_true(refused > 0 && refused < 100); /* after the end it takes what it throws away */
    world_run(&world, &user.ends, 1);
    assert_int_equal(user.facts.bytes_out, 0);
    assert_int_equal(user.facts.end, END_connect_refused);
    free(bytes);
    user_fini(&user);
    world_fini(&world);
    server_go(&server);
    (void)shutdown(server.listener, SHUT_RDWR);
    server_join(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_abort_anywhere),
        cmocka_unit_test(test_abort_while_waiting),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_early_answer),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_stale_connection),
        cmocka_unit_test(test_send_buffer_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
