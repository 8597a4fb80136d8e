/* An owner asks to take his operation back: part of the room `own`. The compensation is
 * on record before he is told, and sent by nobody here. It must never begin a second one,
 * nor tell anybody else that the operation exists. */
#include "gateway/compensation.h"
#include "gateway/receipts.h"
#include "gateway/reply_head.h"
#include "gateway/rooms/accepted.h"
#include "gateway/rooms/own_parts.h"
#include "gateway/worker.h"

#include "base/log.h"

/* What the walk knows beside the flow: the operation that is to be taken back. */
struct own_wish {
    struct store_row operation;
    const struct route_policy *route;
    struct compensation made;
    bool is_begun; /* by this walk */
};

enum flow_next compensate_enter(struct flow *flow, struct span operation_id)
{
    if (route_method_bit(flow->head->method) != METHOD_POST) {
        flow->match.allowed_methods = METHOD_POST;
        return flow_refuse(flow, PROBLEM_METHOD_NOT_ALLOWED, SPAN(""));
    }
    flow->op.kind = STORE_FIND;
    flow->op.in.find.operation_id = operation_id;
    flow->op.in.find.load = LOAD_ANSWER;
    flow->stage = OWN_TO_COMPENSATE;
    return flow_submit(flow) ? FLOW_PARK : flow_refuse(flow, PROBLEM_STORE_UNAVAILABLE, SPAN(""));
}

/* ---- what he is told ---- */

static enum flow_next refuse(struct flow *flow, enum compensate_says says)
{
    enum problem problem = PROBLEM_NOT_COMPENSABLE;
    flow->was_looked_up = flow->no_new_key = true;
    if (says == COMPENSATE_NOT_BY)
        problem = PROBLEM_FORBIDDEN;
    else if (says == COMPENSATE_EXPIRED)
        problem = PROBLEM_RESULT_EXPIRED;
    else if (says == COMPENSATE_IN_DOUBT)
        problem = flow->row.receipt.state == RECEIPT_ABANDONED ? PROBLEM_ABANDONED
                                                               : PROBLEM_OUTCOME_UNKNOWN;
    return flow_refuse(flow, problem, span_str(compensate_text(says)));
}

static enum flow_next tell_accepted(struct flow *flow)
{
    struct span prefix = flow->conf->own_prefix;
    const struct reply_accepted reply = {.location = arena_print(flow->arena, "%.*soperations/%s",
                                                                 (int)prefix.len, prefix.ptr,
                                                                 flow->row.operation_id),
                                         .body = accepted_document(flow, &flow->row),
                                         .retry_after_s = accepted_retry_after_s(flow, &flow->row)};
    flow->accepts = true;
    if (reply.body.len == 0 || !reply_accepted(flow, &reply))
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    return flow_go(flow, FLOW_ROOM_reply);
}

/* flow->row is the compensation, by whoever it was begun. */
static enum flow_next tell(struct flow *flow)
{
    flow->was_looked_up = flow->no_new_key = true;
    switch (compensate_again(&flow->row.receipt, flow_now_ms(flow))) {
    case COMPENSATE_ANEW:
    case COMPENSATE_UNDER_WAY:
        return tell_accepted(flow);
    case COMPENSATE_DONE:
        return own_send(flow, 200, accepted_document(flow, &flow->row));
    case COMPENSATE_CANCELLED:
        return flow_refuse(flow, PROBLEM_CANCELLED,
                           SPAN("The compensation of this operation was cancelled before it ran, "
                                "and is not begun again. The operation stands."));
    case COMPENSATE_ABANDONED:
        return flow_refuse(flow, PROBLEM_ABANDONED,
                           SPAN("The compensation was sent, its answer was lost, and it could not "
                                "be found out whether it was carried out. It is not sent again."));
    case COMPENSATE_OVER:
        return flow_refuse(flow, PROBLEM_RESULT_EXPIRED,
                           SPAN("The compensation of this operation is over, and its answer is no "
                                "longer kept. It is not sent again."));
    case COMPENSATE_UNKNOWN:
        break;
    }
    return flow_refuse(
        flow, PROBLEM_OUTCOME_UNKNOWN,
        SPAN("The compensation was sent and its outcome is not known. It is not "
             "sent again. Somebody has to find out whether it was carried out; until "
             "then this answer does not change."));
}

/* ---- on record ---- */

static struct json_node *nodes(void *ctx, uint32_t count, uint32_t **ret_order)
{
    struct flow *flow = ctx;
    return worker_json_nodes(flow->worker, count, ret_order);
}

static struct compensation_wish wish_of(struct flow *flow, const struct own_wish *wish)
{
    return (struct compensation_wish){
        .route = wish->route,
        .operation = &wish->operation,
        .actor = arena_print(flow->arena, "owner:%.*s", (int)flow->owner.len, flow->owner.ptr),
        .note = SPAN("asked by its owner"),
        .now_ms = flow_now_ms(flow),
        .arena = flow->arena,
        .bytes_max = worker_flow_bytes_max(flow->worker),
        .random = worker_ports(flow->worker)->random,
        .nodes = nodes,
        .nodes_ctx = flow};
}

/* Somebody may have read the verdict of a person here and acts on it: from now on it
 * cannot be taken back. */
static bool must_be_marked(const struct store_row *row)
{
    const uint32_t told = RECEIPT_SETTLED | RECEIPT_CONSUMED;
    return (row->receipt.marks & told) == RECEIPT_SETTLED;
}

