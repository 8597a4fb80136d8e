/* What the files of the caller's connection share; nobody else includes it. */
#ifndef RECIBO_GATEWAY_CLIENT_PARTS_H
#define RECIBO_GATEWAY_CLIENT_PARTS_H

#include "gateway/client.h"
#include "gateway/worker.h"

#include <event2/event_struct.h>

#define CLIENT_PENDING_BYTES_MAX WORKER_READ_BYTES /* read, not yet looked at */
#define CLIENT_OUT_HIGH_BYTES    (64 * 1024)       /* a stream waits above it */
#define CLIENT_OUT_BYTES_MAX     (512 * 1024)
#define CLIENT_DRAIN_BYTES_MAX   (64 * 1024) /* of an unread body, to keep the connection */
#define CLIENT_LINGER_MS         2000        /* for the caller to read the answer (IN-15) */
#define CLIENT_DRAIN_MS          1000        /* for a first byte while the process drains */
#define CLIENT_RATE_GRACE_MS     2000        /* before body_rate_min is judged */

enum client_state {
    CLIENT_SHAKE,  /* the TLS handshake is under way */
    CLIENT_IDLE,   /* between requests */
    CLIENT_HEAD,   /* a head is coming */
    CLIENT_FLOW,   /* a flow runs; nothing is read */
    CLIENT_BODY,   /* a body is collected for the flow */
    CLIENT_STREAM, /* a body streams through the flow */
    CLIENT_FLUSH,  /* the flow is over, its reply is still being written */
    CLIENT_SKIP,   /* the rest of an unread body is thrown away */
    CLIENT_LINGER, /* our side is shut; the caller may still be sending */
    CLIENT_DEAD,
};

struct client {
    GW_TAG(client);
#define CLIENT_TAG 0x434c4e54u
    struct worker *worker;
    struct transport transport;
    struct tls_peer *certificate; /* the caller's, verified; NULL: none */
    struct sockaddr_storage peer;
    enum client_state state;
    struct client *next, *previous;
    struct flow *flow; /* NULL: none */

    struct http1_parser parser;
    bool head_keeps_alive; /* of the request under way */
    bool wants_continue;   /* 100 Continue was asked for and not yet sent */
    bool message_done;     /* the whole request was read */
    bool in_turn;          /* inside client_turn(): no recursion */
    bool stream_paused;
    bool saw_eof;
    uint64_t body_bytes, body_bytes_max, skipped_bytes;
    int64_t state_since_ticks;
    struct gw_buf pending; /* bytes read too early: of the next request */

    struct event read_event, write_event, timer;
    bool reads, writes;

    struct reply *reply; /* being written; borrowed from the flow */
    size_t reply_head_sent, reply_body_sent;
    uint64_t reply_file_sent;
    struct gw_buf out; /* streams and 100 Continue */
    bool close_after, abort_after;
    bool came_late; /* accepted while the process drains: it is told 503 and holds nothing up */
    bool broken;    /* a write failed: the connection dies in a turn of its own */
};

/* ---- client.c ---- */
void client_set_state(struct client *client, enum client_state state);
void client_want_read(struct client *client, bool wanted);
void client_want_write(struct client *client, bool wanted);
/* The TLS handshake goes as far as it can without waiting. */
void client_shake(struct client *client);
/* Shuts our side and waits for the caller to have read the answer (IN-15). */
void client_linger(struct client *client);
/* The reply has left, whole: what comes next on this connection. */
void client_reply_is_out(struct client *client);
void client_set_timer(struct client *client, int64_t ms);

/* ---- client_read.c ---- */
void client_readable(evutil_socket_t fd, short what, void *ctx);
void client_timer_fires(evutil_socket_t fd, short what, void *ctx);
/* Looks at bytes that are here already. */
void client_turn(struct client *client, struct span bytes);

/* ---- client_write.c ---- */
void client_writable(evutil_socket_t fd, short what, void *ctx);
/* Sends what is queued. Never ends the connection itself, since rooms call it: what
 * cannot be sent marks it broken, and it dies in a callback of its own. */
void client_flush(struct client *client);
bool client_is_flushed(const struct client *client);
bool client_listens(const struct client *client);
bool client_has_all(const struct client *client);
bool client_send_reply(struct client *client, struct reply *reply);
bool client_stream_write(struct client *client, struct span bytes);
void client_stream_end(struct client *client, bool whole, bool close);

#endif
