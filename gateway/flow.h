/* A flow is one walk through the rooms. It may or may not have a client who waits
 * for the reply: a late answer and a recovery have none. Everything about it lives
 * in its arena or is given back in the room `leave`. Threads: its worker's alone. */
#ifndef RECIBO_GATEWAY_FLOW_H
#define RECIBO_GATEWAY_FLOW_H

#include "gateway/board.h"
#include "gateway/splice.h"
#include "gateway/tls/tls.h"
#include "gateway/upstream/upstream.h"
#include "policy/cancel.h"
#include "policy/probe.h"

#include <sys/types.h>

enum flow_room {
#define ROOM(name, doc) FLOW_ROOM_##name,
#include "gateway/rooms.def"
#undef ROOM
    FLOW_ROOM_COUNT,
};

/* GO: into flow->next. PARK: a callback will resume this room. */
enum flow_next { FLOW_GO, FLOW_PARK };
enum flow_source {
    FLOW_FROM_CLIENT,
    FLOW_FROM_LATE,      /* an answer after the caller was told "unknown"; enters at classify */
    FLOW_FROM_RECOVERY,  /* a dead lease; enters at record */
    FLOW_FROM_RETENTION, /* a time is over; enters at record */
    FLOW_FROM_EVIDENCE,  /* request evidence is kept no longer; enters at record */
    FLOW_FROM_PROBE,     /* the time to ask the upstream has come; enters at probe */
    FLOW_FROM_DEFERRED,  /* the time of a deferred operation has come; enters at claim */
};

struct worker;
struct flow;
struct local_values; /* gateway/local_values.h */
struct own_wish;     /* gateway/rooms/own_compensate.c */
struct client;       /* gateway/client.h: the caller's connection; a test's fake */

enum body_state {
    BODY_NONE,
    BODY_WHOLE,
    BODY_TOO_LARGE,
    BODY_TIMEOUT,
    BODY_BAD,
    BODY_GONE,
    BODY_NO_MEMORY
};

/* A reply ready to leave; lives in the flow until the client has taken it. */
struct reply {
    struct gw_buf head;
    struct span body;
    struct body *file_body; /* NULL, or the body is there instead */
    bool close;             /* the connection ends after it */
};

/* What rooms may ask of the caller's connection. */
struct client_ops {
    /* Collect the request body (100 Continue first if it was asked for), at most
     * bytes_max; flow->body, flow->body_state, then flow_resume(). Never from inside. */
    void (*read_body)(struct client *client, uint64_t bytes_max);
    /* Will the connection be closed after the reply (asked by the caller, or unread body)? */
    bool (*must_close)(const struct client *client);
    /* true: gone, in one way or another, before this returned. false: flow_resume() follows. */
    bool (*send)(struct client *client, struct reply *reply);
    /* Is the caller there, and has he not shut his side? One who gave up has. */
    bool (*listens)(const struct client *client);
    /* Has all that was sent arrived at his end, and was not thrown away there? */
    bool (*has_all)(const struct client *client);
    /* Streaming, for pass: see gateway/rooms/pass.c. Body pieces come to
     * flow->stream_events->body; false from write: wait for its writable. */
    void (*stream_body)(struct client *client);
    void (*pause_body)(struct client *client);
    void (*resume_body)(struct client *client);
    bool (*write)(struct client *client, struct span bytes);
    void (*end_stream)(struct client *client, bool whole, bool close);
    /* The flow is over; the connection may read its next request. */
    void (*left)(struct client *client);
};

/* How a pass-through room hears of its client. */
struct flow_stream_events {
    void (*body)(struct flow *flow, struct span bytes);
    void (*body_end)(struct flow *flow);
    void (*writable)(struct flow *flow);
    void (*gone)(struct flow *flow); /* the caller left */
    /* The body will not become whole: the call is broken off, the problem told if it still can. */
    void (*broken)(struct flow *flow, enum problem problem);
};

/* What a probe brings (gateway/rooms/probe.c), for the room record. */
struct probe_finding {
    enum probe_says says;
    struct probe_record record;
    int64_t asked_ms;   /* when the question went out */
    int64_t due_ms;     /* that it was asked for */
    struct span answer; /* packed message to replay; empty: none */
    bool has_answer;
    bool gives_up; /* the question cannot be put: not by itself any more */
    bool moves;    /* it is written as a verdict */
    bool is_over;  /* it is on record, or says nothing new of the row */
};

#define FLOW_TRAIL_LENGTH 16
#define FLOW_TURNS_MAX    8 /* compare-and-set races in one room; more is a store under siege */

struct flow {
    GW_TAG(flow);
#define FLOW_TAG 0x464c4f57u
    uint64_t id; /* unique in this process; on every log line */
    enum flow_source source;
    enum flow_room room;        /* changed by flow_enter() alone */
    enum flow_room next;        /* where FLOW_GO leads */
    uint8_t stage;              /* inside the room; 0 on entry */
    uint8_t turns;              /* of a loop inside the room */
    struct arena *arena;        /* owned */
    struct worker *worker;      /* borrowed; outlives every flow */
    struct flow *newer, *older; /* the worker's list */
    const struct conf *conf;    /* a reference held until leave */
    int64_t started_ticks, started_ms;
    uint8_t trail[FLOW_TRAIL_LENGTH];
    uint32_t trail_count;

