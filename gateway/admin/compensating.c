/* An operator takes an operation back (SPEC 3): the compensation is put on record with who
 * asked for it and why, and sent by nobody here. It must never begin a second one. */
#include "gateway/admin/body.h"
#include "gateway/admin/operation.h"
#include "gateway/compensation.h"

#include "base/digest.h"
#include "base/log.h"

#define COMPENSATING_TRIES_MAX 8

struct compensating {
    uint32_t tries;
    bool is_begun; /* by this call */
    struct span note;
    const struct route_policy *route;
    struct store_row operation; /* with its answer */
    struct compensation made;
};

static void on_found(struct call *call);
static void on_written(struct call *call);

static void find(struct call *call)
{
    struct compensating *compensating = call->state;
    if (++compensating->tries > COMPENSATING_TRIES_MAX) {
        call_problem(call, ADMIN_OVERLOADED,
                     "The operation changed %d times meanwhile. Nothing was begun; ask again.",
                     COMPENSATING_TRIES_MAX);
        return;
    }
    call->op.kind = STORE_FIND;
    call->op.in.find.operation_id = call->parameter;
    call->op.in.find.load = LOAD_ANSWER;
    call_submit(call, on_found);
}

/* ---- answers ---- */

static void refuse(struct call *call, const struct store_row *row, enum compensate_says says)
{
    enum admin_problem problem = ADMIN_NOT_COMPENSABLE;
    if (says == COMPENSATE_IN_DOUBT && row->receipt.state == RECEIPT_UNKNOWN)
        problem = ADMIN_OUTCOME_UNKNOWN;
    else if (says == COMPENSATE_IN_DOUBT)
        problem = ADMIN_ABANDONED;
    else if (says == COMPENSATE_EXPIRED)
        problem = ADMIN_RESULT_EXPIRED;
    call_begin_problem(call, problem, "%s", compensate_text(says));
    operation_end(call, row);
}

static void print(struct call *call, const struct store_row *row, uint16_t status)
{
    const struct compensating *compensating = call->state;
    call_begin(call, status);
    writer_bool(&call->json, "begun", compensating->is_begun);
    writer_text(&call->json, "compensates", call->parameter);
    writer_open(&call->json, "compensation", '{');
    operation_print_members(call, row, false);
    writer_close(&call->json, '}');
    call_end(call);
}

static void refuse_other(struct call *call, const struct store_row *row, enum admin_problem problem,
                         const char *text)
{
    call_begin_problem(call, problem, "Its compensation is there already: %s", text);
    operation_end(call, row);
}

/* The compensation as it stands, by whoever it was begun. */
static void tell(struct call *call, const struct store_row *row)
{
    switch (compensate_again(&row->receipt, call->now_ms)) {
    case COMPENSATE_ANEW:
    case COMPENSATE_UNDER_WAY:
        print(call, row, 202);
        return;
    case COMPENSATE_DONE:
        print(call, row, 200);
        return;
    case COMPENSATE_CANCELLED:
        refuse_other(call, row, ADMIN_CANCELLED,
                     "it was cancelled before it ran, and is not begun again.");
        return;
    case COMPENSATE_ABANDONED:
        refuse_other(call, row, ADMIN_ABANDONED,
                     "it was sent, and nobody will find out whether it was carried out. It is not "
                     "sent again.");
        return;
    case COMPENSATE_OVER:
        refuse_other(call, row, ADMIN_RESULT_EXPIRED, "it is over. It is not sent again.");
        return;
    case COMPENSATE_UNKNOWN:
        break;
    }
    refuse_other(call, row, ADMIN_OUTCOME_UNKNOWN,
                 "it was sent, and it is not known whether it was carried out. Find out, and "
                 "settle it; it is not sent again.");
}

/* ---- on record ---- */

static struct json_node *nodes(void *ctx, uint32_t count, uint32_t **ret_order)
{
    struct call *call = ctx;
    *ret_order = arena_take(call->arena, (count + (size_t)1) * sizeof(**ret_order));
    struct json_node *room =
        arena_take(call->arena, (count + (size_t)1) * sizeof(struct json_node));
    return *ret_order == NULL ? NULL : room;
}

static struct compensation_wish wish_of(struct call *call)
{
    const struct compensating *compensating = call->state;
    return (struct compensation_wish){.route = compensating->route,
                                      .operation = &compensating->operation,
                                      .actor = call_actor(call),
                                      .note = compensating->note,
                                      .now_ms = call->now_ms,
                                      .arena = call->arena,
                                      .bytes_max = CALL_BODY_BYTES_MAX,
                                      .random = gw_random,
                                      .nodes = nodes,
                                      .nodes_ctx = call};
}

static void claim(struct call *call)
{
    struct compensating *compensating = call->state;
    call->op.kind = STORE_CLAIM;
    call->op.in.claim.row = &compensating->made.row;
    call->op.in.claim.load_answer = false;
    call->op.in.claim.audit = compensating->made.audit;
    call->op.in.claim.audit_count = GW_COUNT(compensating->made.audit);
    call_submit(call, on_written);
}

