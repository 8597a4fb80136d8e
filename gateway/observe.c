/* The side computation of observe mode. It asks the functions that an enforced route
 * asks, and must never have an opinion of its own, nor any effect on the exchange:
 * what it has no room for is counted as lost. */
#include "gateway/observe.h"
#include "gateway/key_read.h"
#include "gateway/media.h"
#include "gateway/problem.h"
#include "gateway/rooms/classify.h"
#include "gateway/sources/observed.h"

#include "base/digest.h"
#include "policy/route_path.h"

#define FAULT_TEXT_BYTES_MAX 256 /* a media type, say, is as long as its sender likes */

struct observer {
    struct observed *log;
    struct span fault;     /* why an enforced route would refuse it; empty: it would not */
    bool key_is_missing;   /* the fault; what is in the body may still be a better key */
    bool is_unprotected;   /* no key, and the route takes that */
    bool keeps_request;    /* a copy is being made */
    bool keeps_answer;     /* likewise */
    bool answer_is_whole;  /* in the copy */
    bool request_is_whole; /* all of it has come */
    bool is_lost;          /* there was no room: it can only be counted */
    uint64_t held;         /* of the worker's room for copies */
    uint64_t request_bytes, answer_bytes;
    struct gw_buf answer;
};

/* ---- why it would be refused ---- */

static void set_fault(struct flow *flow, enum problem problem, struct span text)
{
    struct observer *observer = flow->observer;
    if (observer->fault.len > 0)
        return; /* the first one is what the caller would have been told */
    /* The place inside one body says nothing about others. */
    for (size_t i = 0; i + 7 < text.len; i++)
        if (memcmp(text.ptr + i, " (byte ", 7) == 0)
            text.len = i;
    if (text.len > FAULT_TEXT_BYTES_MAX)
        text.len = FAULT_TEXT_BYTES_MAX;
    observer->fault = arena_print(flow->arena, "%s%s%.*s", problem_code(problem),
                                  text.len > 0 ? ": " : "", (int)text.len, text.ptr);
    observer->is_lost = observer->is_lost || observer->fault.len == 0;
}

/* Would one reading of the path meet a guarded route and another not, if what is
 * observed were guarded? */
static bool is_ambiguous(struct flow *flow)
{
    struct route_table table = flow->conf->routes;
    struct route_match match;
    struct span path = flow->head->path;
    const char *query = memchr(path.ptr, '?', path.len);
    if (!path_has_readings(query == NULL ? path : span_of(path.ptr, (size_t)(query - path.ptr))))
        return false;
    size_t work_len = 2 * path.len + 2;
    char *work = arena_take(flow->arena, work_len);
    table.guards_observed = true;
    return work != NULL && route_find(&table, flow->head->method, path, work, work_len, &match) ==
                               ROUTE_AMBIGUOUS_PATH;
}

/* Another header that could be meant as the key: named, so that the report can say so. */
static const struct http_field *find_other_key(const struct http_head *head)
{
    static const char *const words[] = {"idempot", "dedup"};
    for (uint32_t i = 0; i < head->field_count; i++) {
        struct span name = head->fields[i].name;
        for (size_t j = 0; j < GW_COUNT(words); j++)
            for (size_t at = 0, len = strlen(words[j]); at + len <= name.len; at++)
                if (span_equal_nocase(span_of(name.ptr + at, len), span_str(words[j])))
                    return &head->fields[i];
    }
    return NULL;
}

#define OTHER_KEY_BYTES_MAX 64 /* of a name that is put on record */

static void key_is_missing(struct flow *flow, struct span text)
{
    const struct http_field *other = find_other_key(flow->head);
    flow->observer->key_is_missing = flow->observer->fault.len == 0;
    if (other != NULL && other->name.len <= OTHER_KEY_BYTES_MAX)
        text = arena_print(flow->arena, "The request has the field %.*s instead.",
                           (int)other->name.len, other->name.ptr);
    set_fault(flow, PROBLEM_KEY_MISSING, text);
}

static void take_key_verdict(struct flow *flow, enum key_verdict verdict,
                             const struct key_fault *fault)
{
    if (verdict == KEY_MISSING)
        key_is_missing(flow, span_str(fault->text));
    else if (verdict == KEY_INVALID)
        set_fault(flow, PROBLEM_KEY_INVALID, span_str(fault->text));
}

