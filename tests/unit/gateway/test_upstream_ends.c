/* Every way in which a call can end is told by its own name, with the exact number
 * of request bytes that left. */
#include <fcntl.h>

#include "tests/unit/gateway/upstream_fixture.h"

#define GOOD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* Answers each request of one connection with ctx until it is closed. */
static void serve_one(struct server *server)
{
    int fd = server_accept(server);
    while (server_read(server, fd))
        server_say(fd, server->ctx);
    close(fd);
}

static void test_answered(void **state)
{
    /* A whole answer: its status, its body, its address, and each byte counted. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_one, GOOD);
    world_init(&world, server.port);
    call_run(&world, &caller);
    char address[UPSTREAM_ADDRESS_BYTES];
    snprintf(address, sizeof(address), "127.0.0.1:%u", server.port);
    assert_int_equal(caller.facts.end, END_answered);
    assert_int_equal(caller.facts.bytes_out, POST_BYTES);
    assert_int_equal(caller.facts.bytes_in, sizeof(GOOD) - 1);
    assert_int_equal(caller.facts.status, 200);
    assert_int_equal(caller.status, 200);
    assert_string_equal(caller.text, "ok");
    assert_string_equal(caller.address, address);
    world_fini(&world);
    server_join(&server);
    assert_int_equal(server.request_len, 0); /* the next read met the end */
}

static void test_connect_refused(void **state)
{
    /* Nobody listens: not one byte left. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_listen(&server, 1);
    server_join(&server);
    world_init(&world, server.port);
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_connect_refused);
    assert_int_equal(caller.facts.bytes_out, 0);
    world_fini(&world);
}

/* A socket that has met itself, as the kernel can make one for a free local port. */
static int connect_to_itself(struct address *ret)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ret->of.v4 =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ret->len = sizeof(ret->of.v4);
    assert_int_equal(bind(fd, &ret->of.any, ret->len), 0);
    assert_int_equal(getsockname(fd, &ret->of.any, &ret->len), 0);
    assert_int_equal(connect(fd, &ret->of.any, ret->len), 0);
    return fd;
}

static void test_never_speaks_to_itself(void **state)
{
    /* Nobody listens on a port that the kernel has picked for our own end too: that is a refused
     * connection, and the request does not come back as its own answer. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_listen(&server, 8);
    world_init(&world, server.port);
    call_begin(&world, &caller);
    struct connection *connection = ((struct exchange *)caller.call)->connection;
    int fd = connect_to_itself(&connection->addresses.items[0]);
    assert_int_equal(dup3(fd, connection->transport.fd, O_CLOEXEC), connection->transport.fd);
    close(fd);
    connection_connected(connection);
    world_run(&world, &caller.done, 1);
    assert_int_equal(caller.facts.end, END_connect_refused);
    assert_int_equal(caller.facts.bytes_out, 0);
    world_fini(&world);
    server_join(&server);
}

static int connect_to_port(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)connect(fd, (struct sockaddr *)&address, sizeof(address));
    return fd;
}

static void test_connect_timeout(void **state)
{
    /* An upstream that does not complete the handshake: its queue is full. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    int fillers[8];
    server_listen(&server, 0);
    for (size_t i = 0; i < GW_COUNT(fillers); i++)
        fillers[i] = connect_to_port(server.port);
    world_init(&world, server.port);
    world.policy.connect_ms = 50;
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_connect_timeout);
    assert_int_equal(caller.facts.bytes_out, 0);
    world_fini(&world);
    for (size_t i = 0; i < GW_COUNT(fillers); i++)
        close(fillers[i]);
    server_join(&server);
}

static void test_dns_failed(void **state)
{
    /* A name that does not exist, or that nobody answers for in time. */
    (void)state;
    struct world world;
    struct caller caller;
    world_init(&world, 1);
    world.policy.host = SPAN("no-such-host.invalid");
    world.policy.connect_ms = 200;
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_dns_failed);
    assert_int_equal(caller.facts.bytes_out, 0);
    assert_string_equal(caller.address, "no-such-host.invalid:1");
    world_fini(&world);
}

