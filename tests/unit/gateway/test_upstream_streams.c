/* Streams: both bodies pass unchanged and in flat memory, and each side can hold
 * the other back. */
#include <malloc.h>

#include "tests/unit/gateway/upstream_stream_fixture.h"

#define LARGE ((uint64_t)100 << 20)

/* ---- small ones ---- */
static void test_get(void **state)
{
    /* Requests without a body, one after the other on one connection; 1xx are not told. */
    (void)state;
    struct server server;
    struct world world;
    server_start(&server, serve_one, "HTTP/1.1 103 Early Hints\r\n\r\n" GOOD);
    world_init(&world, server.port);
    for (int i = 0; i < 3; i++) {
        struct user user;
        user_init(&user, &world);
        get_run(&user);
        assert_int_equal(user.facts.end, END_answered);
        assert_int_equal(user.facts.bytes_out, sizeof(GET_TEXT) - 1);
        assert_int_equal(user.facts.status, 200);
        assert_int_equal(user.heads, 1);
        assert_string_equal(user.text, "ok");
        assert_int_equal(world_stats(&world).kept, 1);
        user_fini(&user);
    }
    world_fini(&world);
    server_join(&server);
    assert_int_equal(server.accepted, 1);
    assert_int_equal(server.requests, 3);
}

static void test_small_body(void **state)
{
    /* A body with a length, in pieces, with and without a kept connection. */
    (void)state;
    struct server server;
    struct world world;
    server_start(&server, serve_one, GOOD);
    world_init(&world, server.port);
    const char *head = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n";
    for (size_t piece = 1; piece <= 1000; piece *= 10) {
        struct user user;
        user_init(&user, &world);
        user.to_send = 1000;
        user.piece = piece;
        user_start(&user, head, true, false);
        user.to_send = 0; /* the answer is not the same body */
        world_run(&world, &user.ends, 1);
        assert_int_equal(user.facts.end, END_answered);
        assert_int_equal(user.facts.bytes_out, strlen(head) + 1000);
        user_fini(&user);
    }
    world_fini(&world);
    server_join(&server);
    assert_int_equal(server.accepted, 1);
    assert_int_equal(server.requests, 4);
    const char *body = memmem(server.request, sizeof(server.request), "\r\n\r\n", 4);
    assert_non_null(body);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(body[4 + i], byte_at(i));
}

static void serve_chunked(struct server *server)
{
    int fd = server_accept(server);
    char line[128];
    while (read_line(fd, line, sizeof(line)) > 1)
        continue;
    size_t len;
    uint64_t total = 0;
    while (read_line(fd, line, sizeof(line)) > 0 && (len = strtoul(line, NULL, 16)) > 0) {
        char *bytes = malloc(len + 2);
        if (!read_exactly(fd, bytes, len + 2) || memcmp(bytes + len, "\r\n", 2) != 0)
            break;
        for (size_t i = 0; i < len; i++)
            total += bytes[i] == byte_at(total);
        free(bytes);
    }
    if (read_line(fd, line, sizeof(line)) == 1)
        *(uint64_t *)server->ctx = total;
    server_say(fd, GOOD);
    server_drain(fd);
    close(fd);
}

static void test_chunked(void **state)
{
    /* The stream frames what is sent as chunks, of small and of large pieces, or of none. */
    (void)state;
    const size_t pieces[] = {1, 100, 8192, 20000, 65536, 300000, 1};
    for (size_t i = 0; i < GW_COUNT(pieces); i++) {
        struct server server;
        struct world world;
        struct user user;
        uint64_t total = 0, wanted = i == GW_COUNT(pieces) - 1 ? 0 : pieces[i] * 37;
        server_start(&server, serve_chunked, &total);
        world_init(&world, server.port);
        user_init(&user, &world);
        user.piece = pieces[i];
        user.mixes = pieces[i] == 20000;
        user.to_send = wanted;
        user_start(&user, "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", true,
                   true);
        while (user.ends == 0 && !world.hangs) {
            if (user.sent == wanted)
                user.to_send = 0; /* the answer is not the same body */
            assert_int_equal(event_base_loop(world.base, EVLOOP_ONCE), 0);
        }
        assert_int_equal(user.facts.end, END_answered);
        assert_string_equal(user.text, "ok");
        assert_int_equal(world_stats(&world).kept, 1);
        user_fini(&user);
        world_fini(&world);
        server_join(&server);
        assert_int_equal(total, wanted);
    }
}

/* ---- large ones ---- */
struct flood {
    int fd;
    uint64_t bytes;
};

