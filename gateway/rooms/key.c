/* Room `key`: read the key, read the body, compute the fingerprint. When it is
 * left, the identity of the operation is known and nothing has been looked up. */
#include "gateway/key_read.h"
#include "gateway/worker.h"

enum key_stage { KEY_HEAD, KEY_BODY };

static enum flow_next refuse_key(struct flow *flow, enum key_verdict verdict,
                                 const struct key_fault *fault)
{
    return flow_refuse(flow, verdict == KEY_MISSING ? PROBLEM_KEY_MISSING : PROBLEM_KEY_INVALID,
                       span_str(fault->text));
}

static enum flow_next body_did_not_come(struct flow *flow)
{
    switch (flow->body_state) {
    case BODY_TOO_LARGE:
        return flow_refuse(flow, PROBLEM_TOO_LARGE, SPAN(""));
    case BODY_TIMEOUT:
        return flow_refuse(flow, PROBLEM_REQUEST_TIMEOUT, SPAN(""));
    case BODY_BAD:
        return flow_refuse(flow, PROBLEM_BAD_REQUEST,
                           SPAN("The framing of the body is broken. Nothing was sent."));
    case BODY_NO_MEMORY:
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    case BODY_NONE:
    case BODY_WHOLE:
    case BODY_GONE:
        break;
    }
    /* The caller left before its request was whole: nothing happened (IN-19). */
    return flow_go(flow, FLOW_ROOM_leave);
}

static enum flow_next look_at_body(struct flow *flow)
{
    const struct route_policy *route = flow->route;
    struct parsed_body body;
    struct key_fault fault = {""};
    struct span detail;
    enum problem problem = print_parse(flow, &body, &detail);
    if (problem != PROBLEM_NONE)
        return flow_refuse(flow, problem, detail);
    if (route->key.from != KEY_FROM_HEADER && route->key.from != KEY_FROM_CONTENT) {
        enum key_verdict verdict = key_read_content(flow, &body, &flow->key, &fault);
        if (verdict != KEY_OK)
            return refuse_key(flow, verdict, &fault);
    }
    problem = key_find_place_of_id(flow, &body, &detail);
    if (problem != PROBLEM_NONE)
        return flow_refuse(flow, problem, detail);
    if (!print_labels(flow, &body) || !print_evidence(flow, &body) || !print_compute(flow, &body))
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    if (route->key.from == KEY_FROM_CONTENT)
        flow->key = key_of_print(flow);
    flow->scope = route_scope(route);
    store_identity(flow->owner, flow->scope, flow->key, &flow->identity);
    return flow_go(flow, route->local != NULL ? FLOW_ROOM_local : FLOW_ROOM_claim);
}

/* No key and no promise; but who pauses a route wants nothing of it to be sent. */
static enum flow_next go_unprotected(struct flow *flow)
{
    struct board *board = worker_ports(flow->worker)->board;
    flow->outcome = OUTCOME_UNPROTECTED;
    if ((board_held_by(board, flow->route) & (HELD_BY_ROUTE | HELD_BY_UPSTREAM)) == 0)
        return flow_go(flow, FLOW_ROOM_pass);
    flow->outcome = OUTCOME_PAUSED;
    flow->retry_after_s = board_retry_seconds(board, flow->route, flow_now_ticks(flow));
    return flow_refuse(flow, PROBLEM_PAUSED, SPAN(""));
}

/* The head alone: what can be refused before the body is asked for (IN-16). */
static enum flow_next look_at_head(struct flow *flow)
{
    const struct route_policy *route = flow->route;
    struct key_fault fault = {""};
    struct span detail = SPAN("");
    if (route->key.from == KEY_FROM_HEADER) {
        enum key_verdict verdict = key_read_header(flow, &route->key, &flow->key, &fault);
        if (key_is_left_out(flow))
            return go_unprotected(flow);
        if (verdict != KEY_OK)
            return refuse_key(flow, verdict, &fault);
    }
    if (flow->head->framing == HTTP1_LENGTH && flow->head->content_length > route->request_body_max)
        return flow_refuse(flow, PROBLEM_TOO_LARGE, SPAN(""));
    enum problem problem = print_check_head(flow, &detail);
    if (problem != PROBLEM_NONE)
        return flow_refuse(flow, problem, detail);
    if (flow->head->expects_other)
        return flow_refuse(flow, PROBLEM_EXPECTATION, SPAN(""));
    flow->stage = KEY_BODY;
    /* A chunked body may become as large as the route allows. */
    if (!flow_hold(flow, flow->head->framing == HTTP1_CHUNKED ? route->request_body_max
                                                              : flow->head->content_length))
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    if (flow->head->framing != HTTP1_NO_BODY) {
        flow->client_ops->read_body(flow->client, route->request_body_max);
        return FLOW_PARK;
    }
    flow->body_state = BODY_WHOLE;
    return look_at_body(flow);
}

enum flow_next room_key(struct flow *flow)
{
    if (flow->stage == KEY_HEAD)
        return look_at_head(flow);
    gw_assert(flow->stage == KEY_BODY);
    return flow->body_state == BODY_WHOLE ? look_at_body(flow) : body_did_not_come(flow);
}
