/* Room `local`: the effect of the route is a row in Recibo's own database. One commit
 * holds the receipt, the row and the answer, so that there is never a doubt. A key that
 * somebody has is left to the room `claim`, which answers from the receipt. Nothing of
 * an effect that was refused stays behind, and its key is free. */
#include "gateway/local_values.h"
#include "gateway/receipts.h"
#include "gateway/worker.h"

#include "base/log.h"

enum local_stage {
    LOCAL_ENTER,
    LOCAL_RUN,       /* the effect came back */
    LOCAL_LOOKED,    /* nothing could be run: what is on record came back */
    LOCAL_FORGOTTEN, /* a row whose time is over was removed */
};

static enum admit_gate gate_of(struct flow *flow)
{
    if (flow->ticket.held)
        return GATE_OPEN;
    return board_enter(worker_ports(flow->worker)->board, flow->route, flow->owner,
                       flow_now_ticks(flow), &flow->ticket);
}

static void give_back(struct flow *flow, enum board_end end)
{
    board_leave(worker_ports(flow->worker)->board, flow->route, flow->owner, end,
                flow_now_ticks(flow), &flow->ticket);
}

/* Nothing ran, and nothing is on record. */
static enum flow_next refuse(struct flow *flow, enum problem problem, struct span detail)
{
    give_back(flow, BOARD_NOT_RUN);
    flow->was_looked_up = true;
    flow->outcome = OUTCOME_RELEASED;
    return flow_refuse(flow, problem, detail);
}

static enum flow_next store_failed(struct flow *flow)
{
    receipts_log_failure(flow);
    give_back(flow, BOARD_NOT_RUN);
    flow->no_new_key = flow->row.id != 0;
    flow->was_looked_up = flow->row.id != 0;
    return flow_refuse(flow, PROBLEM_STORE_UNAVAILABLE, SPAN(""));
}

/* To whoever answers from receipts. */
static enum flow_next leave_to_claim(struct flow *flow)
{
    flow->was_looked_up = true;
    return flow_go(flow, FLOW_ROOM_claim);
}

static enum flow_next look(struct flow *flow)
{
    flow->stage = LOCAL_LOOKED;
    return receipts_look_up(flow) ? FLOW_PARK : store_failed(flow);
}

/* flow->row, as a claim has made it, becomes what it will be once the effect is there. */
static bool complete(struct flow *flow)
{
    const struct receipt sent = flow->row.receipt;
    int64_t now_ms = flow_now_ms(flow);
    const struct receipt_event event = {.kind = RECEIPT_EV_ANSWERED,
                                        .now_ms = now_ms,
                                        .token = sent.token,
                                        .until_ms = now_ms + flow->route->retention_ms,
                                        .none_was_told = true};
    enum receipt_verdict verdict = receipt_step(&sent, &event, &flow->row.receipt);
    gw_assert(verdict == RECEIPT_MOVED);
    gw_assert(flow->row.receipt.state == RECEIPT_COMPLETED);
    if (flow->route->key.from == KEY_FROM_CONTENT) /* as in the room record */
        flow->row.receipt.marks |= RECEIPT_CONSUMED;
    flow->row.end = flow->attempt.end = END_answered;
    flow->row.status = flow->attempt.status = flow->route->local->status;
    flow->row.request = SPAN(""); /* there will be no doubt that it could throw light on */
    flow->row.evidence_until_ms = 0;
    flow->attempt.ended_ms = now_ms;
    flow->attempt.reason = SPAN("the effect was committed with its receipt");
    flow->attempt.line = flow->route->local->line;
    local_values_set_id(flow->local, span_str(flow->row.operation_id));
    return receipts_add_attempt(flow);
}

static enum flow_next run(struct flow *flow, int64_t id, uint32_t expect)
{
    if (!complete(flow))
        return store_failed(flow);
    flow->op.kind = STORE_LOCAL;
    flow->op.in.local.row = &flow->row;
    flow->op.in.local.id = id;
    flow->op.in.local.expect_version = expect;
    flow->op.in.local.effect = flow->route->local->index;
    flow->op.in.local.values = flow->local->values;
    flow->op.in.local.is_slow = false;
    flow->stage = LOCAL_RUN;
    return flow_submit(flow) ? FLOW_PARK : store_failed(flow);
}