static void serve_silent(struct server *server)
{
    int fd = server_accept(server);
    (void)server_read(server, fd);
    server_wait(server);
    close(fd);
}

static void test_queue_timeout(void **state)
{
    /* All slots are taken and none becomes free within timeouts.connect. */
    (void)state;
    struct server server;
    struct world world;
    struct caller first, second;
    server_start(&server, serve_silent, NULL);
    world_init(&world, server.port);
    world.policy.connections_max = 1;
    call_begin(&world, &first);
    struct upstream_policy hasty = world.policy;
    hasty.connect_ms = 50;
    struct upstream_call_options options = caller_options(&world, &second);
    options.upstream = &hasty;
    assert_int_equal(upstream_http_ops.start(world.port, &options, &second.call), GW_OK);
    world_run(&world, &second.done, 1);
    assert_int_equal(second.facts.end, END_queue_timeout);
    assert_int_equal(second.facts.bytes_out, 0);
    assert_int_equal(first.done, 0);
    server_go(&server);
    world_run(&world, &first.done, 1);
    world_fini(&world);
    server_join(&server);
}

static void test_waiting_is_bounded(void **state)
{
    /* No more calls wait for a slot than there may be connections; the slot goes to who waited. */
    (void)state;
    struct server server;
    struct world world;
    struct caller callers[3];
    server_start(&server, serve_one, GOOD);
    world_init(&world, server.port);
    world.policy.connections_max = 1;
    call_begin(&world, &callers[0]);
    call_begin(&world, &callers[1]);
    struct upstream_call_options options = caller_options(&world, &callers[2]);
    assert_int_equal(upstream_http_ops.start(world.port, &options, &callers[2].call), GW_LIMIT);
    assert_int_equal(world_stats(&world).calls, 2);
    world_run(&world, &callers[1].done, 1);
    assert_int_equal(callers[0].facts.end, END_answered);
    assert_int_equal(callers[1].facts.end, END_answered);
    world_fini(&world);
    server_join(&server);
    assert_int_equal(server.accepted, 1);
}

static void serve_unread(struct server *server)
{
    int fd = server_accept(server);
    server_wait(server);
    close(fd);
}

static void test_send_stalled(void **state)
{
    /* The upstream takes a part of the request and then no more. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_unread, NULL);
    world_init(&world, server.port);
    world.policy.send_ms = 50;
    size_t len = 32 << 20;
    char *bytes = calloc(1, len);
    struct upstream_call_options options = caller_options(&world, &caller);
    options.request.body = span_of(bytes, len);
    assert_int_equal(upstream_http_ops.start(world.port, &options, &caller.call), GW_OK);
    world_run(&world, &caller.done, 1);
    assert_int_equal(caller.facts.end, END_send_stalled);
    assert_true(caller.facts.bytes_out > 0);
    assert_true(caller.facts.bytes_out < len);
    world_fini(&world);
    server_go(&server);
    server_join(&server);
    free(bytes);
}

static void answer_timeout(bool by_first_byte)
{
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_silent, NULL);
    world_init(&world, server.port);
    if (by_first_byte)
        world.policy.first_byte_ms = 50;
    else
        world.policy.answer_ms = 300;
    world.policy.late_ms = 0;
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_answer_timeout);
    assert_int_equal(caller.facts.bytes_out, POST_BYTES);
    assert_false(caller.facts.still_listening);
    assert_int_equal(caller.facts.status, 0);
    world_fini(&world);
    server_go(&server);
    server_join(&server);
    assert_int_equal(server.accepted, 1);
}

static void test_answer_timeout(void **state)
{
    /* No first byte in time, and no whole answer in time. */
    (void)state;
    answer_timeout(true);
    answer_timeout(false);
}

static void serve_half(struct server *server)
{
    int fd = server_accept(server);
    (void)server_read(server, fd);
    server_say(fd, server->ctx);
    server_wait(server);
    close(fd);
}