/* In the order of the rooms: the first thing that is wrong is what counts. */
static void judge_head(struct flow *flow)
{
    const struct route_policy *route = flow->route;
    const struct http_head *head = flow->head;
    struct key_fault fault = {""};
    struct span detail = SPAN("");
    if (is_ambiguous(flow))
        set_fault(flow, PROBLEM_AMBIGUOUS_TARGET, SPAN(""));
    if (flow->would_refuse != PROBLEM_NONE)
        set_fault(flow, flow->would_refuse, SPAN(""));
    if (route->key.from == KEY_FROM_HEADER) {
        bool is_absent = http_head_find(head, route->key.name, 0) == NULL;
        if (is_absent && !route->key.required)
            flow->observer->is_unprotected = true;
        else
            take_key_verdict(flow, key_read_header(flow, &route->key, &flow->key, &fault), &fault);
    }
    if (flow->observer->is_unprotected)
        return;
    if (head->framing == HTTP1_LENGTH && head->content_length > route->request_body_max)
        set_fault(flow, PROBLEM_TOO_LARGE, SPAN("larger than request_body_max"));
    enum problem problem = print_check_head(flow, &detail);
    const struct http_field *type = http_head_find(head, SPAN("Content-Type"), 0);
    if (problem != PROBLEM_NONE)
        set_fault(flow, problem, type == NULL ? SPAN("no Content-Type") : media_type(type->value));
}

/* ---- what comes by ---- */

static bool rules_look_inside(const struct outcome_policy *outcome)
{
    for (uint32_t i = 0; i < outcome->rule_count; i++)
        if (outcome->rules[i].json_count > 0 || outcome->rules[i].text.len > 0)
            return true;
    return false;
}

void observe_begin(struct flow *flow)
{
    struct observed *log = worker_observed(flow->worker);
    bool is_observed = flow->route->mode == ROUTE_OBSERVE;
    if (log == NULL || flow->route->mode == ROUTE_ENFORCE || (!is_observed && !is_ambiguous(flow)))
        return;
    struct observer *observer = arena_take(flow->arena, sizeof(*observer));
    if (observer == NULL) {
        observed_lose(log, flow->route);
        return;
    }
    flow->observer = observer;
    observer->log = log;
    observer->request_is_whole =
        flow->head->framing == HTTP1_NO_BODY ||
        (flow->head->framing == HTTP1_LENGTH && flow->head->content_length == 0);
    gw_buf_init(&observer->answer, (size_t)flow->route->replay_body_max);
    if (!is_observed) { /* a passing route that this target would not reach any more */
        set_fault(flow, PROBLEM_AMBIGUOUS_TARGET, SPAN(""));
        return;
    }
    judge_head(flow);
    observer->keeps_request = observer->fault.len == 0 || observer->key_is_missing;
    observer->keeps_answer = rules_look_inside(&flow->route->outcome);
    observer->answer_is_whole = observer->keeps_answer;
}

/* One more piece into a copy; false: there is no room for it. */
static bool keep(struct observer *observer, struct gw_buf *copy, struct span bytes)
{
    if (!observed_hold(observer->log, bytes.len))
        return false;
    observer->held += bytes.len;
    return gw_buf_add(copy, bytes);
}

void observe_request_body(struct flow *flow, struct span bytes)
{
    struct observer *observer = flow->observer;
    if (observer == NULL)
        return;
    observer->request_bytes += bytes.len;
    if (!observer->keeps_request)
        return;
    bool is_too_large = observer->request_bytes > flow->route->request_body_max;
    if (is_too_large)
        set_fault(flow, PROBLEM_TOO_LARGE, SPAN("larger than request_body_max"));
    else if (keep(observer, &flow->body, bytes))
        return;
    else
        observer->is_lost = true;
    observer->keeps_request = false;
    gw_buf_fini(&flow->body);
}

void observe_request_end(struct flow *flow)
{
    if (flow->observer != NULL)
        flow->observer->request_is_whole = true;
}

void observe_request_broke(struct flow *flow, enum problem problem)
{
    if (flow->observer != NULL)
        set_fault(flow, problem, SPAN("the body did not come whole and well-formed"));
}

void observe_answer_body(struct flow *flow, struct span bytes)
{
    struct observer *observer = flow->observer;
    if (observer == NULL)
        return;
    observer->answer_bytes += bytes.len;
    if (!observer->keeps_answer || keep(observer, &observer->answer, bytes))
        return;
    observer->keeps_answer = observer->answer_is_whole = false;
    gw_buf_fini(&observer->answer);
}

/* ---- what it comes to ---- */

/* Key and print of a request that is here whole; false: there is no memory for it. */
static bool look_at_content(struct flow *flow, struct observation *seen)
{
    struct observer *observer = flow->observer;
    struct parsed_body body;
    struct key_fault fault = {""};
    struct span detail;
    enum problem problem = print_parse(flow, &body, &detail);
    if (problem == PROBLEM_OVERLOADED)
        return false;
    if (problem != PROBLEM_NONE && !observer->is_unprotected) {
        set_fault(flow, problem, detail);
        return true;
    }
    if (problem != PROBLEM_NONE)
        return true;
    bool is_by_content = flow->route->key.from == KEY_FROM_CONTENT;
    if (flow->route->key.from != KEY_FROM_HEADER && !is_by_content)
        take_key_verdict(flow, key_read_content(flow, &body, &flow->key, &fault), &fault);
    if (observer->fault.len > 0 && !observer->key_is_missing)
        return true;
    if (!print_compute(flow, &body))
        return false;
    if (is_by_content)
        flow->key = key_of_print(flow);
    seen->print = flow->print;
    seen->members = flow->members;
    return true;
}

