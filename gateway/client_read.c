/* From bytes to requests: what came is fed to the codec, and its events start flows
 * and fill bodies. */
#include "gateway/client_parts.h"
#include "gateway/problem.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

/* A request without a usable head still gets a proper answer. */
static struct http_head *empty_head(void)
{
    struct http_head *head = calloc(1, sizeof(*head));
    if (head == NULL)
        return NULL;
    head->method = SPAN("GET");
    head->path = head->target = SPAN("/");
    head->minor = 1;
    return head;
}

static void start_flow(struct client *client, struct http_head *head, enum problem problem,
                       const char *detail)
{
    struct flow *flow = head == NULL ? NULL : flow_new(client->worker, FLOW_FROM_CLIENT);
    if (flow == NULL) {
        http_head_free(head);
        client_die(client);
        return;
    }
    client->flow = flow;
    client_set_state(client, CLIENT_FLOW);
    flow->client = client;
    flow->client_ops = &client_socket_ops;
    flow->head = head;
    /* A copy: the flow may outlive the connection. */
    struct sockaddr_storage *peer = arena_take(flow->arena, sizeof(*peer));
    if (peer != NULL)
        *peer = client->peer;
    flow->peer = peer;
    flow->came_over_tls = client->transport.tls != NULL;
    flow->certificate = tls_peer_ref(client->certificate);
    if (problem == PROBLEM_NONE) {
        flow_run(flow, FLOW_ROOM_route);
        return;
    }
    flow->problem = problem;
    if (detail != NULL)
        flow->problem_detail = arena_print(flow->arena, "Nothing was sent: %s.", detail);
    flow_run(flow, FLOW_ROOM_reply);
}

static void refuse(struct client *client, enum problem problem, const char *detail)
{
    client->close_after = true;
    client->message_done = false;
    start_flow(client, empty_head(), problem, detail);
}

static void head_came(struct client *client)
{
    struct http_head *head = http1_take_head(&client->parser);
    client->head_keeps_alive = head->keep_alive;
    client->wants_continue = head->expects_continue;
    client->message_done = head->framing == HTTP1_NO_BODY ||
                           (head->framing == HTTP1_LENGTH && head->content_length == 0);
    start_flow(client, head, PROBLEM_NONE, NULL);
}

static void body_ends(struct client *client, enum body_state state)
{
    struct flow *flow = client->flow;
    if (state != BODY_WHOLE)
        client->close_after = true;
    client_set_state(client, CLIENT_FLOW);
    flow->body_state = state;
    flow_resume(flow);
}

static void body_came(struct client *client, struct span piece)
{
    struct flow *flow = client->flow;
    client->body_bytes += piece.len;
    switch (client->state) {
    case CLIENT_BODY:
        if (client->body_bytes > client->body_bytes_max)
            body_ends(client, BODY_TOO_LARGE);
        else if (!gw_buf_add(&flow->body, piece))
            body_ends(client, BODY_NO_MEMORY);
        break;
    case CLIENT_STREAM:
        client_set_timer(client, worker_conf(client->worker)->limits.idle_time_ms);
        flow->stream_events->body(flow, piece);
        break;
    case CLIENT_SKIP:
        client->skipped_bytes += piece.len;
        if (client->skipped_bytes > CLIENT_DRAIN_BYTES_MAX) {
            client->close_after = true;
            client->message_done = true;
            client_reply_is_out(client);
        }
        break;
    case CLIENT_SHAKE:
    case CLIENT_IDLE:
    case CLIENT_HEAD:
    case CLIENT_FLOW:
    case CLIENT_FLUSH:
    case CLIENT_LINGER:
    case CLIENT_DEAD:
        gw_assert(client->state == CLIENT_BODY);
        break;
    }
}

static void message_ended(struct client *client)
{
    client->message_done = true;
    if (client->state == CLIENT_BODY)
        body_ends(client, BODY_WHOLE);
    else if (client->state == CLIENT_STREAM)
        client->flow->stream_events->body_end(client->flow);
    else if (client->state == CLIENT_SKIP)
        client_reply_is_out(client);
}

static void stream_breaks(struct client *client, enum problem problem)
{
    client->close_after = true;
    client_set_state(client, CLIENT_FLOW);
    client->flow->stream_events->broken(client->flow, problem);
}

static enum body_state body_state_of(uint16_t fault_status)
{
    return fault_status == 413 ? BODY_TOO_LARGE : fault_status == 503 ? BODY_NO_MEMORY : BODY_BAD;
}

static void message_broke(struct client *client)
{
    client->message_done = false;
    client->close_after = true;
    if (client->state == CLIENT_BODY)
        body_ends(client, body_state_of(client->parser.fault.status));
    else if (client->state == CLIENT_IDLE || client->state == CLIENT_HEAD)
        refuse(client, problem_of_fault(client->parser.fault.status), client->parser.fault.text);
    else if (client->state == CLIENT_STREAM)
        stream_breaks(client, problem_of_fault(client->parser.fault.status));
    else
        client_die(client); /* the rest of a body nobody wants */
}

static bool wants_bytes(const struct client *client)
{
    switch (client->state) {
    case CLIENT_IDLE:
    case CLIENT_HEAD:
    case CLIENT_BODY:
    case CLIENT_SKIP:
        return true;
    case CLIENT_STREAM:
        return !client->stream_paused && !client->message_done;
    case CLIENT_SHAKE:
    case CLIENT_FLOW:
    case CLIENT_FLUSH:
    case CLIENT_LINGER:
    case CLIENT_DEAD:
        break;
    }
    return false;
}

