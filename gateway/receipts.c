/* Rows for the store. Nothing here decides; it spells out what was decided. */
#include "gateway/receipts.h"
#include "gateway/worker.h"

#include "base/log.h"
#include "base/text.h"

#define LEASE_MARGIN_MS 60000

int64_t receipts_lease_ms(const struct route_policy *route)
{
    const struct upstream_policy *upstream = route->upstream;
    if (upstream == NULL) /* the effect is local: claimed and completed in one commit */
        return LEASE_MARGIN_MS;
    return upstream->connect_ms + upstream->tls_ms + upstream->answer_ms + LEASE_MARGIN_MS;
}

enum receipt_verdict receipts_forget(struct flow *flow, uint32_t *ret_expect)
{
    struct receipt_event event = {
        .kind = RECEIPT_EV_EXPIRE, .now_ms = flow_now_ms(flow), .until_ms = flow_now_ms(flow)};
    struct receipt next = flow->row.receipt;
    enum receipt_verdict verdict = RECEIPT_MOVED;
    *ret_expect = next.version;
    if (next.state != RECEIPT_EXPIRED)
        verdict = receipt_step(&flow->row.receipt, &event, &next);
    event.kind = RECEIPT_EV_FORGET;
    if (verdict == RECEIPT_MOVED && next.state == RECEIPT_EXPIRED) {
        const struct receipt expired = next;
        verdict = receipt_step(&expired, &event, &next);
    }
    if (verdict == RECEIPT_MOVED)
        flow->row.receipt = next;
    return verdict;
}

void receipts_lost_attempt(struct flow *flow)
{
    bool was_sent = flow->row.receipt.state == RECEIPT_SENT;
    flow->attempt = (struct attempt_record){
        .number = flow->row.receipt.attempt,
        .token = flow->row.receipt.token,
        .started_ms = flow->row.updated_ms,
        .sent_ms = was_sent ? flow->row.updated_ms : 0,
        .ended_ms = flow_now_ms(flow),
        .end = END_crashed,
        .basis = was_sent ? BASIS_NONE : BASIS_PROVED,
        .reason = was_sent ? SPAN("found with a dead lease")
                           : SPAN("found with a dead lease, and nothing had been sent"),
        .upstream = SPAN("")};
}

int64_t receipts_probe_due_ms(const struct flow *flow)
{
    bool in_doubt = flow->row.receipt.state == RECEIPT_UNKNOWN;
    return in_doubt && flow->route != NULL ? probe_first_ms(flow->route, flow->attempt.ended_ms)
                                           : 0;
}

void receipts_take_doubt(struct store_row *row, const struct receipt *next,
                         const struct route_policy *route, const struct doubt_times *times)
{
    bool falls_in_doubt = next->state == RECEIPT_UNKNOWN && row->receipt.state != RECEIPT_UNKNOWN;
    row->receipt = *next;
    if (!falls_in_doubt)
        return;
    row->updated_ms = times->now_ms;
    row->probe_due_ms = route == NULL ? 0 : probe_first_ms(route, times->last_end_ms);
}

bool receipts_add_attempt(struct flow *flow)
{
    struct attempt_record *attempts = NULL;
    uint32_t count = 0;
    /* Evidence that cannot be read any more must not keep an outcome from being kept. */
    if (attempts_decode(flow->arena, flow->row.attempts, &attempts, &count) != GW_OK)
        count = 0;
    struct attempt_record all[STORE_ATTEMPTS_MAX];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count && i < STORE_ATTEMPTS_MAX; i++)
        if (attempts[i].token != flow->attempt.token)
            all[kept++] = attempts[i];
    if (kept == STORE_ATTEMPTS_MAX) {
        /* The first one tells how it began; the oldest after it gives way. */
        memmove(&all[1], &all[2], (STORE_ATTEMPTS_MAX - 2) * sizeof(all[0]));
        kept--;
    }
    all[kept++] = flow->attempt;
    struct gw_buf packed;
    gw_buf_init(&packed, worker_flow_bytes_max(flow->worker));
    bool ok = attempts_encode(&packed, all, kept) &&
              arena_copy(flow->arena, gw_buf_span(&packed), &flow->row.attempts);
    gw_buf_fini(&packed);
    return ok;
}

