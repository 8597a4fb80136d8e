/* Writes what an owner is told of an operation. It tells nothing of the upstream, and
 * must never be asked for another owner's. */
#include "gateway/rooms/accepted.h"
#include "gateway/compensation.h"
#include "gateway/prefer.h"
#include "gateway/reply_head.h"
#include "gateway/worker.h"

#include "base/text.h"

#define RETRY_AFTER_MAX_S 3600

static void put_time(struct gw_buf *out, const char *name, int64_t wall_ms)
{
    char text[GW_RFC3339_BYTES];
    if (wall_ms > 0)
        gw_rfc3339(wall_ms, text);
    /* A full buffer is seen at the end. */
    (void)gw_buf_print(out, wall_ms > 0 ? ",\"%s\":\"%s\"" : ",\"%s\":null", name, text);
}

static const char *flag(const struct store_row *row, uint32_t mark)
{
    return (row->receipt.marks & mark) != 0 ? "true" : "false";
}

/* What else an owner is told of his operation. */
struct told {
    const char *cancel;            /* NULL: nobody asked */
    bool has_compensation;         /* the route has one: other is what became of it */
    const struct store_row *other; /* NULL: nobody asked for it */
};

/* Of a compensation the status tells what the upstream thought of it. */
static void put_compensation(struct gw_buf *out, const struct store_row *row,
                             const struct told *told)
{
    struct span of = compensation_of(row);
    /* A full buffer is seen at the end. */
    if (of.len > 0)
        (void)gw_buf_print(out, ",\"compensates\":\"%.*s\"", (int)of.len, of.ptr);
    if (of.len > 0 && row->receipt.state == RECEIPT_COMPLETED && row->status != 0)
        (void)gw_buf_print(out, ",\"status\":%u", row->status);
    if (told->other != NULL)
        (void)gw_buf_print(out, ",\"compensated_by\":\"%s\",\"compensation_state\":\"%s\"",
                           told->other->operation_id,
                           receipt_public_state(told->other->receipt.state));
    else if (told->has_compensation)
        (void)gw_buf_print(out, ",\"compensated_by\":null,\"compensation_state\":null");
}

static struct span document(struct flow *flow, const struct store_row *row, const struct told *told)
{
    struct gw_buf out;
    struct span body = SPAN("");
    bool in_doubt = row->receipt.state == RECEIPT_UNKNOWN;
    gw_buf_init(&out, worker_flow_bytes_max(flow->worker));
    /* A full buffer is seen at the end. */
    (void)gw_buf_print(&out, "{\"operation_id\":\"%s\",\"state\":\"%s\",\"phase\":\"%s\"",
                       row->operation_id, receipt_public_state(row->receipt.state),
                       receipt_phase(row->receipt.state));
    (void)gw_buf_print(&out,
                       ",\"reason\":%s,\"route\":", in_doubt ? "\"needs_reconciliation\"" : "null");
    gw_json_string(&out, row->route);
    (void)gw_buf_print(&out, ",\"key\":");
    gw_json_string(&out, row->key);
    (void)gw_buf_print(&out, ",\"attempts\":%u,\"cancel_requested\":%s,\"promised\":%s",
                       row->receipt.attempt, flag(row, RECEIPT_CANCEL_REQUESTED),
                       flag(row, RECEIPT_PROMISED));
    put_time(&out, "created_at", row->created_ms);
    put_time(&out, "updated_at", row->updated_ms);
    put_time(&out, "next_attempt_at", row->receipt.due_ms);
    put_compensation(&out, row, told);
    if (told->cancel != NULL)
        (void)gw_buf_print(&out, ",\"cancel\":\"%s\"", told->cancel);
    (void)gw_buf_add(&out, SPAN("}\n"));
    if (out.failed || !arena_copy(flow->arena, gw_buf_span(&out), &body))
        body = SPAN("");
    gw_buf_fini(&out);
    return body;
}

struct span accepted_document(struct flow *flow, const struct store_row *row)
{
    return document(flow, row, &(struct told){0});
}

struct span compensated_document(struct flow *flow, const struct store_row *row,
                                 const struct store_row *other)
{
    return document(flow, row, &(struct told){.has_compensation = true, .other = other});
}

struct span cancel_document(struct flow *flow, const struct store_row *row, const char *word)
{
    return document(flow, row, &(struct told){.cancel = word});
}

uint32_t accepted_retry_after_s(const struct flow *flow, const struct store_row *row)
{
    enum receipt_state state = row->receipt.state;
    if (state != RECEIPT_DEFERRED && !receipt_is_leased(state))
        return 0;
    int64_t seconds = (row->receipt.due_ms - flow_now_ms(flow) + 999) / 1000;
    return seconds < 1 ? 1 : seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : (uint32_t)seconds;
}

enum flow_next accepted(struct flow *flow, enum outcome outcome)
{
    struct prefer prefer;
    flow->outcome = outcome;
    flow->no_new_key = true;
    flow->was_looked_up = true;
    flow->problem = PROBLEM_NONE;
    flow->accepts = true;
    if (flow->client == NULL || flow->client_gone)
        return flow_go(flow, FLOW_ROOM_reply);
    prefer_read(flow->head, &prefer);
    struct span body = accepted_document(flow, &flow->row);
    const struct reply_accepted reply = {
        .location =
            flow->conf->own_prefix.len == 0
                ? SPAN("")
                : arena_print(flow->arena, "%.*soperations/%s", (int)flow->conf->own_prefix.len,
                              flow->conf->own_prefix.ptr, flow->row.operation_id),
        .body = body,
        .retry_after_s = accepted_retry_after_s(flow, &flow->row),
        .was_preferred = prefer.respond_async};
    if (body.len == 0 || !reply_accepted(flow, &reply))
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    return flow_go(flow, FLOW_ROOM_reply);
}
