/* Writes heads for callers. Framing, Date and the gateway's own fields are made
 * here; everything else passes byte for byte (STANDARDS parts 5, 6). */
#include "gateway/reply_head.h"
#include "gateway/media.h"
#include "gateway/problem.h"
#include "gateway/worker.h"

#include "base/text.h"
#include "policy/headers.h"
#include "policy/key.h"

static bool add(struct flow *flow, struct span name, struct span value)
{
    return http1_write_field(&flow->reply.head, name, value);
}

static bool start(struct flow *flow, uint16_t status, struct span reason)
{
    gw_buf_clear(&flow->reply.head);
    return http1_write_status_line(&flow->reply.head, status,
                                   reason.len > 0 ? reason : http1_reason(status));
}

static bool add_date(struct flow *flow)
{
    char text[GW_HTTP_DATE_BYTES];
    gw_http_date(flow_now_ms(flow), text);
    return add(flow, SPAN("Date"), span_str(text));
}

bool reply_passes(const struct http_head *head, const struct http_field *field)
{
    uint32_t flags = header_flags(field->name);
    return (flags & (HEADER_HOP | HEADER_OWNED | HEADER_FRAMING)) == 0 &&
           !header_named_by_connection(head->fields, head->field_count, field->name);
}

static bool add_expires(struct flow *flow)
{
    const struct receipt *receipt = &flow->row.receipt;
    bool kept = flow->outcome == OUTCOME_EXECUTED || flow->outcome == OUTCOME_REPLAYED ||
                flow->outcome == OUTCOME_LOCAL;
    if (!kept || receipt->state != RECEIPT_COMPLETED || receipt->expire_ms == 0)
        return true;
    char text[GW_HTTP_DATE_BYTES];
    gw_http_date(receipt->expire_ms, text);
    return add(flow, SPAN("Idempotency-Expires"), span_str(text));
}

bool reply_own_fields(struct flow *flow)
{
    if (flow->outcome != OUTCOME_NONE &&
        !add(flow, SPAN("Idempotency-Status"), span_str(outcome_word(flow->outcome))))
        return false;
    bool has_operation = flow->row.id != 0 && flow->row.operation_id[0] != '\0';
    if (has_operation &&
        !add(flow, SPAN("Idempotency-Operation"), span_str(flow->row.operation_id)))
        return false;
    flow->reply.close =
        flow->client_ops->must_close(flow->client) || worker_is_draining(flow->worker);
    if (flow->reply.close)
        return add_expires(flow) && add(flow, SPAN("Connection"), SPAN("close"));
    /* HTTP/1.0 needs to be told that the connection stays. */
    return add_expires(flow) &&
           (flow->head->minor > 0 || add(flow, SPAN("Connection"), SPAN("keep-alive")));
}

static bool has_no_body(const struct flow *flow, uint16_t status)
{
    return status == 204 || status == 304 || span_equal(flow->head->method, SPAN("HEAD"));
}

/* Own fields, length and the end of the head. */
static bool finish(struct flow *flow, uint16_t status, uint64_t length)
{
    bool told = status != 204 && status != 304;
    return reply_own_fields(flow) &&
           (!told || http1_write_number_field(&flow->reply.head, SPAN("Content-Length"), length)) &&
           http1_write_end_of_head(&flow->reply.head);
}

bool reply_answer(struct flow *flow)
{
    const struct http_head *head = flow->answer.head;
    struct body *body = &flow->answer.body;
    bool has_date = false;
    if (!start(flow, head->status, head->reason))
        return false;
    for (uint32_t i = 0; i < head->field_count; i++) {
        if (!reply_passes(head, &head->fields[i]))
            continue;
        has_date = has_date || span_equal_nocase(head->fields[i].name, SPAN("Date"));
        if (!add(flow, head->fields[i].name, head->fields[i].value))
            return false;
    }
    uint64_t length = body->bytes;
    /* The answer to HEAD says how long the body would be. */
    if (span_equal(flow->head->method, SPAN("HEAD")) && head->framing == HTTP1_LENGTH)
        length = head->content_length;
    flow->reply.body = body->file < 0 ? gw_buf_span(&body->memory) : SPAN("");
    flow->reply.file_body = body->file < 0 ? NULL : body;
    if (has_no_body(flow, head->status)) {
        flow->reply.body = SPAN("");
        flow->reply.file_body = NULL;
    }
    return (has_date || add_date(flow)) && finish(flow, head->status, length);
}

