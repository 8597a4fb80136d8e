/* An operation as JSON (SPEC 4). Must never show headers or bodies to a token
 * without the right `evidence`. */
#include "gateway/admin/operation.h"
#include "gateway/compensation.h"

#include "policy/utf8.h"

#define INLINE_BODY_BYTES 65536

static void print_labels(struct call *call, const struct store_row *row)
{
    struct label *labels = NULL;
    uint32_t count = 0;
    if (row->labels.len > 0 && labels_decode(call->arena, row->labels, &labels, &count) != GW_OK)
        count = 0; /* a broken blob shows as none */
    writer_open(&call->json, "labels", '{');
    for (uint32_t i = 0; i < count; i++)
        writer_member(&call->json, labels[i].name, labels[i].value);
    writer_close(&call->json, '}');
}

const struct attempt_record *operation_attempts(struct call *call, const struct store_row *row,
                                                uint32_t *ret_count)
{
    struct attempt_record *attempts = NULL;
    *ret_count = 0;
    if (row->attempts.len > 0 &&
        attempts_decode(call->arena, row->attempts, &attempts, ret_count) != GW_OK)
        *ret_count = 0; /* a broken blob shows as none */
    return attempts;
}

int64_t operation_last_end_ms(const struct attempt_record *attempts, uint32_t count)
{
    int64_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct attempt_record *a = &attempts[i];
        int64_t end = a->ended_ms != 0 ? a->ended_ms : a->sent_ms != 0 ? a->sent_ms : a->started_ms;
        last = end > last ? end : last;
    }
    return last;
}

static void print_attempt(struct json_writer *json, const struct attempt_record *a)
{
    writer_open(json, NULL, '{');
    writer_number(json, "number", a->number);
    writer_time(json, "started_at", a->started_ms);
    writer_time(json, "sent_at", a->sent_ms);
    writer_time(json, "ended_at", a->ended_ms);
    writer_text(json, "upstream", a->upstream);
    writer_text(json, "end",
                span_str(a->end < END_COUNT ? end_name((enum attempt_end)a->end) : "none"));
    writer_text(json, "end_means",
                span_str(a->end < END_COUNT ? end_doc((enum attempt_end)a->end) : ""));
    writer_text(
        json, "basis",
        span_str(a->basis < BASIS_COUNT ? basis_name((enum attempt_basis)a->basis) : "none"));
    if (a->status == 0)
        writer_null(json, "status");
    else
        writer_number(json, "status", a->status);
    writer_number(json, "bytes_out", (int64_t)(a->bytes_out & INT64_MAX));
    writer_number(json, "bytes_in", (int64_t)(a->bytes_in & INT64_MAX));
    writer_text(json, "reason", a->reason);
    if (a->line == 0)
        writer_null(json, "line");
    else
        writer_number(json, "line", a->line);
    writer_text_or_null(json, "trace_id", a->trace_id);
    writer_text_or_null(json, "conf_hash", a->conf_hash);
    writer_close(json, '}');
}

static void print_attempts(struct call *call, const struct store_row *row)
{
    uint32_t count;
    const struct attempt_record *attempts = operation_attempts(call, row, &count);
    writer_open(&call->json, "attempts", '[');
    for (uint32_t i = 0; i < count; i++)
        print_attempt(&call->json, &attempts[i]);
    writer_close(&call->json, ']');
}

static void print_marks(struct json_writer *json, const struct receipt *receipt)
{
    writer_bool(json, "cancel_requested", (receipt->marks & RECEIPT_CANCEL_REQUESTED) != 0);
    writer_bool(json, "promised", (receipt->marks & RECEIPT_PROMISED) != 0);
    writer_bool(json, "resent", (receipt->marks & RECEIPT_RESENT) != 0);
    writer_bool(json, "settled", (receipt->marks & RECEIPT_SETTLED) != 0);
    writer_bool(json, "consumed", (receipt->marks & RECEIPT_CONSUMED) != 0);
    writer_bool(json, "contradicted", (receipt->marks & RECEIPT_CONTRADICTED) != 0);
}

static void print_times(struct json_writer *json, const struct store_row *row)
{
    writer_time(json, "created_at", row->created_ms);
    writer_time(json, "updated_at", row->updated_ms);
    writer_time(json, "next_attempt_at", row->receipt.due_ms);
    writer_time(json, "expires_at", row->receipt.expire_ms);
    writer_number(json, "repeats", row->repeats);
    writer_time(json, "last_repeat_at", row->last_repeat_ms);
}

/* Who is on it, and what asking the upstream brought. */
static void print_care(struct json_writer *json, const struct store_row *row)
{
    bool was_asked = row->probe != PROBE_NONE && row->probe < PROBE_RESULT_COUNT;
    writer_text_or_null(json, "claimed_by", row->claimed_by);
    writer_time(json, "claimed_at", row->claimed_ms);
    writer_text_or_null(json, "probe",
                        was_asked ? span_str(probe_result_name((enum probe_result)row->probe))
                                  : SPAN(""));
    writer_number(json, "probe_count", row->probe_count);
    writer_time(json, "next_probe_at",
                row->receipt.state == RECEIPT_UNKNOWN ? row->probe_due_ms : 0);
}

