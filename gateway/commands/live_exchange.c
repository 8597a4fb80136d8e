/* It sends GET and nothing else, once each. */
#include "gateway/commands/live_exchange.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIVE_CONNECT_MS  5000
#define LIVE_ANSWER_MS   10000
#define LIVE_HEAD_BYTES  65536
#define LIVE_READ_BYTES  TRANSPORT_READ_BYTES_MIN
#define LIVE_INTERIM_MAX 8
#define LIVE_REQUEST_MAX 16384

static int64_t ticks_ms(void)
{
    struct gw_clock *clock = gw_clock_system();
    return clock->ticks_ms(clock);
}

static bool wait_for(int fd, short events, int64_t until_ticks)
{
    for (;;) {
        struct pollfd one = {.fd = fd, .events = events};
        int64_t left = until_ticks - ticks_ms();
        if (left <= 0)
            return false;
        int rc = poll(&one, 1, (int)left);
        if (rc > 0)
            return true;
        if (rc < 0 && errno != EINTR)
            return true; /* the next call on the socket says what it is */
    }
}

static int connect_one(const struct addrinfo *address)
{
    int why = 0;
    socklen_t len = sizeof(why);
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return fd;
    why = errno;
    if (why == EINPROGRESS) {
        bool came = wait_for(fd, POLLOUT, ticks_ms() + LIVE_CONNECT_MS);
        if (!came)
            why = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) != 0)
            why = errno;
    }
    if (why == 0)
        return fd;
    (void)close(fd); /* nothing was written */
    errno = why;
    return -1;
}