static void *flood_main(void *ctx)
{
    struct flood *flood = ctx;
    char *bytes = malloc(65536);
    char head[128];
    snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\n\r\n",
             (unsigned long long)flood->bytes);
    server_say(flood->fd, head);
    for (uint64_t at = 0; at < flood->bytes;) {
        size_t len = flood->bytes - at < 65536 ? (size_t)(flood->bytes - at) : 65536;
        for (size_t i = 0; i < len; i++)
            bytes[i] = byte_at(at + i);
        server_send(flood->fd, span_of(bytes, len));
        at += len;
    }
    free(bytes);
    return NULL;
}

/* Both directions at once: one thread writes the answer while this one reads. */
static void serve_flood(struct server *server)
{
    uint64_t *same = server->ctx;
    int fd = server_accept(server);
    char line[128], *bytes = malloc(65536);
    while (read_line(fd, line, sizeof(line)) > 1)
        continue;
    struct flood flood = {fd, LARGE};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, flood_main, &flood), 0);
    for (uint64_t at = 0; at < LARGE;) {
        ssize_t count = recv(fd, bytes, 65536, 0);
        if (count <= 0)
            break;
        for (ssize_t i = 0; i < count; i++)
            *same += bytes[i] == byte_at(at + (uint64_t)i);
        at += (uint64_t)count;
    }
    pthread_join(thread, NULL);
    free(bytes);
    server_drain(fd);
    close(fd);
}

static void test_large_both_ways(void **state)
{
    /* 100 MiB up and 100 MiB down at once, byte for byte, in memory that does not grow, with a
     * receiver that pauses after each piece. */
    (void)state;
    struct server server;
    struct world world;
    struct user user;
    uint64_t same = 0;
    char head[128];
    server_start(&server, serve_flood, &same);
    world_init(&world, server.port);
    user_init(&user, &world);
    user.to_send = LARGE;
    user.pauses = true;
    snprintf(head, sizeof(head), "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: %llu\r\n\r\n",
             (unsigned long long)LARGE);
    user_start(&user, head, true, false);
    size_t before = mallinfo2().uordblks, most = before;
    while (user.ends == 0 && !world.hangs) {
        assert_int_equal(event_base_loop(world.base, EVLOOP_ONCE), 0);
        size_t now = mallinfo2().uordblks;
        most = now > most ? now : most;
    }
    assert_false(world.hangs);
    assert_int_equal(user.facts.end, END_answered);
    assert_int_equal(user.facts.bytes_out, LARGE + strlen(head));
    assert_int_equal(user.received, LARGE);
    assert_true(user.writables > 0);
    assert_true(most - before < 1 << 20);
    user_fini(&user);
    world_fini(&world);
    server_join(&server);
    assert_int_equal(same, LARGE);
}

static void serve_pieces(struct server *server)
{
    int fd = server_accept(server);
    (void)server_read(server, fd);
    server_say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 500; i++)
        server_say(fd, "1\r\na\r\n2\r\nbc\r\n");
    server_say(fd, "0\r\n\r\n");
    server_drain(fd);
    close(fd);
}

static void test_pause_in_the_middle_of_what_was_read(void **state)
{
    /* Many chunks come in one read; each pause holds the rest back, and nothing is lost. */
    (void)state;
    struct server server;
    struct world world;
    struct user user;
    server_start(&server, serve_pieces, NULL);
    world_init(&world, server.port);
    user_init(&user, &world);
    user.pauses = true;
    get_run(&user);
    assert_int_equal(user.facts.end, END_answered);
    assert_int_equal(user.received, 1500);
    assert_memory_equal(user.text, "abcabcabc", 9);
    assert_int_equal(world_stats(&world).kept, 1);
    user_fini(&user);
    world_fini(&world);
    server_join(&server);
}

static void test_paused_stream_has_time(void **state)
{
    /* While the receiver holds the answer back, the upstream is not blamed for its silence. */
    (void)state;
    struct server server;
    struct world world;
    struct user user;
    server_start(&server, serve_pieces, NULL);
    world_init(&world, server.port);
    world.policy.idle_ms = world.policy.first_byte_ms = 2000;
    user_init(&user, &world);
    user_start(&user, GET_TEXT, false, false);
    while (user.heads == 0 && !world.hangs)
        assert_int_equal(event_base_loop(world.base, EVLOOP_ONCE), 0);
    if (user.ends == 0) {
        upstream_stream_pause(user.stream);
        assert_true(exchange_deadline((struct exchange *)user.stream).at_ms == INT64_MAX);
        upstream_stream_resume(user.stream);
        assert_true(exchange_deadline((struct exchange *)user.stream).at_ms < INT64_MAX);
        world_run(&world, &user.ends, 1);
    }
    assert_int_equal(user.facts.end, END_answered);
    user_fini(&user);
    world_fini(&world);
    server_join(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_small_body),
        cmocka_unit_test(test_chunked),
        cmocka_unit_test(test_large_both_ways),
        cmocka_unit_test(test_pause_in_the_middle_of_what_was_read),
        cmocka_unit_test(test_paused_stream_has_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