static void on_marked(struct call *call)
{
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found == STORE_WON)
        claim(call);
    else
        find(call); /* somebody was faster: judge what stands there now */
}

/* A verdict that is acted upon cannot be taken back. */
static void mark(struct call *call)
{
    struct compensating *compensating = call->state;
    struct store_row *row = &compensating->operation;
    uint32_t expect = row->receipt.version;
    row->receipt = receipt_mark(&row->receipt, RECEIPT_CONSUMED);
    row->updated_ms = call->now_ms;
    call->op.kind = STORE_ADVANCE;
    call->op.in.advance.id = row->id;
    call->op.in.advance.expect_version = expect;
    call->op.in.advance.next = row;
    call->op.in.advance.set_answer = false;
    call->op.in.advance.set_request = false;
    call->op.in.advance.set_kept = false;
    call->op.in.advance.audit = NULL;
    call_submit(call, on_marked);
}

static void begin(struct call *call)
{
    struct compensating *compensating = call->state;
    const uint32_t told = RECEIPT_SETTLED | RECEIPT_CONSUMED;
    const struct compensation_wish wish = wish_of(call);
    switch (compensation_make(&wish, &compensating->made)) {
    case COMPENSATION_FITS:
        break;
    case COMPENSATION_UNFIT:
        call_begin_problem(call, ADMIN_NOT_COMPENSABLE, "%.*s", (int)compensating->made.fault.len,
                           compensating->made.fault.ptr);
        operation_end(call, &compensating->operation);
        return;
    case COMPENSATION_NO_MEMORY:
        call_problem(call, ADMIN_OVERLOADED, "Out of memory. Nothing was begun.");
        return;
    }
    if ((compensating->operation.receipt.marks & told) == RECEIPT_SETTLED)
        mark(call);
    else
        claim(call);
}

static void on_found(struct call *call)
{
    struct compensating *compensating = call->state;
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found != STORE_HELD) {
        call_problem(call, ADMIN_NOT_FOUND, "There is no operation with this id.");
        return;
    }
    struct store_row *row = &compensating->operation;
    *row = call->op.out.rows[0];
    compensating->route = call_route(call, row->route);
    enum compensate_says says = compensation_judge(call->arena, compensating->route, row,
                                                   COMPENSATE_BY_OPERATOR, call->now_ms);
    if (says == COMPENSATE_MAY)
        begin(call);
    else
        refuse(call, row, says);
}

/* Of one that did not run another attempt is begun. */
static void renew(struct call *call, const struct store_row *there)
{
    struct compensating *compensating = call->state;
    const struct compensation_wish wish = wish_of(call);
    if (!compensation_renew(&wish, there, &compensating->made)) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory. Nothing was begun.");
        return;
    }
    call->op.kind = STORE_ADVANCE;
    call->op.in.advance.id = there->id;
    call->op.in.advance.expect_version = there->receipt.version;
    call->op.in.advance.next = &compensating->made.row;
    call->op.in.advance.set_answer = true;
    call->op.in.advance.set_request = false;
    call->op.in.advance.set_kept = true;
    call->op.in.advance.audit = &compensating->made.audit[0];
    call_submit(call, on_written);
}

static void log_begun(const struct call *call, const struct store_row *row)
{
    const struct compensating *compensating = call->state;
    const struct gw_log_pair pairs[] = {{"operation", call->parameter, 0},
                                        {"compensation", span_str(row->operation_id), 0},
                                        {"route", compensating->route->name, 0},
                                        {"actor", compensating->made.audit[0].actor, 0},
                                        GW_LOG_END};
    gw_log(GW_LOG_INFO, "operation.compensated", pairs);
}

static void on_written(struct call *call)
{
    struct compensating *compensating = call->state;
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found == STORE_NONE) {
        find(call); /* the free one was forgotten meanwhile */
        return;
    }
    const struct store_row row = call->op.out.rows[0];
    if (call->op.out.found == STORE_WON) {
        compensating->is_begun = true;
        board_count_compensated(call->options->board, compensating->route, COMPENSATE_BY_OPERATOR);
        log_begun(call, &row);
        tell(call, &row);
    } else if (compensate_again(&row.receipt, call->now_ms) == COMPENSATE_ANEW &&
               ++compensating->tries <= COMPENSATING_TRIES_MAX) {
        renew(call, &row);
    } else {
        tell(call, &row);
    }
}

void call_compensate(struct call *call)
{
    struct json_doc doc;
    struct compensating *compensating = arena_take(call->arena, sizeof(*compensating));
    if (compensating == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    call->state = compensating;
    if (!call_takes_operation_id(call) || !body_parse(call, &doc) ||
        !body_knows_members(call, &doc, 0, "note") || !body_note(call, &doc, &compensating->note))
        return;
    find(call);
}