/* Its chain and name are verified as they are for the calls of callers. */
static enum gw_status shake(struct live *live, const struct upstream_policy *upstream,
                            struct gw_error *err)
{
    const int64_t until_ticks = ticks_ms() + LIVE_CONNECT_MS;
    enum gw_status status = tls_context_of(upstream, &live->context, err);
    if (status != GW_OK)
        return status;
    (void)signal(SIGPIPE, SIG_IGN); /* TLS writes as to a file; cannot fail for this signal */
    live->to.tls = tls_connect(live->context, live->to.fd, &live->kept);
    if (live->to.tls == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    for (;;) {
        enum tls_next next = transport_shake(&live->to);
        if (next == TLS_READY)
            return GW_OK;
        if (next == TLS_FAILED)
            return gw_error_set(err, GW_IO, "TLS: %s", tls_why(live->to.tls));
        if (!wait_for(live->to.fd, next == TLS_WANTS_READ ? POLLIN : POLLOUT, until_ticks))
            return gw_error_set(err, GW_IO, "no TLS handshake within %d s", LIVE_CONNECT_MS / 1000);
    }
}

enum gw_status live_open(struct live *live, const struct upstream_policy *upstream,
                         struct gw_error *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char host[256], port[8];
    struct addrinfo *found = NULL;
    struct span name = upstream->host;
    if (name.len > 1 && name.ptr[0] == '[')
        name = span_of(name.ptr + 1, name.len - 2);
    *live = (struct live){.to = {.fd = -1}};
    (void)snprintf(host, sizeof(host), "%.*s", (int)name.len, name.ptr);
    (void)snprintf(port, sizeof(port), "%u", upstream->port); /* both fit: checked when loading */
    int rc = getaddrinfo(host, port, &hints, &found);
    if (rc != 0)
        return gw_error_set(err, GW_IO, "%s: %s", host, gai_strerror(rc));
    for (const struct addrinfo *at = found; at != NULL && live->to.fd < 0; at = at->ai_next)
        live->to.fd = connect_one(at);
    int why = errno;
    freeaddrinfo(found);
    if (live->to.fd < 0)
        return gw_error_set(err, GW_IO, "%s", strerror(why));
    enum gw_status status = upstream->tls.is_on ? shake(live, upstream, err) : GW_OK;
    if (status != GW_OK)
        live_close(live);
    live->is_open = status == GW_OK;
    return status;
}

void live_close(struct live *live)
{
    if (live->to.fd >= 0)
        transport_close(&live->to, true); /* everything that counts was read */
    tls_kept_fini(&live->kept);
    tls_context_free(live->context);
    *live = (struct live){.to = {.fd = -1}};
}

void live_forget(struct live_answer *answer)
{
    http_head_free(answer->head);
    answer->head = NULL;
    gw_buf_fini(&answer->body);
}

static enum gw_status send_request(struct live *live, const struct upstream_policy *upstream,
                                   struct span path, struct gw_error *err)
{
    struct gw_buf out;
    struct span host = upstream->host_header.len > 0 ? upstream->host_header : upstream->authority;
    gw_buf_init(&out, LIVE_REQUEST_MAX);
    bool ok = http1_write_request_line(&out, SPAN("GET"), path) &&
              http1_write_field(&out, SPAN("Host"), host) &&
              http1_write_field(&out, SPAN("User-Agent"), SPAN("recibo-check")) &&
              http1_write_field(&out, SPAN("Accept"), SPAN("*/*")) && http1_write_end_of_head(&out);
    struct span left = gw_buf_span(&out);
    const int64_t until_ticks = ticks_ms() + LIVE_CONNECT_MS;
    while (ok && left.len > 0) {
        struct iovec part = {(void *)(uintptr_t)left.ptr, left.len};
        ssize_t sent = transport_send(&live->to, &part, 1);
        if (sent > 0)
            left = span_of(left.ptr + sent, left.len - (size_t)sent);
        else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            break;
        else if (!wait_for(live->to.fd, POLLOUT, until_ticks))
            break;
    }
    ok = ok && left.len == 0;
    gw_buf_fini(&out);
    return ok ? GW_OK : gw_error_set(err, GW_IO, "the request could not be sent");
}

struct reading {
    struct http1_parser parser;
    struct live_answer *answer;
    uint32_t interim;
    bool is_over, is_cut;
};

static enum gw_status digest(struct reading *reading, struct span bytes, struct gw_error *err)
{
    struct span piece;
    while (!reading->is_over) {
        switch (http1_feed(&reading->parser, &bytes, &piece)) {
        case HTTP1_MORE:
            return GW_OK;
        case HTTP1_HEAD:
            http_head_free(reading->answer->head);
            reading->answer->head = http1_take_head(&reading->parser);
            break;
        case HTTP1_BODY:
            if (!gw_buf_add(&reading->answer->body, piece))
                reading->is_over = reading->is_cut = true; /* enough was seen */
            break;
        case HTTP1_END:
            reading->is_over = reading->answer->head->status >= 200;
            if (!reading->is_over && ++reading->interim > LIVE_INTERIM_MAX)
                return gw_error_set(err, GW_INVALID, "it never comes to its answer");
            if (!reading->is_over)
                http1_parser_reset(&reading->parser);
            break;
        case HTTP1_ERROR:
            return gw_error_set(err, GW_INVALID, "its answer is not HTTP/1.1: %s",
                                reading->parser.fault.text);
        }
    }
    return GW_OK;
}

static enum gw_status read_some(struct live *live, struct reading *reading, int64_t until_ticks,
                                struct gw_error *err)
{
    char room[LIVE_READ_BYTES];
    if (!transport_is_over(&live->to) && !wait_for(live->to.fd, POLLIN, until_ticks))
        return gw_error_set(err, GW_IO, "no whole answer within %d s", LIVE_ANSWER_MS / 1000);
    ssize_t got = transport_receive(&live->to, room, sizeof(room));
    if (got > 0)
        return digest(reading, span_of(room, (size_t)got), err);
    if (got == 0 && http1_eof(&reading->parser) == HTTP1_END && reading->answer->head != NULL) {
        reading->is_over = true;
        live->is_open = false;
        return GW_OK;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return GW_OK;
    return gw_error_set(err, GW_IO, "the connection ended before an answer did");
}

enum gw_status live_get(struct live *live, const struct upstream_policy *upstream, struct span path,
                        struct live_answer *ret, struct gw_error *err)
{
    const struct http1_limits limits = {
        .target_bytes_max = LIVE_HEAD_BYTES, .head_bytes_max = LIVE_HEAD_BYTES, .fields_max = 100};
    struct reading reading = {.answer = ret};
    *ret = (struct live_answer){.head = NULL};
    gw_buf_init(&ret->body, LIVE_BODY_BYTES);
    enum gw_status status = send_request(live, upstream, path, err);
    http1_parser_init(&reading.parser, HTTP1_RESPONSES, &limits);
    const int64_t until_ticks = ticks_ms() + LIVE_ANSWER_MS;
    while (status == GW_OK && !reading.is_over)
        status = read_some(live, &reading, until_ticks, err);
    if (status != GW_OK || reading.is_cut || !ret->head->keep_alive)
        live->is_open = false;
    http1_parser_fini(&reading.parser);
    return status;
}
