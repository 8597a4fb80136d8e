/* How attempts of a row begin: claimed, and dispatched in the same commit unless there is
 * something to wait for in between; accepted for later; given up. Nothing here decides;
 * it steps the receipt and fills the row. */
#include "gateway/kept.h"
#include "gateway/receipts.h"
#include "gateway/worker.h"

#include "base/text.h"

static uint64_t fresh_token(const struct flow *flow)
{
    uint64_t token = 0;
    for (int i = 0; i < 64 && token == 0; i++)
        worker_ports(flow->worker)->random(&token, sizeof(token));
    gw_assert(token != 0);
    return token;
}

static void fresh_operation_id(const struct flow *flow, char *ret_id)
{
    uint8_t bytes[16];
    worker_ports(flow->worker)->random(bytes, sizeof(bytes));
    memcpy(ret_id, "op_", 3);
    gw_base32(bytes, ret_id + 3);
}

/* One more in the window of attempts, whoever asked for it. */
static void count_attempt(struct flow *flow)
{
    struct retry_budget budget = receipts_budget(&flow->row);
    retry_count(&flow->route->retry, &budget, flow_now_ms(flow));
    flow->row.window_ms = budget.window_ms;
    flow->row.window_attempts = budget.attempts;
    flow->row.retry_ms = 0;
}

static struct receipt_event event_of(const struct flow *flow, enum receipt_event_kind kind)
{
    int64_t now_ms = flow_now_ms(flow);
    return (struct receipt_event){
        .kind = kind, .now_ms = now_ms, .until_ms = now_ms + receipts_lease_ms(flow->route)};
}

/* From here on bytes may leave. */
static enum receipt_verdict dispatch(struct flow *flow, const struct receipt *claimed,
                                     struct receipt *ret_next)
{
    struct receipt_event event = event_of(flow, RECEIPT_EV_DISPATCH);
    event.token = claimed->token;
    flow->lease_ticks = flow_now_ticks(flow) + receipts_lease_ms(flow->route);
    return receipt_step(claimed, &event, ret_next);
}

/* Claim and dispatch in one commit: nothing can be sent before SENT is durable, and
 * one sync less is paid (ADR 0004). */
static enum receipt_verdict claim_and_dispatch(struct flow *flow, enum receipt_event_kind kind,
                                               const struct receipt *cur, struct receipt *ret_next)
{
    struct receipt claimed;
    struct receipt_event event = event_of(flow, kind);
    event.token = fresh_token(flow);
    enum receipt_verdict verdict = receipt_step(cur, &event, &claimed);
    if (verdict != RECEIPT_MOVED)
        return verdict;
    return dispatch(flow, &claimed, ret_next);
}

static void start_attempt(struct flow *flow)
{
    const struct upstream_policy *upstream = flow->route->upstream;
    flow->attempt = (struct attempt_record){
        .number = flow->row.receipt.attempt,
        .token = flow->row.receipt.token,
        .started_ms = flow_now_ms(flow),
        .upstream = upstream == NULL ? SPAN("local")
                                     : arena_print(flow->arena, "%.*s:%u", (int)upstream->host.len,
                                                   upstream->host.ptr, upstream->port),
        .trace_id = flow->trace_id,
        .conf_hash = span_str(flow->conf->hash),
    };
}

/* What a claim says of the request. */
static void describe_request(struct flow *flow)
{
    struct store_row *row = &flow->row;
    row->print = flow->print;
    row->print_mode = flow->route->fingerprint.mode_text;
    row->members = flow->members;
    row->method = flow->head->method;
    row->target = flow->head->path;
    row->labels = flow->labels;
    row->updated_ms = flow_now_ms(flow);
    row->end = END_none;
    row->status = 0;
    row->answer = SPAN("");
    row->answer_kept = false;
    row->request = gw_buf_span(&flow->packed_request);
    row->evidence_until_ms =
        row->request.len == 0 ? 0 : row->updated_ms + flow->route->evidence_keep_ms;
}

/* A row of an absent key, whose first step was made. */
static void make_row(struct flow *flow, const struct receipt *next)
{
    flow->row = (struct store_row){.identity = flow->identity,
                                   .owner = flow->owner,
                                   .scope = flow->scope,
                                   .key = flow->key,
                                   .route = flow->route->name,
                                   .receipt = *next,
                                   .created_ms = flow_now_ms(flow)};
    fresh_operation_id(flow, flow->row.operation_id);
    describe_request(flow);
}

