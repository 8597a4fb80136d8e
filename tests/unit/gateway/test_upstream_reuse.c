/* Kept connections: used again only while they are certainly fit for it, and never
 * at the price of a request sent twice (RCP-4, RCP-21, UP-9). */
#include "tests/unit/gateway/upstream_fixture.h"

#define GOOD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* Each connection answers until it is closed; accepts until it is told to stop. */
static void serve_connections(struct server *server)
{
    int fd;
    while ((fd = server_accept(server)) >= 0) {
        while (server_read(server, fd))
            server_say(fd, server->ctx);
        close(fd);
    }
}

static void stop(struct server *server)
{
    (void)shutdown(server->listener, SHUT_RDWR); /* ends the accept */
    server_join(server);
}

/* Two calls, one after the other; returns how many connections they took. */
static int connections_of_two_calls(const char *text, const struct upstream_policy *change)
{
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_connections, (void *)(uintptr_t)text);
    world_init(&world, server.port);
    if (change != NULL) {
        world.policy.reuse = change->reuse;
        world.policy.connection_idle_ms = change->connection_idle_ms;
    }
    for (int i = 0; i < 2; i++) {
        call_run(&world, &caller);
        assert_int_equal(caller.facts.end, END_answered);
        assert_int_equal(caller.facts.bytes_out, POST_BYTES);
        world_settle(&world);
    }
    assert_int_equal(world_stats(&world).connections, world_stats(&world).kept);
    world_fini(&world);
    stop(&server);
    assert_int_equal(server.requests, 2);
    return server.accepted;
}

static void test_which_answers_allow_reuse(void **state)
{
    /* Only an answer after which the connection is surely clean lets it be used again. */
    (void)state;
    const struct {
        const char *text;
        int connections;
    } table[] = {
        {GOOD, 1},
        {"HTTP/1.1 204 No Content\r\n\r\n", 1},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", 1},
        {"HTTP/1.1 100 Continue\r\n\r\n" GOOD, 1},
        {"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n", 1},
        {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 2},
        {"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok", 2},
        {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 2},
        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", 2},
        {GOOD "x", 2},
        {GOOD GOOD, 2},
        {"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n", 2},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n", 2},
    };
    for (size_t i = 0; i < GW_COUNT(table); i++)
        if (connections_of_two_calls(table[i].text, NULL) != table[i].connections)
            fail_msg("case %zu: not %d connections", i, table[i].connections);
}

static void test_policy_forbids_reuse(void **state)
{
    /* reuse: never takes a new connection for each call; so does an idle time of nothing. */
    (void)state;
    struct upstream_policy change = {.reuse = REUSE_NEVER, .connection_idle_ms = FIXTURE_LONG_MS};
    assert_int_equal(connections_of_two_calls(GOOD, &change), 2);
    change = (struct upstream_policy){.reuse = REUSE_CHECKED, .connection_idle_ms = 0};
    assert_int_equal(connections_of_two_calls(GOOD, &change), 2);
}

static void serve_closing(struct server *server)
{
    int fd = server_accept(server);
    (void)server_read(server, fd);
    server_say(fd, GOOD);
    server_wait(server);
    if (server->ctx != NULL)
        server_say(fd, server->ctx); /* bytes that answer nothing */
    else
        close(fd);
    int next = server_accept(server);
    while (server_read(server, next))
        server_say(next, GOOD);
    close(next);
    if (server->ctx != NULL)
        close(fd);
}

static void idle_connection_ends(const char *surplus)
{
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_closing, (void *)(uintptr_t)surplus);
    world_init(&world, server.port);
    call_run(&world, &caller);
    assert_int_equal(world_stats(&world).kept, 1);
    server_go(&server);
    while (world_stats(&world).kept > 0 && !world.hangs)
        assert_int_equal(event_base_loop(world.base, EVLOOP_ONCE), 0);
    assert_int_equal(world_stats(&world).connections, 0);
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_answered);
    assert_string_equal(caller.text, "ok");
    world_fini(&world);
    server_join(&server);
    assert_int_equal(server.accepted, 2);
    assert_int_equal(server.requests, 2);
}

