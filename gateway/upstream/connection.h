/* What the files of the upstream port share among themselves; nobody else
 * includes it (its tests may). Four things: the port; an origin (one configured
 * upstream: its kept connections, its slots, who waits for one); a connection
 * (one descriptor, it never opens a second one after a byte has left); an
 * exchange (one request and its answer; the common half of a call and a stream).
 *
 * Lifetimes: connections and exchanges are never freed where they end. They are
 * put on a list of the port, and the port's turn event frees them when no event
 * callback is on the stack. Threads: all of it belongs to the port's thread. */
#ifndef RECIBO_GATEWAY_UPSTREAM_CONNECTION_H
#define RECIBO_GATEWAY_UPSTREAM_CONNECTION_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "gateway/transport.h"
#include "gateway/upstream/upstream.h"

#define UPSTREAM_READ_BYTES        (64 * 1024)
#define UPSTREAM_READS_MAX         4  /* of one connection in one callback: others wait meanwhile */
#define UPSTREAM_INTERIM_MAX       16 /* 1xx before a final answer (UP-2) */
#define UPSTREAM_ORIGINS_MAX       1024
#define UPSTREAM_ADDRESSES_MAX     8  /* of one name; the others are not tried */
#define UPSTREAM_ADDRESS_BYTES     64 /* "[" IPv6 "]:65535" and a NUL */
#define UPSTREAM_NAME_BYTES_MAX    255
#define UPSTREAM_SWEEP_MS          1000  /* how often kept connections are looked at */
#define UPSTREAM_NAME_MS           1000  /* how long the addresses of a name are believed */
#define UPSTREAM_TLS_TELL_MS       10000 /* between two log lines of failed handshakes */
#define UPSTREAM_STREAM_HIGH_BYTES (64 * 1024)
#define UPSTREAM_STREAM_BYTES_MAX  (1024 * 1024) /* a stream's send buffer at the very most */
#define UPSTREAM_DIRECT_BYTES      (8 * 1024)    /* pieces this large are sent without a copy */
#define UPSTREAM_PARTS_MAX         5             /* of one gathered write */

struct connection;
struct exchange;
TAILQ_HEAD(connection_list, connection);
TAILQ_HEAD(exchange_list, exchange);
TAILQ_HEAD(origin_list, origin);

/* ---- resolve.c ---- */
struct address {
    socklen_t len;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } of;
};
struct address_list {
    struct address items[UPSTREAM_ADDRESSES_MAX];
    uint32_t count;
};
struct resolver; /* names by libevent's evdns; one per port */
struct resolve;  /* one question */
enum resolve_state { RESOLVE_FOUND, RESOLVE_FAILED, RESOLVE_PENDING };
/* found is NULL if there is no such name. Never runs inside resolve_start(). */
typedef void resolve_done_fn(const struct address_list *found, void *ctx);
struct resolve_options {
    const char *host; /* NUL-terminated; a name, not an address */
    uint16_t port;
    resolve_done_fn *done;
    void *ctx;
};
/* NULL paths: the system's. NULL: out of memory. */
struct resolver *resolver_new(struct event_base *base, const char *resolv_conf, const char *hosts);
void resolver_free(
    struct resolver *resolver); /* NULL is fine; done() of open questions will not run */
/* *ret_found is set for RESOLVE_FOUND, *ret_resolve for RESOLVE_PENDING. */
GW_MUST_CHECK enum resolve_state resolve_start(struct resolver *resolver,
                                               const struct resolve_options *options,
                                               struct address_list *ret_found,
                                               struct resolve **ret_resolve);
void resolve_cancel(struct resolve *resolve); /* done() will not run */
/* An address in digits, with or without the brackets of IPv6, needs no question. */
bool address_parse(struct span host, uint16_t port, struct address *ret) GW_MUST_CHECK;
void address_print(const struct address *address, char ret_text[UPSTREAM_ADDRESS_BYTES]);

/* ---- port.c ---- */
struct upstream_port {
    GW_TAG(upstream_port);
#define UPSTREAM_PORT_TAG 0x55505254u
    struct upstream_port_options options;
    struct resolver *resolver; /* NULL until a name has to be resolved */
    struct origin_list origins;
    uint32_t origin_count;
    struct event turn;  /* runs what must not run where it was found out */
    struct event sweep; /* closes kept connections that have become old */
    bool turn_is_due, sweep_is_on, service_is_due;
    struct exchange_list turn_list; /* to be told, to be continued, or to be freed */
    struct connection_list dead;    /* to be freed */
    uint32_t connections, kept, late_listening, calls;
    char read_buffer[UPSTREAM_READ_BYTES];
};
void port_schedule_turn(struct upstream_port *port);
/* A slot may have become free: those who wait are served in the next turn. */
void port_schedule_service(struct upstream_port *port);
void port_schedule_sweep(struct upstream_port *port); /* while connections are kept */
static inline int64_t port_now(const struct upstream_port *port)
{
    return port->options.clock->ticks_ms(port->options.clock);
}

