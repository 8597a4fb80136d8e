/* One operation: all of it, its recorded bytes, and why it is as it is. It changes
 * nothing. */
#include "gateway/admin/operation.h"
#include "gateway/admin/why.h"
#include "gateway/compensation.h"

#include <stdio.h>

/* What the store operations of one look bring together. */
struct look {
    struct store_row *row;
    const struct store_row *compensation; /* NULL: nobody asked for one */
    bool wants_why;
};

static void find(struct call *call, call_fn *next, uint32_t load)
{
    call->op.kind = STORE_FIND;
    call->op.in.find.operation_id = call->parameter;
    call->op.in.find.load = load;
    call_submit(call, next);
}

static struct store_row *found(struct call *call)
{
    if (!call_store_is_well(call))
        return NULL;
    if (call->op.out.found == STORE_HELD && call->op.out.row_count == 1)
        return &call->op.out.rows[0];
    call_problem(call, ADMIN_NOT_FOUND, "There is no operation with this id.");
    return NULL;
}

static void print_quiet_time(struct call *call, const struct store_row *row)
{
    const struct route_policy *route = call_route(call, row->route);
    uint32_t count;
    const struct attempt_record *attempts = operation_attempts(call, row, &count);
    int64_t last = operation_last_end_ms(attempts, count);
    writer_time(&call->json, "quiet_until",
                row->receipt.state != RECEIPT_UNKNOWN || last == 0
                    ? 0
                    : last + (route == NULL ? SETTLE_QUIET_MS : route->quiet_ms) +
                          store_skew_ms(call->options->store));
}

/* Can it be asked for now? One of which nothing ran can be asked for again. */
static bool may_compensate(struct call *call, const struct look *look)
{
    const struct store_row *row = look->row, *other = look->compensation;
    return compensation_judge(call->arena, call_route(call, row->route), row,
                              COMPENSATE_BY_OPERATOR, call->now_ms) == COMPENSATE_MAY &&
           (other == NULL || compensate_again(&other->receipt, call->now_ms) == COMPENSATE_ANEW);
}

static void print_compensation(struct call *call, const struct look *look)
{
    struct json_writer *json = &call->json;
    const struct store_row *other = look->compensation;
    writer_text_or_null(json, "compensated_by",
                        other == NULL ? SPAN("") : span_str(other->operation_id));
    writer_text_or_null(json, "compensation_state",
                        other == NULL ? SPAN("")
                                      : span_str(receipt_public_state(other->receipt.state)));
    if (other == NULL || other->status == 0)
        writer_null(json, "compensation_status");
    else
        writer_number(json, "compensation_status", other->status);
    writer_bool(json, "may_compensate", may_compensate(call, look));
}

static void on_audit(struct call *call)
{
    const struct look *look = call->state;
    if (!call_store_is_well(call))
        return;
    call_begin(call, 200);
    if (look->wants_why) {
        why_print(call, look->row, call->op.out.audit, call->op.out.audit_count);
    } else {
        operation_print_members(call, look->row, false);
        operation_print_audit(call, call->op.out.audit, call->op.out.audit_count);
        operation_print_comments(call, call->op.out.audit, call->op.out.audit_count);
        operation_print_probes(call, look->row);
        operation_print_cancels(call, call->op.out.audit, call->op.out.audit_count);
        print_compensation(call, look);
        print_quiet_time(call, look->row);
        if (call_has_right(call, ADMIN_EVIDENCE)) {
            operation_print_request(call, look->row);
            operation_print_response(call, look->row);
        }
    }
    visible_print(call, look->row);
    call_end(call);
}

static void read_audit(struct call *call)
{
    call->op.kind = STORE_AUDIT;
    call->op.in.find.operation_id = call->parameter;
    call_submit(call, on_audit);
}

static void on_compensation(struct call *call)
{
    struct look *look = call->state;
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found == STORE_HELD)
        look->compensation = &call->op.out.rows[0];
    read_audit(call);
}

static void on_found(struct call *call)
{
    struct look *look = call->state;
    struct store_row other;
    look->row = found(call);
    if (look->row == NULL)
        return;
    if (look->wants_why || !compensation_may_be(look->row)) {
        read_audit(call);
        return;
    }
    if (!compensation_identify(call->arena, look->row, &other)) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    call->op.kind = STORE_LOOKUP;
    call->op.in.lookup.identity = other.identity;
    call->op.in.lookup.owner = other.owner;
    call->op.in.lookup.scope = other.scope;
    call->op.in.lookup.key = other.key;
    call->op.in.lookup.load = 0;
    call_submit(call, on_compensation);
}

static void look_at(struct call *call, bool wants_why)
{
    struct look *look = arena_take(call->arena, sizeof(*look));
    if (look == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    look->wants_why = wants_why;
    call->state = look;
    if (call_takes_operation_id(call)) /* the answer's status is in the recorded answer */
        find(call, on_found, LOAD_REQUEST | LOAD_ANSWER);
}

void call_operation(struct call *call)
{
    look_at(call, false);
}

void call_why(struct call *call)
{
    look_at(call, true);
}

/* A download, never a page: whatever a stored body says, no browser runs it here. */
static void send_body(struct call *call, struct span packed, const char *what)
{
    struct stored_message message;
    if (packed.len == 0 || message_decode(call->arena, packed, &message) != GW_OK ||
        !message.body_kept) {
        call_problem(call, ADMIN_NOT_FOUND, "No body of the %s is kept for this operation.", what);
        return;
    }
    char disposition[96];
    (void)snprintf(disposition, sizeof(disposition), "attachment; filename=\"%.*s-%s.bin\"",
                   (int)call->parameter.len, call->parameter.ptr, what); /* ids are 29 bytes */
    call_header(call, "Content-Disposition", disposition);
    call->status = 200;
    call_send(call, "application/octet-stream", message.body);
}

static void on_request_found(struct call *call)
{
    const struct store_row *row = found(call);
    if (row != NULL)
        send_body(call, row->request, "request");
}

static void on_response_found(struct call *call)
{
    const struct store_row *row = found(call);
    if (row != NULL)
        send_body(call, row->answer, "response");
}

void call_request(struct call *call)
{
    if (call_takes_operation_id(call))
        find(call, on_request_found, LOAD_REQUEST);
}

void call_response(struct call *call)
{
    if (call_takes_operation_id(call))
        find(call, on_response_found, LOAD_ANSWER);
}
