/* The upstream port: one attempt at one origin over one connection. It reports
 * facts and never decides, never retries, never resends (RCP-4). The one number
 * nobody else can know is facts.bytes_out: how many bytes of this request the
 * kernel has taken.
 *
 * Two ways to use it: a collected call (the whole request is at hand; the whole
 * answer is wanted) for guarded routes, and a stream for pass-through routes.
 * One struct upstream_port per worker, used on that worker's thread alone. No
 * callback runs from inside the call that started it. */
#ifndef RECIBO_GATEWAY_UPSTREAM_UPSTREAM_H
#define RECIBO_GATEWAY_UPSTREAM_UPSTREAM_H

#include "base/buf.h"
#include "gateway/http1/http1.h"
#include "policy/classify.h"

struct event_base;
struct evdns_base;
struct upstream_port;
struct tls_book; /* gateway/tls/tls.h */

struct upstream_port_options {
    struct event_base *base; /* borrowed */
    uint32_t workers;        /* connections_max is shared out over them */
    uint32_t late_max;       /* lost calls still listened to, of this worker */
    uint64_t answer_body_max;
    uint32_t answer_head_bytes_max, answer_fields_max;
    const char *spool_dir; /* where answers larger than is kept in memory wait, in unlinked files */
    struct gw_clock *clock;
    const struct tls_book *tls; /* borrowed; NULL: https upstreams cannot be verified, and fail */
};
GW_MUST_CHECK enum gw_status upstream_port_new(const struct upstream_port_options *options,
                                               struct upstream_port **ret, struct gw_error *err);
/* Every call must have ended. NULL is fine. */
void upstream_port_free(struct upstream_port *port);

/* A body that is in memory as far as `memory_max` allows and in an unlinked file beyond. */
struct body {
    struct gw_buf memory; /* all of it while file is -1; empty otherwise */
    int file;             /* -1: none */
    uint64_t bytes;
};
void body_init(struct body *body, size_t memory_max);
void body_fini(struct body *body);
/* Goes over to a file in spool_dir when memory_max is reached. */
GW_MUST_CHECK enum gw_status body_add(struct body *body, struct span bytes, const char *spool_dir);

/* ---- collected calls ---- */
struct upstream_request {
    struct span head; /* ready to send, serialized, with its empty line */
    struct span body;
    bool is_head; /* method HEAD: the answer has no body */
};
struct upstream_answer {
    struct http_head *head; /* owned by the receiver of done() or late() */
    struct body body;       /* likewise: body_fini() */
};
struct upstream_call;

/* Exactly once per started call. answer is NULL unless facts->end is END_answered;
 * a head that came before another end is only told by facts->status. If
 * facts->still_listening is set (END_answer_timeout only) late() follows, exactly once. */
typedef void upstream_done_fn(const struct upstream_facts *facts, struct upstream_answer *answer,
                              void *ctx);
struct upstream_call_options {
    const struct upstream_policy *upstream;
    struct upstream_request request; /* borrowed until done() (and late(), if it follows) */
    size_t memory_max;               /* of the answer body; beyond it the spool file */
    upstream_done_fn *done;
    upstream_done_fn *late; /* facts.end tells how the listening ended; its own answer */
    void *ctx;
};
/* Ops, so that a simulator can stand in for the world. */
struct upstream_ops {
    GW_MUST_CHECK enum gw_status (*start)(struct upstream_port *port,
                                          const struct upstream_call_options *options,
                                          struct upstream_call **ret_call);
    /* done() still runs, soon, with END_drained (or, before a byte, with bytes_out 0).
     * While still listening: late() runs with END_drained. */
    void (*cancel)(struct upstream_call *call);
    /* Where late() shall report; set inside done() when still_listening. */
    void (*set_context)(struct upstream_call *call, void *ctx);
    /* "127.0.0.1:9000" of the connection, or the configured name; lives as long as the call. */
    struct span (*address)(const struct upstream_call *call);
    /* Has an answer byte come? For the breaker's overdue count. */
    bool (*has_answer_byte)(const struct upstream_call *call);
};
extern const struct upstream_ops upstream_http_ops;

/* ---- streams ---- */
struct upstream_stream;
struct upstream_stream_events {
    /* The head; the receiver owns it. 1xx never come here. */
    void (*head)(struct http_head *head, void *ctx);
    /* A piece of the answer's content; a view, valid for the call. */
    void (*body)(struct span bytes, void *ctx);
    /* The request's send buffer has room again after upstream_stream_send said so. */
    void (*writable)(void *ctx);
    /* Once, last. END_answered: the answer is whole. */
    void (*end)(const struct upstream_facts *facts, void *ctx);
};
struct upstream_stream_options {
    const struct upstream_policy *upstream;
    struct span head; /* serialized; copied */
    bool is_head;
    bool has_body; /* more comes by upstream_stream_send; else the request is whole */
    bool chunked;  /* the stream frames what is sent as chunks */
    const struct upstream_stream_events *events;
    void *ctx;
};
GW_MUST_CHECK enum gw_status upstream_stream_start(struct upstream_port *port,
                                                   const struct upstream_stream_options *options,
                                                   struct upstream_stream **ret);
/* Takes all of it (bounded: callers stop when it returns false, until writable()). */
bool upstream_stream_send(struct upstream_stream *stream, struct span bytes);
void upstream_stream_finish(struct upstream_stream *stream); /* the request body is whole */
/* Back-pressure of the receiver: no more body() until resumed. */
void upstream_stream_pause(struct upstream_stream *stream);
void upstream_stream_resume(struct upstream_stream *stream);
/* The caller is gone: end() will not run; the connection is closed. */
void upstream_stream_abort(struct upstream_stream *stream);

struct upstream_port_stats {
    uint32_t connections, kept, late_listening, calls;
};
void upstream_port_stats(const struct upstream_port *port, struct upstream_port_stats *ret);

#endif
