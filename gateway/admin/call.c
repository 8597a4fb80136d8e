/* A call from its first check to its answer. Must never answer twice, and never
 * touch a call after it was answered. */
#include "gateway/admin/call.h"

#include "gateway/admin/connections.h"
#include "gateway/admin/plane.h"
#include "gateway/admin/query.h"
#include "gateway/http1/http1.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct admin_problem_row {
    const char *code;
    uint16_t status;
    bool retry;
    const char *title;
};

static const struct admin_problem_row problems[ADMIN_PROBLEM_COUNT] = {
#define ADMIN_PROBLEM(name, code, status, retry, title)                                            \
    [ADMIN_##name] = {code, status, retry, title},
#include "gateway/admin/problems.def"
#undef ADMIN_PROBLEM
};

/* ---- its life ---- */

struct call *call_new(struct admin *admin, struct evhttp_request *request)
{
    struct call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return NULL;
    *call = (struct call){.tag_call = CALL_TAG,
                          .admin = admin,
                          .options = &admin->options,
                          .conf = admin->options.conf,
                          .request = request,
                          .arena = arena_new(CALL_ARENA_BYTES_MAX),
                          .now_ms = admin->options.clock->wall_ms(admin->options.clock)};
    gw_buf_init(&call->out, CALL_OUT_BYTES_MAX);
    call->json.out = &call->out;
    if (call->arena == NULL) {
        free(call);
        return NULL;
    }
    (void)conf_ref(call->conf);
    admin->calls++;
    return call;
}

void call_settle_up(struct call *call)
{
    if (!call->is_answered)
        return;
    gw_assert(call->admin->calls > 0);
    call->admin->calls--;
    arena_free(call->arena);
    gw_buf_fini(&call->out);
    conf_unref(call->conf);
    call->tag_call = 0;
    free(call);
}

static void on_store(struct store_op *op, void *ctx)
{
    struct call *call;
    GW_CAST(call, ctx, call, CALL_TAG);
    gw_assert(op == &call->op);
    gw_assert(call->admin->calls_in_store > 0);
    call->admin->calls_in_store--;
    call->next(call);
    call_settle_up(call);
}

bool call_try_submit(struct call *call, call_fn *next)
{
    gw_assert(!call->is_answered);
    memset(&call->op.out, 0, sizeof(call->op.out));
    call->op.arena = call->arena;
    call->op.inbox = call->admin->inbox;
    call->op.done = on_store;
    call->op.ctx = call;
    call->next = next;
    if (store_submit(call->options->store, &call->op) != GW_OK)
        return false;
    call->admin->calls_in_store++;
    return true;
}

void call_submit(struct call *call, call_fn *next)
{
    if (!call_try_submit(call, next))
        call_problem(call, ADMIN_STORE_UNAVAILABLE,
                     "The queue to the store is full. Nothing was read or changed; ask again.");
}

bool call_store_is_well(struct call *call)
{
    if (call->op.out.status == GW_OK)
        return true;
    call_problem(call, ADMIN_STORE_UNAVAILABLE,
                 "The store could not do it, and nothing was changed. The log says why.");
    return false;
}

/* ---- the answer ---- */

static void add_header(struct call *call, const char *name, const char *value)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(call->request);
    (void)evhttp_add_header(headers, name, value); /* refused only if it could break the head */
}

void call_header(struct call *call, const char *name, const char *value)
{
    add_header(call, name, value);
}

static void add_standing_headers(struct call *call, const char *content_type, size_t body_bytes)
{
    char length[24];
    (void)snprintf(length, sizeof(length), "%zu", body_bytes); /* at most 20 digits */
    add_header(call, "Content-Type", content_type);
    add_header(call, "Content-Length", length);
    add_header(call, "Cache-Control", "no-store");
    add_header(call, "X-Content-Type-Options", "nosniff");
    add_header(call, "Content-Security-Policy", "default-src 'none'; sandbox");
    if (call->is_head)
        add_header(call, "Connection", "close");
}