/* ---- origin.c ---- */
struct origin {
    GW_TAG(origin);
#define ORIGIN_TAG 0x4f52474eu
    TAILQ_ENTRY(origin) link;
    struct upstream_port *port;
    char *text;        /* the memory of the next three */
    struct span name;  /* of the upstream in the configuration */
    struct span host;  /* NUL follows */
    struct span label; /* "host:port", what an attempt says before it has an address */
    uint16_t port_number;
    uint32_t slots;              /* this worker's share of connections_max */
    uint32_t connections;        /* that hold a slot */
    uint32_t exchanges;          /* not yet freed; they keep the origin */
    struct connection_list kept; /* idle, the one used last at the front */
    struct exchange_list waiting;
    uint32_t waiting_count;
    struct event queue_timer;
    int64_t queue_until_ms;  /* when it runs, while it is pending */
    struct tls_context *tls; /* of an https url; NULL: plain, or nothing to verify it with */
    bool is_tls;
    struct tls_kept tls_kept;
    int64_t tls_told_ms;       /* when a failed handshake was last logged */
    struct address_list found; /* the addresses of host ... */
    int64_t found_until_ms;    /* ... believed until then */
};
/* Finds or makes it. GW_LIMIT: UPSTREAM_ORIGINS_MAX are in use. */
GW_MUST_CHECK enum gw_status origin_get(struct upstream_port *port,
                                        const struct upstream_policy *policy, struct origin **ret);
void origin_free(struct origin *origin);
/* A kept connection that is young and has nothing to read; NULL: none. */
struct connection *origin_take_kept(struct origin *origin, int64_t idle_max_ms);
void origin_close_kept(struct origin *origin, int64_t until_ms); /* those that end by then */
/* false: as many wait already as may. */
GW_MUST_CHECK bool origin_enqueue(struct origin *origin, struct exchange *exchange,
                                  uint32_t waiting_max);
void origin_unqueue(struct exchange *exchange);
void origin_serve(struct origin *origin); /* gives free slots to those who wait */

/* ---- connection.c: writing, timers, keeping, closing ---- */
struct connection {
    GW_TAG(connection);
#define CONNECTION_TAG 0x434f4e4eu
    TAILQ_ENTRY(connection) link; /* in origin->kept or port->dead */
    struct origin *origin;
    struct upstream_port *port;
    struct exchange *exchange; /* NULL while kept */
    struct transport transport;
    size_t begun; /* counted as sent, though not taken yet: part of a record has left */
    bool is_closed, is_kept, holds_slot;
    bool is_shaking;             /* connected, and the TLS handshake is under way */
    bool is_reading, is_writing; /* the events are added */
    bool was_reset;              /* a write failed: the next end of file is none */
    bool may_be_kept;            /* by the head of the answer */
    struct event read_event, write_event, timer;
    int64_t armed_ms; /* when the timer runs; 0: not armed */
    int64_t kept_ms;  /* since when; while kept */
    int64_t kept_until_ms;
    struct resolve *resolve;
    struct address_list addresses;
    uint32_t address_next;
    int64_t address_until_ms;     /* the time of the address being tried is over then */
    enum attempt_end connect_end; /* what the last failed address was worth */
    char address[UPSTREAM_ADDRESS_BYTES];
    struct http1_parser parser;
    struct gw_buf leftover; /* read, not yet fed: the receiver has paused */
};
struct connection *connection_new(struct origin *origin); /* takes a slot; NULL: out of memory */
void connection_attach(struct connection *connection, struct exchange *exchange);
/* Sends what the exchange has. Never runs a callback of the exchange. */
void connection_flush(struct connection *connection);
/* The bytes taken. All the writing of the port goes through here (the byte count). */
size_t connection_send(struct connection *connection, struct iovec *parts, size_t count);
void connection_watch(struct connection *connection); /* sees to it that the timer runs in time */
void connection_wants_read(struct connection *connection, bool wanted);
void connection_wants_write(struct connection *connection, bool wanted);
void connection_keep(struct connection *connection, int64_t idle_max_ms);
bool connection_is_clean(struct connection *connection);
void connection_release_slot(struct connection *connection);
void connection_close(struct connection *connection); /* freed in the turn */
void connection_free(struct connection *connection);
void connection_close_descriptor(struct connection *connection);
void connection_writable(evutil_socket_t fd, short what, void *ctx);

