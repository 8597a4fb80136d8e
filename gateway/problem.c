/* Texts for people and members for programs. Nothing of the upstream, of other
 * owners or of the key gets in here (ERR-4). */
#include "gateway/problem.h"
#include "gateway/print.h"
#include "gateway/worker.h"

#include "base/text.h"

#include <inttypes.h>

struct problem_row {
    const char *code;
    uint16_t status;
    bool retry;
    const char *title;
};
static const struct problem_row rows[] = {
    {"", 500, false, ""},
#define PROBLEM(name, code, status, retry, title) {code, status, retry, title},
#include "gateway/problems.def"
#undef PROBLEM
};

/* The standing text of a problem whose room gave none. NULL: made for the case. */
static const char *const standing[PROBLEM_COUNT] = {
    [PROBLEM_BAD_REQUEST] = "The request is not well-formed. Nothing was sent.",
    [PROBLEM_UNAUTHENTICATED] = "The route wants to know who asks. Send valid credentials.",
    [PROBLEM_FORBIDDEN] = "The credentials are known, but not for this route or this address.",
    [PROBLEM_NO_ROUTE] = "No route of the configuration fits this method and path. Nothing was "
                         "sent.",
    [PROBLEM_NOT_FOUND] = "There is nothing of that name here, or it is not yours.",
    [PROBLEM_METHOD_NOT_ALLOWED] = "The path has routes, but none for this method. The Allow field "
                                   "names the methods it has. Nothing was sent.",
    [PROBLEM_REQUEST_TIMEOUT] = "The request did not arrive whole within the time allowed. Nothing "
                                "was sent.",
    [PROBLEM_CANCELLED] = "The operation of this key was cancelled. Nothing of it ran, and nothing "
                          "will be sent. The key is spent; for a new operation use a new key.",
    [PROBLEM_ALREADY_EXECUTED] = "The operation has been carried out, and that cannot be stopped "
                                 "any more. The first request, sent again, returns its answer.",
    [PROBLEM_NOT_COMPENSABLE] = "The operation cannot be taken back. Nothing was sent.",
    [PROBLEM_ABANDONED] =
        "The first request with this key was sent, its answer was lost, and it "
        "could not be found out whether it was carried out. It is not sent again. "
        "A new key could carry the operation out twice.",
    [PROBLEM_TOO_LARGE] = "The body is larger than this route takes. Nothing was sent.",
    [PROBLEM_URI_TOO_LONG] = "The target is longer than the limit. Nothing was sent.",
    [PROBLEM_EXPECTATION] = "Only Expect: 100-continue is known. Nothing was sent.",
    [PROBLEM_COMPARISON_CHANGED] =
        "The key was used before, and the way this route compares requests has been changed since, "
        "so that it cannot be said whether this is the same request. Nothing was sent. Ask the "
        "operator about the first request before a new key is used.",
    [PROBLEM_HEADERS_TOO_LARGE] = "The header section is larger than the limit. Nothing was sent.",
    [PROBLEM_INTERNAL] = "Recibo failed. This is not an answer of the upstream.",
    [PROBLEM_NOT_IMPLEMENTED] = "The method or the transfer coding is not known here. Nothing was "
                                "sent.",
    [PROBLEM_UNREACHABLE] = "No connection to the upstream could be used, and not one byte of the "
                            "request was sent. It was not carried out. Send it again with the same "
                            "key, or with a new one.",
    [PROBLEM_STORE_UNAVAILABLE] = "The receipt could not be stored, so nothing was sent. Send the "
                                  "request again with the same key.",
    [PROBLEM_OVERLOADED] = "A limit of what may run at once is reached. Nothing was sent. Send the "
                           "request again with the same key a little later.",
    [PROBLEM_PAUSED] = "New operations on this route are held back for now. Nothing was sent, and "
                       "the key is not used up. Send the request again with the same key later.",
    [PROBLEM_SHUTTING_DOWN] = "Recibo is shutting down. Nothing was sent. Send the request again "
                              "with the same key.",
    [PROBLEM_VERSION] = "Only HTTP/1.1 and HTTP/1.0 are spoken here.",
    [PROBLEM_LOOP] = "The Via field names this gateway already: the request goes in a circle. "
                     "Check where the upstream's address leads.",
    [PROBLEM_BODY_INVALID] = "The body is not what the route can compare. Nothing was sent.",
    [PROBLEM_MEDIA_TYPE] = "The route does not take this kind of body. Nothing was sent.",
    [PROBLEM_KEY_MISSING] = "The route wants an idempotency key. Nothing was sent.",
    [PROBLEM_NOTHING_FOUND] =
        "The operation found nothing that it could change, and has changed nothing. The key is not "
        "used up.",
    [PROBLEM_CONTENT_REFUSED] = "The content is not what the receiver takes. Nothing was kept, and "
                                "the key is not used up.",
    [PROBLEM_EFFECT_FAILED] =
        "The receiver could not carry the operation out, and nothing was kept. The key is not used "
        "up. The operator finds the reason in the log.",
    [PROBLEM_EFFECT_TOO_SLOW] = "The operation took longer than it may and was taken back. Nothing "
                                "was kept. Send the request again with the same key later.",
    [PROBLEM_KEY_INVALID] = "The idempotency key is not valid. Nothing was sent.",
};