    /* the caller and the request */
    struct client *client; /* NULL: nobody waits */
    const struct client_ops *client_ops;
    const struct sockaddr_storage *peer; /* arena; NULL: not known */
    struct tls_peer *certificate;        /* the caller's, verified, counted; NULL: none */
    bool came_over_tls;
    bool client_gone;
    struct http_head *head; /* owned */
    struct gw_buf body;
    uint64_t bytes_held; /* of limits.bodies, until leave */
    enum body_state body_state;
    const struct flow_stream_events *stream_events; /* pass only */
    void *stream;                                   /* pass only: arena */
    struct observer *observer;                      /* pass only: arena; NULL: not observed */
    enum problem would_refuse; /* observed only: what enforce would have said in an earlier room */

    /* what the rooms found out */
    struct route_match match;
    const struct route_policy *route;
    struct span owner, scope, key;
    struct store_identity identity;
    struct fingerprint print;
    struct span members; /* packed */
    struct span labels;  /* packed */
    struct span trace_id;
    struct board_ticket ticket;
    struct board_waiter *waiter;   /* NULL: not waiting */
    struct waiting_state *waiting; /* of all its rounds; arena; NULL: has not waited yet */
    void *wait_timer;              /* worker_timer */

    /* the receipt */
    struct store_op op;   /* at most one store operation at a time */
    struct store_row row; /* as we last saw it, or wish it */
    struct gw_buf packed; /* what the row's spans point into while being written */
    struct gw_buf packed_request;
    enum receipt_event_kind event; /* what record is to persist */
    struct attempt_record attempt;
    int64_t lease_ticks; /* the monotonic end of our own lease */
    bool contradicts;    /* what is being recorded speaks against a verdict */
    bool marks_anew;     /* and is the first to do so */
    bool settles;        /* ... gives an operation that was in doubt its outcome */

    /* the attempt */
    struct upstream_call *call; /* NULL: none under way */
    struct gw_buf call_head;
    struct upstream_facts facts;
    struct upstream_answer answer;
    struct classify_result result;
    struct flow *late;           /* the flow that will take the late answer */
    struct splice splice;        /* where the operation id goes into the body */
    struct probe_finding *probe; /* FLOW_FROM_PROBE only: arena */
    /* Whoever started the flow is told when it has left; NULL: nobody. */
    void (*on_leave)(struct flow *flow, void *ctx);
    void *on_leave_ctx;

    /* trying again, now or later */
    bool may_defer;             /* the route accepts for later, and this caller agrees */
    bool defers;                /* ... and does not want to wait for a first attempt */
    bool rests;                 /* parked until the next attempt; a drain ends it */
    bool accepts;               /* the reply is a 202 that is written already */
    bool goes_on;               /* this walk, from `claim` on, is the next attempt of flow->row */
    enum cancel_says cancel;    /* what an owner's wish to cancel came to */
    struct own_wish *own_wish;  /* ... or to compensate; arena; NULL: there was none */
    struct retry_verdict retry; /* what followed the last attempt */

    /* the local effect */
    struct local_values *local; /* arena; NULL: it was not come to */

    /* the reply */
    enum outcome outcome;
    enum problem problem;
    struct span problem_detail; /* empty: the standing text */
    struct span changed;        /* JSON array text of what a mismatch changed */
    struct span challenge;      /* WWW-Authenticate */
    struct span compensate_at;  /* already-executed: where it can be taken back; empty: nowhere */
    bool replays;               /* the stored answer is the reply */
    bool may_reach;             /* the caller was there when it was sent; of content keys */
    uint8_t looks;              /* whether it has reached him */
    bool only_reads;            /* the claim could not be written: nothing new may run */
    bool was_looked_up;         /* the store knows of this key: safe_new_key may be told */
    bool no_new_key;            /* ... and an attempt may have run */
    uint32_t retry_after_s;     /* 0: none */
    struct reply reply;
};

typedef enum flow_next flow_room_fn(struct flow *flow);
#define ROOM(name, doc) flow_room_fn room_##name;
#include "gateway/rooms.def"
#undef ROOM

/* NULL: the worker's limit of flows is reached, or out of memory. */
struct flow *flow_new(struct worker *worker, enum flow_source source) GW_MUST_CHECK;
void flow_run(struct flow *flow, enum flow_room entry); /* until it parks or has left */
void flow_resume(struct flow *flow); /* from a callback, never from inside a room */
const char *flow_room_name(enum flow_room room);

/* For rooms: the usual ways to go on. */
enum flow_next flow_go(struct flow *flow, enum flow_room next);
/* To the room `reply` with this problem; detail may be empty. */
enum flow_next flow_refuse(struct flow *flow, enum problem problem, struct span detail);
/* Hands flow->op (kind and in filled) to the store; false: the queue is full or the
 * store is closed, nothing was submitted. The room parks and is resumed. */
bool flow_submit(struct flow *flow) GW_MUST_CHECK;
/* Takes as much of limits.bodies; false: there is no room now. */
bool flow_hold(struct flow *flow, uint64_t bytes) GW_MUST_CHECK;
int64_t flow_now_ms(const struct flow *flow);
int64_t flow_now_ticks(const struct flow *flow);

#endif
