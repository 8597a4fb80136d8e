/* Room `classify`: facts become an event. It only prepares what the pure rules want
 * to see, and asks them. */
#include "gateway/rooms/classify.h"
#include "gateway/media.h"
#include "gateway/print.h"
#include "gateway/worker.h"

#include "policy/rules.h"

bool classify_parse_answer(struct flow *flow, struct span body, struct json_doc *ret_doc)
{
    const struct outcome_policy *outcome = &flow->route->outcome;
    const struct json_limits limits = {.depth_max = PRINT_JSON_DEPTH_MAX,
                                       .nodes_max = PRINT_JSON_NODES_MAX};
    struct json_fault fault;
    uint32_t count = 0, *order = NULL;
    if (!rules_want_json(outcome->rules, outcome->rule_count) ||
        !json_count(body, &limits, &count, &fault))
        return false;
    struct json_node *nodes = worker_json_nodes(flow->worker, count, &order);
    return nodes != NULL && json_parse(body, &limits, nodes, order, count, ret_doc, &fault);
}

enum flow_next room_classify(struct flow *flow)
{
    const struct upstream_answer *answer = &flow->answer;
    struct answer_view view = {.status = flow->facts.status};
    struct json_doc doc;
    bool answered = flow->facts.end == END_answered;
    gw_implies(answered, answer->head != NULL);
    if (answered) {
        view.fields = answer->head->fields;
        view.field_count = answer->head->field_count;
        view.body_is_whole = answer->body.file < 0;
        view.body = view.body_is_whole ? gw_buf_span(&answer->body.memory) : SPAN("");
        view.json =
            view.body_is_whole && classify_parse_answer(flow, view.body, &doc) ? &doc : NULL;
    }
    flow->result = classify(flow->route, &flow->facts, answered ? &view : NULL);
    flow->event = flow->result.event;
    flow->attempt.end = (uint8_t)flow->facts.end;
    flow->attempt.basis = (uint8_t)flow->result.basis;
    flow->attempt.reason = span_str(flow->result.reason);
    flow->attempt.line = flow->result.line;
    struct board_route *counts = board_route(worker_ports(flow->worker)->board, flow->route);
    if (flow->source != FLOW_FROM_LATE) /* that sending was counted when its caller was answered */
        atomic_fetch_add_explicit(&counts->ends[flow->facts.end], 1, memory_order_relaxed);
    return flow_go(flow, FLOW_ROOM_record);
}
