/* GET /v1/operations and /v1/inflight: filters, pages. It must refuse a parameter
 * that it does not know: a misspelled filter would show everything. */
#include "gateway/admin/filter.h"
#include "gateway/admin/operation.h"
#include "gateway/admin/query.h"

#include "base/text.h"

#define LIST_ROWS_DEFAULT 100
#define LIST_ROUNDS_MAX   1000 /* of pages in which nothing fitted */

/* Each takes one value into the operation; NULL, or what is wrong with it. */
typedef const char *parameter_fn(struct call *call, struct span value);

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
    {"limit", take_limit},
    {"cursor", take_cursor},
    {"order", take_order},
};

struct listing {
    uint32_t rounds;
    bool of_flight; /* the states are given, and so is the order */
};

static const char *take_pair(struct call *call, const struct query_pair *pair)
{
    const struct listing *listing = call->state;
    for (size_t i = 0; i < GW_COUNT(parameters); i++)
        if (span_equal(pair->name, span_str(parameters[i].name)) &&
            !(listing->of_flight && parameters[i].take == take_order))
            return pair->value.len == 0 ? "has no value" : parameters[i].take(call, pair->value);
    if (listing->of_flight && !span_equal(pair->name, SPAN("route")))
        return "is not one of route, limit, cursor";
    const char *fault =
        filter_take(&call->op.in.list.filter, call->now_ms, pair->name, pair->value);
    return fault == FILTER_IS_OTHER ? "is not one of " FILTER_WORDS ", limit, cursor, order"
                                    : fault;
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
    struct listing *listing = call->state;
    bool is_too_much = call->op.out.status == GW_NOMEM || call->op.out.status == GW_LIMIT;
    if (is_too_much && call->op.in.list.rows_max > 1 && ++listing->rounds < LIST_ROUNDS_MAX) {
        call->op.in.list.rows_max /= 2; /* rows with much in them: fewer of them */
        call_submit(call, on_page);
        return;
    }
    if (!call_store_is_well(call))
        return;
    /* The store looks at so many rows at a time; nothing may have fitted yet. */
    if (call->op.out.row_count == 0 && call->op.out.next_cursor != 0 &&
        ++listing->rounds < LIST_ROUNDS_MAX) {
        call->op.in.list.cursor = call->op.out.next_cursor;
        call_submit(call, on_page);
        return;
    }
    print_page(call);
}

static void list(struct call *call, bool of_flight)
{
    struct listing *listing = arena_take(call->arena, sizeof(*listing));
    if (listing == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    listing->of_flight = of_flight;
    call->state = listing;
    call->op.kind = STORE_LIST;
    call->op.in.list.rows_max = LIST_ROWS_DEFAULT;
    if (of_flight) {
        call->op.in.list.filter.states = 1u << RECEIPT_CLAIMED | 1u << RECEIPT_SENT;
        call->op.in.list.oldest_first = true;
    }
    if (take_query(call))
        call_submit(call, on_page);
}

void call_list(struct call *call)
{
    list(call, false);
}

void call_inflight(struct call *call)
{
    list(call, true);
}
