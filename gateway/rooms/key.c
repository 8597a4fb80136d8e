/* Room `key`: read the key, read the body, compute the fingerprint. When it is
 * left, the identity of the operation is known and nothing has been looked up. */
#include "gateway/media.h"
#include "gateway/print.h"
#include "gateway/worker.h"

#include "policy/headers.h"
#include "policy/key.h"

#define KEY_LINES_MAX 4 /* two are one too many; the rest makes no difference */

enum key_stage { KEY_HEAD, KEY_BODY };

static enum flow_next refuse_key(struct flow *flow, enum key_verdict verdict,
                                 const struct key_fault *fault)
{
    return flow_refuse(flow, verdict == KEY_MISSING ? PROBLEM_KEY_MISSING : PROBLEM_KEY_INVALID,
                       span_str(fault->text));
}

static enum key_verdict key_of_header(struct flow *flow, const struct key_source *source,
                                      struct span *ret_key, struct key_fault *ret_fault)
{
    struct span lines[KEY_LINES_MAX];
    uint32_t count = 0;
    size_t longest = 1;
    const struct http_field *field = NULL;
    for (uint32_t from = 0;
         count < KEY_LINES_MAX && (field = http_head_find(flow->head, source->name, from)) != NULL;
         from = (uint32_t)(field - flow->head->fields) + 1) {
        lines[count++] = field->value;
        longest = field->value.len > longest ? field->value.len : longest;
    }
    char *room = arena_take(flow->arena, longest);
    size_t len = 0;
    if (room == NULL) {
        *ret_fault = (struct key_fault){"The key could not be read: the request is too large."};
        return KEY_INVALID;
    }
    enum key_verdict verdict =
        key_from_lines(&source->grammar, lines, count, room, &len, ret_fault);
    *ret_key = span_of(room, len);
    return verdict;
}

/* As with two header lines: the upstream may read the other field of that name (KEY-6). */
static bool form_has_it_twice(struct flow *flow, const struct parsed_body *body, struct span name)
{
    struct span content = gw_buf_span(&flow->body);
    uint32_t first = body->is_form ? form_find(content, body->pairs, body->pair_count, name) : 0;
    return body->is_form && first != JSON_NONE &&
           form_find(content, body->pairs + first + 1, body->pair_count - first - 1, name) !=
               JSON_NONE;
}

static enum key_verdict key_of_content(struct flow *flow, const struct key_source *source,
                                       const struct parsed_body *body, struct span *ret_key,
                                       struct key_fault *ret_fault)
{
    bool is_string = true, found = false;
    if (source->from == KEY_FROM_JSON)
        found = print_json_text(flow, body, &source->pointer, ret_key, &is_string);
    else if (source->from == KEY_FROM_FORM)
        found = print_form_text(flow, body, source->name, ret_key);
    else
        found = print_path_text(flow, source->name, ret_key);
    if (!found) {
        *ret_fault = (struct key_fault){
            "The route takes the key from the request's content, and it is not there."};
        return KEY_MISSING;
    }
    if (source->from == KEY_FROM_FORM && form_has_it_twice(flow, body, source->name)) {
        *ret_fault = (struct key_fault){"The form has the field of the key more than once."};
        return KEY_INVALID;
    }
    if (!is_string) {
        *ret_fault = (struct key_fault){"The key in the body must be a JSON string."};
        return KEY_INVALID;
    }
    return key_from_text(&source->grammar, *ret_key, ret_fault);
}

static enum key_verdict key_of(struct flow *flow, const struct key_source *source,
                               const struct parsed_body *body, struct span *ret_key,
                               struct key_fault *ret_fault)
{
    return source->from == KEY_FROM_HEADER ? key_of_header(flow, source, ret_key, ret_fault)
                                           : key_of_content(flow, source, body, ret_key, ret_fault);
}

/* Length-prefixed, so that no two lists of parts give one key. */
static enum key_verdict key_of_all(struct flow *flow, const struct parsed_body *body,
                                   struct span *ret_key, struct key_fault *ret_fault)
{
    const struct key_source *source = &flow->route->key;
    struct span whole = SPAN("");
    for (uint32_t i = 0; i < source->part_count; i++) {
        struct span part;
        enum key_verdict verdict = key_of(flow, &source->parts[i], body, &part, ret_fault);
        if (verdict != KEY_OK)
            return verdict;
        whole = arena_print(flow->arena, "%.*s%zu:%.*s", (int)whole.len, whole.ptr, part.len,
                            (int)part.len, part.ptr);
    }
    *ret_key = whole;
    return KEY_OK;
}