static void test_idle_timeout(void **state)
{
    /* The answer begins and then stands still. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_half, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
    world_init(&world, server.port);
    world.policy.idle_ms = 50;
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_idle_timeout);
    assert_int_equal(caller.facts.status, 200);
    assert_int_equal(caller.facts.bytes_out, POST_BYTES);
    world_fini(&world);
    server_go(&server);
    server_join(&server);
}

static void serve_half_unread(struct server *server)
{
    int fd = server_accept(server);
    server_say(fd, server->ctx);
    server_wait(server);
    close(fd);
}

static void test_early_answer_stands_still(void **state)
{
    /* Once an early answer has begun, what stands still is the answer, not the sending. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_half_unread,
                 "HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nab");
    world_init(&world, server.port);
    world.policy.idle_ms = 50;
    size_t len = 32 << 20;
    char *bytes = calloc(1, len);
    struct upstream_call_options options = caller_options(&world, &caller);
    options.request.body = span_of(bytes, len);
    assert_int_equal(upstream_http_ops.start(world.port, &options, &caller.call), GW_OK);
    world_run(&world, &caller.done, 1);
    assert_int_equal(caller.facts.end, END_idle_timeout);
    assert_int_equal(caller.facts.status, 413);
    world_fini(&world);
    server_go(&server);
    server_join(&server);
    free(bytes);
}

static void test_declared_length(void **state)
{
    /* A declared length over the limit is enough; its bytes are not waited for. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_half, "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n");
    world_init(&world, server.port);
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_answer_too_large);
    assert_int_equal(caller.facts.status, 200);
    world_fini(&world);
    server_go(&server);
    server_join(&server);
}

static void test_interim_is_no_first_byte(void **state)
{
    /* A 1xx and then nothing is an answer that never came, not one that stood still. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_half, "HTTP/1.1 102 Processing\r\n\r\n");
    world_init(&world, server.port);
    world.policy.first_byte_ms = 50;
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_answer_timeout);
    assert_true(caller.facts.still_listening);
    assert_false(upstream_http_ops.has_answer_byte(caller.call));
    server_go(&server);
    world_run(&world, &caller.late, 1);
    assert_int_equal(caller.late_facts.end, END_closed_no_answer);
    world_fini(&world);
    server_join(&server);
}

struct breaking {
    const char *text;
    bool resets;
    enum attempt_end end;
};

static void serve_break(struct server *server)
{
    const struct breaking *breaking = server->ctx;
    int fd = server_accept(server);
    (void)server_read(server, fd);
    server_say(fd, breaking->text);
    server_wait(server);
    if (breaking->resets)
        server_reset(fd);
    else
        close(fd);
}

/* Runs until the bytes that came before the break were read. */
static void run_break(struct breaking breaking)
{
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_break, &breaking);
    world_init(&world, server.port);
    call_begin(&world, &caller);
    while (caller.done == 0 && !world.hangs &&
           (breaking.text[0] != '\0' && !upstream_http_ops.has_answer_byte(caller.call)))
        assert_int_equal(event_base_loop(world.base, EVLOOP_ONCE), 0);
    server_go(&server);
    world_run(&world, &caller.done, 1);
    if (caller.facts.end != breaking.end)
        fail_msg("'%s' %s: end %d, not %d", breaking.text, breaking.resets ? "reset" : "closed",
                 (int)caller.facts.end, (int)breaking.end);
    assert_int_equal(caller.facts.bytes_out, POST_BYTES);
    world_fini(&world);
    server_join(&server);
    assert_int_equal(server.accepted, 1);
    assert_int_equal(server.requests, 1);
}

