/* Room `probe`: ask the upstream what became of a call whose answer was lost. It sends
 * a GET as the route says and judges the answer; the room `record` puts on the row what
 * it says. It must never send anything of the caller's, and never decide by silence. */
#include "gateway/call_head.h"
#include "gateway/late.h"
#include "gateway/print.h"
#include "gateway/worker.h"

#define PROBE_TARGET_BYTES_MAX 8192

enum probe_stage { PROBE_ENTER, PROBE_AUDITED, PROBE_CALLED };

/* The question cannot be put; asking again would change nothing. */
static enum flow_next cannot_ask(struct flow *flow, struct span reason)
{
    flow->probe->says = PROBE_SAYS_NOTHING;
    flow->probe->record.result = PROBE_FAILED;
    flow->probe->record.reason = reason;
    flow->probe->gives_up = true;
    return flow_go(flow, FLOW_ROOM_record);
}

/* No whole answer, and it is not the upstream's doing alone: later again. */
static enum flow_next could_not_ask(struct flow *flow, const char *reason)
{
    flow->probe->says = PROBE_SAYS_NOTHING;
    flow->probe->record.result = PROBE_FAILED;
    flow->probe->record.reason = span_str(reason);
    return flow_go(flow, FLOW_ROOM_record);
}

/* ---- the question ---- */

/* A value that was cut when it was kept is the beginning of many. */
static struct span label_value(const struct label *labels, uint32_t count, struct span name)
{
    for (uint32_t i = 0; i < count; i++)
        if (span_equal(labels[i].name, name))
            return labels[i].value.len < LABEL_VALUE_BYTES ? labels[i].value : SPAN("");
    return SPAN("");
}

static void find_values(struct flow *flow, struct span *values)
{
    const struct target_template *target = &flow->route->probe.target;
    struct label *labels = NULL;
    uint32_t count = 0;
    if (labels_decode(flow->arena, flow->row.labels, &labels, &count) != GW_OK)
        count = 0;
    for (uint32_t i = 0; i < target->part_count; i++) {
        switch (target->parts[i].kind) {
        case TEMPLATE_OPERATION_ID:
            values[i] = span_str(flow->row.operation_id);
            break;
        case TEMPLATE_KEY:
            values[i] = flow->row.key;
            break;
        case TEMPLATE_OWNER:
            values[i] = flow->row.owner;
            break;
        case TEMPLATE_LABEL:
            values[i] = label_value(labels, count, target->parts[i].text);
            break;
        case TEMPLATE_TEXT:
        case TEMPLATE_RESPONSE:
            values[i] = SPAN("");
            break;
        }
    }
}

/* Fills flow->probe->record.target; else the reason. */
static bool write_target(struct flow *flow, struct span *ret_target, struct span *ret_reason)
{
    const struct target_template *target = &flow->route->probe.target;
    struct span values[TEMPLATE_PARTS_MAX];
    char *room = arena_take(flow->arena, PROBE_TARGET_BYTES_MAX);
    size_t len = 0;
    uint32_t part = 0;
    *ret_reason = SPAN("out of memory");
    if (room == NULL)
        return false;
    find_values(flow, values);
    switch (template_fill(target, values, room, PROBE_TARGET_BYTES_MAX, &len, &part)) {
    case TEMPLATE_FILLED:
        *ret_target = span_of(room, len);
        flow->probe->record.target = arena_print(flow->arena, "GET %.*s", (int)len, room);
        return flow->probe->record.target.len > 0;
    case TEMPLATE_NO_VALUE:
        *ret_reason = arena_print(
            flow->arena, "not asked: the operation has no %.*s, or one that was cut to %d bytes",
            (int)target->parts[part].text.len, target->parts[part].text.ptr, LABEL_VALUE_BYTES);
        return false;
    case TEMPLATE_BAD_VALUE:
        *ret_reason = SPAN("not asked: a value would make the path another one");
        return false;
    case TEMPLATE_TOO_LONG:
        *ret_reason = SPAN("not asked: the target would be too long");
        return false;
    }
    return false;
}

