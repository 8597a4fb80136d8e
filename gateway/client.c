/* Life and states of a caller's connection. */
#include "gateway/client_parts.h"

#include "base/log.h"

#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

struct client *client_next(const struct client *client)
{
    return client->next;
}

void client_link(struct client *client, struct client **list)
{
    client->previous = NULL;
    client->next = *list;
    if (*list != NULL)
        (*list)->previous = client;
    *list = client;
}

void client_unlink(struct client *client, struct client **list)
{
    if (client->previous != NULL)
        client->previous->next = client->next;
    else
        *list = client->next;
    if (client->next != NULL)
        client->next->previous = client->previous;
}

void client_bury_on(struct client *client, struct client **grave)
{
    client->next = *grave;
    *grave = client;
}

static bool take_transport(struct client *client, const struct client_arrival *arrival)
{
    client->transport.fd = arrival->fd;
    if (arrival->tls == NULL)
        return true;
    client->transport.tls = tls_accept(arrival->tls, arrival->fd);
    return client->transport.tls != NULL;
}

void client_accept(struct worker *worker, const struct client_arrival *arrival)
{
    const int fd = arrival->fd;
    const struct conf_limits *limits = &worker_conf(worker)->limits;
    const struct http1_limits head = {.target_bytes_max = limits->target_bytes,
                                      .head_bytes_max = limits->head_bytes,
                                      .fields_max = limits->headers};
    struct client *client = calloc(1, sizeof(*client));
    if (client == NULL || !take_transport(client, arrival)) {
        (void)close(fd); /* nothing was read */
        free(client);
        return;
    }
    const int on = 1;
    /* Replies leave in one write; a delay would only cost time. Unix sockets have none. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    client->tag_client = CLIENT_TAG;
    client->worker = worker;
    client->came_late = worker_is_draining(worker);
    memcpy(&client->peer, arrival->peer,
           arrival->peer_len < sizeof(client->peer) ? arrival->peer_len : sizeof(client->peer));
    http1_parser_init(&client->parser, HTTP1_REQUESTS, &head);
    gw_buf_init(&client->pending, CLIENT_PENDING_BYTES_MAX);
    gw_buf_init(&client->out, CLIENT_OUT_BYTES_MAX);
    struct event_base *base = worker_base(worker);
    (void)event_assign(&client->read_event, base, fd, EV_READ | EV_PERSIST, client_readable,
                       client);
    (void)event_assign(&client->write_event, base, fd, EV_WRITE | EV_PERSIST, client_writable,
                       client);
    (void)event_assign(&client->timer, base, -1, 0, client_timer_fires, client);
    worker_take_client(worker, client);
    atomic_fetch_add(&board_gauges(worker_ports(worker)->board)->connections, 1);
    client_set_state(client, client->transport.tls == NULL ? CLIENT_IDLE : CLIENT_SHAKE);
    client_want_read(client, true);
}

static void tell_failure(const struct client *client)
{
    if (gw_log_is_on(GW_LOG_DEBUG)) /* anybody can make as many as he likes */
        gw_log_text(GW_LOG_DEBUG, "client.tls_failed", "%s", tls_why(client->transport.tls));
}

void client_shake(struct client *client)
{
    switch (transport_shake(&client->transport)) {
    case TLS_READY:
        client->certificate = tls_peer_of(client->transport.tls);
        client_want_write(client, false);
        client_set_state(client, CLIENT_IDLE);
        client_want_read(client, true);
        break;
    case TLS_WANTS_READ:
        client_want_write(client, false);
        client_want_read(client, true);
        break;
    case TLS_WANTS_WRITE:
        client_want_read(client, false);
        client_want_write(client, true);
        break;
    case TLS_FAILED:
        tell_failure(client);
        client_die(client);
        break;
    }
}

void client_free(struct client *client)
{
    tls_peer_unref(client->certificate);
    http1_parser_fini(&client->parser);
    gw_buf_fini(&client->pending);
    gw_buf_fini(&client->out);
    client->tag_client = 0;
    free(client);
}

