/* The checks before a handler, in their order: is the call meant for us, who asks,
 * may he, is the body what it should be. A handler must never see a call that did
 * not pass them. */
#include "gateway/admin/access.h"
#include "gateway/admin/call.h"
#include "gateway/admin/caller.h"
#include "gateway/admin/plane.h"
#include "gateway/admin/query.h"

#include <event2/buffer.h>
#include <event2/http.h>

static bool split_target(struct call *call)
{
    struct span target = span_str(evhttp_request_get_uri(call->request));
    size_t end = 0;
    if (target.len == 0 || target.ptr[0] != '/') {
        call->path = SPAN("/");
        call_problem(call, ADMIN_BAD_REQUEST, "The target must begin with a slash.");
        return false;
    }
    while (end < target.len && target.ptr[end] != '?')
        end++;
    call->path = span_of(target.ptr, end);
    call->query =
        end < target.len ? span_of(target.ptr + end + 1, target.len - end - 1) : span_of("", 0);
    return true;
}

static bool check_where_from(struct call *call)
{
    uint32_t hosts, origins;
    struct span host = call_request_header(call, "Host", &hosts);
    struct span origin = call_request_header(call, "Origin", &origins);
    if (hosts > 1 || (hosts == 1 && !access_host_is_ours(&call->conf->admin, host)) ||
        (hosts == 0 && !call->conf->admin.is_unix)) {
        call_problem(call, ADMIN_MISDIRECTED,
                     "The Host must be a loopback name or address, or admin.address.");
        return false;
    }
    if (origins > 1 || (origins == 1 && !access_origin_is_ours(origin, host))) {
        call_problem(call, ADMIN_FOREIGN_ORIGIN,
                     "The request comes from a page of another origin. Nothing was done.");
        return false;
    }
    return true;
}

static bool check_caller(struct call *call)
{
    enum caller_verdict verdict = caller_find(call, &call->caller);
    switch (verdict) {
    case CALLER_KNOWN:
        return true;
    case CALLER_NONE:
        call_header(call, "WWW-Authenticate", "Bearer realm=\"recibo\"");
        call_problem(call, ADMIN_UNAUTHENTICATED, "Send a token: Authorization: Bearer TOKEN.");
        return false;
    case CALLER_WRONG:
        call_header(call, "WWW-Authenticate", "Bearer realm=\"recibo\", error=\"invalid_token\"");
        call_problem(call, ADMIN_UNAUTHENTICATED,
                     "The token is not one of the configured ones, nor that of a page whose time "
                     "is not over.");
        return false;
    case CALLER_UNNAMED:
        call_problem(call, ADMIN_BAD_REQUEST,
                     "The header of admin.actor_header must name one person, in 1 to %d bytes of "
                     "text.",
                     CALLER_PERSON_BYTES_MAX);
        return false;
    }
    return false;
}

static bool check_right(struct call *call)
{
    if ((call->caller.rights & call->endpoint->right) != 0)
        return true;
    struct gw_buf right;
    gw_buf_init(&right, 64);
    access_print_rights(call->endpoint->right, &right);
    call_problem(call, ADMIN_FORBIDDEN, "This call needs the right \"%.*s\"; %.*s has not.",
                 (int)right.len, right.ptr == NULL ? "" : right.ptr, (int)call->caller.actor.len,
                 call->caller.actor.ptr);
    gw_buf_fini(&right);
    return false;
}

static uint32_t method_of(enum evhttp_cmd_type method)
{
    if (method == EVHTTP_REQ_GET || method == EVHTTP_REQ_HEAD)
        return ENDPOINT_GET;
    if (method == EVHTTP_REQ_POST)
        return ENDPOINT_POST;
    return method == EVHTTP_REQ_DELETE ? ENDPOINT_DELETE : 0;
}

static void refuse_method(struct call *call, uint32_t methods)
{
    struct span allow =
        arena_print(call->arena, "%s%s%s", (methods & ENDPOINT_GET) != 0 ? ", GET, HEAD" : "",
                    (methods & ENDPOINT_POST) != 0 ? ", POST" : "",
                    (methods & ENDPOINT_DELETE) != 0 ? ", DELETE" : "");
    if (allow.len > 2)
        call_header(call, "Allow", allow.ptr + 2);
    call_problem(call, ADMIN_METHOD_NOT_ALLOWED, "The header Allow names the methods.");
}

static bool find_endpoint(struct call *call)
{
    struct endpoint_match match;
    enum evhttp_cmd_type method = evhttp_request_get_command(call->request);
    call->is_head = method == EVHTTP_REQ_HEAD;
    endpoint_find(call->path, method_of(method), &match);
    bool is_open = match.endpoint != NULL && match.endpoint->right == ADMIN_OPEN;
    if (!is_open && !check_caller(call)) /* nobody without a token learns what there is */
        return false;
    call->endpoint = match.endpoint;
    if (match.endpoint == NULL && match.methods != 0) {
        refuse_method(call, match.methods);
        return false;
    }
    if (match.endpoint == NULL) {
        call_problem(call, ADMIN_NOT_FOUND, "There is no such address; docs/admin.md lists them.");
        return false;
    }
    if (!query_decode(call->arena, match.parameter, false, &call->parameter)) {
        call_problem(call, ADMIN_BAD_REQUEST, "The path holds a broken percent escape.");
        return false;
    }
    return is_open || check_right(call);
}

static bool take_body(struct call *call)
{
    struct evbuffer *in = evhttp_request_get_input_buffer(call->request);
    size_t len = evbuffer_get_length(in);
    size_t max =
        call->endpoint->body == ENDPOINT_BODY_ANSWER ? call->admin->body_max : CALL_BODY_BYTES_MAX;
    if (call->endpoint->body == ENDPOINT_BODY_NONE)
        return true; /* whatever came means nothing here */
    uint32_t count;
    struct span type = call_request_header(call, "Content-Type", &count);
    if (count != 1 || !access_is_json(type)) {
        call_header(call, "Accept", "application/json");
        call_problem(call, ADMIN_MEDIA_TYPE, "Send Content-Type: application/json.");
        return false;
    }
    if (len > max) {
        call_problem(call, ADMIN_TOO_LARGE, "The body has %zu bytes, at most %zu are taken.", len,
                     max);
        return false;
    }
    const unsigned char *ptr = len == 0 ? NULL : evbuffer_pullup(in, -1);
    if (len > 0 && ptr == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return false;
    }
    call->body = len == 0 ? SPAN("") : span_of((const char *)ptr, len);
    return true;
}

void call_start(struct admin *admin, struct evhttp_request *request)
{
    struct call *call = call_new(admin, request);
    if (call == NULL) {
        evhttp_send_reply(request, 503, "Service Unavailable", NULL);
        return;
    }
    if (split_target(call)) {
        if (admin->calls > ADMIN_CALLS_MAX)
            call_problem(call, ADMIN_OVERLOADED, "%d calls are under way; ask again.",
                         ADMIN_CALLS_MAX);
        else if (check_where_from(call) && find_endpoint(call) && take_body(call))
            call->endpoint->handle(call);
    }
    call_settle_up(call);
}
