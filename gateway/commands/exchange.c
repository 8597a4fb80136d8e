/* Sockets of the command line. A request is sent once; whatever goes wrong is told,
 * never tried again. */
#include "gateway/commands/exchange.h"

#include "gateway/http1/http1.h"
#include "gateway/transport.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_MS     5000
#define EXCHANGE_MS    60000
#define HEAD_BYTES_MAX 65536
#define FIELDS_MAX     100
#define INTERIM_MAX    8
#define READ_BYTES     65536

static int64_t ticks_ms(void)
{
    struct gw_clock *clock = gw_clock_system();
    return clock->ticks_ms(clock);
}

/* Waits for the socket; false: the deadline is over. */
static bool wait_for(int fd, short events, int64_t until_ticks)
{
    struct pollfd poll_for = {.fd = fd, .events = events};
    for (;;) {
        int64_t left = until_ticks - ticks_ms();
        if (left <= 0)
            return false;
        int rc = poll(&poll_for, 1, (int)(left > EXCHANGE_MS ? EXCHANGE_MS : left));
        if (rc > 0)
            return true;
        if (rc < 0 && errno != EINTR)
            return true; /* the next call on the socket says what it is */
    }
}

static enum gw_status connect_to(int fd, const struct sockaddr *address, socklen_t len,
                                 struct gw_error *err)
{
    int why = 0;
    socklen_t why_len = sizeof(why);
    if (connect(fd, address, len) == 0)
        return GW_OK;
    if (errno != EINPROGRESS)
        return gw_error_set(err, GW_IO, "connect: %s", strerror(errno));
    if (!wait_for(fd, POLLOUT, ticks_ms() + CONNECT_MS))
        return gw_error_set(err, GW_IO, "no connection within %d s", CONNECT_MS / 1000);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &why_len) != 0)
        why = errno;
    return why == 0 ? GW_OK : gw_error_set(err, GW_IO, "connect: %s", strerror(why));
}

static enum gw_status open_unix(const struct admin_client *client, int *ret_fd,
                                struct gw_error *err)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t len = strlen(client->host);
    if (len >= sizeof(name.sun_path))
        return gw_error_set(err, GW_INVALID, "the path of the socket is too long");
    memcpy(name.sun_path, client->host, len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return gw_error_set(err, GW_IO, "socket: %s", strerror(errno));
    enum gw_status status = connect_to(fd, (const struct sockaddr *)&name, sizeof(name), err);
    if (status != GW_OK)
        (void)close(fd); /* nothing was written */
    else
        *ret_fd = fd;
    return status;
}

static enum gw_status open_tcp(const struct admin_client *client, int *ret_fd, struct gw_error *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int rc = getaddrinfo(client->host, client->port, &hints, &found);
    if (rc != 0)
        return gw_error_set(err, GW_IO, "%s", gai_strerror(rc));
    enum gw_status status = gw_error_set(err, GW_IO, "the name has no address");
    for (const struct addrinfo *at = found; at != NULL && status != GW_OK; at = at->ai_next) {
        int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            continue;
        status = connect_to(fd, at->ai_addr, at->ai_addrlen, err);
        if (status == GW_OK)
            *ret_fd = fd;
        else
            (void)close(fd); /* nothing was written */
    }
    freeaddrinfo(found);
    return status;
}

static bool write_request(const struct admin_client *client, const char *method, const char *path,
                          struct span body, struct gw_buf *out)
{
    bool is_v6 = strchr(client->host, ':') != NULL;
    struct gw_buf value;
    gw_buf_init(&value, 1024);
    bool ok = http1_write_request_line(out, span_str(method), span_str(path));
    if (client->is_unix)
        (void)gw_buf_add(&value, SPAN("localhost")); /* fits */
    else
        (void)gw_buf_print(&value, is_v6 ? "[%s]:%s" : "%s:%s", client->host, client->port);
    ok = ok && http1_write_field(out, SPAN("Host"), gw_buf_span(&value));
    gw_buf_clear(&value);
    (void)gw_buf_print(&value, "Bearer %s", client->token); /* at most 512 bytes */
    if (client->token[0] != '\0')
        ok = ok && http1_write_field(out, SPAN("Authorization"), gw_buf_span(&value));
    ok = ok && http1_write_field(out, SPAN("Connection"), SPAN("close"));
    gw_buf_fini(&value);
    if (body.ptr != NULL)
        ok = ok && http1_write_field(out, SPAN("Content-Type"), SPAN("application/json")) &&
             http1_write_number_field(out, SPAN("Content-Length"), body.len);
    return ok && http1_write_end_of_head(out) && gw_buf_add(out, body);
}

static enum gw_status send_all(struct transport *to, struct span bytes, int64_t until_ticks,
                               bool *ret_was_sent, struct gw_error *err)
{
    while (bytes.len > 0) {
        struct iovec part = {(void *)(uintptr_t)bytes.ptr, bytes.len};
        ssize_t sent = transport_send(to, &part, 1);
        if (sent > 0 || transport_begun(to) > 0)
            *ret_was_sent = true;
        if (sent > 0) {
            bytes = span_of(bytes.ptr + sent, bytes.len - (size_t)sent);
            continue;
        }
        bool is_full = sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
        if (!is_full)
            return gw_error_set(err, GW_IO, "send: %s", strerror(errno));
        if (!wait_for(to->fd, POLLOUT, until_ticks))
            return gw_error_set(err, GW_IO, "it does not take the request");
    }
    return GW_OK;
}