const char *problem_code(enum problem problem)
{
    gw_assert(problem < PROBLEM_COUNT);
    return rows[problem].code;
}

uint16_t problem_status(enum problem problem)
{
    gw_assert(problem < PROBLEM_COUNT);
    return rows[problem].status;
}

const char *problem_title(enum problem problem)
{
    gw_assert(problem < PROBLEM_COUNT);
    return rows[problem].title;
}

bool problem_retry_may_help(enum problem problem)
{
    gw_assert(problem < PROBLEM_COUNT);
    return rows[problem].retry;
}

enum problem problem_by_code(struct span code)
{
    for (size_t i = 1; i < GW_COUNT(rows); i++)
        if (span_equal(span_str(rows[i].code), code))
            return (enum problem)i;
    return PROBLEM_NONE;
}

enum problem problem_of_fault(uint16_t status)
{
    static const enum problem by_status[] = {PROBLEM_REQUEST_TIMEOUT,   PROBLEM_TOO_LARGE,
                                             PROBLEM_URI_TOO_LONG,      PROBLEM_EXPECTATION,
                                             PROBLEM_HEADERS_TOO_LARGE, PROBLEM_NOT_IMPLEMENTED,
                                             PROBLEM_OVERLOADED,        PROBLEM_VERSION};
    for (size_t i = 0; i < GW_COUNT(by_status); i++)
        if (problem_status(by_status[i]) == status)
            return by_status[i];
    return PROBLEM_BAD_REQUEST;
}

uint16_t problem_flow_status(const struct flow *flow)
{
    bool is_first = flow->facts.bytes_out > 0;
    return flow->problem == PROBLEM_OUTCOME_UNKNOWN && is_first ? 504
                                                                : problem_status(flow->problem);
}

/* 30004 -> "30", 1500 -> "1.5": a tenth of a second is as much as people want to know. */
static struct span seconds_text(struct flow *flow, int64_t ms)
{
    ms = (ms + 50) / 100 * 100;
    if (ms % 1000 == 0)
        return arena_print(flow->arena, "%" PRId64, ms / 1000);
    return arena_print(flow->arena, "%" PRId64 ".%d", ms / 1000, (int)(ms % 1000 / 100));
}

static struct span timeout_detail(struct flow *flow)
{
    struct span seconds = seconds_text(flow, flow->facts.elapsed_ms);
    return arena_print(
        flow->arena,
        "The request was sent to the upstream and no complete answer came within %.*s s. It may "
        "have been carried out. Do not send it under a new key. Sending it again with the same key "
        "is safe: it is not passed on again, and you get the outcome as soon as it is known.",
        (int)seconds.len, seconds.ptr);
}

static struct span bad_response_detail(struct flow *flow)
{
    return arena_print(
        flow->arena,
        "The request was sent to the upstream, and no whole answer came back: %s. It may have been "
        "carried out. Do not send it under a new key. Sending it again with the same key is safe: "
        "it is not passed on again, and you get the outcome as soon as it is known.",
        end_doc(flow->facts.end));
}

static struct span when(struct flow *flow, int64_t wall_ms)
{
    char text[GW_RFC3339_BYTES];
    gw_rfc3339(wall_ms, text);
    memcpy(text + 19, "Z", 2); /* people need no milliseconds */
    return arena_print(flow->arena, "%s", text);
}