static enum flow_next submit(struct flow *flow, enum own_stage stage, bool submitted)
{
    flow->stage = (uint8_t)stage;
    return submitted ? FLOW_PARK : flow_refuse(flow, PROBLEM_STORE_UNAVAILABLE, SPAN(""));
}

static enum flow_next mark_operation(struct flow *flow)
{
    uint32_t expect = flow->row.receipt.version;
    flow->row.receipt = receipt_mark(&flow->row.receipt, RECEIPT_CONSUMED);
    flow->row.updated_ms = flow_now_ms(flow);
    return submit(flow, OWN_MARKED, receipts_advance(flow, expect, false, false));
}

static enum flow_next claim(struct flow *flow, struct own_wish *wish)
{
    flow->op.kind = STORE_CLAIM;
    flow->op.in.claim.row = &wish->made.row;
    flow->op.in.claim.load_answer = false;
    flow->op.in.claim.audit = wish->made.audit;
    flow->op.in.claim.audit_count = GW_COUNT(wish->made.audit);
    return submit(flow, OWN_COMPENSATING, flow_submit(flow));
}

/* flow->row is the operation as it stands, with its answer, and its owner asks. */
static enum flow_next judge(struct flow *flow)
{
    struct own_wish *wish = flow->own_wish;
    enum compensate_says says = compensation_judge(flow->arena, wish->route, &flow->row,
                                                   COMPENSATE_BY_OWNER, flow_now_ms(flow));
    if (says != COMPENSATE_MAY)
        return refuse(flow, says);
    wish->operation = flow->row;
    const struct compensation_wish asked = wish_of(flow, wish);
    switch (compensation_make(&asked, &wish->made)) {
    case COMPENSATION_FITS:
        break;
    case COMPENSATION_UNFIT:
        flow->was_looked_up = flow->no_new_key = true;
        return flow_refuse(flow, PROBLEM_NOT_COMPENSABLE, wish->made.fault);
    case COMPENSATION_NO_MEMORY:
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    }
    return must_be_marked(&flow->row) ? mark_operation(flow) : claim(flow, wish);
}

enum flow_next compensate_start(struct flow *flow)
{
    flow->row = flow->op.out.rows[0];
    flow->own_wish = arena_take(flow->arena, sizeof(*flow->own_wish));
    if (flow->own_wish == NULL)
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    if (!own_is_owner(flow, &flow->row)) {
        flow->row = (struct store_row){0}; /* whose it is, is nobody else's to know */
        return flow_refuse(flow, PROBLEM_NOT_FOUND, SPAN(""));
    }
    flow->own_wish->route = route_by_name(&flow->conf->routes, flow->row.route);
    return judge(flow);
}

static enum flow_next find_again(struct flow *flow)
{
    if (++flow->turns >= FLOW_TURNS_MAX)
        return flow_refuse(flow, PROBLEM_STORE_UNAVAILABLE, SPAN(""));
    return compensate_enter(flow, span_str(flow->own_wish->operation.operation_id));
}

enum flow_next compensate_was_marked(struct flow *flow)
{
    return flow->op.out.found == STORE_WON ? claim(flow, flow->own_wish) : find_again(flow);
}

static void log_begun(const struct flow *flow)
{
    const struct gw_log_pair pairs[] = {
        {"flow", {NULL, 0}, (int64_t)flow->id},
        {"operation", span_str(flow->own_wish->operation.operation_id), 0},
        {"compensation", span_str(flow->row.operation_id), 0},
        {"route", flow->own_wish->route->name, 0},
        GW_LOG_END};
    gw_log(GW_LOG_INFO, "operation.compensated", pairs);
}

/* Somebody's compensation is there: of one that did not run another attempt is begun. */
static enum flow_next take_other(struct flow *flow)
{
    struct own_wish *wish = flow->own_wish;
    const struct compensation_wish asked = wish_of(flow, wish);
    const struct store_row there = flow->row;
    if (compensate_again(&there.receipt, asked.now_ms) != COMPENSATE_ANEW)
        return tell(flow);
    if (++flow->turns >= FLOW_TURNS_MAX || !compensation_renew(&asked, &there, &wish->made))
        return flow_refuse(flow, PROBLEM_STORE_UNAVAILABLE, SPAN(""));
    flow->row = wish->made.row;
    flow->op.kind = STORE_ADVANCE;
    flow->op.in.advance.id = there.id;
    flow->op.in.advance.expect_version = there.receipt.version;
    flow->op.in.advance.next = &flow->row;
    flow->op.in.advance.set_answer = true;
    flow->op.in.advance.set_request = false;
    flow->op.in.advance.set_kept = true;
    flow->op.in.advance.audit = &wish->made.audit[0];
    return submit(flow, OWN_COMPENSATING, flow_submit(flow));
}

enum flow_next compensate_was_written(struct flow *flow)
{
    if (flow->op.out.found == STORE_NONE)
        return find_again(flow); /* the free one was forgotten meanwhile */
    flow->row = flow->op.out.rows[0];
    if (flow->op.out.found != STORE_WON)
        return take_other(flow);
    board_count_compensated(worker_ports(flow->worker)->board, flow->own_wish->route,
                            COMPENSATE_BY_OWNER);
    log_begun(flow);
    return tell(flow);
}