bool receipts_has_attempt(struct flow *flow)
{
    struct attempt_record *attempts = NULL;
    uint32_t count = 0;
    if (attempts_decode(flow->arena, flow->row.attempts, &attempts, &count) != GW_OK)
        count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (attempts[i].token == flow->attempt.token && attempts[i].end == flow->attempt.end &&
            attempts[i].ended_ms == flow->attempt.ended_ms)
            return true;
    return false;
}

bool receipts_is_in_doubt(struct flow *flow)
{
    struct attempt_record *attempts = NULL;
    uint32_t count = 0;
    if (attempts_decode(flow->arena, flow->row.attempts, &attempts, &count) != GW_OK)
        count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (attempts[i].token == flow->attempt.token)
            return attempts[i].basis == BASIS_NONE;
    return false;
}

bool receipts_advance(struct flow *flow, uint32_t expect, bool set_answer, bool set_request)
{
    flow->op.kind = STORE_ADVANCE;
    flow->op.in.advance.id = flow->row.id;
    flow->op.in.advance.expect_version = expect;
    flow->op.in.advance.next = &flow->row;
    flow->op.in.advance.set_answer = set_answer;
    flow->op.in.advance.set_request = set_request;
    flow->op.in.advance.set_kept = flow->row.kept.len > 0; /* rows are read without it */
    flow->op.in.advance.audit = NULL;
    return flow_submit(flow);
}

bool receipts_set_aside(struct flow *flow)
{
    flow->op.kind = STORE_ASIDE;
    flow->op.in.aside.id = flow->row.id;
    flow->op.in.aside.expect_version = flow->row.receipt.version;
    return flow_submit(flow);
}

bool receipts_look_up(struct flow *flow)
{
    flow->op.kind = STORE_LOOKUP;
    flow->op.in.lookup.identity = flow->identity;
    flow->op.in.lookup.owner = flow->owner;
    flow->op.in.lookup.scope = flow->scope;
    flow->op.in.lookup.key = flow->key;
    flow->op.in.lookup.load = LOAD_ANSWER;
    return flow_submit(flow);
}

void receipts_log_move(const struct flow *flow, enum receipt_event_kind event)
{
    const struct gw_log_pair pairs[] = {
        {"flow", {NULL, 0}, (int64_t)flow->id},
        {"operation", span_str(flow->row.operation_id), 0},
        {"route", flow->row.route, 0},
        {"to", span_str(receipt_state_name(flow->row.receipt.state)), 0},
        {"event", span_str(receipt_event_name(event)), 0},
        {"end", span_str(end_name((enum attempt_end)flow->row.end)), 0},
        {"trace", flow->attempt.trace_id, 0},
        GW_LOG_END};
    bool in_doubt = flow->row.receipt.state == RECEIPT_UNKNOWN;
    gw_log(in_doubt ? GW_LOG_WARN : GW_LOG_DEBUG, "receipt.moved", pairs);
}

static void log_attempt(const struct flow *flow, const char *event, struct span state)
{
    const struct gw_log_pair pairs[] = {{"flow", {NULL, 0}, (int64_t)flow->id},
                                        {"operation", span_str(flow->row.operation_id), 0},
                                        {"route", flow->route->name, 0},
                                        {"state", state, 0},
                                        {"attempt", {NULL, 0}, flow->attempt.number},
                                        {"status", {NULL, 0}, flow->attempt.status},
                                        {"trace", flow->attempt.trace_id, 0},
                                        GW_LOG_END};
    gw_log(GW_LOG_WARN, event, pairs);
}

void receipts_log_contradiction(const struct flow *flow)
{
    log_attempt(flow, "receipt.contradicted",
                span_str(receipt_public_state(flow->row.receipt.state)));
}

void receipts_log_forgotten(const struct flow *flow)
{
    log_attempt(flow, "receipt.answer_forgotten", SPAN("none"));
}

void receipts_log_failure(const struct flow *flow)
{
    struct store_stats stats;
    store_stats(worker_ports(flow->worker)->store, &stats);
    const struct gw_log_pair pairs[] = {{"flow", {NULL, 0}, (int64_t)flow->id},
                                        {"operation", span_str(flow->row.operation_id), 0},
                                        {"queue", {NULL, 0}, (int64_t)stats.queue_length},
                                        {"last_error", span_str(stats.last_error.text), 0},
                                        GW_LOG_END};
    gw_log(GW_LOG_ERROR, "store.failed", pairs);
}
