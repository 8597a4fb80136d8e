/* Room `own`: Recibo's own resources for callers, under own_prefix: the state of an
 * operation for its owner, what a problem code means, and what a route promises. It
 * changes nothing but what its owner asks to cancel or to compensate. */
#include "gateway/compensation.h"
#include "gateway/owners/owners.h"
#include "gateway/problem.h"
#include "gateway/reply_head.h"
#include "gateway/rooms/accepted.h"
#include "gateway/rooms/contract.h"
#include "gateway/rooms/own_parts.h"
#include "gateway/worker.h"

#include "base/text.h"

enum flow_next own_send(struct flow *flow, uint16_t status, struct span body)
{
    if (body.len == 0)
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    flow->problem = PROBLEM_NONE;
    /* Written before the room `reply` so that it need not know of documents. */
    if (!reply_document(flow, status, SPAN("application/json"), body))
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    return flow_go(flow, FLOW_ROOM_reply);
}

enum flow_next own_send_document(struct flow *flow, struct span body)
{
    return own_send(flow, 200, body);
}

bool own_is_owner(struct flow *flow, const struct store_row *row)
{
    const struct route_policy *route = route_by_name(&flow->conf->routes, row->route);
    if (route == NULL || route->owner_index == ROUTE_NO_OWNER)
        return false;
    const struct owner_request request = {.head = flow->head,
                                          .peer = (const struct sockaddr *)flow->peer,
                                          .now_ms = flow_now_ms(flow)};
    return owner_identify(&flow->conf->owners[route->owner_index], &request, flow->arena,
                          &flow->owner) == OWNER_OK &&
           span_equal(flow->owner, row->owner);
}

static enum flow_next tell_problem(struct flow *flow, struct span code)
{
    enum problem problem = problem_by_code(code);
    if (problem == PROBLEM_NONE)
        return flow_refuse(flow, PROBLEM_NOT_FOUND, SPAN(""));
    struct span base = flow->conf->problem_base;
    return own_send_document(
        flow, arena_print(flow->arena,
                          "{\"type\":\"%.*s%s\",\"code\":\"%s\",\"title\":\"%s\",\"status\":%u,"
                          "\"retry_may_help\":%s}\n",
                          (int)base.len, base.ptr, problem_code(problem), problem_code(problem),
                          problem_title(problem), problem_status(problem),
                          problem_retry_may_help(problem) ? "true" : "false"));
}

static enum flow_next tell_operation(struct flow *flow)
{
    const struct store_row *row = flow->op.out.rows;
    if (!own_is_owner(flow, row))
        return flow_refuse(flow, PROBLEM_NOT_FOUND, SPAN(""));
    flow->retry_after_s = accepted_retry_after_s(flow, row);
    if (!compensation_may_be(row))
        return own_send_document(flow, accepted_document(flow, row));
    struct store_row other;
    flow->row = *row;
    if (!compensation_identify(flow->arena, row, &other))
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    flow->op.kind = STORE_LOOKUP;
    flow->op.in.lookup.identity = other.identity;
    flow->op.in.lookup.owner = other.owner;
    flow->op.in.lookup.scope = other.scope;
    flow->op.in.lookup.key = other.key;
    flow->op.in.lookup.load = 0;
    flow->stage = OWN_COMPENSATION;
    return flow_submit(flow) ? FLOW_PARK : flow_refuse(flow, PROBLEM_STORE_UNAVAILABLE, SPAN(""));
}

static enum flow_next tell_both(struct flow *flow)
{
    const struct store_row *other = flow->op.out.found == STORE_HELD ? flow->op.out.rows : NULL;
    const struct store_row row = flow->row;
    flow->row = (struct store_row){0}; /* the answer is a document, and names no operation */
    return own_send_document(flow, compensated_document(flow, &row, other));
}

static bool take_prefix(struct span *path, struct span prefix)
{
    if (path->len < prefix.len || memcmp(path->ptr, prefix.ptr, prefix.len) != 0)
        return false;
    *path = span_of(path->ptr + prefix.len, path->len - prefix.len);
    return true;
}