void operation_print_members(struct call *call, const struct store_row *row, bool is_listed)
{
    struct json_writer *json = &call->json;
    enum receipt_state state = row->receipt.state;
    writer_text(json, "id", span_str(row->operation_id));
    writer_number(json, "version", row->receipt.version);
    writer_text(json, "state", span_str(receipt_public_state(state)));
    writer_text_or_null(json, "phase", span_str(receipt_phase(state)));
    writer_text_or_null(json, "reason",
                        state == RECEIPT_UNKNOWN ? SPAN("needs_reconciliation") : SPAN(""));
    writer_text(json, "route", row->route);
    writer_text(json, "owner", row->owner);
    writer_text(json, "key", row->key);
    writer_text(json, "method", row->method);
    writer_text(json, "target", row->target);
    print_labels(call, row);
    if (row->end == END_none || row->end >= END_COUNT)
        writer_null(json, "end");
    else
        writer_text(json, "end", span_str(end_name((enum attempt_end)row->end)));
    if (row->status == 0)
        writer_null(json, "status");
    else
        writer_number(json, "status", row->status);
    if (is_listed)
        writer_number(json, "attempts", row->receipt.attempt);
    else
        print_attempts(call, row);
    print_times(json, row);
    print_marks(json, &row->receipt);
    writer_text_or_null(json, "compensates", compensation_of(row));
    writer_bool(json, "answer_kept", row->answer_kept);
    print_care(json, row);
}

void operation_end(struct call *call, const struct store_row *row)
{
    writer_open(&call->json, "operation", '{');
    operation_print_members(call, row, false);
    writer_close(&call->json, '}');
    call_end(call);
}

/* A body that is text and not long is shown as text; other bytes are only counted, and
 * are a download: an entry that is looked at every few seconds must stay small. */
static void print_message(struct call *call, const char *name, struct span packed)
{
    struct json_writer *json = &call->json;
    struct stored_message message;
    if (packed.len == 0 || message_decode(call->arena, packed, &message) != GW_OK) {
        writer_null(json, name);
        return;
    }
    writer_open(json, name, '{');
    if (message.status != 0)
        writer_number(json, "status", message.status);
    writer_open(json, "headers", '[');
    for (uint32_t i = 0; i < message.field_count; i++) {
        writer_open(json, NULL, '[');
        writer_text(json, NULL, message.fields[i].name);
        writer_text(json, NULL, message.fields[i].value);
        writer_close(json, ']');
    }
    writer_close(json, ']');
    writer_number(json, "body_bytes", (int64_t)(message.body_bytes & INT64_MAX));
    writer_bool(json, "body_kept", message.body_kept);
    if (message.body_kept && message.body.len <= INLINE_BODY_BYTES && utf8_is_sound(message.body))
        writer_text(json, "body", message.body);
    else
        writer_null(json, "body");
    writer_close(json, '}');
}

void operation_print_request(struct call *call, const struct store_row *row)
{
    print_message(call, "request", row->request);
}

void operation_print_response(struct call *call, const struct store_row *row)
{
    print_message(call, "response", row->answer);
}

void operation_print_audit(struct call *call, const struct audit_entry *audit, uint32_t count)
{
    struct json_writer *json = &call->json;
    writer_open(json, "audit", '[');
    for (uint32_t i = 0; i < count; i++) {
        writer_open(json, NULL, '{');
        writer_time(json, "at", audit[i].at_ms);
        writer_text(json, "actor", audit[i].actor);
        writer_text(json, "action", audit[i].action);
        writer_text(json, "subject", audit[i].subject);
        writer_text(json, "note", audit[i].note);
        writer_text(json, "detail", audit[i].detail);
        writer_close(json, '}');
    }
    writer_close(json, ']');
}

void operation_print_comments(struct call *call, const struct audit_entry *audit, uint32_t count)
{
    struct json_writer *json = &call->json;
    writer_open(json, "comments", '[');
    for (uint32_t i = 0; i < count; i++) {
        if (!span_equal(audit[i].action, SPAN("comment")))
            continue;
        writer_open(json, NULL, '{');
        writer_time(json, "at", audit[i].at_ms);
        writer_text(json, "actor", audit[i].actor);
        writer_text(json, "text", audit[i].note);
        writer_close(json, '}');
    }
    writer_close(json, ']');
}

void operation_print_cancels(struct call *call, const struct audit_entry *audit, uint32_t count)
{
    struct json_writer *json = &call->json;
    writer_open(json, "cancel_requests", '[');
    for (uint32_t i = 0; i < count; i++) {
        if (!span_equal(audit[i].action, SPAN("cancel")))
            continue;
        writer_open(json, NULL, '{');
        writer_time(json, "at", audit[i].at_ms);
        writer_text(json, "actor", audit[i].actor);
        writer_close(json, '}');
    }
    writer_close(json, ']');
}

const struct probe_record *operation_probes(struct call *call, const struct store_row *row,
                                            uint32_t *ret_count)
{
    struct probe_record *probes = NULL;
    *ret_count = 0;
    if (row->probes.len > 0 && probes_decode(call->arena, row->probes, &probes, ret_count) != GW_OK)
        *ret_count = 0; /* a broken blob shows as none */
    return probes;
}

void operation_print_probes(struct call *call, const struct store_row *row)
{
    struct json_writer *json = &call->json;
    uint32_t count;
    const struct probe_record *probes = operation_probes(call, row, &count);
    writer_open(json, "probes", '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct probe_record *p = &probes[i];
        writer_open(json, NULL, '{');
        writer_time(json, "at", p->at_ms);
        writer_text(json, "by", p->by);
        writer_text(json, "result",
                    span_str(p->result < PROBE_RESULT_COUNT
                                 ? probe_result_name((enum probe_result)p->result)
                                 : "none"));
        writer_text(json, "end",
                    span_str(p->end < END_COUNT ? end_name((enum attempt_end)p->end) : "none"));
        if (p->status == 0)
            writer_null(json, "status");
        else
            writer_number(json, "status", p->status);
        writer_text(json, "target", p->target);
        writer_text(json, "reason", p->reason);
        writer_close(json, '}');
    }
    writer_close(json, ']');
}
