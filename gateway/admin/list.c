/* GET /v1/operations and /v1/inflight: filters, pages. A page goes through the store in
 * steps of a bounded number of rows, so that others are served between them. It must
 * refuse a parameter that it does not know: a misspelled filter would show everything. */
#include "gateway/admin/filter.h"
#include "gateway/admin/operation.h"
#include "gateway/admin/plane.h"
#include "gateway/admin/query.h"

#include "base/text.h"

#define LIST_ROWS_DEFAULT 100
#define LIST_STEPS_MAX    20 /* of 10,000 rows looked at; then the page is short, or empty */
#define LIST_SEARCHES_MAX 2  /* calls that take more than one step, at once */

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
    uint32_t steps;
    uint32_t wanted; /* rows of a page */
    bool of_flight;  /* the states are given, and so is the order */
    bool is_search;  /* one of LIST_SEARCHES_MAX */
    int64_t next;    /* where a page that ends now goes on; 0: nowhere */
    uint32_t count;
    const struct store_row *rows[STORE_PAGE_ROWS_MAX];
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

static void end_search(struct call *call)
{
    struct listing *listing = call->state;
    gw_implies(listing->is_search, call->admin->searches > 0);
    if (listing->is_search)
        call->admin->searches--;
    listing->is_search = false;
}

static void print_page(struct call *call)
{
    const struct listing *listing = call->state;
    call_begin(call, 200);
    writer_open(&call->json, "operations", '[');
    for (uint32_t i = 0; i < listing->count; i++) {
        writer_open(&call->json, NULL, '{');
        operation_print_members(call, listing->rows[i], true);
        writer_close(&call->json, '}');
    }
    writer_close(&call->json, ']');
    if (listing->next == 0)
        writer_null(&call->json, "next");
    else
        writer_text(&call->json, "next",
                    arena_print(call->arena, "%lld", (long long)listing->next));
    call_end(call);
}

static void on_page(struct call *call);

static void ask(struct call *call)
{
    const struct listing *listing = call->state;
    gw_assert(listing->count < listing->wanted);
    uint32_t left = listing->wanted - listing->count;
    if (call->op.in.list.rows_max > left)
        call->op.in.list.rows_max = left;
    if (call_try_submit(call, on_page))
        return;
    end_search(call);
    call_problem(call, ADMIN_STORE_UNAVAILABLE,
                 "The queue to the store is full. Nothing was read; ask again.");
}

/* Few may search at once: the store has one thread for all. false: no more than this. */
static bool may_search_on(struct call *call)
{
    struct listing *listing = call->state;
    if (listing->is_search)
        return true;
    if (call->admin->searches == LIST_SEARCHES_MAX)
        return false;
    call->admin->searches++;
    listing->is_search = true;
    return true;
}

static void take_rows(struct call *call)
{
    struct listing *listing = call->state;
    for (uint32_t i = 0; i < call->op.out.row_count; i++)
        listing->rows[listing->count++] = &call->op.out.rows[i];
    listing->next = call->op.out.next_cursor;
    call->op.in.list.cursor = listing->next;
}

static void on_page(struct call *call)
{
    struct listing *listing = call->state;
    bool is_too_much = call->op.out.status == GW_NOMEM || call->op.out.status == GW_LIMIT;
    if (is_too_much && listing->count == 0 && call->op.in.list.rows_max > 1) {
        call->op.in.list.rows_max /= 2; /* rows with much in them: fewer of them */
        listing->wanted = call->op.in.list.rows_max;
        ask(call);
        return;
    }
    if (is_too_much && listing->count > 0) {
        end_search(call); /* the rest has room on the next page */
        print_page(call);
        return;
    }
    if (call->op.out.status == GW_OK) {
        take_rows(call);
        bool goes_on = listing->next != 0 && listing->count < listing->wanted &&
                       ++listing->steps < LIST_STEPS_MAX;
        if (goes_on && may_search_on(call)) {
            ask(call);
            return;
        }
        if (goes_on && listing->count == 0) {
            call_problem(
                call, ADMIN_OVERLOADED,
                "%d other lists search through the whole store. Ask again soon, or narrow "
                "the list: state=unknown with a route, an owner or a key is found at once.",
                LIST_SEARCHES_MAX);
            return;
        }
    }
    end_search(call);
    if (call_store_is_well(call))
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
    call->op.in.list.is_short = true;
    if (of_flight) {
        call->op.in.list.filter.states = 1u << RECEIPT_CLAIMED | 1u << RECEIPT_SENT;
        call->op.in.list.oldest_first = true;
    }
    if (!take_query(call))
        return;
    listing->wanted = call->op.in.list.rows_max;
    ask(call);
}

void call_list(struct call *call)
{
    list(call, false);
}

void call_inflight(struct call *call)
{
    list(call, true);
}