/* operations/ID/WORD with this word. */
static bool asks_to(struct span path, struct span word)
{
    return take_prefix(&path, SPAN("operations/")) && path.len > OPERATION_ID_BYTES + 1 &&
           path.ptr[OPERATION_ID_BYTES] == '/' &&
           span_equal(span_of(path.ptr + OPERATION_ID_BYTES + 1, path.len - OPERATION_ID_BYTES - 1),
                      word);
}

static enum flow_next enter(struct flow *flow)
{
    struct span path = flow->head->path;
    if (route_method_bit(flow->head->method) == METHOD_OPTIONS) {
        /* OPTIONS *, or with Max-Forwards: 0, is a question to this hop (TGT-3, FWD-4). */
        flow->match.allowed_methods = METHOD_GET | METHOD_HEAD | METHOD_POST | METHOD_PUT |
                                      METHOD_PATCH | METHOD_DELETE | METHOD_OPTIONS;
        return reply_document(flow, 204, SPAN(""), SPAN(""))
                   ? flow_go(flow, FLOW_ROOM_reply)
                   : flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    }
    const char *query = memchr(path.ptr, '?', path.len);
    if (query != NULL)
        path.len = (size_t)(query - path.ptr);
    bool ours = take_prefix(&path, flow->conf->own_prefix);
    gw_assert(ours);
    if (asks_to(path, SPAN("cancel")))
        return cancel_enter(flow,
                            span_of(path.ptr + sizeof("operations/") - 1, OPERATION_ID_BYTES));
    if (asks_to(path, SPAN("compensate")))
        return compensate_enter(flow,
                                span_of(path.ptr + sizeof("operations/") - 1, OPERATION_ID_BYTES));
    if ((route_method_bit(flow->head->method) & (METHOD_GET | METHOD_HEAD)) == 0) {
        flow->match.allowed_methods = METHOD_GET | METHOD_HEAD;
        return flow_refuse(flow, PROBLEM_METHOD_NOT_ALLOWED, SPAN(""));
    }
    if (span_equal(path, SPAN("contract")))
        return own_send_document(flow, contract_document(flow));
    if (take_prefix(&path, SPAN("problems/")))
        return tell_problem(flow, path);
    if (!take_prefix(&path, SPAN("operations/")) || path.len != OPERATION_ID_BYTES)
        return flow_refuse(flow, PROBLEM_NOT_FOUND, SPAN(""));
    flow->op.kind = STORE_FIND;
    flow->op.in.find.operation_id = path;
    flow->op.in.find.load = 0;
    flow->stage = OWN_FOUND;
    return flow_submit(flow) ? FLOW_PARK : flow_refuse(flow, PROBLEM_STORE_UNAVAILABLE, SPAN(""));
}

enum flow_next room_own(struct flow *flow)
{
    enum own_stage stage = (enum own_stage)flow->stage;
    if (stage != OWN_ENTER && flow->op.out.status != GW_OK)
        return flow_refuse(flow, PROBLEM_STORE_UNAVAILABLE, SPAN(""));
    bool is_there = flow->op.out.found == STORE_HELD;
    switch (stage) {
    case OWN_ENTER:
        return enter(flow);
    case OWN_FOUND:
        return is_there ? tell_operation(flow) : flow_refuse(flow, PROBLEM_NOT_FOUND, SPAN(""));
    case OWN_TO_CANCEL:
        return is_there ? cancel_start(flow) : flow_refuse(flow, PROBLEM_NOT_FOUND, SPAN(""));
    case OWN_CANCELLED:
        return cancel_was_written(flow);
    case OWN_COMPENSATION:
        return tell_both(flow);
    case OWN_TO_COMPENSATE:
        return is_there ? compensate_start(flow) : flow_refuse(flow, PROBLEM_NOT_FOUND, SPAN(""));
    case OWN_MARKED:
        return compensate_was_marked(flow);
    case OWN_COMPENSATING:
        return compensate_was_written(flow);
    }
    gw_assert(stage <= OWN_COMPENSATING);
    return flow_refuse(flow, PROBLEM_INTERNAL, SPAN(""));
}
