/* What the tests of the upstream port share: a port on a loop of its own, and an
 * upstream that is a thread with blocking sockets and a script. Nothing here waits
 * for a time: a watchdog only ends a run that hangs. */
#ifndef RECIBO_TESTS_UPSTREAM_FIXTURE_H
#define RECIBO_TESTS_UPSTREAM_FIXTURE_H

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/upstream/connection.h"
#include "tests/lib/testlib.h"

#define FIXTURE_LONG_MS  60000 /* never reached in a good run */
#define FIXTURE_HANG_S   60
#define FIXTURE_TEXT_MAX 65536

/* ---- the upstream ---- */
struct server;
typedef void serve_fn(struct server *server);
struct server {
    int listener, go[2];
    uint16_t port;
    pthread_t thread;
    bool is_running;
    serve_fn *serve;
    void *ctx;
    int accepted, requests; /* read after server_join() */
    char request[FIXTURE_TEXT_MAX];
    size_t request_len;
};

static inline void limit_waiting(int fd)
{
    struct timeval wait = {.tv_sec = FIXTURE_HANG_S};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)), 0);
}

static inline void server_listen(struct server *server, int backlog)
{
    *server = (struct server){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(server->listener, backlog), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &len), 0);
    server->port = ntohs(address.sin_port);
    limit_waiting(server->listener);
    assert_int_equal(pipe(server->go), 0);
}

static inline void *server_main(void *ctx)
{
    struct server *server = ctx;
    server->serve(server);
    return NULL;
}

static inline void server_start(struct server *server, serve_fn *serve, void *ctx)
{
    server_listen(server, 128);
    server->serve = serve;
    server->ctx = ctx;
    assert_int_equal(pthread_create(&server->thread, NULL, server_main, server), 0);
    server->is_running = true;
}

static inline void server_join(struct server *server)
{
    if (server->is_running)
        assert_int_equal(pthread_join(server->thread, NULL), 0);
    server->is_running = false;
    close(server->listener);
    close(server->go[0]);
    close(server->go[1]);
}

/* The test tells the script to go on. */
static inline void server_go(struct server *server)
{
    assert_int_equal(write(server->go[1], "g", 1), 1);
}

static inline void server_wait(struct server *server)
{
    char byte;
    ssize_t count = read(server->go[0], &byte, 1);
    (void)count; /* a closed pipe lets the script go on as well */
}

static inline int server_accept(struct server *server)
{
    int fd = accept(server->listener, NULL, NULL);
    if (fd >= 0) {
        limit_waiting(fd);
        server->accepted++;
    }
    return fd;
}

static inline size_t request_length(const char *text, size_t len)
{
    const char *end = memmem(text, len, "\r\n\r\n", 4);
    if (end == NULL)
        return 0;
    size_t head = (size_t)(end - text) + 4;
    const char *field = memmem(text, head, "Content-Length: ", 16);
    return head + (field == NULL ? 0 : strtoul(field + 16, NULL, 10));
}

/* One whole request; false: the connection ended. Reads nothing beyond it. */
static inline bool server_read(struct server *server, int fd)
{
    server->request_len = 0;
    while (server->request_len < sizeof(server->request)) {
        char *at = server->request + server->request_len;
        ssize_t count = recv(fd, at, 1, 0);
        if (count <= 0)
            return false;
        server->request_len++;
        size_t want = request_length(server->request, server->request_len);
        if (want != 0 && server->request_len == want) {
            server->requests++;
            return true;
        }
    }
    return false;
}

static inline void server_send(int fd, struct span bytes)
{
    while (bytes.len > 0) {
        ssize_t count = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
        if (count <= 0)
            return;
        bytes = span_of(bytes.ptr + count, bytes.len - (size_t)count);
    }
}

static inline void server_say(int fd, const char *text)
{
    server_send(fd, span_str(text));
}

/* Until the other side has closed. */
static inline void server_drain(int fd)
{
    char bytes[4096];
    while (recv(fd, bytes, sizeof(bytes), 0) > 0)
        continue;
}

static inline void server_reset(int fd)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    close(fd);
}

/* ---- the port ---- */
struct world {
    struct event_base *base;
    struct upstream_port *port;
    struct upstream_policy policy;
    struct event *watchdog;
    bool hangs;
};

static inline void on_watchdog(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    struct world *world = ctx;
    world->hangs = true;
    (void)event_base_loopbreak(world->base);
}

static inline struct upstream_port_options world_options(void)
{
    return (struct upstream_port_options){.workers = 1,
                                          .late_max = 8,
                                          .answer_body_max = 1 << 20,
                                          .answer_head_bytes_max = 16384,
                                          .answer_fields_max = 100,
                                          .spool_dir = "/tmp",
                                          .clock = gw_clock_system()};
}