/* Does the route let this stored field out again (REP-5, REP-6, REP-10)? */
static bool is_replayed(const struct route_policy *route, struct span name)
{
    static const struct span always[] = {
        {"Content-Type", 12}, {"Content-Encoding", 16}, {"Content-Language", 16}};
    uint32_t flags = header_flags(name);
    if ((flags & HEADER_COOKIE) != 0)
        return route->replay_set_cookie;
    if ((flags & (HEADER_FRESH | HEADER_NO_STORE | HEADER_OWNED | HEADER_HOP | HEADER_FRAMING)) !=
            0 ||
        span_equal_nocase(name, SPAN("Date")))
        return false;
    if (route->replay_headers == NULL)
        return true;
    for (size_t i = 0; i < GW_COUNT(always); i++)
        if (span_equal_nocase(name, always[i]))
            return true;
    for (uint32_t i = 0; i < route->replay_header_count; i++)
        if (span_equal_nocase(name, route->replay_headers[i]))
            return true;
    return false;
}

bool reply_stored(struct flow *flow)
{
    struct stored_message stored;
    if (message_decode(flow->arena, flow->row.answer, &stored) != GW_OK || stored.status < 200 ||
        !start(flow, stored.status, SPAN("")))
        return false;
    for (uint32_t i = 0; i < stored.field_count; i++)
        if (is_replayed(flow->route, stored.fields[i].name) &&
            !add(flow, stored.fields[i].name, stored.fields[i].value))
            return false;
    /* The first answer of a local effect is read from its receipt, and yet no replay. */
    bool is_first = flow->outcome == OUTCOME_LOCAL;
    if (!add_date(flow) || !add(flow, SPAN("Cache-Control"), SPAN("no-store")) ||
        (!is_first && !add(flow, SPAN("Idempotent-Replayed"), SPAN("true"))))
        return false;
    flow->reply.body = has_no_body(flow, stored.status) ? SPAN("") : stored.body;
    return finish(flow, stored.status, stored.body.len);
}

/* "POST, PATCH" */
static struct span methods_text(struct flow *flow, uint32_t methods)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    struct span text = SPAN("");
    for (uint32_t i = 0; i < GW_COUNT(names); i++)
        if ((methods >> i & 1) != 0)
            text = arena_print(flow->arena, "%.*s%s%s", (int)text.len, text.ptr,
                               text.len > 0 ? ", " : "", names[i]);
    return text;
}

/* 415: what would be taken. A coding is answered with Accept-Encoding, a type with
 * Accept, never both (ERR-9). */
static bool add_acceptable(struct flow *flow)
{
    const struct http_field *coding = http_head_find(flow->head, SPAN("Content-Encoding"), 0);
    bool is_coding = coding != NULL && !span_equal_nocase(coding->value, SPAN("identity"));
    const struct route_policy *route = flow->route;
    bool takes_json = route->local != NULL && route->local->takes_json;
    return is_coding ? add(flow, SPAN("Accept-Encoding"), SPAN("identity"))
                     : add(flow, SPAN("Accept"),
                           media_accept(takes_json ? FINGERPRINT_JSON : route->fingerprint.mode));
}

