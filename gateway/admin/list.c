/* GET /v1/operations: filters, pages. It must refuse a filter that it does not know:
 * a misspelled one would show everything. */
#include "gateway/admin/operation.h"
#include "gateway/admin/query.h"

#include "base/text.h"
#include "conf/values.h"

#define LIST_ROWS_DEFAULT 100
#define LIST_ROUNDS_MAX   1000 /* of pages in which nothing fitted */

static const struct {
    const char *word;
    uint32_t states;
} state_words[] = {
    {"pending", 1u << RECEIPT_DEFERRED | 1u << RECEIPT_CLAIMED | 1u << RECEIPT_SENT},
    {"completed", 1u << RECEIPT_COMPLETED},
    {"released", 1u << RECEIPT_RELEASED},
    {"unknown", 1u << RECEIPT_UNKNOWN},
    {"cancelled", 1u << RECEIPT_CANCELLED},
    {"abandoned", 1u << RECEIPT_ABANDONED},
    {"expired", 1u << RECEIPT_EXPIRED},
};
#define STATE_WORDS "pending, completed, released, unknown, cancelled, abandoned, expired"

/* Each takes one value into the operation; NULL, or what is wrong with it. */
typedef const char *parameter_fn(struct call *call, struct span value);

static const char *take_states(struct call *call, struct span value)
{
    struct span rest = value;
    while (rest.len > 0) {
        size_t end = 0, at = 0;
        while (end < rest.len && rest.ptr[end] != ',')
            end++;
        while (at < GW_COUNT(state_words) &&
               !span_equal(span_of(rest.ptr, end), span_str(state_words[at].word)))
            at++;
        if (at == GW_COUNT(state_words))
            return "is not a list of " STATE_WORDS;
        call->op.in.list.filter.states |= state_words[at].states;
        rest = end < rest.len ? span_of(rest.ptr + end + 1, rest.len - end - 1) : span_of("", 0);
    }
    return NULL;
}

static const char *take_route(struct call *call, struct span value)
{
    call->op.in.list.filter.route = value;
    return NULL;
}

static const char *take_owner(struct call *call, struct span value)
{
    call->op.in.list.filter.owner = value;
    return NULL;
}

static const char *take_key(struct call *call, struct span value)
{
    call->op.in.list.filter.key = value;
    return NULL;
}

static const char *take_end(struct call *call, struct span value)
{
    if (end_by_name(value) == END_COUNT || span_equal(value, SPAN("none")))
        return "is not a way an attempt ends, such as answer_timeout or reset_no_answer";
    call->op.in.list.filter.end = value;
    return NULL;
}

static const char *duration(struct span value, int64_t *ret_ms)
{
    int64_t ms;
    if (value_number(CONF_DURATION, value, &ms) != NULL || ms < 0)
        return "is not a duration such as 90s, 15m or 2h";
    *ret_ms = ms;
    return NULL;
}

static const char *take_older(struct call *call, struct span value)
{
    int64_t ms = 0;
    const char *fault = duration(value, &ms);
    call->op.in.list.filter.created_before_ms = call->now_ms > ms ? call->now_ms - ms : 1;
    return fault;
}

static const char *take_newer(struct call *call, struct span value)
{
    int64_t ms = 0;
    const char *fault = duration(value, &ms);
    call->op.in.list.filter.created_after_ms = call->now_ms > ms ? call->now_ms - ms : 0;
    return fault;
}

static const char *take_before(struct call *call, struct span value)
{
    int64_t *before_ms = &call->op.in.list.filter.created_before_ms;
    if (!gw_rfc3339_parse(value, before_ms))
        return "is not a time such as 2026-11-30T02:11:04Z";
    if (*before_ms == 0)
        *before_ms = -1; /* 0 is the filter's "any"; no receipt is that old either */
    return NULL;
}

static const char *take_after(struct call *call, struct span value)
{
    return gw_rfc3339_parse(value, &call->op.in.list.filter.created_after_ms)
               ? NULL
               : "is not a time such as 2026-11-30T02:11:04Z";
}

static const char *take_contradicted(struct call *call, struct span value)
{
    call->op.in.list.filter.contradicted = true;
    return span_equal(value, SPAN("true")) ? NULL : "can only be true";
}

static const char *take_limit(struct call *call, struct span value)
{
    uint64_t number;
    if (!gw_parse_u64(value, &number) || number < 1 || number > STORE_PAGE_ROWS_MAX)
        return "is not a number from 1 to 500";
    call->op.in.list.rows_max = (uint32_t)number;
    return NULL;
}