bool receipts_new(struct flow *flow)
{
    const struct receipt absent = {.state = RECEIPT_ABSENT};
    struct receipt next;
    enum receipt_verdict verdict = claim_and_dispatch(flow, RECEIPT_EV_CLAIM, &absent, &next);
    gw_assert(verdict == RECEIPT_MOVED);
    make_row(flow, &next);
    count_attempt(flow);
    start_attempt(flow);
    return flow->attempt.upstream.len > 0;
}

enum receipt_verdict receipts_claim_again(struct flow *flow, uint32_t *ret_expect)
{
    struct receipt next;
    *ret_expect = flow->row.receipt.version;
    enum receipt_verdict verdict =
        claim_and_dispatch(flow, RECEIPT_EV_CLAIM, &flow->row.receipt, &next);
    if (verdict != RECEIPT_MOVED)
        return verdict;
    flow->row.receipt = next;
    flow->row.route = flow->route->name;
    describe_request(flow);
    count_attempt(flow);
    start_attempt(flow);
    return RECEIPT_MOVED;
}

/* ---- claimed, and sent later ---- */

enum receipt_verdict receipts_claim_ahead(struct flow *flow, int64_t wait_ms)
{
    struct receipt next;
    struct receipt_event event = event_of(flow, RECEIPT_EV_CLAIM);
    event.token = fresh_token(flow);
    event.until_ms += wait_ms;
    enum receipt_verdict verdict = receipt_step(&flow->row.receipt, &event, &next);
    if (verdict != RECEIPT_MOVED)
        return verdict;
    flow->row.receipt = next;
    count_attempt(flow);
    return RECEIPT_MOVED;
}

enum receipt_verdict receipts_claim_for_later(struct flow *flow, int64_t wait_ms,
                                              uint32_t *ret_expect)
{
    *ret_expect = flow->row.receipt.version;
    enum receipt_verdict verdict = receipts_claim_ahead(flow, wait_ms);
    if (verdict != RECEIPT_MOVED)
        return verdict;
    flow->row.route = flow->route->name;
    describe_request(flow);
    return RECEIPT_MOVED;
}

enum receipt_verdict receipts_go_on(struct flow *flow, uint32_t *ret_expect)
{
    struct receipt next;
    bool was_claimed = flow->row.receipt.state == RECEIPT_CLAIMED;
    *ret_expect = flow->row.receipt.version;
    enum receipt_verdict verdict =
        was_claimed
            ? dispatch(flow, &flow->row.receipt, &next)
            : claim_and_dispatch(flow,
                                 flow->row.receipt.state == RECEIPT_DEFERRED ? RECEIPT_EV_DUE
                                                                             : RECEIPT_EV_CLAIM,
                                 &flow->row.receipt, &next);
    if (verdict != RECEIPT_MOVED)
        return verdict;
    flow->row.receipt = next;
    flow->row.updated_ms = flow_now_ms(flow);
    if (!was_claimed)
        count_attempt(flow);
    start_attempt(flow);
    return flow->attempt.upstream.len > 0 ? RECEIPT_MOVED : RECEIPT_ILLEGAL;
}

enum receipt_verdict receipts_resend(struct flow *flow, uint32_t *ret_expect)
{
    struct receipt next;
    struct receipt_event event = event_of(flow, RECEIPT_EV_RESEND);
    event.token = fresh_token(flow);
    *ret_expect = flow->row.receipt.version;
    flow->lease_ticks = flow_now_ticks(flow) + receipts_lease_ms(flow->route);
    enum receipt_verdict verdict = receipt_step(&flow->row.receipt, &event, &next);
    if (verdict != RECEIPT_MOVED)
        return verdict;
    flow->row.receipt = next;
    flow->row.updated_ms = flow_now_ms(flow);
    count_attempt(flow);
    start_attempt(flow);
    return flow->attempt.upstream.len > 0 ? RECEIPT_MOVED : RECEIPT_ILLEGAL;
}