static struct span unknown_detail(struct flow *flow)
{
    struct span at = when(flow, flow->row.created_ms);
    return arena_print(
        flow->arena,
        "The first request with this key was sent on %.*s and its outcome is not known. It has not "
        "been sent again. Somebody has to find out whether it was carried out; until then this "
        "answer does not change. Keep the key: the same request returns the outcome once it is "
        "settled. A new key could carry the operation out twice.",
        (int)at.len, at.ptr);
}

/* ["/a","/b"] -> /a, /b: the pointers are fit to be shown. */
static struct span list_for_people(struct flow *flow, struct span json)
{
    char *room = arena_take(flow->arena, 2 * json.len + 1);
    size_t len = 0;
    if (room == NULL)
        return SPAN("");
    for (size_t i = 1; i + 1 < json.len; i++) {
        if (json.ptr[i] == '"')
            continue;
        room[len++] = json.ptr[i];
        if (json.ptr[i] == ',' && json.ptr[i + 1] == '"')
            room[len++] = ' ';
    }
    return span_of(room, len);
}

static struct span reused_detail(struct flow *flow)
{
    struct span at = when(flow, flow->row.created_ms);
    flow->changed = print_changed(flow, flow->row.members);
    struct span names = list_for_people(flow, flow->changed);
    return arena_print(
        flow->arena,
        "The key was first used on %.*s for a request that differs from this one%s%.*s. "
        "Nothing was sent. For a new operation use a new key. For a repeat send the "
        "first request unchanged.",
        (int)at.len, at.ptr, names.len > 0 ? " in: " : "", (int)names.len, names.ptr);
}

static struct span expired_detail(struct flow *flow)
{
    struct span at = when(flow, flow->row.created_ms);
    return arena_print(
        flow->arena,
        "The operation of this key of %.*s is over and its answer is no longer kept. "
        "It is not sent again. A new key would be a new operation.",
        (int)at.len, at.ptr);
}

/* "the upstream answered 429", or what kept the request from being sent. */
static struct span last_refusal(struct flow *flow)
{
    enum attempt_end end = (enum attempt_end)flow->row.end;
    if (flow->row.end >= END_COUNT || end == END_none)
        return SPAN("");
    if (end == END_answered)
        return arena_print(flow->arena, " The last attempt was refused: the upstream answered %u.",
                           flow->row.status);
    return arena_print(flow->arena, " The last attempt: %s.", end_doc(end));
}

static struct span later_detail(struct flow *flow)
{
    struct span last = last_refusal(flow);
    bool is_spent = flow->problem == PROBLEM_EXHAUSTED;
    return arena_print(
        flow->arena,
        "The operation has not been carried out.%.*s %s Send the same request again with the same "
        "key after %u s; a new key is safe, too.",
        (int)last.len, last.ptr,
        is_spent ? "As many attempts as this route allows within one window have been made, and "
                   "none is made before its end."
                 : "The next attempt is not made before its time.",
        flow->retry_after_s > 0 ? flow->retry_after_s : 1);
}

static struct span pending_detail(struct flow *flow)
{
    struct span at = when(flow, flow->row.updated_ms);
    return arena_print(flow->arena,
                       "The first request with this key was taken on %.*s and is still running. "
                       "Nothing was sent again. Send the same request again to get its outcome.",
                       (int)at.len, at.ptr);
}

struct span problem_detail(struct flow *flow)
{
    if (flow->problem_detail.len > 0)
        return flow->problem_detail;
    if (flow->problem == PROBLEM_UPSTREAM_TIMEOUT)
        return timeout_detail(flow);
    if (flow->problem == PROBLEM_BAD_RESPONSE)
        return bad_response_detail(flow);
    if (flow->problem == PROBLEM_OUTCOME_UNKNOWN)
        return unknown_detail(flow);
    if (flow->problem == PROBLEM_KEY_REUSED)
        return reused_detail(flow);
    if (flow->problem == PROBLEM_RESULT_EXPIRED)
        return expired_detail(flow);
    if (flow->problem == PROBLEM_IN_PROGRESS)
        return pending_detail(flow);
    if (flow->problem == PROBLEM_RETRY_LATER || flow->problem == PROBLEM_EXHAUSTED)
        return later_detail(flow);
    if (flow->problem == PROBLEM_RESULT_UNAVAILABLE)
        return SPAN("The operation of this key was carried out, but its answer is not kept. It is "
                    "not sent again. A new key would be a new operation.");
    const char *text = standing[flow->problem];
    return span_str(text == NULL ? problem_title(flow->problem) : text);
}