/* ---- opening.c ---- */
/* Names, addresses, connect. A failure reaches the exchange in the next turn. */
void connection_open(struct connection *connection);
void connection_connected(struct connection *connection); /* or not: asks the kernel */
void connection_shake(struct connection *connection);     /* the TLS handshake goes on */
void connection_opening_timer(struct connection *connection, int64_t now_ms);

/* ---- reader.c: bytes of the answer ---- */
void connection_readable(evutil_socket_t fd, short what, void *ctx);
/* Feeds what was kept back while the receiver had paused. Runs callbacks. */
void connection_resume(struct connection *connection);

/* ---- exchange.c ---- */
enum exchange_stage {
    EXCHANGE_WAITING, /* for a slot */
    EXCHANGE_OPENING, /* name, addresses, connect */
    EXCHANGE_OPEN,
    EXCHANGE_LATE, /* the caller was told; the answer is still listened for */
    EXCHANGE_OVER,
};
struct exchange_ops {
    bool stops_at_early_answer; /* no more of the request is sent once the answer has come */
    /* Takes the head of the final answer. false: larger than what may be kept. */
    bool (*head)(struct exchange *exchange, struct http_head *take_head);
    bool (*body)(struct exchange *exchange, struct span bytes);
    void (*drained)(struct exchange *exchange); /* all that was to be sent is sent */
    void (*turn)(struct exchange *exchange);    /* what it asked the turn for */
    /* May go on listening: true if it does; then the exchange is not over. */
    bool (*listens_on)(struct exchange *exchange);
    void (*ended)(struct exchange *exchange, enum attempt_end end);
    void (*free)(struct exchange *exchange);
};
struct exchange {
    GW_TAG(exchange);
#define EXCHANGE_TAG 0x45584348u
    TAILQ_ENTRY(exchange) wait_link; /* origin->waiting */
    TAILQ_ENTRY(exchange) turn_link; /* port->turn_list */
    struct upstream_port *port;
    struct origin *origin;
    struct connection *connection; /* NULL: waits, or is over */
    const struct exchange_ops *ops;
    enum exchange_stage stage;
    bool is_on_turn, has_end, is_dead;
    bool is_head, was_kept, never_reuse;
    bool holds_back;   /* the first write waits for the turn: more is about to come */
    bool out_whole;    /* nothing will be added to what is to be sent */
    bool out_stopped;  /* nothing more will be sent */
    bool answer_begun; /* a byte of what may be the final answer */
    bool is_paused;
    uint8_t interims;
    uint16_t status;
    struct span out[2]; /* still to be sent: the head, the body */
    uint64_t bytes_out, bytes_in;
    int64_t connect_ms, tls_ms, send_ms, first_byte_ms, idle_ms, late_ms, connection_idle_ms;
    int64_t start_ms, open_until_ms, progress_ms, answer_until_ms, late_until_ms;
    enum attempt_end end;
    char address[UPSTREAM_ADDRESS_BYTES]; /* empty until connected to */
};
struct exchange_times {
    int64_t at_ms;
    enum attempt_end end; /* what it ends as if nothing happens until then */
};
void exchange_init(struct exchange *exchange, struct upstream_port *port,
                   const struct exchange_ops *ops, const struct upstream_policy *policy);
/* Finds a connection, opens one, or waits for one. On failure nothing was begun. */
GW_MUST_CHECK enum gw_status exchange_begin(struct exchange *exchange,
                                            const struct upstream_policy *policy);
/* false: no slot is free. */
GW_MUST_CHECK bool exchange_connect(struct exchange *exchange);
void exchange_opened(struct exchange *exchange); /* its connection stands */
bool exchange_has_output(const struct exchange *exchange);
struct exchange_times exchange_deadline(const struct exchange *exchange);
bool exchange_is_written(const struct exchange *exchange);
void exchange_on_turn(struct exchange *exchange); /* its turn() runs soon */
/* Ends it here and now: runs callbacks. */
void exchange_finish(struct exchange *exchange, enum attempt_end end);
/* Ends it now and tells it in the turn: runs no callback. */
void exchange_end_later(struct exchange *exchange, enum attempt_end end);
void exchange_abandon(struct exchange *exchange); /* ends it and tells nobody */
void exchange_facts(const struct exchange *exchange, enum attempt_end end,
                    struct upstream_facts *ret);
void exchange_take_turn(struct exchange *exchange); /* port.c alone */

#endif
