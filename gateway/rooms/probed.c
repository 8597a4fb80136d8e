/* Puts on the row what a probe found: a verdict only where the route says so and the
 * row is still the one that was asked about; else evidence, and where the finding
 * speaks against what was decided meanwhile, a mark. It must never move a row that
 * moved since, nor take an absence for a proof before the quiet time was over. */
#include "gateway/rooms/probed.h"
#include "gateway/receipts.h"
#include "gateway/worker.h"

#include "base/log.h"

#define PROBES_BYTES_MAX (STORE_PROBES_MAX * (size_t)16384)

enum probed_stage { PROBED_ENTER, PROBED_ADVANCED };

/* When the newest sending of the row was over; without evidence its last change. */
static int64_t last_end_ms(struct flow *flow)
{
    struct attempt_record *attempts = NULL;
    uint32_t count = 0;
    int64_t last_ms = 0;
    if (attempts_decode(flow->arena, flow->row.attempts, &attempts, &count) != GW_OK)
        count = 0;
    for (uint32_t i = 0; i < count; i++)
        last_ms = attempts[i].ended_ms > last_ms ? attempts[i].ended_ms : last_ms;
    return last_ms > 0 ? last_ms : flow->row.updated_ms;
}

static bool is_same_attempt(const struct flow *flow)
{
    return flow->row.receipt.token == flow->attempt.token;
}

/* Bytes of a sender that stood still could land after the upstream was asked. */
static bool proves_absence(struct flow *flow)
{
    const struct route_policy *route = flow->route;
    return flow->probe->says == PROBE_SAYS_ABSENT && route->probe.absent_is_proof &&
           flow->probe->asked_ms >= last_end_ms(flow) + route->quiet_ms +
                                        store_skew_ms(worker_ports(flow->worker)->store);
}

/* false: the finding moves nothing. */
static bool find_event(struct flow *flow, enum receipt_event_kind *ret_event)
{
    if (flow->row.receipt.state != RECEIPT_UNKNOWN || !is_same_attempt(flow))
        return false;
    bool ran = flow->probe->says == PROBE_SAYS_EXECUTED;
    *ret_event = ran ? RECEIPT_EV_PROBED_EXECUTED : RECEIPT_EV_PROBED_ABSENT;
    return ran || proves_absence(flow);
}

/* Does it speak against what was decided while the question was under way? */
static bool contradicts(struct flow *flow)
{
    const struct receipt *receipt = &flow->row.receipt;
    if (flow->probe->says == PROBE_SAYS_ABSENT)
        return is_same_attempt(flow) && receipt->state == RECEIPT_COMPLETED &&
               (receipt->marks & RECEIPT_SETTLED) != 0 && proves_absence(flow);
    if (flow->probe->says != PROBE_SAYS_EXECUTED)
        return false;
    /* The key was free, and has been claimed again since: it may have run twice. */
    if (!is_same_attempt(flow))
        return receipt->state != RECEIPT_EXPIRED;
    return receipt->state == RECEIPT_RELEASED || receipt->state == RECEIPT_CANCELLED ||
           receipt->state == RECEIPT_DEFERRED || receipt->state == RECEIPT_ABANDONED;
}

/* ---- what is written ---- */

static bool add_finding(struct flow *flow)
{
    struct probe_record *probes = NULL, all[STORE_PROBES_MAX];
    uint32_t count = 0, kept = 0;
    /* Evidence that cannot be read any more must not keep a finding from being kept. */
    if (probes_decode(flow->arena, flow->row.probes, &probes, &count) != GW_OK)
        count = 0;
    uint32_t from = count >= STORE_PROBES_MAX ? count - STORE_PROBES_MAX + 1 : 0;
    for (uint32_t i = from; i < count; i++)
        all[kept++] = probes[i];
    all[kept++] = flow->probe->record;
    struct gw_buf packed;
    gw_buf_init(&packed, PROBES_BYTES_MAX);
    bool ok = probes_encode(&packed, all, kept) &&
              arena_copy(flow->arena, gw_buf_span(&packed), &flow->row.probes);
    gw_buf_fini(&packed);
    flow->row.probe = flow->probe->record.result;
    flow->row.probe_count += flow->row.probe_count < UINT32_MAX;
    return ok;
}