/* ---- the answer ---- */

/* What callers get from now on; false: out of memory. */
static bool build_answer(struct flow *flow, const struct json_doc *doc, uint32_t node)
{
    const struct probe_policy *policy = &flow->route->probe;
    struct http_field type = {SPAN("Content-Type"), SPAN("application/json")};
    struct stored_message message = {
        .status = policy->answer_status, .body_kept = true, .body = SPAN("")};
    if (policy->answer_status == 0)
        return true;
    if (node != JSON_NONE) {
        const struct json_node *at = &doc->nodes[node];
        uint32_t quote = at->kind == JSON_KIND_STRING ? 1 : 0;
        message.body =
            span_of(doc->text.ptr + at->start - quote, at->end - at->start + (size_t)2 * quote);
        message.fields = &type;
        message.field_count = 1;
    }
    message.body_bytes = message.body.len;
    flow->probe->has_answer = message.body.len <= flow->route->replay_body_max;
    if (!flow->probe->has_answer)
        return true;
    gw_buf_clear(&flow->packed);
    bool ok = message_encode(&flow->packed, &message);
    flow->probe->answer = gw_buf_span(&flow->packed);
    return ok;
}

static bool parse(struct flow *flow, struct span body, struct json_doc *ret_doc)
{
    const struct json_limits limits = {.depth_max = PRINT_JSON_DEPTH_MAX,
                                       .nodes_max = PRINT_JSON_NODES_MAX};
    struct json_fault fault;
    uint32_t count = 0, *order = NULL;
    if (!probe_wants_json(&flow->route->probe) || !json_count(body, &limits, &count, &fault))
        return false;
    struct json_node *nodes = worker_json_nodes(flow->worker, count, &order);
    return nodes != NULL && json_parse(body, &limits, nodes, order, count, ret_doc, &fault);
}

static enum flow_next judge(struct flow *flow)
{
    static const enum probe_result results[] = {[PROBE_SAYS_EXECUTED] = PROBE_EXECUTED,
                                                [PROBE_SAYS_ABSENT] = PROBE_ABSENT,
                                                [PROBE_SAYS_UNCLEAR] = PROBE_UNCLEAR,
                                                [PROBE_SAYS_NOTHING] = PROBE_FAILED};
    const struct upstream_answer *answer = &flow->answer;
    struct answer_view view = {.status = flow->facts.status};
    struct json_doc doc = {0};
    bool answered = flow->facts.end == END_answered;
    if (answered) {
        view.fields = answer->head->fields;
        view.field_count = answer->head->field_count;
        view.body_is_whole = answer->body.file < 0;
        view.body = view.body_is_whole ? gw_buf_span(&answer->body.memory) : SPAN("");
        view.json = view.body_is_whole && parse(flow, view.body, &doc) ? &doc : NULL;
    }
    struct probe_verdict verdict =
        probe_judge(&flow->route->probe, &flow->facts, answered ? &view : NULL);
    flow->probe->says = verdict.says;
    flow->probe->record.result = (uint8_t)results[verdict.says];
    flow->probe->record.reason = span_str(verdict.reason);
    if (verdict.says == PROBE_SAYS_EXECUTED && !build_answer(flow, &doc, verdict.body_node))
        return could_not_ask(flow, "the answer could not be kept: out of memory");
    return flow_go(flow, FLOW_ROOM_record);
}

/* ---- the call ---- */

static void call_done(const struct upstream_facts *facts, struct upstream_answer *answer, void *ctx)
{
    struct flow *flow;
    GW_CAST(flow, ctx, flow, FLOW_TAG);
    gw_assert(flow->room == FLOW_ROOM_probe);
    const struct upstream_ops *upstream = worker_ports(flow->worker)->upstream;
    flow->facts = *facts;
    if (answer != NULL) {
        flow->answer = *answer;
        *answer = (struct upstream_answer){0};
        body_init(&answer->body, 0);
    }
    /* A probe is asked again; nobody listens for its late answer. */
    if (facts->still_listening) {
        upstream->set_context(flow->call, NULL);
        upstream->cancel(flow->call);
    }
    flow->call = NULL;
    flow->probe->record.end = (uint8_t)facts->end;
    flow->probe->record.status = facts->status;
    flow_resume(flow);
}