static void test_idle_connection_ends(void **state)
{
    /* An end or a byte on a kept connection closes it; the byte answers nobody. */
    (void)state;
    idle_connection_ends(NULL);
    idle_connection_ends("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
}

static void serve_surprise(struct server *server)
{
    int fd = server_accept(server);
    (void)server_read(server, fd);
    server_say(fd, GOOD);
    server_wait(server);
    if (server->ctx != NULL)
        server_say(fd, server->ctx);
    else
        shutdown(fd, SHUT_WR);
    server_go(server + 1); /* the second one's pipe: done */
    int next = server_accept(server);
    (void)server_read(server, next);
    server_say(next, GOOD);
    server_drain(next);
    close(next);
    close(fd);
}

static void checked_before_write(const char *surplus)
{
    struct server servers[2];
    struct world world;
    struct caller caller;
    server_listen(&servers[1], 1);
    server_start(&servers[0], serve_surprise, (void *)(uintptr_t)surplus);
    world_init(&world, servers[0].port);
    call_run(&world, &caller);
    server_go(&servers[0]);
    server_wait(&servers[1]); /* on this side the loop has not run meanwhile */
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_answered);
    assert_int_equal(caller.facts.bytes_out, POST_BYTES);
    assert_string_equal(caller.text, "ok");
    world_fini(&world);
    server_join(&servers[0]);
    server_join(&servers[1]);
    assert_int_equal(servers[0].accepted, 2);
    assert_int_equal(servers[0].requests, 2);
}

static void test_checked_before_write(void **state)
{
    /* What the loop has not noticed yet is seen right before the first write. */
    (void)state;
    checked_before_write(NULL);
    checked_before_write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
}

static void serve_then_wait(struct server *server)
{
    int fd = server_accept(server);
    (void)server_read(server, fd);
    server_say(fd, GOOD);
    server_wait(server);
    close(fd);
}

static void test_stale_connection(void **state)
{
    /* A kept connection that passes the check and then takes no byte: stale, 0 bytes, no second
     * try. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_then_wait, NULL);
    world_init(&world, server.port);
    call_run(&world, &caller);
    const struct origin *origin = TAILQ_FIRST(&world.port->origins);
    const struct connection *kept = TAILQ_FIRST(&origin->kept);
    assert_non_null(kept);
    assert_int_equal(shutdown(kept->transport.fd, SHUT_WR),
                     0); /* reading says "again", writing fails */
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_stale_connection);
    assert_int_equal(caller.facts.bytes_out, 0);
    assert_int_equal(world_stats(&world).connections, 0);
    world_fini(&world);
    server_go(&server);
    server_join(&server);
    assert_int_equal(server.accepted, 1);
}

static void serve_close_after_second(struct server *server)
{
    int fd = server_accept(server);
    (void)server_read(server, fd);
    server_say(fd, GOOD);
    (void)server_read(server, fd);
    if (server->ctx != NULL)
        server_reset(fd);
    else
        close(fd);
}

static void test_never_resent(void **state)
{
    /* A kept connection that ends after it took the request: unclear, and sent once. */
    (void)state;
    for (int resets = 0; resets < 2; resets++) {
        struct server server;
        struct world world;
        struct caller caller;
        server_start(&server, serve_close_after_second, resets ? &server : NULL);
        world_init(&world, server.port);
        call_run(&world, &caller);
        call_run(&world, &caller);
        assert_int_equal(caller.facts.end, resets ? END_reset_no_answer : END_closed_no_answer);
        assert_int_equal(caller.facts.bytes_out, POST_BYTES);
        world_fini(&world);
        server_join(&server);
        assert_int_equal(server.accepted, 1);
        assert_int_equal(server.requests, 2);
    }
}