/* Nobody can go back from it to a key by trying keys: it is mixed with the store's secret. */
static void set_identity(struct flow *flow, struct observation *seen)
{
    struct store_identity plain;
    uint8_t digest[GW_SHA256_BYTES];
    struct gw_sha256 *sha = worker_sha256(flow->worker, 0);
    store_identity(flow->owner, route_scope(flow->route), flow->key, &plain);
    gw_sha256_start(sha);
    gw_sha256_add_part(sha, store_secret(worker_ports(flow->worker)->store));
    gw_sha256_add_part(sha, span_of((const char *)plain.bytes, sizeof(plain.bytes)));
    gw_sha256_final(sha, digest);
    memcpy(seen->identity.bytes, digest, sizeof(seen->identity.bytes));
}

static enum answer_means means_of(struct flow *flow)
{
    const struct observer *observer = flow->observer;
    bool answered = flow->facts.end == END_answered && flow->answer.head != NULL;
    if (flow->facts.end == END_none || (flow->facts.end == END_answered && !answered))
        return MEANS_UNKNOWN; /* broken off in the middle */
    struct json_doc doc;
    struct answer_view view = {.status = flow->facts.status};
    if (answered) {
        view.fields = flow->answer.head->fields;
        view.field_count = flow->answer.head->field_count;
        view.body_is_whole = observer->answer_is_whole;
        view.body = view.body_is_whole ? gw_buf_span(&observer->answer) : SPAN("");
        view.json =
            view.body_is_whole && classify_parse_answer(flow, view.body, &doc) ? &doc : NULL;
    }
    enum receipt_event_kind event =
        classify(flow->route, &flow->facts, answered ? &view : NULL).event;
    return event == RECEIPT_EV_ANSWERED  ? MEANS_COMPLETED
           : event == RECEIPT_EV_REFUSED ? MEANS_REFUSED
                                         : MEANS_UNKNOWN;
}

static bool has_key_in_path(const struct key_source *source)
{
    bool found = source->from == KEY_FROM_PATH;
    for (uint32_t i = 0; i < source->part_count; i++)
        found = found || source->parts[i].from == KEY_FROM_PATH;
    return found;
}

/* What names the operation for a report: no query, which may hold anything, and no key. */
static struct span shown_target(const struct flow *flow)
{
    struct span path = flow->head->path;
    if (has_key_in_path(&flow->route->key))
        return flow->route->path;
    const char *query = memchr(path.ptr, '?', path.len);
    size_t len = query == NULL ? path.len : (size_t)(query - path.ptr);
    return span_of(path.ptr, len < OBSERVED_TARGET_BYTES ? len : OBSERVED_TARGET_BYTES);
}

static void set_facts(struct flow *flow, struct observation *seen)
{
    const struct observer *observer = flow->observer;
    seen->at_ms = flow->started_ms;
    seen->route = flow->route->name;
    seen->method = flow->head->method;
    seen->target = shown_target(flow);
    seen->fault = observer->fault;
    seen->end = (uint8_t)flow->facts.end;
    seen->status = flow->facts.status;
    /* A stream that was broken off has no facts. */
    seen->answered_ms = flow->facts.end == END_none ? flow_now_ticks(flow) - flow->started_ticks
                                                    : flow->facts.elapsed_ms;
    seen->request_bytes = observer->request_bytes;
    seen->answer_bytes = observer->answer_bytes;
}

/* false: it cannot be told what it was. */
static bool judge(struct flow *flow, struct observation *seen)
{
    struct observer *observer = flow->observer;
    if (observer->is_lost || (!observer->request_is_whole && observer->fault.len == 0))
        return false;
    if (observer->keeps_request && observer->request_is_whole && !look_at_content(flow, seen))
        return false;
    if (observer->fault.len == 0 && !observer->is_unprotected)
        set_identity(flow, seen);
    seen->means = (uint8_t)means_of(flow);
    set_facts(flow, seen);
    return !observer->is_lost;
}

void observe_end(struct flow *flow)
{
    struct observer *observer = flow->observer;
    struct observation seen = {0};
    if (observer == NULL)
        return;
    /* Of a caller who left before its request was whole nothing would have been sent. */
    if (observer->request_is_whole || !flow->client_gone) {
        if (judge(flow, &seen))
            observed_add(observer->log, flow->route, &seen);
        else
            observed_lose(observer->log, flow->route);
    }
    gw_buf_fini(&observer->answer);
    observed_let_go(observer->log, observer->held);
    flow->observer = NULL;
}