static enum flow_next ask(struct flow *flow)
{
    struct span target, reason;
    if (!write_target(flow, &target, &reason))
        return cannot_ask(flow, reason);
    if (!call_head_write_probe(flow, target))
        return could_not_ask(flow, "not asked: out of memory");
    size_t kept = (size_t)flow->route->replay_body_max;
    const struct upstream_call_options options = {
        .upstream = flow->route->upstream,
        .request = {.head = gw_buf_span(&flow->call_head), .body = SPAN("")},
        .memory_max = kept > PROBE_BODY_BYTES_MIN ? kept : PROBE_BODY_BYTES_MIN,
        .done = call_done,
        .late = late_arrives,
        .ctx = flow,
    };
    flow->stage = PROBE_CALLED;
    /* Before a byte leaves: what lands after it was not asked about. */
    flow->probe->asked_ms = flow_now_ms(flow);
    return worker_ports(flow->worker)
                       ->upstream->start(worker_upstream(flow->worker), &options, &flow->call) ==
                   GW_OK
               ? FLOW_PARK
               : could_not_ask(flow, "not asked: too many calls wait for this upstream");
}

/* ---- who asks ---- */

/* An operator's request for a probe has the very time that he made the row due for. */
static struct span who_asked(const struct flow *flow)
{
    for (uint32_t i = 0; i < flow->op.out.audit_count; i++) {
        const struct audit_entry *entry = &flow->op.out.audit[i];
        if (span_equal(entry->action, SPAN("probe")) && entry->at_ms == flow->probe->due_ms)
            return entry->actor;
    }
    return SPAN("route");
}

static enum flow_next enter(struct flow *flow)
{
    struct probe_finding *probe = arena_take(flow->arena, sizeof(*probe));
    if (probe == NULL || worker_is_draining(flow->worker))
        return flow_go(flow, FLOW_ROOM_leave);
    flow->probe = probe;
    probe->due_ms = flow->row.probe_due_ms;
    probe->asked_ms = flow_now_ms(flow);
    probe->record =
        (struct probe_record){.at_ms = probe->asked_ms, .by = SPAN("route"), .target = SPAN("")};
    flow->attempt.token = flow->row.receipt.token;
    if (flow->route == NULL || !flow->route->probe.is_on)
        return cannot_ask(flow, SPAN("not asked: the route has no probe any more"));
    flow->op.kind = STORE_AUDIT;
    flow->op.in.find.operation_id = span_str(flow->row.operation_id);
    flow->stage = PROBE_AUDITED;
    return flow_submit(flow) ? FLOW_PARK : flow_go(flow, FLOW_ROOM_leave);
}

enum flow_next room_probe(struct flow *flow)
{
    switch ((enum probe_stage)flow->stage) {
    case PROBE_ENTER:
        return enter(flow);
    case PROBE_AUDITED:
        /* Whoever it was: the row stays due, and is found again. */
        if (flow->op.out.status != GW_OK || worker_is_draining(flow->worker))
            return flow_go(flow, FLOW_ROOM_leave);
        flow->probe->record.by = who_asked(flow);
        return ask(flow);
    case PROBE_CALLED:
        /* A process that stops broke it off; the next life asks again. */
        if (flow->facts.end == END_drained)
            return flow_go(flow, FLOW_ROOM_leave);
        flow->probe->record.at_ms = flow_now_ms(flow);
        return judge(flow);
    }
    gw_assert(flow->stage <= PROBE_CALLED);
    return flow_go(flow, FLOW_ROOM_leave);
}
