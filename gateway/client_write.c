/* From replies to bytes: head and body in one gathered write where they fit, the
 * rest when the socket has room again; streams with a bounded buffer. */
#include "gateway/client_parts.h"

#include "base/fault.h"

#include <errno.h>
#include <event2/event.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_PIECE_BYTES (32 * 1024)

void client_want_write(struct client *client, bool wanted)
{
    if (wanted == client->writes || client->state == CLIENT_DEAD)
        return;
    client->writes = wanted;
    int rc = wanted ? event_add(&client->write_event, NULL) : event_del(&client->write_event);
    gw_assert(rc == 0);
}

static bool reply_is_left(const struct client *client)
{
    const struct reply *reply = client->reply;
    return reply != NULL &&
           (client->reply_head_sent < reply->head.len ||
            client->reply_body_sent < reply->body.len ||
            (reply->file_body != NULL && client->reply_file_sent < reply->file_body->bytes));
}

bool client_is_flushed(const struct client *client)
{
    return client->out.len == 0 && !reply_is_left(client);
}

/* Sends one gathered piece. <0: errno says why. */
static ssize_t send_piece(struct client *client)
{
    const struct reply *reply = client->reply;
    if (reply != NULL && client->reply_head_sent == 0 && GW_FAULT(reply_first_byte)) {
        errno = EPIPE;
        return -1;
    }
    struct iovec parts[3];
    int count = 0;
    char room[FILE_PIECE_BYTES];
    if (client->out.len > 0)
        parts[count++] = (struct iovec){client->out.ptr, client->out.len};
    if (reply != NULL && client->reply_head_sent < reply->head.len)
        parts[count++] = (struct iovec){reply->head.ptr + client->reply_head_sent,
                                        reply->head.len - client->reply_head_sent};
    if (reply != NULL && client->reply_body_sent < reply->body.len)
        parts[count++] =
            (struct iovec){(void *)(uintptr_t)(reply->body.ptr + client->reply_body_sent),
                           reply->body.len - client->reply_body_sent};
    if (count == 0 && reply_is_left(client)) {
        ssize_t len =
            pread(reply->file_body->file, room, sizeof(room), (off_t)client->reply_file_sent);
        if (len <= 0) {
            errno = EIO; /* the spool file is ours: shorter than it was written */
            return -1;
        }
        parts[count++] = (struct iovec){room, (size_t)len};
    }
    if (count == 0)
        return 0;
    return transport_send(&client->transport, parts, (size_t)count);
}

static void account(struct client *client, size_t sent)
{
    size_t part = sent < client->out.len ? sent : client->out.len;
    gw_buf_drop(&client->out, part);
    sent -= part;
    if (client->reply == NULL)
        return;
    size_t left = client->reply->head.len - client->reply_head_sent;
    part = sent < left ? sent : left;
    client->reply_head_sent += part;
    sent -= part;
    left = client->reply->body.len - client->reply_body_sent;
    part = sent < left ? sent : left;
    client->reply_body_sent += part;
    client->reply_file_sent += sent - part;
}

static void break_off(struct client *client)
{
    client->broken = true;
    event_active(&client->write_event, EV_WRITE, 1);
}

void client_flush(struct client *client)
{
    /* Ends with the queue empty, the socket full, or the connection broken. */
    while (!client->broken && client->state != CLIENT_DEAD && !client_is_flushed(client)) {
        ssize_t sent = send_piece(client);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            client_want_write(client, true);
            client_set_timer(client, worker_conf(client->worker)->limits.idle_time_ms);
            return;
        }
        if (sent < 0)
            break_off(client);
        else
            account(client, (size_t)sent);
    }
    if (!client->broken && client->state != CLIENT_DEAD)
        client_want_write(client, false);
}

static void is_flushed(struct client *client)
{
    struct flow *flow = client->flow;
    if (client->state == CLIENT_FLUSH) {
        client_reply_is_out(client);
    } else if (client->reply != NULL) {
        client->reply = NULL;
        client_set_timer(client, 0);
        flow_resume(flow);
    } else if (flow != NULL && flow->stream_events != NULL) {
        client_set_timer(client, worker_conf(client->worker)->limits.idle_time_ms);
        flow->stream_events->writable(flow);
    } else if (client->state == CLIENT_BODY) {
        client_set_timer(client, worker_conf(client->worker)->limits.body_time_ms);
    }
}

void client_writable(evutil_socket_t fd, short what, void *ctx)
{
    struct client *client;
    (void)fd;
    (void)what;
    GW_CAST(client, ctx, client, CLIENT_TAG);
    if (client->state == CLIENT_SHAKE) {
        client_shake(client);
        return;
    }
    if (client->state == CLIENT_LINGER && !client->broken) {
        client_linger(client); /* the end of TLS has not left yet */
        return;
    }
    client_flush(client);
    if (client->broken)
        client_die(client);
    else if (client->state != CLIENT_DEAD && client_is_flushed(client))
        is_flushed(client);
}

static bool shows(const struct client *client, short events)
{
    struct pollfd look = {.fd = client->transport.fd, .events = POLLRDHUP};
    return poll(&look, 1, 0) < 0 || (look.revents & events) != 0;
}

bool client_listens(const struct client *client)
{
    return client->state != CLIENT_DEAD && !client->broken &&
           !shows(client, POLLRDHUP | POLLHUP | POLLERR | POLLNVAL);
}

/* What has arrived and is not read when a program ends or closes resets the connection. */
bool client_has_all(const struct client *client)
{
    int left = 0;
    return client->state != CLIENT_DEAD && !client->broken && client_is_flushed(client) &&
           !shows(client, POLLHUP | POLLERR | POLLNVAL) &&
           ioctl(client->transport.fd, SIOCOUTQ, &left) == 0 && left == 0;
}

bool client_send_reply(struct client *client, struct reply *reply)
{
    client->close_after = client->close_after || reply->close;
    client->reply = reply;
    client->reply_head_sent = client->reply_body_sent = 0;
    client->reply_file_sent = 0;
    client_flush(client);
    if (client->broken || !client_is_flushed(client))
        return false;
    client->reply = NULL;
    return true;
}

bool client_stream_write(struct client *client, struct span bytes)
{
    if (client->state == CLIENT_DEAD || client->broken)
        return true;
    if (!gw_buf_add(&client->out, bytes)) {
        break_off(client); /* somebody did not wait for `writable` */
        return true;
    }
    client_flush(client);
    return client->out.len < CLIENT_OUT_HIGH_BYTES;
}

void client_stream_end(struct client *client, bool whole, bool close)
{
    client->close_after = client->close_after || close;
    client->abort_after = !whole;
}
