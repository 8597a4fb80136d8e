/* Room `route`: which promise applies. It finds the route of the target; it never
 * looks at credentials or at the body. */
#include "gateway/flow.h"
#include "gateway/worker.h"

#include "policy/headers.h"
#include "policy/route_path.h"

#define OVERRIDE_BYTES_MAX 16 /* of a method; no guarded route has a longer one */

/* Is our own pseudonym in a Via line (FWD-3)? Then the request came round in a circle. */
static bool has_been_here(const struct flow *flow)
{
    struct span own = flow->conf->via_name;
    const struct http_field *via = NULL;
    for (uint32_t from = 0; (via = http_head_find(flow->head, SPAN("Via"), from)) != NULL;
         from = (uint32_t)(via - flow->head->fields) + 1) {
        struct span rest = via->value;
        while (rest.len > own.len) {
            const char *space = memchr(rest.ptr, ' ', rest.len);
            if (space == NULL)
                break;
            rest = span_of(space + 1, rest.len - (size_t)(space + 1 - rest.ptr));
            bool ends =
                rest.len == own.len ||
                (rest.len > own.len && (rest.ptr[own.len] == ',' || rest.ptr[own.len] == ' '));
            if (ends && span_equal_nocase(span_of(rest.ptr, own.len), own))
                return true;
        }
    }
    return false;
}

/* OPTIONS with Max-Forwards: 0 is a question to this hop (FWD-4). */
static bool ends_here(const struct http_head *head)
{
    const struct http_field *left = http_head_find(head, SPAN("Max-Forwards"), 0);
    return left != NULL && span_equal(left->value, SPAN("0")) &&
           route_method_bit(head->method) == METHOD_OPTIONS;
}

static bool starts_with(struct span text, struct span prefix)
{
    return prefix.len > 0 && text.len >= prefix.len &&
           memcmp(text.ptr, prefix.ptr, prefix.len) == 0;
}

/* Behind a prefix "/../x" is a page outside of it, which may be a guarded operation. */
static bool leaves_prefix(const struct flow *flow, char *work)
{
    struct span path = flow->head->path;
    const char *query = memchr(path.ptr, '?', path.len);
    if (query != NULL)
        path.len = (size_t)(query - path.ptr);
    const struct upstream_policy *upstream = flow->match.route->upstream;
    return upstream != NULL && upstream->path_prefix.len > 0 && path_climbs(path, work);
}

/* Does the field turn this request into a guarded one for an upstream that obeys it? */
static bool overrides_to_guard(struct flow *flow, const struct http_field *field, char *work,
                               size_t work_len)
{
    char method[OVERRIDE_BYTES_MAX];
    struct route_match match;
    if ((header_flags(field->name) & HEADER_OVERRIDE) == 0 || field->value.len > sizeof(method))
        return false;
    for (size_t i = 0; i < field->value.len; i++) {
        char c = field->value.ptr[i];
        method[i] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
    }
    enum route_verdict verdict = route_find(&flow->conf->routes, span_of(method, field->value.len),
                                            flow->head->path, work, work_len, &match);
    return verdict == ROUTE_AMBIGUOUS_PATH ||
           (verdict == ROUTE_FOUND && match.route->mode == ROUTE_ENFORCE);
}

static bool is_guard_missed(struct flow *flow, char *work, size_t work_len)
{
    const struct http_head *head = flow->head;
    if (flow->match.route->mode == ROUTE_ENFORCE)
        return false; /* there the fields are taken away (TGT-8) */
    for (uint32_t i = 0; i < head->field_count; i++)
        if (overrides_to_guard(flow, &head->fields[i], work, work_len))
            return true;
    return false;
}

static enum flow_next found(struct flow *flow, char *work, size_t work_len)
{
    const struct route_policy *route = flow->match.route;
    if (leaves_prefix(flow, work))
        return flow_refuse(flow, PROBLEM_AMBIGUOUS_TARGET,
                           SPAN("The path leads out of the part of the upstream that is served "
                                "here. Nothing was sent. Write the path without dot segments."));
    if (is_guard_missed(flow, work, work_len))
        return flow_refuse(flow, PROBLEM_AMBIGUOUS_TARGET,
                           SPAN("A field of the request names another method, with which this path "
                                "is a protected operation. Nothing was sent. Send it with that "
                                "method itself."));
    flow->route = route;
    struct span key_name = route->mode == ROUTE_ENFORCE && route->key.from == KEY_FROM_HEADER
                               ? route->key.name
                               : SPAN("");
    if (header_connection_is_abused(flow->head->fields, flow->head->field_count, key_name))
        return flow_refuse(flow, PROBLEM_BAD_REQUEST,
                           SPAN("A Connection line names a field that belongs to the message "
                                "itself. Send the field without naming it there."));
    if (route->mode == ROUTE_OBSERVE && route->key.from == KEY_FROM_HEADER &&
        header_connection_is_abused(flow->head->fields, flow->head->field_count, route->key.name))
        flow->would_refuse = PROBLEM_BAD_REQUEST;
    if (route->owner_index != ROUTE_NO_OWNER)
        return flow_go(flow, FLOW_ROOM_identify);
    gw_implies(route->mode == ROUTE_ENFORCE, route->owner_index != ROUTE_NO_OWNER);
    return flow_go(flow, FLOW_ROOM_pass);
}

enum flow_next room_route(struct flow *flow)
{
    const struct http_head *head = flow->head;
    if (worker_is_draining(flow->worker))
        return flow_refuse(flow, PROBLEM_SHUTTING_DOWN, SPAN(""));
    if (has_been_here(flow))
        return flow_refuse(flow, PROBLEM_LOOP, SPAN(""));
    if (span_equal(head->path, SPAN("*")) || ends_here(head) ||
        starts_with(head->path, flow->conf->own_prefix))
        return flow_go(flow, FLOW_ROOM_own);
    size_t work_len = 2 * head->path.len + 2;
    char *work = arena_take(flow->arena, work_len);
    if (work == NULL)
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    switch (
        route_find(&flow->conf->routes, head->method, head->path, work, work_len, &flow->match)) {
    case ROUTE_FOUND:
        return found(flow, work, work_len);
    case ROUTE_NONE:
        return flow_refuse(flow, PROBLEM_NO_ROUTE, SPAN(""));
    case ROUTE_WRONG_METHOD:
        return flow_refuse(flow, PROBLEM_METHOD_NOT_ALLOWED, SPAN(""));
    case ROUTE_AMBIGUOUS_PATH:
        break;
    }
    return flow_refuse(flow, PROBLEM_AMBIGUOUS_TARGET,
                       SPAN("One reading of this path meets a protected route and another does "
                            "not. Nothing was sent. Write the path plainly: no escapes for "
                            "ordinary characters, no dot segments, no empty segments."));
}
