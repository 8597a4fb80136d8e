/* One call of the operator plane: from the dispatcher through a handler, which may
 * wait for the store once or more, to its answer. Handlers never block and never
 * free; they answer exactly once. Threads: the admin's loop. */
#ifndef RECIBO_GATEWAY_ADMIN_CALL_H
#define RECIBO_GATEWAY_ADMIN_CALL_H

#include "gateway/admin/admin.h"
#include "gateway/admin/caller.h"
#include "gateway/admin/json_writer.h"

struct call;
struct evhttp_request;

enum admin_problem {
#define ADMIN_PROBLEM(name, code, status, retry, title) ADMIN_##name,
#include "gateway/admin/problems.def"
#undef ADMIN_PROBLEM
    ADMIN_PROBLEM_COUNT,
};

/* HEAD is GET without the body. As bits, so that Allow can name several. */
enum endpoint_method {
    ENDPOINT_GET = 1 << 0,
    ENDPOINT_POST = 1 << 1,
    ENDPOINT_DELETE = 1 << 2,
};
enum endpoint_body { ENDPOINT_BODY_NONE, ENDPOINT_BODY_SMALL, ENDPOINT_BODY_ANSWER };

typedef void call_fn(struct call *call);

struct endpoint {
    enum endpoint_method method;
    const char *path;
    uint32_t right; /* enum admin_right, one of these bits is enough; 0: open to all */
    enum endpoint_body body;
    call_fn *handle;
    const char *doc;
};

#define ENDPOINT(method, path, right, body, handler, doc) call_fn handler;
#include "gateway/admin/endpoints.def"
#undef ENDPOINT

enum { ADMIN_OPEN = 0, ADMIN_ANY = ADMIN_READ | ADMIN_EVIDENCE | ADMIN_SETTLE | ADMIN_CONTROL };

struct endpoint_match {
    const struct endpoint *endpoint; /* NULL: none */
    uint32_t methods;      /* enum endpoint_method that the path has, for Allow; 0: no such path */
    struct span parameter; /* as received */
};
/* Finds the endpoint of a path without its query. `method`: enum endpoint_method, or 0. */
void endpoint_find(struct span path, uint32_t method, struct endpoint_match *ret);
const struct endpoint *endpoint_at(uint32_t index); /* in the table's order; NULL: no more */
const char *endpoint_method_name(enum endpoint_method method); /* "GET" */
/* The markdown of docs/admin.md. */
void endpoint_print_reference(struct gw_buf *out);

#define CALL_ARENA_BYTES_MAX   ((size_t)64 << 20)
#define CALL_OUT_BYTES_MAX     ((size_t)64 << 20)
#define CALL_BODY_BYTES_MAX    ((size_t)1 << 20)
#define CALL_NOTE_BYTES_MAX    1000
#define CALL_COMMENT_BYTES_MAX 4000

struct call {
    GW_TAG(call);
#define CALL_TAG 0x43414c4cu
    struct admin *admin;
    const struct admin_options *options; /* of the admin */
    struct conf *conf;                   /* a reference: as it was when the call came */
    struct evhttp_request *request;      /* NULL: it was answered */
    const struct endpoint *endpoint;
    struct caller caller; /* empty: open endpoints */
    bool is_head;
    bool is_answered;
    struct arena *arena;
    struct span path, query, body; /* borrowed from the request */
    struct span parameter;         /* {id} or {name}, decoded */
    int64_t now_ms;                /* of the call's start */
    uint16_t status;               /* of the answer under way */
    struct gw_buf out;             /* the answer's body */
    struct json_writer json;       /* writes into it */
    struct store_op op;
    call_fn *next; /* runs when op is back */
    void *state;   /* a handler's own, in the arena */
};

/* Starts a JSON answer: opens its object. */
void call_begin(struct call *call, uint16_t status);
/* Starts a problem; members may be added before call_end(). */
void call_begin_problem(struct call *call, enum admin_problem problem, const char *fmt, ...)
    GW_PRINTF(3, 4);
/* Closes the object and sends. */
void call_end(struct call *call);
/* A whole problem. */
void call_problem(struct call *call, enum admin_problem problem, const char *fmt, ...)
    GW_PRINTF(3, 4);
/* An answer that is not JSON. */
void call_send(struct call *call, const char *content_type, struct span body);
void call_header(struct call *call, const char *name, const char *value);

/* Hands call->op (kind and in filled) to the store; next() runs when it is back. If
 * the store cannot take it, the call is answered with a problem. */
void call_submit(struct call *call, call_fn *next);
/* The same, but a full queue is left to the caller: false, nothing was submitted. */
bool call_try_submit(struct call *call, call_fn *next) GW_MUST_CHECK;
/* In next(): did the store do it? If not, the call is answered with a problem. */
bool call_store_is_well(struct call *call) GW_MUST_CHECK;

/* A header of the request; empty: none. `ret_count`: how many lines it has. */
struct span call_request_header(const struct call *call, const char *name, uint32_t *ret_count);

/* Has the caller this right? */
bool call_has_right(const struct call *call, enum admin_right right);
/* "token:ana", "token:proxy/anna", "uid:1000". */
struct span call_actor(struct call *call);
/* op_ and 26 characters of the alphabet; else the call is answered with 404. */
bool call_takes_operation_id(struct call *call);
/* The route of that name; NULL: it is not configured (any more). */
const struct route_policy *call_route(const struct call *call, struct span name);

#endif