static void serve_early(struct server *server)
{
    int fd = server_accept(server);
    char bytes[1024];
    size_t len = 0;
    while (len < sizeof(bytes)) { /* a part of the request */
        ssize_t count = recv(fd, bytes, sizeof(bytes) - len, 0);
        if (count <= 0)
            break;
        len += (size_t)count;
    }
    server_say(fd, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig");
    server_wait(server);
    close(fd);
}

static void test_early_answer(void **state)
{
    /* An answer before the request is whole ends the writing, is read, and spoils the connection.
     */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_early, NULL);
    world_init(&world, server.port);
    size_t len = 32 << 20;
    char *bytes = calloc(1, len);
    struct upstream_call_options options = caller_options(&world, &caller);
    options.request.body = span_of(bytes, len);
    assert_int_equal(upstream_http_ops.start(world.port, &options, &caller.call), GW_OK);
    world_run(&world, &caller.done, 1);
    assert_int_equal(caller.facts.end, END_answered);
    assert_int_equal(caller.status, 413);
    assert_string_equal(caller.text, "big");
    assert_true(caller.facts.bytes_out < len);
    assert_int_equal(world_stats(&world).kept, 0);
    world_fini(&world);
    server_go(&server);
    server_join(&server);
    free(bytes);
}

static void serve_early_reset(struct server *server)
{
    int fd = server_accept(server);
    char bytes[1024];
    (void)!recv(fd, bytes, sizeof(bytes), 0);
    if (server->ctx != NULL)
        server_say(fd, server->ctx);
    close(fd); /* unread bytes of the request: the kernel resets */
}

static void test_early_close(void **state)
{
    /* The upstream gives up in the middle of the request: an answer that came before is
     * kept if it still can be read; else the end is unclear. Never "not sent". */
    (void)state;
    const char *answers[] = {NULL,
                             "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"};
    for (size_t i = 0; i < GW_COUNT(answers); i++) {
        struct server server;
        struct world world;
        struct caller caller;
        server_start(&server, serve_early_reset, (void *)(uintptr_t)answers[i]);
        world_init(&world, server.port);
        size_t len = 32 << 20;
        char *bytes = calloc(1, len);
        struct upstream_call_options options = caller_options(&world, &caller);
        options.request.body = span_of(bytes, len);
        assert_int_equal(upstream_http_ops.start(world.port, &options, &caller.call), GW_OK);
        world_run(&world, &caller.done, 1);
        bool is_answered = caller.facts.end == END_answered && answers[i] != NULL;
        assert_true(is_answered || caller.facts.end == END_reset_no_answer);
        assert_true(caller.facts.bytes_out > 0 && caller.facts.bytes_out < len);
        world_fini(&world);
        server_join(&server);
        free(bytes);
    }
}

static void test_head_answer(void **state)
{
    /* The answer to HEAD has no body whatever its length says, also the next time. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_connections, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
    world_init(&world, server.port);
    for (int i = 0; i < 3; i++) {
        struct upstream_call_options options = caller_options(&world, &caller);
        options.request = (struct upstream_request){
            .head = SPAN("HEAD /orders HTTP/1.1\r\nHost: x\r\n\r\n"), .is_head = true};
        assert_int_equal(upstream_http_ops.start(world.port, &options, &caller.call), GW_OK);
        world_run(&world, &caller.done, 1);
        assert_int_equal(caller.facts.end, END_answered);
        assert_int_equal(caller.body_bytes, 0);
    }
    world_fini(&world);
    stop(&server);
    assert_int_equal(server.accepted, 1);
}

static void test_old_connections_are_swept(void **state)
{
    /* A kept connection that nobody uses is closed when its time is over. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_connections, GOOD);
    world_init(&world, server.port);
    world.policy.connection_idle_ms = 10;
    call_run(&world, &caller);
    assert_int_equal(world_stats(&world).kept, 1);
    while (world_stats(&world).kept > 0 && !world.hangs)
        assert_int_equal(event_base_loop(world.base, EVLOOP_ONCE), 0);
    assert_int_equal(world_stats(&world).connections, 0);
    world_fini(&world);
    stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_answers_allow_reuse),
        cmocka_unit_test(test_policy_forbids_reuse),
        cmocka_unit_test(test_idle_connection_ends),
        cmocka_unit_test(test_checked_before_write),
        cmocka_unit_test(test_stale_connection),
        cmocka_unit_test(test_never_resent),
        cmocka_unit_test(test_early_answer),
        cmocka_unit_test(test_early_close),
        cmocka_unit_test(test_head_answer),
        cmocka_unit_test(test_old_connections_are_swept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