static void test_breaks(void **state)
{
    /* FIN and RST are told apart, and so are "no answer" and "a part of one". */
    (void)state;
    const struct breaking table[] = {
        {"", false, END_closed_no_answer},
        {"", true, END_reset_no_answer},
        {"HTTP/1.1 2", false, END_cut_answer},
        {"HTTP/1.1 2", true, END_cut_answer},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal", false, END_cut_answer},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal", true, END_cut_answer},
        {"HTTP/1.1 200 OK\r\n\r\nuntil close", false, END_answered},
        {"HTTP/1.1 200 OK\r\n\r\nuntil close", true, END_cut_answer},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", false, END_cut_answer},
        {"nonsense\r\n\r\n", false, END_bad_answer},
        {"HTTP/1.1 101 Switching Protocols\r\n\r\n", false, END_bad_answer},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", false,
         END_bad_answer},
    };
    for (size_t i = 0; i < GW_COUNT(table); i++)
        run_break(table[i]);
}

static void serve_interims(struct server *server)
{
    int fd = server_accept(server);
    (void)server_read(server, fd);
    for (int i = 0; i < *(int *)server->ctx; i++)
        server_say(fd, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
    server_say(fd, GOOD);
    server_drain(fd);
    close(fd);
}

static void test_interims_are_bounded(void **state)
{
    /* 16 interim answers are dropped; the 17th is one too many. */
    (void)state;
    for (int count = 16; count <= 17; count++) {
        struct server server;
        struct world world;
        struct caller caller;
        server_start(&server, serve_interims, &count);
        world_init(&world, server.port);
        call_run(&world, &caller);
        assert_int_equal(caller.facts.end, count == 16 ? END_answered : END_bad_answer);
        assert_int_equal(caller.facts.status, count == 16 ? 200 : 0);
        world_fini(&world);
        server_join(&server);
    }
}

static void large_answer(const char *text, struct upstream_port_options options,
                         enum attempt_end end)
{
    struct server server;
    struct world world;
    struct caller caller;
    server_start(&server, serve_one, (void *)(uintptr_t)text);
    world_init_with(&world, server.port, options);
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, end);
    if (end == END_answered) {
        assert_true(caller.had_file);
        assert_int_equal(caller.body_bytes, 6000);
        assert_int_equal(strlen(caller.text), 6000);
    }
    assert_int_equal(world_stats(&world).kept, end == END_answered ? 1 : 0);
    world_fini(&world);
    server_join(&server);
}

static void test_answer_too_large(void **state)
{
    /* Over the limit by its declared length, by what comes, by its head, and for want of disk. */
    (void)state;
    char body[6001], declared[8192], chunked[8192], head[20000], filler[17000];
    memset(body, 'x', 6000);
    memset(filler, 'h', sizeof(filler) - 1);
    body[6000] = filler[sizeof(filler) - 1] = '\0';
    snprintf(declared, sizeof(declared), "HTTP/1.1 200 OK\r\nContent-Length: 6000\r\n\r\n%s", body);
    snprintf(chunked, sizeof(chunked),
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1770\r\n%s\r\n0\r\n\r\n", body);
    snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nX: %s\r\nContent-Length: 0\r\n\r\n", filler);
    struct upstream_port_options options = world_options();
    options.answer_body_max = 6000;
    large_answer(declared, options, END_answered);
    large_answer(chunked, options, END_answered);
    large_answer(head, options, END_answer_too_large);
    options.answer_body_max = 5999;
    large_answer(declared, options, END_answer_too_large);
    large_answer(chunked, options, END_answer_too_large);
    options = world_options();
    options.spool_dir = "/nonexistent";
    large_answer(declared, options, END_answer_too_large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answered),
        cmocka_unit_test(test_connect_refused),
        cmocka_unit_test(test_connect_timeout),
        cmocka_unit_test(test_never_speaks_to_itself),
        cmocka_unit_test(test_early_answer_stands_still),
        cmocka_unit_test(test_declared_length),
        cmocka_unit_test(test_dns_failed),
        cmocka_unit_test(test_queue_timeout),
        cmocka_unit_test(test_waiting_is_bounded),
        cmocka_unit_test(test_send_stalled),
        cmocka_unit_test(test_answer_timeout),
        cmocka_unit_test(test_idle_timeout),
        cmocka_unit_test(test_interim_is_no_first_byte),
        cmocka_unit_test(test_breaks),
        cmocka_unit_test(test_interims_are_bounded),
        cmocka_unit_test(test_answer_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