static bool add_for_machines(struct flow *flow)
{
    bool final = flow->problem == PROBLEM_OUTCOME_UNKNOWN ||
                 flow->problem == PROBLEM_UPSTREAM_TIMEOUT ||
                 flow->problem == PROBLEM_BAD_RESPONSE ||
                 (flow->route != NULL && flow->route->stripe_should_retry &&
                  !problem_retry_may_help(flow->problem));
    return !final || (add(flow, SPAN("Stripe-Should-Retry"), SPAN("false")) &&
                      add(flow, SPAN("X-Should-Retry"), SPAN("false")));
}

static uint32_t retry_after(const struct flow *flow)
{
    if (flow->retry_after_s > 0)
        return flow->retry_after_s;
    uint16_t status = problem_status(flow->problem);
    return status == 503 || status == 429 || flow->problem == PROBLEM_IN_PROGRESS ? 1 : 0;
}

bool reply_problem(struct flow *flow)
{
    bool text = flow->route != NULL && flow->route->errors_text;
    uint16_t status = problem_flow_status(flow);
    struct span body = problem_body(flow);
    if (body.len == 0 || !start(flow, status, SPAN("")) ||
        !add(flow, SPAN("Content-Type"),
             text ? SPAN("text/plain; charset=utf-8") : SPAN("application/problem+json")) ||
        !add(flow, SPAN("Content-Language"), SPAN("en")) ||
        !add(flow, SPAN("Cache-Control"), SPAN("no-store")) || !add_date(flow))
        return false;
    if (flow->challenge.len > 0 && !add(flow, SPAN("WWW-Authenticate"), flow->challenge))
        return false;
    if (flow->problem == PROBLEM_METHOD_NOT_ALLOWED &&
        !add(flow, SPAN("Allow"), methods_text(flow, flow->match.allowed_methods)))
        return false;
    if (flow->problem == PROBLEM_MEDIA_TYPE && !add_acceptable(flow))
        return false;
    uint32_t after = retry_after(flow);
    if (after > 0 && !http1_write_number_field(&flow->reply.head, SPAN("Retry-After"), after))
        return false;
    flow->reply.body = span_equal(flow->head->method, SPAN("HEAD")) ? SPAN("") : body;
    return add_for_machines(flow) && finish(flow, status, body.len);
}

bool reply_accepted(struct flow *flow, const struct reply_accepted *reply)
{
    uint32_t after = reply->retry_after_s;
    if (!start(flow, 202, SPAN("")) || !add(flow, SPAN("Content-Type"), SPAN("application/json")) ||
        !add(flow, SPAN("Cache-Control"), SPAN("no-store")) || !add_date(flow) ||
        !add(flow, SPAN("Vary"), SPAN("Prefer")))
        return false;
    if (reply->location.len > 0 && !add(flow, SPAN("Location"), reply->location))
        return false;
    if (reply->was_preferred && !add(flow, SPAN("Preference-Applied"), SPAN("respond-async")))
        return false;
    if (after > 0 && !http1_write_number_field(&flow->reply.head, SPAN("Retry-After"), after))
        return false;
    flow->reply.body = has_no_body(flow, 202) ? SPAN("") : reply->body;
    return finish(flow, 202, reply->body.len);
}

bool reply_document(struct flow *flow, uint16_t status, struct span type, struct span body)
{
    if (!start(flow, status, SPAN("")) ||
        (body.len > 0 && !add(flow, SPAN("Content-Type"), type)) ||
        !add(flow, SPAN("Cache-Control"), SPAN("no-store")) || !add_date(flow))
        return false;
    if (flow->match.allowed_methods != 0 &&
        !add(flow, SPAN("Allow"), methods_text(flow, flow->match.allowed_methods)))
        return false;
    if (flow->retry_after_s > 0 &&
        !http1_write_number_field(&flow->reply.head, SPAN("Retry-After"), flow->retry_after_s))
        return false;
    flow->reply.body = has_no_body(flow, status) ? SPAN("") : body;
    return finish(flow, status, body.len);
}