static const char *take_cursor(struct call *call, struct span value)
{
    uint64_t number;
    if (!gw_parse_u64(value, &number) || number < 1 || number > INT64_MAX)
        return "is not the `next` of an earlier page";
    call->op.in.list.cursor = (int64_t)number;
    return NULL;
}

static const char *take_order(struct call *call, struct span value)
{
    call->op.in.list.oldest_first = span_equal(value, SPAN("oldest"));
    return call->op.in.list.oldest_first || span_equal(value, SPAN("newest"))
               ? NULL
               : "is neither newest nor oldest";
}

static const struct {
    const char *name;
    parameter_fn *take;
} parameters[] = {
    {"state", take_states},
    {"route", take_route},
    {"owner", take_owner},
    {"key", take_key},
    {"end", take_end},
    {"older_than", take_older},
    {"newer_than", take_newer},
    {"created_before", take_before},
    {"created_after", take_after},
    {"contradicted", take_contradicted},
    {"limit", take_limit},
    {"cursor", take_cursor},
    {"order", take_order},
};
#define PARAMETER_WORDS                                                                            \
    "state, route, owner, key, end, label.NAME, older_than, newer_than, created_before, "          \
    "created_after, contradicted, limit, cursor, order"

static const char *take_label(struct call *call, struct span name, struct span value)
{
    struct store_filter *filter = &call->op.in.list.filter;
    if (filter->label_name.len > 0)
        return "is a second label; one can be asked for";
    filter->label_name = span_of(name.ptr + 6, name.len - 6);
    filter->label_value = value;
    return NULL;
}

static const char *take_pair(struct call *call, const struct query_pair *pair)
{
    if (pair->value.len == 0)
        return "has no value";
    if (pair->name.len > 6 && memcmp(pair->name.ptr, "label.", 6) == 0)
        return take_label(call, pair->name, pair->value);
    for (size_t i = 0; i < GW_COUNT(parameters); i++)
        if (span_equal(pair->name, span_str(parameters[i].name)))
            return parameters[i].take(call, pair->value);
    return "is not one of " PARAMETER_WORDS;
}

static bool take_query(struct call *call)
{
    struct query *query = arena_take(call->arena, sizeof(*query));
    if (query == NULL || !query_parse(call->arena, call->query, query)) {
        call_problem(call, ADMIN_PARAMETER, "%s", query == NULL ? "Out of memory." : query->fault);
        return false;
    }
    for (uint32_t i = 0; i < query->count; i++) {
        const char *fault = take_pair(call, &query->pairs[i]);
        if (fault == NULL)
            continue;
        struct span name = query->pairs[i].name;
        call_problem(call, ADMIN_PARAMETER, "The parameter %.*s %s.",
                     (int)(name.len > 64 ? 64 : name.len), name.ptr, fault);
        return false;
    }
    return true;
}

static void print_page(struct call *call)
{
    call_begin(call, 200);
    writer_open(&call->json, "operations", '[');
    for (uint32_t i = 0; i < call->op.out.row_count; i++) {
        writer_open(&call->json, NULL, '{');
        operation_print_members(call, &call->op.out.rows[i], true);
        writer_close(&call->json, '}');
    }
    writer_close(&call->json, ']');
    if (call->op.out.next_cursor == 0)
        writer_null(&call->json, "next");
    else
        writer_text(&call->json, "next",
                    arena_print(call->arena, "%lld", (long long)call->op.out.next_cursor));
    call_end(call);
}

static void on_page(struct call *call)
{
    uint32_t *rounds = call->state;
    bool is_too_much = call->op.out.status == GW_NOMEM || call->op.out.status == GW_LIMIT;
    if (is_too_much && call->op.in.list.rows_max > 1 && ++*rounds < LIST_ROUNDS_MAX) {
        call->op.in.list.rows_max /= 2; /* rows with much in them: fewer of them */
        call_submit(call, on_page);
        return;
    }
    if (!call_store_is_well(call))
        return;
    /* The store looks at so many rows at a time; nothing may have fitted yet. */
    if (call->op.out.row_count == 0 && call->op.out.next_cursor != 0 &&
        ++*rounds < LIST_ROUNDS_MAX) {
        call->op.in.list.cursor = call->op.out.next_cursor;
        call_submit(call, on_page);
        return;
    }
    print_page(call);
}

void call_list(struct call *call)
{
    call->op.kind = STORE_LIST;
    call->op.in.list.rows_max = LIST_ROWS_DEFAULT;
    call->state = arena_take(call->arena, sizeof(uint32_t));
    if (call->state == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    if (take_query(call))
        call_submit(call, on_page);
}