static enum flow_next ask(struct flow *flow)
{
    if (++flow->turns >= FLOW_TURNS_MAX)
        return leave_to_claim(flow); /* others were faster again and again */
    if (flow->local->problem != PROBLEM_NONE || gate_of(flow) != GATE_OPEN)
        return look(flow); /* repeats are answered all the same */
    return receipts_new(flow) ? run(flow, 0, 0) : store_failed(flow);
}

static enum flow_next enter(struct flow *flow)
{
    flow->local = arena_take(flow->arena, sizeof(*flow->local));
    if (flow->local == NULL)
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    local_values_read(flow, flow->local);
    return ask(flow);
}

/* ---- what became of it ---- */

struct refusal {
    const char *word; /* in the log */
    enum problem problem;
    const char *detail;
};

static const struct refusal *refusal_of(enum effect_refusal refusal)
{
    static const struct refusal refusals[EFFECT_REFUSAL_COUNT] = {
        [EFFECT_CHECK] = {"check", PROBLEM_CONTENT_REFUSED,
                          "A value in the request breaks a rule of the receiver (a check). Nothing "
                          "was kept, and the key is not used up. Send mended content."},
        [EFFECT_NOT_NULL] = {"not_null", PROBLEM_CONTENT_REFUSED,
                             "A value that the receiver needs is not there. Nothing was kept, and "
                             "the key is not used up. Send mended content."},
        [EFFECT_UNIQUE] = {"unique", PROBLEM_CONTENT_REFUSED,
                           "A value in the request must be unique, and is there already. Nothing "
                           "was kept, and the key is not used up."},
        [EFFECT_FOREIGN_KEY] = {"foreign_key", PROBLEM_CONTENT_REFUSED,
                                "The request refers to something that is not there, or takes away "
                                "what others refer to. Nothing was kept, and the key is not used "
                                "up."},
        [EFFECT_CONSTRAINT] = {"constraint", PROBLEM_CONTENT_REFUSED,
                               "The request breaks a rule of the receiver. Nothing was kept, and "
                               "the key is not used up. Send mended content."},
        [EFFECT_NO_ROW] = {"no_row", PROBLEM_NOTHING_FOUND, NULL},
        [EFFECT_MANY_ROWS] = {"many_rows", PROBLEM_EFFECT_FAILED, NULL},
        [EFFECT_UNFIT] = {"unfit", PROBLEM_EFFECT_FAILED, NULL},
        [EFFECT_FAILED] = {"failed", PROBLEM_EFFECT_FAILED, NULL},
    };
    gw_assert(refusal > EFFECT_DONE && refusal < EFFECT_REFUSAL_COUNT);
    return &refusals[refusal];
}

static enum flow_next refused(struct flow *flow)
{
    const struct refusal *refusal = refusal_of(flow->op.out.refusal);
    const struct gw_log_pair pairs[] = {{"flow", {NULL, 0}, (int64_t)flow->id},
                                        {"route", flow->route->name, 0},
                                        {"why", span_str(refusal->word), 0},
                                        {"reason", flow->op.out.reason, 0},
                                        GW_LOG_END};
    bool is_ours = refusal->problem == PROBLEM_EFFECT_FAILED;
    gw_log(is_ours ? GW_LOG_WARN : GW_LOG_INFO, "effect.refused", pairs);
    flow->row = (struct store_row){0};
    return refuse(flow, refusal->problem,
                  refusal->detail == NULL ? SPAN("") : span_str(refusal->detail));
}

static enum flow_next done(struct flow *flow)
{
    struct board *board = worker_ports(flow->worker)->board;
    flow->row = flow->op.out.rows[0];
    give_back(flow, BOARD_KNOWN);
    atomic_fetch_add(&board_route(board, flow->route)->ends[END_answered], 1);
    board_wake(board, &flow->identity);
    receipts_log_move(flow, RECEIPT_EV_ANSWERED);
    flow->was_looked_up = true;
    flow->outcome = OUTCOME_LOCAL;
    flow->replays = true;
    return flow_go(flow, FLOW_ROOM_reply);
}

/* What comes after the time of a row is a new operation with an id of its own. */
static enum flow_next forget_first(struct flow *flow)
{
    uint32_t expect = 0;
    if (receipts_forget(flow, &expect) != RECEIPT_MOVED)
        return store_failed(flow);
    flow->stage = LOCAL_FORGOTTEN;
    return receipts_advance(flow, expect, true, true) ? FLOW_PARK : store_failed(flow);
}