static enum flow_next body_did_not_come(struct flow *flow)
{
    switch (flow->body_state) {
    case BODY_TOO_LARGE:
        return flow_refuse(flow, PROBLEM_TOO_LARGE, SPAN(""));
    case BODY_TIMEOUT:
        return flow_refuse(flow, PROBLEM_REQUEST_TIMEOUT, SPAN(""));
    case BODY_BAD:
        return flow_refuse(flow, PROBLEM_BAD_REQUEST,
                           SPAN("The framing of the body is broken. Nothing was sent."));
    case BODY_NONE:
    case BODY_WHOLE:
    case BODY_GONE:
        break;
    }
    /* The caller left before its request was whole: nothing happened (IN-19). */
    return flow_go(flow, FLOW_ROOM_leave);
}

static enum flow_next look_at_body(struct flow *flow)
{
    const struct route_policy *route = flow->route;
    struct parsed_body body;
    struct key_fault fault = {""};
    struct span detail;
    enum problem problem = print_parse(flow, &body, &detail);
    if (problem != PROBLEM_NONE)
        return flow_refuse(flow, problem, detail);
    if (route->key.from != KEY_FROM_HEADER) {
        enum key_verdict verdict = route->key.from == KEY_FROM_ALL
                                       ? key_of_all(flow, &body, &flow->key, &fault)
                                       : key_of(flow, &route->key, &body, &flow->key, &fault);
        if (verdict != KEY_OK)
            return refuse_key(flow, verdict, &fault);
    }
    if (!print_labels(flow, &body) || !print_evidence(flow, &body) || !print_compute(flow, &body))
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    flow->scope = route_scope(route);
    store_identity(flow->owner, flow->scope, flow->key, &flow->identity);
    return flow_go(flow, FLOW_ROOM_claim);
}

/* The head alone: what can be refused before the body is asked for (IN-16). */
static enum flow_next look_at_head(struct flow *flow)
{
    const struct route_policy *route = flow->route;
    struct key_fault fault = {""};
    struct span detail = SPAN("");
    if (route->key.from == KEY_FROM_HEADER) {
        enum key_verdict verdict = key_of_header(flow, &route->key, &flow->key, &fault);
        /* An empty field is a caller that meant to send a key: it is not left unprotected. */
        bool is_absent = http_head_find(flow->head, route->key.name, 0) == NULL;
        if (is_absent && !route->key.required) {
            flow->outcome = OUTCOME_UNPROTECTED;
            return flow_go(flow, FLOW_ROOM_pass);
        }
        if (verdict != KEY_OK)
            return refuse_key(flow, verdict, &fault);
    }
    if (flow->head->framing == HTTP1_LENGTH && flow->head->content_length > route->request_body_max)
        return flow_refuse(flow, PROBLEM_TOO_LARGE, SPAN(""));
    enum problem problem = print_check_head(flow, &detail);
    if (problem != PROBLEM_NONE)
        return flow_refuse(flow, problem, detail);
    if (flow->head->expects_other)
        return flow_refuse(flow, PROBLEM_EXPECTATION, SPAN(""));
    flow->stage = KEY_BODY;
    /* A chunked body may become as large as the route allows. */
    if (!flow_hold(flow, flow->head->framing == HTTP1_CHUNKED ? route->request_body_max
                                                              : flow->head->content_length))
        return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
    if (flow->head->framing != HTTP1_NO_BODY) {
        flow->client_ops->read_body(flow->client, route->request_body_max);
        return FLOW_PARK;
    }
    flow->body_state = BODY_WHOLE;
    return look_at_body(flow);
}

enum flow_next room_key(struct flow *flow)
{
    if (flow->stage == KEY_HEAD)
        return look_at_head(flow);
    gw_assert(flow->stage == KEY_BODY);
    return flow->body_state == BODY_WHOLE ? look_at_body(flow) : body_did_not_come(flow);
}
