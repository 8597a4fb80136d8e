/* An owner asks to cancel his operation: part of the room `own`. It must never call
 * stopped what may have been sent, nor tell anybody else that the operation exists. */
#include "gateway/receipts.h"
#include "gateway/rooms/accepted.h"
#include "gateway/rooms/own_parts.h"
#include "gateway/worker.h"

enum flow_next cancel_enter(struct flow *flow, struct span operation_id)
{
    if (route_method_bit(flow->head->method) != METHOD_POST) {
        flow->match.allowed_methods = METHOD_POST;
        return flow_refuse(flow, PROBLEM_METHOD_NOT_ALLOWED, SPAN(""));
    }
    flow->op.kind = STORE_FIND;
    flow->op.in.find.operation_id = operation_id;
    flow->op.in.find.load = 0;
    flow->stage = OWN_TO_CANCEL;
    return flow_submit(flow) ? FLOW_PARK : flow_refuse(flow, PROBLEM_STORE_UNAVAILABLE, SPAN(""));
}

/* Too late to stop it; perhaps it can be taken back. */
static enum flow_next tell_executed(struct flow *flow)
{
    const struct route_policy *route = route_by_name(&flow->conf->routes, flow->row.route);
    struct span prefix = flow->conf->own_prefix;
    if (route->compensate.route == NULL || (route->compensate.by & COMPENSATE_BY_OWNER) == 0)
        return flow_refuse(flow, PROBLEM_ALREADY_EXECUTED, SPAN(""));
    flow->compensate_at = arena_print(flow->arena, "%.*soperations/%s/compensate", (int)prefix.len,
                                      prefix.ptr, flow->row.operation_id);
    return flow_refuse(flow, PROBLEM_ALREADY_EXECUTED,
                       arena_print(flow->arena,
                                   "The operation has been carried out, and that cannot be stopped "
                                   "any more. It can be taken back: POST %.*s. The first request, "
                                   "sent again, returns its answer.",
                                   (int)flow->compensate_at.len, flow->compensate_at.ptr));
}

static enum flow_next tell_cancel(struct flow *flow, enum cancel_says says)
{
    bool is_stopped = says == CANCEL_STOPPED;
    flow->was_looked_up = flow->no_new_key = true;
    switch (says) {
    case CANCEL_STOPPED:
    case CANCEL_REQUESTED:
        return own_send(flow, is_stopped ? 200 : 202,
                        cancel_document(flow, &flow->row, cancel_says_word(says)));
    case CANCEL_EXECUTED:
        return tell_executed(flow);
    case CANCEL_ABANDONED:
        return flow_refuse(flow, PROBLEM_ABANDONED, SPAN(""));
    case CANCEL_EXPIRED:
        return flow_refuse(flow, PROBLEM_RESULT_EXPIRED, SPAN(""));
    case CANCEL_UNKNOWN:
    case CANCEL_SAYS_COUNT:
        break;
    }
    return flow_refuse(flow, PROBLEM_OUTCOME_UNKNOWN, SPAN(""));
}

static bool write_cancel(struct flow *flow, const struct cancel_verdict *verdict)
{
    struct audit_entry *audit = arena_take(flow->arena, sizeof(*audit));
    if (audit == NULL)
        return false;
    *audit = (struct audit_entry){
        .at_ms = flow_now_ms(flow),
        .actor = arena_print(flow->arena, "owner:%.*s", (int)flow->owner.len, flow->owner.ptr),
        .action = SPAN("cancel"),
        .subject = span_str(flow->row.operation_id),
        .note = SPAN("asked by its owner"),
        .detail = arena_print(flow->arena, "version=%u %s", flow->row.receipt.version,
                              cancel_says_word(verdict->says))};
    uint32_t expect = flow->row.receipt.version;
    flow->row.receipt = verdict->next;
    flow->row.updated_ms = audit->at_ms;
    flow->op.kind = STORE_ADVANCE;
    flow->op.in.advance.id = flow->row.id;
    flow->op.in.advance.expect_version = expect;
    flow->op.in.advance.next = &flow->row;
    flow->op.in.advance.set_answer = false;
    flow->op.in.advance.set_request = false;
    flow->op.in.advance.set_kept = false;
    flow->op.in.advance.audit = audit;
    flow->stage = OWN_CANCELLED;
    return flow_submit(flow);
}

/* flow->row is as it stands, and its owner asks. */
static enum flow_next judge_cancel(struct flow *flow)
{
    const struct route_policy *route = route_by_name(&flow->conf->routes, flow->row.route);
    int64_t now_ms = flow_now_ms(flow);
    gw_assert(route != NULL);
    const struct cancel_verdict verdict =
        cancel_judge(&flow->row.receipt, now_ms, now_ms + route->retention_ms);
    flow->cancel = verdict.says;
    if (!verdict.changes)
        return tell_cancel(flow, verdict.says);
    if (++flow->turns >= FLOW_TURNS_MAX || !write_cancel(flow, &verdict))
        return flow_refuse(flow, PROBLEM_STORE_UNAVAILABLE, SPAN(""));
    return FLOW_PARK;
}

enum flow_next cancel_start(struct flow *flow)
{
    flow->row = flow->op.out.rows[0];
    if (!own_is_owner(flow, &flow->row)) {
        flow->row = (struct store_row){0}; /* whose it is, is nobody else's to know */
        return flow_refuse(flow, PROBLEM_NOT_FOUND, SPAN(""));
    }
    return judge_cancel(flow);
}

enum flow_next cancel_was_written(struct flow *flow)
{
    if (flow->op.out.found == STORE_NONE)
        return flow_refuse(flow, PROBLEM_NOT_FOUND, SPAN(""));
    flow->row = flow->op.out.rows[0];
    if (flow->op.out.found != STORE_WON)
        return judge_cancel(flow); /* somebody was faster */
    board_wake(worker_ports(flow->worker)->board, &flow->row.identity);
    receipts_log_move(flow, RECEIPT_EV_CANCEL);
    return tell_cancel(flow, flow->cancel);
}