static enum flow_next set_aside_first(struct flow *flow)
{
    flow->stage = LOCAL_FORGOTTEN;
    return receipts_set_aside(flow) ? FLOW_PARK : store_failed(flow);
}

static enum flow_next run_again(struct flow *flow)
{
    uint32_t expect = 0;
    int64_t id = flow->row.id;
    if (receipts_claim_again(flow, &expect) != RECEIPT_MOVED)
        return store_failed(flow);
    return run(flow, id, expect);
}

/* Of flow->row, which has the key: may it be run here? All else is the room claim's to say. */
static enum admit_verdict judge(struct flow *flow)
{
    const struct store_row *row = &flow->row;
    const struct admit_facts facts = {
        .seen = &row->receipt,
        .print = &flow->print,
        .seen_print = &row->print,
        .same_mode = span_equal(row->print_mode, flow->route->fingerprint.mode_text),
        .lease_is_dead = row->lease_is_dead,
        .answer_kept = row->answer_kept,
        .updated_ms = row->updated_ms,
        .gate = gate_of(flow),
        .now_ms = flow_now_ms(flow)};
    return admit(flow->route, &facts);
}

/* flow->row has the key. */
static enum flow_next held(struct flow *flow)
{
    enum admit_verdict verdict = judge(flow);
    bool runs = verdict == ADMIT_RENEW || verdict == ADMIT_NEXT || verdict == ADMIT_RERUN;
    if (!runs || ++flow->turns >= FLOW_TURNS_MAX)
        return leave_to_claim(flow);
    if (flow->only_reads)
        return store_failed(flow);
    if (flow->local->problem != PROBLEM_NONE)
        return refuse(flow, flow->local->problem, flow->local->detail);
    if (verdict == ADMIT_NEXT)
        return set_aside_first(flow);
    return verdict == ADMIT_RENEW ? forget_first(flow) : run_again(flow);
}

static enum flow_next came_back(struct flow *flow)
{
    enum gw_status status = flow->op.out.status;
    if (status == GW_LIMIT) {
        receipts_log_failure(flow);
        flow->row = (struct store_row){0};
        return refuse(flow, PROBLEM_EFFECT_TOO_SLOW, SPAN(""));
    }
    if (status != GW_OK) {
        /* A store that cannot be written may still be read: repeats get their answers. */
        receipts_log_failure(flow);
        flow->row = (struct store_row){0};
        flow->only_reads = true;
        return look(flow);
    }
    switch (flow->op.out.found) {
    case STORE_WON:
        return done(flow);
    case STORE_REFUSED:
        return refused(flow);
    case STORE_HELD:
    case STORE_STALE:
        flow->row = flow->op.out.rows[0];
        return held(flow);
    case STORE_NONE:
        return ask(flow);
    case STORE_PAGE:
        break;
    }
    gw_assert(flow->op.out.found != STORE_PAGE);
    return store_failed(flow);
}

static enum flow_next looked(struct flow *flow)
{
    if (flow->op.out.status != GW_OK)
        return store_failed(flow);
    if (flow->op.out.found == STORE_HELD) {
        flow->row = flow->op.out.rows[0];
        return held(flow);
    }
    flow->row = (struct store_row){0};
    if (flow->only_reads)
        return store_failed(flow);
    if (flow->local->problem != PROBLEM_NONE)
        return refuse(flow, flow->local->problem, flow->local->detail);
    return gate_of(flow) == GATE_OPEN ? ask(flow) : leave_to_claim(flow);
}

enum flow_next room_local(struct flow *flow)
{
    switch ((enum local_stage)flow->stage) {
    case LOCAL_ENTER:
        /* A key or a value that was put together without memory is another one. */
        if (arena_has_failed(flow->arena))
            return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
        return enter(flow);
    case LOCAL_RUN:
        return came_back(flow);
    case LOCAL_LOOKED:
        return looked(flow);
    case LOCAL_FORGOTTEN:
        return flow->op.out.status == GW_OK ? ask(flow) : store_failed(flow);
    }
    gw_assert(flow->stage <= LOCAL_FORGOTTEN);
    return store_failed(flow);
}