void client_set_timer(struct client *client, int64_t ms)
{
    struct timeval room;
    if (ms <= 0)
        (void)event_del(&client->timer); /* fine if it does not run */
    else
        (void)event_add(&client->timer, worker_timeout(client->worker, ms, &room));
}

void client_set_state(struct client *client, enum client_state state)
{
    const struct conf_limits *limits = &worker_conf(client->worker)->limits;
    struct gw_clock *clock = worker_ports(client->worker)->clock;
    client->state = state;
    client->state_since_ticks = clock->ticks_ms(clock);
    switch (state) {
    case CLIENT_IDLE:
        client_set_timer(client, worker_is_draining(client->worker) ? CLIENT_DRAIN_MS
                                                                    : limits->idle_time_ms);
        break;
    case CLIENT_FLUSH:
    case CLIENT_STREAM:
        client_set_timer(client, limits->idle_time_ms);
        break;
    case CLIENT_SHAKE:
    case CLIENT_HEAD:
        client_set_timer(client, limits->head_time_ms);
        break;
    case CLIENT_BODY:
    case CLIENT_SKIP:
        client_set_timer(client, limits->body_time_ms);
        break;
    case CLIENT_LINGER:
        client_set_timer(client, CLIENT_LINGER_MS);
        break;
    case CLIENT_FLOW:
    case CLIENT_DEAD:
        client_set_timer(client, 0);
        break;
    }
}

void client_want_read(struct client *client, bool wanted)
{
    if (wanted == client->reads || client->state == CLIENT_DEAD)
        return;
    client->reads = wanted;
    int rc = wanted ? event_add(&client->read_event, NULL) : event_del(&client->read_event);
    gw_assert(rc == 0);
    if (wanted && transport_is_over(&client->transport))
        event_active(&client->read_event, EV_READ, 1);
}

/* Tells the flow that nobody listens any more; it goes on to its own end. */
static void leave_flow(struct client *client)
{
    struct flow *flow = client->flow;
    if (flow == NULL)
        return;
    bool waits_for_body = client->state == CLIENT_BODY;
    bool waits_for_write = client->reply != NULL;
    client->flow = NULL;
    client->reply = NULL;
    flow->client_gone = true;
    if (flow->stream_events != NULL) {
        flow->stream_events->gone(flow);
    } else if (waits_for_body) {
        flow->body_state = BODY_GONE;
        flow_resume(flow);
    } else if (waits_for_write) {
        flow_resume(flow);
    }
}

void client_die(struct client *client)
{
    if (client->state == CLIENT_DEAD)
        return;
    (void)event_del(&client->read_event); /* before the descriptor goes */
    (void)event_del(&client->write_event);
    (void)event_del(&client->timer);
    /* Nothing is lost: replies were written or given up. */
    transport_close(&client->transport, !client->abort_after && !client->broken);
    leave_flow(client);
    client->state = CLIENT_DEAD;
    atomic_fetch_sub(&board_gauges(worker_ports(client->worker)->board)->connections, 1);
    worker_bury_client(client->worker, client);
}

/* Shuts our side and waits for the caller to have read the answer: closing with
 * unread bytes would reset the connection and take the answer with it (IN-15). */
void client_linger(struct client *client)
{
    enum tls_next next = transport_shut(&client->transport);
    if (next == TLS_FAILED || client->saw_eof) {
        client_die(client);
        return;
    }
    if (client->state != CLIENT_LINGER)
        client_set_state(client, CLIENT_LINGER);
    client_want_write(client, next == TLS_WANTS_WRITE);
    client_want_read(client, true);
}

/* An answer that broke off ends in a reset: callers who take an orderly end for the end of the
 * answer would read the piece as a whole one, whatever its length says. */
static void reset(struct client *client)
{
    const struct linger none = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(client->transport.fd, SOL_SOCKET, SO_LINGER, &none,
                     sizeof(none)); /* else it closes */
    client_die(client);
}

