/* The user of a stream, as the tests of streams share it: it sends a known body,
 * checks what comes back, and fails if a callback runs inside one of its calls. */
#ifndef RECIBO_TESTS_UPSTREAM_STREAM_FIXTURE_H
#define RECIBO_TESTS_UPSTREAM_STREAM_FIXTURE_H

#include "tests/unit/gateway/upstream_fixture.h"

#define GOOD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* The n-th byte of every large body of these tests. */
static inline char byte_at(uint64_t n)
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

static inline void enter(struct user *user, enum point point)
{
    assert_false(user->is_inside);
    assert_int_equal(user->ends, 0);
    assert_int_equal(user->aborted, 0);
    if (user->abort_at != point)
        return;
    user->aborted++;
    upstream_stream_abort(user->stream);
}

static inline void pump(struct user *user)
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

static inline void on_head(struct http_head *head, void *ctx)
{
    struct user *user = ctx;
    user->heads++;
    user->status = head->status;
    http_head_free(head);
    enter(user, AT_HEAD);
}

static inline void on_resume(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    struct user *user = ctx;
    user->is_paused = false;
    user->is_inside = true;
    upstream_stream_resume(user->stream);
    user->is_inside = false;
}

static inline void on_body(struct span bytes, void *ctx)
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

static inline void on_room(void *ctx)
{
    struct user *user = ctx;
    user->writables++;
    enter(user, AT_WRITABLE);
    if (!user->aborted)
        pump(user);
}

static inline void on_end(const struct upstream_facts *facts, void *ctx)
{
    struct user *user = ctx;
    assert_false(user->is_paused);
    enter(user, AT_END); /* an abort here is too late to change anything */
    user->ends++;
    user->facts = *facts;
}

static const struct upstream_stream_events user_events = {
    .head = on_head, .body = on_body, .writable = on_room, .end = on_end};

static inline void user_init(struct user *user, struct world *world)
{
    *user = (struct user){.world = world, .piece = 64 * 1024};
    user->resume = event_new(world->base, -1, 0, on_resume, user);
}

static inline void user_start(struct user *user, const char *head, bool has_body, bool chunked)
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

static inline void get_run(struct user *user)
{
    user_start(user, GET_TEXT, false, false);
    world_run(user->world, &user->ends, 1);
}

static inline void user_fini(struct user *user)
{
    event_free(user->resume);
}

/* ---- reading a request on the other side ---- */
static inline bool read_exactly(int fd, char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t count = recv(fd, bytes + at, len - at, 0);
        if (count <= 0)
            return false;
        at += (size_t)count;
    }
    return true;
}

static inline size_t read_line(int fd, char *line, size_t room)
{
    size_t len = 0;
    while (len + 1 < room && read_exactly(fd, line + len, 1) && line[len] != '\n')
        len++;
    line[len > 0 ? len - 1 : 0] = '\0'; /* without CR */
    return len;
}

static inline void serve_one(struct server *server)
{
    int fd = server_accept(server);
    while (server_read(server, fd))
        server_say(fd, server->ctx);
    close(fd);
}

#endif
