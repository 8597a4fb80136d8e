/* Streams: both bodies pass unchanged and in flat memory, each side can hold the
 * other back, and a stream can end or be given up at any point. */
#include <malloc.h>

#include "tests/unit/gateway/upstream_fixture.h"

#define GOOD  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define LARGE ((uint64_t)100 << 20)

/* The n-th byte of every large body of these tests. */
static char byte_at(uint64_t n)
{
    return (char)(n * 31 + (n >> 12));
}

/* ---- the user of a stream ---- */
enum point { NOWHERE, AT_HEAD, AT_BODY, AT_WRITABLE, AT_END };
struct user {
    struct world *world;
    struct upstream_stream *stream;
    bool is_inside; /* one of the stream's functions: no callback may run */
    int heads, ends, writables, aborted;
    uint16_t status;
    uint64_t received, to_send, sent;
    size_t piece;
    bool mixes;  /* small and large pieces in turn */
    bool pauses; /* after each piece of the answer */
    bool is_paused;
    enum point abort_at;
    char text[1024];
    struct upstream_facts facts;
    struct event *resume;
};

static void enter(struct user *user, enum point point)
{
    assert_false(user->is_inside);
    assert_int_equal(user->ends, 0);
    assert_int_equal(user->aborted, 0);
    if (user->abort_at != point)
        return;
    user->aborted++;
    upstream_stream_abort(user->stream);
}

static void pump(struct user *user)
{
    char *bytes = malloc(user->piece);
    bool goes_on = true;
    while (goes_on && user->sent < user->to_send) {
        uint64_t left = user->to_send - user->sent;
        size_t piece = user->mixes && user->sent % 3 != 0 ? 7 : user->piece;
        size_t len = left < piece ? (size_t)left : piece;
        for (size_t i = 0; i < len; i++)
            bytes[i] = byte_at(user->sent + i);
        user->is_inside = true;
        goes_on = upstream_stream_send(user->stream, span_of(bytes, len));
        user->is_inside = false;
        user->sent += len;
    }
    free(bytes);
    if (user->sent < user->to_send)
        return;
    user->is_inside = true;
    upstream_stream_finish(user->stream);
    user->is_inside = false;
}

static void on_head(struct http_head *head, void *ctx)
{
    struct user *user = ctx;
    user->heads++;
    user->status = head->status;
    http_head_free(head);
    enter(user, AT_HEAD);
}

static void on_resume(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    struct user *user = ctx;
    user->is_paused = false;
    user->is_inside = true;
    upstream_stream_resume(user->stream);
    user->is_inside = false;
}

static void on_body(struct span bytes, void *ctx)
{
    struct user *user = ctx;
    assert_int_equal(user->heads, 1);
    assert_false(user->is_paused);
    assert_true(bytes.len > 0);
    for (size_t i = 0; i < bytes.len; i++) {
        if (user->received + i < sizeof(user->text) - 1)
            user->text[user->received + i] = bytes.ptr[i];
        if (user->to_send > 0 && bytes.ptr[i] != byte_at(user->received + i))
            fail_msg("byte %llu is another", (unsigned long long)(user->received + i));
    }
    user->received += bytes.len;
    enter(user, AT_BODY);
    if (!user->pauses || user->aborted)
        return;
    user->is_inside = user->is_paused = true;
    upstream_stream_pause(user->stream);
    user->is_inside = false;
    event_active(user->resume, EV_TIMEOUT, 0);
}

static void on_room(void *ctx)
{
    struct user *user = ctx;
    user->writables++;
    enter(user, AT_WRITABLE);
    if (!user->aborted)
        pump(user);
}

static void on_end(const struct upstream_facts *facts, void *ctx)
{
    struct user *user = ctx;
    assert_false(user->is_paused);
    enter(user, AT_END); /* an abort here is too late to change anything */
    user->ends++;
    user->facts = *facts;
}

static const struct upstream_stream_events user_events = {
    .head = on_head, .body = on_body, .writable = on_room, .end = on_end};

static void user_init(struct user *user, struct world *world)
{
    *user = (struct user){.world = world, .piece = 64 * 1024};
    user->resume = event_new(world->base, -1, 0, on_resume, user);
}

static void user_start(struct user *user, const char *head, bool has_body, bool chunked)
{
    char *text = strdup(head);
    struct upstream_stream_options options = {.upstream = &user->world->policy,
                                              .head = span_str(text),
                                              .is_head = strncmp(head, "HEAD", 4) == 0,
                                              .has_body = has_body,
                                              .chunked = chunked,
                                              .events = &user_events,
                                              .ctx = user};
    user->is_inside = true;
    assert_int_equal(upstream_stream_start(user->world->port, &options, &user->stream), GW_OK);
    user->is_inside = false;
    memset(text, '#', strlen(text)); /* the stream has a copy */
    free(text);
    if (has_body)
        pump(user);
}

#define GET_TEXT "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

static void get_run(struct user *user)
{
    user_start(user, GET_TEXT, false, false);
    world_run(user->world, &user->ends, 1);
}

static void user_fini(struct user *user)
{
    event_free(user->resume);
}

/* ---- small ones ---- */
static void serve_one(struct server *server)
{
    int fd = server_accept(server);
    while (server_read(server, fd))
        server_say(fd, server->ctx);
    close(fd);
}

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

/* Reads a chunked request and keeps its decoded body in server->request. */
static bool read_exactly(int fd, char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t count = recv(fd, bytes + at, len - at, 0);
        if (count <= 0)
            return false;
        at += (size_t)count;
    }
    return true;
}

static size_t read_line(int fd, char *line, size_t room)
{
    size_t len = 0;
    while (len + 1 < room && read_exactly(fd, line + len, 1) && line[len] != '\n')
        len++;
    line[len > 0 ? len - 1 : 0] = '\0'; /* without CR */
    return len;
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
    assert_int_equal(shutdown(kept->fd, SHUT_WR), 0);
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
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_small_body),
        cmocka_unit_test(test_chunked),
        cmocka_unit_test(test_large_both_ways),
        cmocka_unit_test(test_pause_in_the_middle_of_what_was_read),
        cmocka_unit_test(test_paused_stream_has_time),
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