enum receipt_verdict receipts_give_back(struct flow *flow, uint32_t *ret_expect)
{
    struct receipt next;
    const struct receipt *cur = &flow->row.receipt;
    int64_t now_ms = flow_now_ms(flow);
    const struct receipt_event event = {.kind = RECEIPT_EV_REFUSED,
                                        .now_ms = now_ms,
                                        .token = cur->token,
                                        .until_ms = now_ms + flow->route->retention_ms};
    *ret_expect = cur->version;
    gw_assert(cur->state == RECEIPT_CLAIMED);
    enum receipt_verdict verdict = receipt_step(cur, &event, &next);
    if (verdict != RECEIPT_MOVED)
        return verdict;
    flow->row.receipt = next;
    flow->row.updated_ms = now_ms;
    flow->row.window_attempts -= flow->row.window_attempts > 0; /* it never began */
    return RECEIPT_MOVED;
}

/* ---- accepted for later ---- */

enum receipt_verdict receipts_promise(struct flow *flow, int64_t due_ms)
{
    struct receipt next;
    const struct receipt_event event = {.kind = RECEIPT_EV_DEFER,
                                        .now_ms = flow_now_ms(flow),
                                        .until_ms = due_ms,
                                        .promises = !flow->route->is_compensation};
    enum receipt_verdict verdict = receipt_step(&flow->row.receipt, &event, &next);
    if (verdict != RECEIPT_MOVED)
        return verdict;
    flow->row.receipt = next;
    flow->row.promised_ms = event.now_ms;
    bool is_kept = flow->route->is_compensation
                       ? kept_pack_bare(flow->arena, worker_flow_bytes_max(flow->worker),
                                        flow->row.method, &flow->row.kept)
                       : kept_pack(flow);
    return is_kept ? RECEIPT_MOVED : RECEIPT_ILLEGAL;
}

bool receipts_new_promise(struct flow *flow)
{
    const struct receipt absent = {.state = RECEIPT_ABSENT};
    make_row(flow, &absent);
    return receipts_promise(flow, flow_now_ms(flow)) == RECEIPT_MOVED;
}

enum receipt_verdict receipts_promise_again(struct flow *flow, uint32_t *ret_expect)
{
    const struct retry_budget budget = receipts_budget(&flow->row);
    int64_t now_ms = flow_now_ms(flow);
    *ret_expect = flow->row.receipt.version;
    flow->row.route = flow->route->name;
    describe_request(flow);
    return receipts_promise(flow, now_ms + retry_ask(&flow->route->retry, &budget, now_ms).wait_ms);
}

enum receipt_verdict receipts_give_up(struct flow *flow, uint32_t *ret_expect)
{
    struct receipt next;
    int64_t now_ms = flow_now_ms(flow);
    const struct receipt_event event = {.kind = RECEIPT_EV_GIVE_UP,
                                        .now_ms = now_ms,
                                        .until_ms = now_ms + flow->route->retention_ms};
    *ret_expect = flow->row.receipt.version;
    enum receipt_verdict verdict = receipt_step(&flow->row.receipt, &event, &next);
    if (verdict != RECEIPT_MOVED)
        return verdict;
    flow->row.receipt = next;
    flow->row.updated_ms = now_ms;
    return RECEIPT_MOVED;
}

int64_t receipts_due_ms(const struct flow *flow)
{
    uint64_t random = 0;
    if (flow->route == NULL)
        return flow_now_ms(flow);
    worker_ports(flow->worker)->random(&random, sizeof(random));
    return flow_now_ms(flow) + backoff_ms(&flow->route->retry.backoff, 0, random, 0);
}

struct retry_budget receipts_budget(const struct store_row *row)
{
    return (struct retry_budget){.window_ms = row->window_ms,
                                 .attempts = row->window_attempts,
                                 .not_before_ms = row->retry_ms,
                                 .written_ms = row->updated_ms};
}

int64_t receipts_first_sent_ms(struct arena *arena, const struct store_row *row)
{
    struct attempt_record *attempts = NULL;
    uint32_t count = 0;
    int64_t first_ms = 0;
    if (attempts_decode(arena, row->attempts, &attempts, &count) != GW_OK)
        count = 0; /* then nobody knows, and nothing is sent again */
    for (uint32_t i = 0; i < count; i++)
        if (attempts[i].sent_ms > 0 && (first_ms == 0 || attempts[i].sent_ms < first_ms))
            first_ms = attempts[i].sent_ms;
    return first_ms;
}