static bool tells_operation(const struct flow *flow)
{
    return flow->was_looked_up && flow->row.operation_id[0] != '\0' && flow->row.id != 0;
}

static void add_text(struct gw_buf *out, const char *name, struct span text)
{
    (void)gw_buf_print(out, ",\"%s\":", name); /* a full buffer is seen at the end */
    gw_json_string(out, text);
}

/* Expiry is judged when it is read: the row may still say what it was before. */
static struct span public_state(const struct flow *flow)
{
    bool is_over = flow->problem == PROBLEM_RESULT_EXPIRED;
    return span_str(receipt_public_state(is_over ? RECEIPT_EXPIRED : flow->row.receipt.state));
}

/* Payment libraries tell a failure by this member and not by the status: without it they
 * would hand a refusal to the program as the result of the call. */
static void add_error(struct gw_buf *out, enum problem problem, uint16_t status, struct span detail)
{
    const char *type = status >= 500                    ? "api_error"
                       : status == 409 || status == 422 ? "idempotency_error"
                                                        : "invalid_request_error";
    (void)gw_buf_print(out, ",\"error\":{\"type\":\"%s\",\"code\":\"%s\"", type,
                       problem_code(problem)); /* a full buffer is seen at the end */
    add_text(out, "message", detail);
    (void)gw_buf_add(out, SPAN("}"));
}

static void write_json(struct flow *flow, struct gw_buf *out)
{
    enum problem problem = flow->problem;
    struct span base = flow->conf->problem_base;
    struct span detail = problem_detail(flow);
    (void)gw_buf_print(out, "{\"type\":\"%.*s%s\"", (int)base.len, base.ptr, problem_code(problem));
    add_text(out, "title", span_str(problem_title(problem)));
    (void)gw_buf_print(out, ",\"status\":%u", problem_flow_status(flow));
    add_text(out, "detail", detail);
    (void)gw_buf_print(out, ",\"instance\":\"urn:recibo:request:%" PRIu64 "\"", flow->id);
    add_text(out, "code", span_str(problem_code(problem)));
    if (tells_operation(flow)) {
        add_text(out, "operation_id", span_str(flow->row.operation_id));
        add_text(out, "operation_state", public_state(flow));
    }
    (void)gw_buf_print(out, ",\"retry_may_help\":%s",
                       problem_retry_may_help(problem) ? "true" : "false");
    if (flow->was_looked_up && problem != PROBLEM_KEY_REUSED &&
        problem != PROBLEM_COMPARISON_CHANGED)
        (void)gw_buf_print(out, ",\"safe_new_key\":%s", flow->no_new_key ? "false" : "true");
    if (flow->changed.len > 0)
        (void)gw_buf_print(out, ",\"changed\":%.*s", (int)flow->changed.len, flow->changed.ptr);
    if (flow->compensate_at.len > 0)
        add_text(out, "compensate", flow->compensate_at);
    if (problem == PROBLEM_RESULT_UNAVAILABLE)
        (void)gw_buf_print(out, ",\"executed\":true");
    if (problem == PROBLEM_RESULT_UNAVAILABLE && flow->row.status != 0)
        (void)gw_buf_print(out, ",\"answer_status\":%u", flow->row.status);
    add_error(out, problem, problem_flow_status(flow), detail);
    (void)gw_buf_add(out, SPAN("}\n"));
}

struct span problem_body(struct flow *flow)
{
    struct gw_buf out;
    struct span body = SPAN("");
    gw_buf_init(&out, worker_flow_bytes_max(flow->worker));
    if (flow->route != NULL && flow->route->errors_text) {
        struct span detail = problem_detail(flow);
        (void)gw_buf_print(&out, "%s\n\n%.*s\n\ncode: %s\n", problem_title(flow->problem),
                           (int)detail.len, detail.ptr, problem_code(flow->problem));
        if (tells_operation(flow))
            (void)gw_buf_print(&out, "operation: %s\n", flow->row.operation_id);
    } else {
        write_json(flow, &out);
    }
    if (out.failed || !arena_copy(flow->arena, gw_buf_span(&out), &body))
        body = SPAN("");
    gw_buf_fini(&out);
    return body;
}