/* "It did not run" is somebody's word, and it speaks of the last sending. */
static bool mark_basis(struct flow *flow)
{
    struct attempt_record *attempts = NULL;
    uint32_t count = 0;
    struct gw_buf packed;
    if (attempts_decode(flow->arena, flow->row.attempts, &attempts, &count) != GW_OK || count == 0)
        return true; /* the evidence stays as it is */
    attempts[count - 1].basis = BASIS_ASSERTED;
    gw_buf_init(&packed, worker_flow_bytes_max(flow->worker));
    bool ok = attempts_encode(&packed, attempts, count) &&
              arena_copy(flow->arena, gw_buf_span(&packed), &flow->row.attempts);
    gw_buf_fini(&packed);
    return ok;
}

static void plan_next(struct flow *flow)
{
    uint64_t random = 0;
    /* Somebody asked again meanwhile: that stands. */
    if (flow->row.probe_due_ms != flow->probe->due_ms)
        return;
    flow->row.probe_due_ms = 0;
    if (flow->probe->gives_up || flow->route == NULL)
        return;
    worker_ports(flow->worker)->random(&random, sizeof(random));
    flow->row.probe_due_ms = probe_next_ms(flow->route, flow->row.probe_count, flow_now_ms(flow),
                                           last_end_ms(flow), random);
}

static bool write_row(struct flow *flow, uint32_t expect, struct span action)
{
    const struct probe_record *record = &flow->probe->record;
    struct audit_entry *audit = NULL;
    if (action.len > 0) {
        audit = arena_take(flow->arena, sizeof(*audit));
        if (audit == NULL)
            return false;
        *audit = (struct audit_entry){
            .at_ms = flow_now_ms(flow),
            .actor = SPAN("probe"),
            .action = action,
            .subject = span_str(flow->row.operation_id),
            .note = record->reason,
            .detail = arena_print(flow->arena, "result=%s status=%u version=%u by=%.*s",
                                  probe_result_name((enum probe_result)record->result),
                                  record->status, expect, (int)record->by.len, record->by.ptr)};
    }
    flow->op.kind = STORE_ADVANCE;
    flow->op.in.advance.id = flow->row.id;
    flow->op.in.advance.expect_version = expect;
    flow->op.in.advance.next = &flow->row;
    flow->op.in.advance.set_answer = flow->probe->moves && flow->probe->has_answer;
    flow->op.in.advance.set_request = false;
    flow->op.in.advance.audit = audit;
    flow->stage = PROBED_ADVANCED;
    return flow_submit(flow);
}

static bool write_evidence(struct flow *flow)
{
    uint32_t expect = flow->row.receipt.version;
    flow->row.receipt = receipt_mark(&flow->row.receipt, 0);
    flow->row.updated_ms = flow_now_ms(flow); /* tells this writer from another of that moment */
    if (!add_finding(flow))
        return false;
    plan_next(flow);
    return write_row(flow, expect, SPAN(""));
}

static bool write_move(struct flow *flow, enum receipt_event_kind kind)
{
    uint32_t expect = flow->row.receipt.version, marks = flow->row.receipt.marks;
    struct receipt next;
    int64_t now_ms = flow_now_ms(flow);
    /* What was promised runs again at once; everything else is kept for its time. */
    bool runs_again = kind == RECEIPT_EV_PROBED_ABSENT && (marks & RECEIPT_PROMISED) != 0 &&
                      (marks & RECEIPT_CANCEL_REQUESTED) == 0;
    const struct receipt_event event = {
        .kind = kind,
        .now_ms = now_ms,
        .until_ms = runs_again ? now_ms : now_ms + flow->route->retention_ms};
    if (receipt_step(&flow->row.receipt, &event, &next) != RECEIPT_MOVED)
        return false;
    /* What is held by evidence that it ran is not freed because nothing was found. */
    if (next.state == RECEIPT_UNKNOWN)
        return write_evidence(flow);
    flow->event = kind;
    flow->probe->moves = true;
    flow->row.receipt = next;
    flow->row.updated_ms = now_ms;
    flow->row.probe_due_ms = 0;
    if (kind == RECEIPT_EV_PROBED_EXECUTED) {
        flow->row.answer = flow->probe->answer;
        flow->row.answer_kept = flow->probe->has_answer;
    } else if (!mark_basis(flow)) {
        return false;
    }
    return add_finding(flow) && write_row(flow, expect, SPAN("probed"));
}