/* Before a token is said: is it who it should be? */
static enum gw_status shake(struct transport *to, struct tls_context *context,
                            struct tls_kept *kept, struct gw_error *err)
{
    const int64_t until_ticks = ticks_ms() + CONNECT_MS;
    (void)signal(SIGPIPE, SIG_IGN); /* TLS writes as to a file; cannot fail for this signal */
    to->tls = tls_connect(context, to->fd, kept);
    if (to->tls == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    for (;;) {
        enum tls_next next = transport_shake(to);
        if (next == TLS_READY)
            return GW_OK;
        if (next == TLS_FAILED)
            return gw_error_set(err, GW_IO, "TLS: %s", tls_why(to->tls));
        if (!wait_for(to->fd, next == TLS_WANTS_READ ? POLLIN : POLLOUT, until_ticks))
            return gw_error_set(err, GW_IO, "no TLS handshake within %d s", CONNECT_MS / 1000);
    }
}

struct reading {
    struct transport *from;
    int64_t until_ticks;
    struct http1_parser parser;
    struct admin_reply *reply;
    uint32_t interim;
    bool is_over;
};

/* What the bytes say; they are used up. */
static enum gw_status digest(struct reading *reading, struct span bytes, struct gw_error *err)
{
    struct span piece;
    while (!reading->is_over) {
        switch (http1_feed(&reading->parser, &bytes, &piece)) {
        case HTTP1_MORE:
            return GW_OK;
        case HTTP1_HEAD: {
            struct http_head *head = http1_take_head(&reading->parser);
            reading->reply->status = head->status;
            http_head_free(head);
            break;
        }
        case HTTP1_BODY:
            if (!gw_buf_add(&reading->reply->body, piece))
                return gw_error_set(err, GW_LIMIT, "the answer is too large");
            break;
        case HTTP1_END:
            reading->is_over = reading->reply->status >= 200;
            if (!reading->is_over && ++reading->interim > INTERIM_MAX)
                return gw_error_set(err, GW_INVALID, "it never comes to its answer");
            if (!reading->is_over)
                http1_parser_reset(&reading->parser);
            break;
        case HTTP1_ERROR:
            return gw_error_set(err, GW_INVALID, "the answer is not HTTP: %s",
                                reading->parser.fault.text);
        }
    }
    return GW_OK;
}

static enum gw_status read_some(struct reading *reading, char *room, struct gw_error *err)
{
    ssize_t got = transport_receive(reading->from, room, READ_BYTES);
    if (got > 0)
        return digest(reading, span_of(room, (size_t)got), err);
    if (got == 0) {
        if (http1_eof(&reading->parser) != HTTP1_END)
            return gw_error_set(err, GW_IO, "the connection ended before the answer did");
        reading->is_over = true;
        return GW_OK;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        return gw_error_set(err, GW_IO, "receive: %s", strerror(errno));
    if (!wait_for(reading->from->fd, POLLIN, reading->until_ticks))
        return gw_error_set(err, GW_IO, "no answer within %d s", EXCHANGE_MS / 1000);
    return GW_OK;
}

static enum gw_status read_answer(struct transport *from, int64_t until_ticks,
                                  struct admin_reply *reply, struct gw_error *err)
{
    const struct http1_limits limits = {.target_bytes_max = HEAD_BYTES_MAX,
                                        .head_bytes_max = HEAD_BYTES_MAX,
                                        .fields_max = FIELDS_MAX};
    struct reading reading = {.from = from, .until_ticks = until_ticks, .reply = reply};
    struct gw_buf room;
    gw_buf_init(&room, READ_BYTES);
    if (!gw_buf_reserve(&room, READ_BYTES))
        return gw_error_set(err, GW_NOMEM, "out of memory");
    http1_parser_init(&reading.parser, HTTP1_RESPONSES, &limits);
    enum gw_status status = GW_OK;
    while (status == GW_OK && !reading.is_over)
        status = read_some(&reading, room.ptr, err);
    http1_parser_fini(&reading.parser);
    gw_buf_fini(&room);
    return status;
}

enum gw_status exchange_run(const struct admin_client *client, const char *method, const char *path,
                            struct span body, struct admin_reply *reply, struct gw_error *err)
{
    struct transport to = {.fd = -1};
    struct tls_context *context = NULL;
    struct tls_kept kept = {0};
    struct gw_buf request;
    const int64_t until_ticks = ticks_ms() + EXCHANGE_MS;
    gw_buf_init(&request, CLIENT_REPLY_BYTES);
    enum gw_status status = write_request(client, method, path, body, &request)
                                ? GW_OK
                                : gw_error_set(err, GW_LIMIT, "the request is too large");
    if (status == GW_OK && client->is_tls)
        status = tls_context_new(client->ca, client->host, &context, err);
    if (status == GW_OK)
        status = client->is_unix ? open_unix(client, &to.fd, err) : open_tcp(client, &to.fd, err);
    if (status == GW_OK && client->is_tls)
        status = shake(&to, context, &kept, err);
    if (status == GW_OK)
        status = send_all(&to, gw_buf_span(&request), until_ticks, &reply->was_sent, err);
    if (status == GW_OK)
        status = read_answer(&to, until_ticks, reply, err);
    transport_close(&to, true);
    tls_kept_fini(&kept);
    tls_context_free(context);
    gw_buf_fini(&request);
    return status;
}