static inline void world_init_with(struct world *world, uint16_t port,
                                   struct upstream_port_options options)
{
    *world = (struct world){.base = event_base_new()};
    assert_non_null(world->base);
    options.base = world->base;
    assert_int_equal(upstream_port_new(&options, &world->port, NULL), GW_OK);
    world->policy = (struct upstream_policy){.name = SPAN("legacy"),
                                             .host = SPAN("127.0.0.1"),
                                             .port = port,
                                             .connect_ms = FIXTURE_LONG_MS,
                                             .send_ms = FIXTURE_LONG_MS,
                                             .first_byte_ms = FIXTURE_LONG_MS,
                                             .idle_ms = FIXTURE_LONG_MS,
                                             .answer_ms = FIXTURE_LONG_MS,
                                             .late_ms = FIXTURE_LONG_MS,
                                             .connections_max = 8,
                                             .reuse = REUSE_CHECKED,
                                             .connection_idle_ms = FIXTURE_LONG_MS};
    world->watchdog = event_new(world->base, -1, 0, on_watchdog, world);
    struct timeval hang = {.tv_sec = FIXTURE_HANG_S};
    assert_int_equal(event_add(world->watchdog, &hang), 0);
}

static inline void world_init(struct world *world, uint16_t port)
{
    world_init_with(world, port, world_options());
}

/* Until *count is at least `wanted`. */
static inline void world_run(struct world *world, const int *count, int wanted)
{
    while (*count < wanted && !world->hangs)
        assert_int_equal(event_base_loop(world->base, EVLOOP_ONCE), 0);
    assert_false(world->hangs);
}

/* Everything that is ready now has run afterwards. */
static inline void world_settle(struct world *world)
{
    for (int i = 0; i < 8; i++)
        assert_int_equal(event_base_loop(world->base, EVLOOP_NONBLOCK), 0);
}

static inline void world_fini(struct world *world)
{
    world_settle(world);
    upstream_port_free(world->port);
    event_free(world->watchdog);
    (void)event_base_loop(world->base, EVLOOP_NONBLOCK); /* what libevent still owes */
    event_base_free(world->base);
}

static inline struct upstream_port_stats world_stats(const struct world *world)
{
    struct upstream_port_stats stats;
    upstream_port_stats(world->port, &stats);
    return stats;
}

/* ---- one call ---- */
#define POST_TEXT  "POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n"
#define POST_BYTES (sizeof(POST_TEXT) - 1 + 3)
struct caller {
    struct world *world;
    struct upstream_call *call;
    int done, late;
    struct upstream_facts facts, late_facts;
    uint16_t status;
    char text[FIXTURE_TEXT_MAX]; /* of the body, as far as it fits */
    uint64_t body_bytes;
    bool had_file;
    char address[UPSTREAM_ADDRESS_BYTES];
};

static inline void keep_answer(struct caller *caller, struct upstream_answer *answer)
{
    if (answer == NULL)
        return;
    caller->status = answer->head->status;
    caller->body_bytes = answer->body.bytes;
    caller->had_file = answer->body.file >= 0;
    size_t room = sizeof(caller->text) - 1, len = answer->body.memory.len;
    if (caller->had_file) {
        ssize_t count = pread(answer->body.file, caller->text, room, 0);
        assert_true(count >= 0);
        caller->text[count] = '\0';
    } else {
        len = len < room ? len : room;
        if (len > 0)
            memcpy(caller->text, answer->body.memory.ptr, len);
        caller->text[len] = '\0';
    }
    http_head_free(answer->head);
    body_fini(&answer->body);
}

static inline void on_done(const struct upstream_facts *facts, struct upstream_answer *answer,
                           void *ctx)
{
    struct caller *caller = ctx;
    assert_int_equal(caller->done, 0);
    assert_int_equal(answer != NULL, facts->end == END_answered);
    caller->done++;
    caller->facts = *facts;
    struct span address = upstream_http_ops.address(caller->call);
    assert_true(address.len > 0 && address.len < sizeof(caller->address));
    memcpy(caller->address, address.ptr, address.len);
    keep_answer(caller, answer);
}

static inline void on_late(const struct upstream_facts *facts, struct upstream_answer *answer,
                           void *ctx)
{
    struct caller *caller = ctx;
    assert_int_equal(caller->done, 1);
    assert_true(caller->facts.still_listening);
    assert_int_equal(caller->late, 0);
    assert_int_equal(answer != NULL, facts->end == END_answered);
    assert_false(facts->still_listening);
    caller->late++;
    caller->late_facts = *facts;
    keep_answer(caller, answer);
}

static inline struct upstream_call_options caller_options(struct world *world,
                                                          struct caller *caller)
{
    *caller = (struct caller){.world = world};
    return (struct upstream_call_options){.upstream = &world->policy,
                                          .request = {.head = SPAN(POST_TEXT), .body = SPAN("a=1")},
                                          .memory_max = 4096,
                                          .done = on_done,
                                          .late = on_late,
                                          .ctx = caller};
}

static inline void call_begin(struct world *world, struct caller *caller)
{
    struct upstream_call_options options = caller_options(world, caller);
    assert_int_equal(upstream_http_ops.start(world->port, &options, &caller->call), GW_OK);
    assert_int_equal(caller->done, 0); /* never from inside start() */
}

static inline void call_run(struct world *world, struct caller *caller)
{
    call_begin(world, caller);
    world_run(world, &caller->done, 1);
}

#endif