/* That it ran takes the key back into doubt, where it was free; that it did not is for a
 * person to weigh. */
static bool write_mark(struct flow *flow)
{
    const struct receipt_event event = {.kind = RECEIPT_EV_CONTRADICT, .now_ms = flow_now_ms(flow)};
    uint32_t expect = flow->row.receipt.version;
    struct receipt next = receipt_mark(&flow->row.receipt, RECEIPT_CONTRADICTED);
    if (flow->probe->says == PROBE_SAYS_EXECUTED &&
        receipt_step(&flow->row.receipt, &event, &next) != RECEIPT_MOVED)
        return false;
    const struct doubt_times times = {.now_ms = event.now_ms, .last_end_ms = last_end_ms(flow)};
    flow->contradicts = true;
    flow->marks_anew = (flow->row.receipt.marks & RECEIPT_CONTRADICTED) == 0;
    receipts_take_doubt(&flow->row, &next, flow->route, &times);
    flow->row.updated_ms = event.now_ms;
    return add_finding(flow) && write_row(flow, expect, SPAN("contradiction"));
}

/* ---- the walk ---- */

static enum flow_next leave(struct flow *flow)
{
    flow->probe->is_over = true;
    return flow_go(flow, FLOW_ROOM_leave);
}

/* The row stays due: it is found and asked about again, after a while. */
static enum flow_next failed(struct flow *flow)
{
    receipts_log_failure(flow);
    return flow_go(flow, FLOW_ROOM_leave);
}

static enum flow_next apply(struct flow *flow)
{
    enum receipt_event_kind event = RECEIPT_EV_PROBED_EXECUTED;
    bool written;
    flow->probe->moves = flow->contradicts = false;
    if (++flow->turns > FLOW_TURNS_MAX)
        return failed(flow);
    if (find_event(flow, &event))
        written = write_move(flow, event);
    else if (contradicts(flow))
        written = write_mark(flow);
    else if (flow->row.receipt.state == RECEIPT_UNKNOWN && is_same_attempt(flow))
        written = write_evidence(flow);
    else
        return leave(flow); /* it says nothing new of what is there now */
    return written ? FLOW_PARK : failed(flow);
}

static void count(struct flow *flow)
{
    struct board *board = worker_ports(flow->worker)->board;
    if (flow->contradicts && flow->marks_anew)
        atomic_fetch_add(&board_route(board, flow->route)->contradictions, 1);
    if (flow->probe->moves)
        board_count_settled(board, flow->route, SETTLED_BY_PROBE,
                            flow->event == RECEIPT_EV_PROBED_EXECUTED ? VERDICT_EXECUTED
                                                                      : VERDICT_NOT_EXECUTED);
}

static enum flow_next on_record(struct flow *flow)
{
    const struct probe_record *record = &flow->probe->record;
    count(flow);
    if (flow->probe->moves)
        board_wake(worker_ports(flow->worker)->board, &flow->row.identity);
    const struct gw_log_pair pairs[] = {
        {"flow", {NULL, 0}, (int64_t)flow->id},
        {"operation", span_str(flow->row.operation_id), 0},
        {"route", flow->row.route, 0},
        {"result", span_str(probe_result_name((enum probe_result)record->result)), 0},
        {"status", {NULL, 0}, record->status},
        {"state", span_str(receipt_public_state(flow->row.receipt.state)), 0},
        {"by", record->by, 0},
        GW_LOG_END};
    bool is_news = flow->contradicts || flow->probe->gives_up;
    gw_log(is_news              ? GW_LOG_WARN
           : flow->probe->moves ? GW_LOG_INFO
                                : GW_LOG_DEBUG,
           flow->contradicts ? "receipt.contradicted" : "probe.ended", pairs);
    return leave(flow);
}

enum flow_next probed_record(struct flow *flow)
{
    gw_assert(flow->source == FLOW_FROM_PROBE);
    gw_assert(flow->probe != NULL);
    if (flow->stage == PROBED_ENTER)
        return apply(flow);
    gw_assert(flow->stage == PROBED_ADVANCED);
    if (flow->op.out.status != GW_OK)
        return failed(flow);
    if (flow->op.out.found == STORE_WON)
        return on_record(flow);
    if (flow->op.out.found != STORE_STALE)
        return leave(flow); /* its time was over */
    flow->row = flow->op.out.rows[0];
    return apply(flow);
}
