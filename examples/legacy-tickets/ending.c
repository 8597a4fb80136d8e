/* Ends exchanges, with or without a fault. What closes a connection runs from a
 * timer and never inside the request's own callback, because evhttp goes on using
 * the connection when that callback returns. */
#include "examples/legacy-tickets/ending.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/buf.h"

#define ENDING_TAG      0x656e6467u
#define CUT_ANSWER_MAX  (FAULT_CUT_MAX + (64 << 10))
#define ANSWER_PAIR_MAX 16

struct ending {
    GW_TAG(ending);
    struct endings *endings;
    struct evhttp_request *request;
    struct event *timer;
    struct fault fault;
    struct evbuffer *body;
    LIST_ENTRY(ending) link;
};

struct endings {
    struct event_base *base;
    size_t count;
    LIST_HEAD(ending_list, ending) waiting;
};

static struct ending *ending_new(struct endings *endings, struct evhttp_request *request,
                                 const struct fault *fault, struct evbuffer *body);
static void ending_free(struct ending *ending);
static void on_time(evutil_socket_t fd, short what, void *arg);
static void close_connection(struct evhttp_connection *connection, bool with_reset);
static void send_cut(struct evhttp_connection *connection, const struct ending *ending);
static void answer(struct evhttp_request *request, int status, struct evbuffer *body);

struct endings *endings_new(struct event_base *base)
{
    struct endings *endings = calloc(1, sizeof(*endings));
    if (endings == NULL)
        return NULL;
    endings->base = base;
    LIST_INIT(&endings->waiting);
    return endings;
}

void endings_free(struct endings *endings)
{
    if (endings == NULL)
        return;
    while (!LIST_EMPTY(&endings->waiting))
        ending_free(LIST_FIRST(&endings->waiting));
    gw_assert(endings->count == 0);
    free(endings);
}

void endings_add(struct endings *endings, struct evhttp_request *request, const struct fault *fault,
                 struct span body)
{
    struct evbuffer *buffer = evbuffer_new();
    if (buffer == NULL || evbuffer_add(buffer, body.ptr, body.len) != 0) {
        evhttp_send_error(request, HTTP_INTERNAL, NULL);
        if (buffer != NULL)
            evbuffer_free(buffer);
        return;
    }
    struct ending *ending = NULL;
    if (fault->ending != FAULT_ANSWER || fault->delay_ms > 0)
        ending = ending_new(endings, request, fault, buffer);
    if (ending == NULL) {
        answer(request, fault->status, buffer);
        evbuffer_free(buffer);
        return;
    }
    const struct timeval due = {.tv_sec = fault->delay_ms / 1000,
                                .tv_usec = (fault->delay_ms % 1000) * 1000};
    if (evtimer_add(ending->timer, &due) != 0) {
        answer(request, fault->status, buffer);
        ending_free(ending);
    }
}

/* NULL: no room or no memory. On success the ending owns the body. */
static struct ending *ending_new(struct endings *endings, struct evhttp_request *request,
                                 const struct fault *fault, struct evbuffer *body)
{
    if (endings->count >= ENDINGS_MAX)
        return NULL;
    struct ending *ending = calloc(1, sizeof(*ending));
    if (ending == NULL)
        return NULL;
    ending->tag_ending = ENDING_TAG;
    ending->endings = endings;
    ending->request = request;
    ending->fault = *fault;
    ending->timer = evtimer_new(endings->base, on_time, ending);
    if (ending->timer == NULL) {
        free(ending);
        return NULL;
    }
    ending->body = body;
    LIST_INSERT_HEAD(&endings->waiting, ending, link);
    endings->count++;
    return ending;
}

static void ending_free(struct ending *ending)
{
    gw_assert(ending->endings->count > 0);
    ending->endings->count--;
    LIST_REMOVE(ending, link);
    event_free(ending->timer);
    evbuffer_free(ending->body);
    free(ending);
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
    struct ending *ending;
    GW_CAST(ending, arg, ending, ENDING_TAG);
    (void)fd;   /* a timer has none */
    (void)what; /* and only one reason to be called */

    struct evhttp_connection *connection = evhttp_request_get_connection(ending->request);
    enum fault_ending how = ending->fault.ending;
    if (connection == NULL)
        how = FAULT_ANSWER; /* the caller has gone; this only frees the request */

    switch (how) {
    case FAULT_ANSWER:
        answer(ending->request, ending->fault.status, ending->body);
        break;
    case FAULT_LOSE_ANSWER:
        close_connection(connection, false);
        break;
    case FAULT_RESET_BEFORE:
        close_connection(connection, true);
        break;
    case FAULT_CUT:
        send_cut(connection, ending);
        close_connection(connection, false);
        break;
    }
    ending_free(ending);
}

/* The request goes with its connection. */
static void close_connection(struct evhttp_connection *connection, bool with_reset)
{
    evutil_socket_t fd = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    /* Dissolving the association sends the reset at once. SO_LINGER would come too
     * late: evhttp sends a FIN before it closes. Where this fails the caller sees
     * an ordinary close, which it can tell apart. */
    if (with_reset)
        (void)connect(fd, &nowhere, sizeof(nowhere));
    evhttp_connection_free(connection);
}

/* The head promises the whole body; only cut_bytes of it follow. */
static void send_cut(struct evhttp_connection *connection, const struct ending *ending)
{
    size_t body_len = evbuffer_get_length(ending->body);
    struct gw_buf out;
    gw_buf_init(&out, CUT_ANSWER_MAX);
    gw_buf_print(&out, "HTTP/1.1 %d Cut\r\nContent-Length: %zu\r\n", ending->fault.status,
                 body_len);

    int pairs = 0;
    const struct evkeyvalq *headers = evhttp_request_get_output_headers(ending->request);
    for (const struct evkeyval *pair = headers->tqh_first; pair != NULL && pairs < ANSWER_PAIR_MAX;
         pair = pair->next.tqe_next, pairs++)
        gw_buf_print(&out, "%s: %s\r\n", pair->key, pair->value);
    gw_buf_add(&out, SPAN("\r\n"));

    size_t cut = ending->fault.cut_bytes < body_len ? ending->fault.cut_bytes : body_len;
    if (cut > 0 && evbuffer_pullup(ending->body, (ev_ssize_t)cut) != NULL)
        gw_buf_add(&out,
                   span_of((const char *)evbuffer_pullup(ending->body, (ev_ssize_t)cut), cut));

    /* Straight to the socket: evhttp's own output is empty while its request waits,
     * and what a full socket does not take is only cut a little earlier. */
    if (!out.failed)
        (void)send(bufferevent_getfd(evhttp_connection_get_bufferevent(connection)), out.ptr,
                   out.len, MSG_NOSIGNAL);
    gw_buf_fini(&out);
}

static void answer(struct evhttp_request *request, int status, struct evbuffer *body)
{
    evhttp_send_reply(request, status, NULL, body);
}