void client_reply_is_out(struct client *client)
{
    if (client->abort_after) {
        reset(client);
    } else if (client->close_after) {
        client_linger(client);
    } else if (!client->message_done) {
        client->skipped_bytes = 0;
        client_set_state(client, CLIENT_SKIP);
        client_want_read(client, true);
    } else {
        http1_parser_reset(&client->parser);
        client_set_state(client, CLIENT_IDLE);
        client_want_read(client, true);
    }
    /* Bytes that came early are looked at in a turn of their own. */
    if (client->state != CLIENT_DEAD && client->pending.len > 0 && !client->in_turn)
        event_active(&client->read_event, EV_READ, 1);
}

void client_drain(struct client *client)
{
    client->close_after = true;
    if (client->state == CLIENT_IDLE)
        client_die(client);
    else if (client->state == CLIENT_HEAD || client->state == CLIENT_SHAKE)
        client_set_timer(client, CLIENT_DRAIN_MS); /* a slow head does not hold the drain */
    else if (client->state == CLIENT_SKIP)
        client_linger(client); /* the answer is out; the rest of the body is of no use */
}

bool client_holds_drain(const struct client *client)
{
    return !client->came_late && client->state != CLIENT_IDLE && client->state != CLIENT_HEAD &&
           client->state != CLIENT_SHAKE;
}

void client_abort(struct client *client)
{
    /* A flow that only waits for its end gives its answer; that end is near now. One whose
     * answer is being read has had its time: a slow reader would hold the process for ever. */
    bool ends_soon = client->state == CLIENT_FLOW && client->flow != NULL &&
                     client->flow->stream_events == NULL && client->reply == NULL;
    if (!ends_soon)
        client_die(client);
}

/* ---- what rooms ask for ---- */

static void read_body(struct client *client, uint64_t bytes_max)
{
    client->body_bytes = 0;
    client->body_bytes_max = bytes_max;
    client_set_state(client, CLIENT_BODY);
    if (client->wants_continue && client->pending.len == 0)
        (void)gw_buf_add(&client->out, SPAN("HTTP/1.1 100 Continue\r\n\r\n")); /* room is there */
    client->wants_continue = false;
    if (!client->in_turn)
        event_active(&client->read_event, EV_READ, 1);
    client_flush(client);
    client_want_read(client, true);
}

static void stream_body(struct client *client)
{
    client_set_state(client, CLIENT_STREAM);
    if (client->wants_continue)
        (void)gw_buf_add(&client->out, SPAN("HTTP/1.1 100 Continue\r\n\r\n")); /* room is there */
    client->wants_continue = false;
    client->stream_paused = false;
    if (!client->in_turn)
        event_active(&client->read_event, EV_READ, 1);
    client_flush(client);
    client_want_read(client, true);
}

static void pause_body(struct client *client)
{
    client->stream_paused = true;
    client_want_read(client, false);
}

static void resume_body(struct client *client)
{
    client->stream_paused = false;
    if (client->state != CLIENT_STREAM)
        return;
    client_want_read(client, true);
    if (client->pending.len > 0)
        event_active(&client->read_event, EV_READ, 1);
}

static bool must_close(const struct client *client)
{
    bool drains = client->message_done ||
                  (!client->wants_continue && client->parser.body_left <= CLIENT_DRAIN_BYTES_MAX);
    return client->close_after || !client->head_keeps_alive || !drains;
}

static void left(struct client *client)
{
    gw_assert(client->flow != NULL);
    client->flow = NULL;
    client->reply = NULL;
    if (client->state == CLIENT_DEAD)
        return;
    if (client_is_flushed(client)) {
        client_reply_is_out(client);
    } else {
        client_set_state(client, CLIENT_FLUSH);
    }
}

const struct client_ops client_socket_ops = {
    .read_body = read_body,
    .must_close = must_close,
    .send = client_send_reply,
    .listens = client_listens,
    .has_all = client_has_all,
    .stream_body = stream_body,
    .pause_body = pause_body,
    .resume_body = resume_body,
    .write = client_stream_write,
    .end_stream = client_stream_end,
    .left = left,
};
