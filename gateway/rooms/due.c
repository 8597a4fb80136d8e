/* Takes a deferred operation at its time and makes its request whole again. It must
 * never run one that is not due, was cancelled or is too old, nor lose one: whatever
 * keeps it from running now leaves it due. */
#include "gateway/rooms/due.h"
#include "gateway/kept.h"
#include "gateway/receipts.h"
#include "gateway/rooms/again.h"
#include "gateway/worker.h"

#include "base/log.h"

enum due_stage {
    DUE_ENTER,
    DUE_FOUND,    /* the row as it stands, with its request, came back */
    DUE_GIVEN_UP, /* it was put on record that it never runs */
    DUE_GONE_ON,  /* it was put on record as sent */
};

/* It stays what it is, and is found again. */
static enum flow_next leave(struct flow *flow)
{
    return flow_go(flow, FLOW_ROOM_leave);
}

static enum flow_next park_at(struct flow *flow, enum due_stage stage, bool submitted)
{
    flow->stage = (uint8_t)stage;
    return submitted ? FLOW_PARK : leave(flow);
}

static bool take_place(struct flow *flow)
{
    return board_enter(worker_ports(flow->worker)->board, flow->route, flow->owner,
                       flow_now_ticks(flow), &flow->ticket) == GATE_OPEN;
}

static enum flow_next give_up(struct flow *flow, const char *why)
{
    uint32_t expect = 0;
    const struct gw_log_pair pairs[] = {{"flow", {NULL, 0}, (int64_t)flow->id},
                                        {"operation", span_str(flow->row.operation_id), 0},
                                        {"route", flow->row.route, 0},
                                        {"why", span_str(why), 0},
                                        GW_LOG_END};
    gw_log(GW_LOG_WARN, "operation.given_up", pairs);
    if (receipts_give_up(flow, &expect) != RECEIPT_MOVED)
        return leave(flow);
    return park_at(flow, DUE_GIVEN_UP, receipts_advance(flow, expect, false, true));
}

static enum flow_next start(struct flow *flow)
{
    uint32_t expect = 0;
    flow->row.kept = SPAN(""); /* it is on record, and stays there */
    if (!take_place(flow) || receipts_go_on(flow, &expect) != RECEIPT_MOVED)
        return leave(flow);
    return park_at(flow, DUE_GONE_ON, receipts_advance(flow, expect, false, false));
}

static enum flow_next found(struct flow *flow)
{
    if (flow->op.out.status != GW_OK || flow->op.out.found != STORE_HELD)
        return leave(flow);
    /* It may have run since it was seen to be due. */
    bool is_as_seen = flow->op.out.rows[0].receipt.version == flow->row.receipt.version;
    flow->row = flow->op.out.rows[0];
    if (flow->row.receipt.state != RECEIPT_DEFERRED || !is_as_seen ||
        worker_is_draining(flow->worker))
        return leave(flow);
    int64_t promised_ms = flow->row.promised_ms > 0 ? flow->row.promised_ms : flow->row.created_ms;
    if (promised_ms > 0 && retry_is_too_old(&flow->route->defer, promised_ms, flow_now_ms(flow)))
        return give_up(flow, "it is older than defer.max_age");
    switch (kept_restore(flow)) {
    case KEPT_READY:
        return start(flow);
    case KEPT_GONE:
        return give_up(flow, "its request is not kept any more");
    case KEPT_LATER:
        break;
    }
    return leave(flow);
}

static enum flow_next given_up(struct flow *flow)
{
    if (flow->op.out.status == GW_OK && flow->op.out.found == STORE_WON) {
        board_wake(worker_ports(flow->worker)->board, &flow->identity);
        receipts_log_move(flow, RECEIPT_EV_GIVE_UP);
    }
    return leave(flow);
}

/* Sent again, since the upstream deduplicates. */
static enum flow_next go_on(struct flow *flow)
{
    uint32_t expect = 0;
    flow->goes_on = false;
    if (worker_is_draining(flow->worker) || !take_place(flow))
        return leave(flow);
    again_begin(flow);
    gw_assert(flow->row.receipt.state == RECEIPT_UNKNOWN);
    if (receipts_resend(flow, &expect) != RECEIPT_MOVED)
        return leave(flow);
    return park_at(flow, DUE_GONE_ON, receipts_advance(flow, expect, false, false));
}

enum flow_next due_claim(struct flow *flow)
{
    gw_assert(flow->source == FLOW_FROM_DEFERRED);
    switch ((enum due_stage)flow->stage) {
    case DUE_ENTER:
        if (flow->goes_on)
            return go_on(flow);
        flow->op.kind = STORE_FIND;
        flow->op.in.find.operation_id = span_str(flow->row.operation_id);
        flow->op.in.find.load = LOAD_KEPT;
        return park_at(flow, DUE_FOUND, flow_submit(flow));
    case DUE_FOUND:
        return found(flow);
    case DUE_GIVEN_UP:
        return given_up(flow);
    case DUE_GONE_ON:
        return flow->op.out.status == GW_OK && flow->op.out.found == STORE_WON
                   ? flow_go(flow, FLOW_ROOM_forward)
                   : leave(flow);
    }
    gw_assert(flow->stage <= DUE_GONE_ON);
    return leave(flow);
}