/* Keeps what nobody wants yet, and reads no more until somebody does. */
static void set_aside(struct client *client, struct span bytes)
{
    if (client->state == CLIENT_DEAD || client->state == CLIENT_LINGER)
        return;
    if (bytes.len > 0 && !gw_buf_add(&client->pending, bytes)) {
        client_die(client);
        return;
    }
    if (client->pending.len > 0 && !wants_bytes(client))
        client_want_read(client, false);
}

static void feed_once(struct client *client, struct span *bytes, bool *ret_more)
{
    struct span piece = SPAN("");
    switch (http1_feed(&client->parser, bytes, &piece)) {
    case HTTP1_MORE:
        *ret_more = false;
        if (client->state == CLIENT_IDLE && http1_has_begun(&client->parser))
            client_set_state(client, CLIENT_HEAD);
        break;
    case HTTP1_HEAD:
        head_came(client);
        break;
    case HTTP1_BODY:
        body_came(client, piece);
        break;
    case HTTP1_END:
        message_ended(client);
        break;
    case HTTP1_ERROR:
        message_broke(client);
        break;
    }
}

void client_turn(struct client *client, struct span bytes)
{
    gw_assert(!client->in_turn);
    client->in_turn = true;
    bool more = true;
    /* Every turn of the loop consumes bytes or changes the state. */
    while (more && wants_bytes(client))
        feed_once(client, &bytes, &more);
    client->in_turn = false;
    set_aside(client, bytes);
}

/* A body that trickles is as bad as one that does not come (LIM-4). */
static bool is_too_slow(const struct client *client)
{
    const struct conf_limits *limits = &worker_conf(client->worker)->limits;
    struct gw_clock *clock = worker_ports(client->worker)->clock;
    int64_t elapsed = clock->ticks_ms(clock) - client->state_since_ticks;
    return client->state == CLIENT_BODY && elapsed > CLIENT_RATE_GRACE_MS &&
           client->body_bytes * 1000 / (uint64_t)elapsed < limits->body_rate_min;
}

static void peer_ended(struct client *client, bool cleanly)
{
    client->saw_eof = true;
    client_want_read(client, false);
    switch (client->state) {
    case CLIENT_BODY:
    case CLIENT_STREAM:
        /* Half a request is none; a stream that has sent its body may still read. */
        if (client->state == CLIENT_BODY || !client->message_done || !cleanly)
            client_die(client);
        break;
    case CLIENT_FLOW:
    case CLIENT_FLUSH:
        /* A caller that has shut its side may well read the answer (RCP-10). */
        if (!cleanly)
            client_die(client);
        break;
    case CLIENT_SHAKE:
    case CLIENT_IDLE:
    case CLIENT_HEAD:
    case CLIENT_SKIP:
    case CLIENT_LINGER:
        client_die(client);
        break;
    case CLIENT_DEAD:
        break;
    }
}

static void take_pending(struct client *client)
{
    struct gw_buf bytes = client->pending;
    gw_buf_init(&client->pending, CLIENT_PENDING_BYTES_MAX);
    client_turn(client, gw_buf_span(&bytes));
    gw_buf_fini(&bytes);
}

void client_readable(evutil_socket_t fd, short what, void *ctx)
{
    struct client *client;
    (void)fd;
    (void)what;
    GW_CAST(client, ctx, client, CLIENT_TAG);
    if (client->state == CLIENT_DEAD)
        return;
    if (client->state == CLIENT_SHAKE) {
        client_shake(client);
        return;
    }
    if (client->pending.len > 0 || client->state == CLIENT_BODY || client->state == CLIENT_STREAM) {
        if (client->pending.len > 0 && wants_bytes(client))
            take_pending(client);
        if (client->state == CLIENT_DEAD || client->pending.len > 0)
            return;
    }
    if (!wants_bytes(client) && client->state != CLIENT_LINGER) {
        /* Nobody wants bytes now: level-triggered reading would spin. */
        client_want_read(client, false);
        return;
    }
    char *room = worker_read_room(client->worker);
    ssize_t len = transport_receive(&client->transport, room, WORKER_READ_BYTES);
    if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (len <= 0) {
        peer_ended(client, len == 0);
        return;
    }
    if (client->state == CLIENT_LINGER)
        return;
    client_turn(client, span_of(room, (size_t)len));
    if (is_too_slow(client))
        body_ends(client, BODY_TIMEOUT);
    if (client->reads && client->state != CLIENT_DEAD && transport_is_over(&client->transport))
        event_active(&client->read_event, EV_READ, 1);
}

void client_timer_fires(evutil_socket_t fd, short what, void *ctx)
{
    struct client *client;
    (void)fd;
    (void)what;
    GW_CAST(client, ctx, client, CLIENT_TAG);
    switch (client->state) {
    case CLIENT_HEAD:
        refuse(client, PROBLEM_REQUEST_TIMEOUT, NULL);
        break;
    case CLIENT_BODY:
        body_ends(client, BODY_TIMEOUT);
        break;
    case CLIENT_STREAM:
        /* While we hold the body back the caller is not to blame. */
        if (client->stream_paused || client->message_done)
            client_set_timer(client, worker_conf(client->worker)->limits.idle_time_ms);
        else
            stream_breaks(client, PROBLEM_REQUEST_TIMEOUT);
        break;
    case CLIENT_SHAKE:
    case CLIENT_FLOW:
    case CLIENT_IDLE:
    case CLIENT_FLUSH:
    case CLIENT_SKIP:
    case CLIENT_LINGER:
        client_die(client);
        break;
    case CLIENT_DEAD:
        break;
    }
}