void call_send(struct call *call, const char *content_type, struct span body)
{
    gw_assert(!call->is_answered);
    struct evbuffer *out = evbuffer_new();
    bool sends_body = !call->is_head;
    if (out == NULL || (sends_body && evbuffer_add(out, body.ptr, body.len) != 0)) {
        call->status = 500;
        body = SPAN("");
        sends_body = false;
    }
    add_standing_headers(call, content_type, body.len);
    connections_answering(call->admin->connections, call->request);
    evhttp_send_reply(call->request, call->status, http1_reason(call->status).ptr,
                      sends_body ? out : NULL);
    if (out != NULL)
        evbuffer_free(out);
    call->request = NULL; /* evhttp frees it */
    call->is_answered = true;
}

void call_begin(struct call *call, uint16_t status)
{
    call->status = status;
    gw_buf_clear(&call->out);
    call->json.has_items = false;
    writer_open(&call->json, NULL, '{');
}

static void begin_problem(struct call *call, enum admin_problem problem, struct span detail)
{
    const struct admin_problem_row *row = &problems[problem];
    struct span base = call->conf->problem_base;
    call_begin(call, row->status);
    writer_text(&call->json, "type",
                arena_print(call->arena, "%.*s%s", (int)base.len, base.ptr, row->code));
    writer_text(&call->json, "title", span_str(row->title));
    writer_number(&call->json, "status", row->status);
    writer_text(&call->json, "detail", detail);
    writer_text(&call->json, "instance", call->path);
    writer_text(&call->json, "code", span_str(row->code));
    writer_bool(&call->json, "retry_may_help", row->retry);
    if (row->status == 503)
        add_header(call, "Retry-After", "1");
    add_header(call, "Content-Language", "en");
}

void call_begin_problem(struct call *call, enum admin_problem problem, const char *fmt, ...)
{
    char detail[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(detail, sizeof(detail), fmt, args); /* a longer text is cut, and may be */
    va_end(args);
    begin_problem(call, problem, span_str(detail));
}

void call_problem(struct call *call, enum admin_problem problem, const char *fmt, ...)
{
    char detail[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(detail, sizeof(detail), fmt, args); /* a longer text is cut, and may be */
    va_end(args);
    begin_problem(call, problem, span_str(detail));
    call_end(call);
}

void call_end(struct call *call)
{
    writer_close(&call->json, '}');
    (void)gw_buf_byte(&call->out, '\n'); /* asked for just below */
    if (call->out.failed) {
        call->status = 500;
        gw_buf_clear(&call->out);
        (void)gw_buf_print(&call->out,
                           "{\"title\":\"The answer is too large\",\"status\":500,"
                           "\"code\":\"internal-error\"}\n"); /* 80 bytes into much more */
    }
    call_send(call, call->status >= 400 ? "application/problem+json" : "application/json",
              gw_buf_span(&call->out));
}

/* ---- the request ---- */

struct span call_request_header(const struct call *call, const char *name, uint32_t *ret_count)
{
    const struct evkeyvalq *headers = evhttp_request_get_input_headers(call->request);
    struct span found = {"", 0};
    *ret_count = 0;
    for (const struct evkeyval *line = headers->tqh_first; line != NULL; line = line->next.tqe_next)
        if (span_equal_nocase(span_str(line->key), span_str(name))) {
            if ((*ret_count)++ == 0)
                found = span_str(line->value);
        }
    return found;
}

bool call_has_right(const struct call *call, enum admin_right right)
{
    return (call->caller.rights & (uint32_t)right) != 0;
}

struct span call_actor(struct call *call)
{
    gw_assert(call->caller.actor.len > 0);
    return call->caller.actor;
}

bool call_takes_operation_id(struct call *call)
{
    if (operation_id_is_sound(call->parameter))
        return true;
    call_problem(call, ADMIN_NOT_FOUND,
                 "An operation id is \"op_\" and 26 characters; this is something else.");
    return false;
}

const struct route_policy *call_route(const struct call *call, struct span name)
{
    return route_by_name(&call->conf->routes, name);
}
