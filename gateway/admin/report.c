/* GET /v1/report: walks what observe mode put on record, page after page, and answers
 * with the sum. One report at a time; a page is forgotten before the next one is
 * asked for. It changes nothing. */
#include "gateway/admin/report_print.h"

#include "conf/values.h"
#include "gateway/admin/plane.h"
#include "gateway/admin/query.h"

#include "base/text.h"

#define PAGE_BYTES_MAX ((size_t)16 << 20)
#define PAGES_MAX      (2 * OBSERVED_ROWS_MAX / STORE_PAGE_ROWS_MAX)

struct walk {
    struct arena *home; /* of the call; in its place stands that of a page meanwhile */
    struct arena *memory;
    struct report *report;
    int64_t since_ms;
    struct span route; /* empty: all */
    struct store_identity after_identity;
    int64_t after_id;
    uint32_t rows_max, pages;
};

static void ask(struct call *call);

/* Gives back what the walk took; the call can be answered after it. */
static void end_walk(struct call *call)
{
    struct walk *walk = call->state;
    if (call->arena != walk->home)
        arena_free(call->arena);
    call->arena = walk->home;
    call->admin->is_reporting = false;
    report_fini(walk->report);
    arena_free(walk->memory);
}

static void fail(struct call *call, enum admin_problem problem, const char *text)
{
    end_walk(call);
    call_problem(call, problem, "%s", text);
}

/* A name that no route has, and that nothing was observed under. */
static bool is_nobody(const struct call *call, const struct walk *walk)
{
    return walk->route.len > 0 && report_at(walk->report, 0) == NULL &&
           route_by_name(&call->conf->routes, walk->route) == NULL;
}

static void answer(struct call *call)
{
    struct walk *walk = call->state;
    report_finish(walk->report);
    if (is_nobody(call, walk)) {
        end_walk(call);
        call_problem(call, ADMIN_NOT_FOUND,
                     "No route has the name %.*s, and none had it when something was observed.",
                     (int)(walk->route.len > 64 ? 64 : walk->route.len), walk->route.ptr);
        return;
    }
    const struct report_print_options options = {
        .report = walk->report, .route = walk->route, .since_ms = walk->since_ms};
    call_begin(call, 200);
    report_print(call, &options);
    end_walk(call);
    call_end(call);
}

static void take_page(struct walk *walk, const struct store_op *op)
{
    for (uint32_t i = 0; i < op->out.observed_count; i++)
        report_take(walk->report, &op->out.observed[i]);
    if (op->out.observed_count == 0)
        return;
    const struct observation *last = &op->out.observed[op->out.observed_count - 1];
    walk->after_identity = last->identity;
    walk->after_id = last->id;
}

static void on_page(struct call *call)
{
    struct walk *walk = call->state;
    enum gw_status status = call->op.out.status;
    bool is_too_much = (status == GW_NOMEM || status == GW_LIMIT) && walk->rows_max > 1;
    bool is_last = status == GW_OK && call->op.out.observed_count < walk->rows_max;
    if (status == GW_OK)
        take_page(walk, &call->op);
    arena_free(call->arena);
    call->arena = walk->home;
    if (is_too_much)
        walk->rows_max /= 2; /* rows with much in them: fewer of them */
    else if (status != GW_OK) {
        fail(call, ADMIN_STORE_UNAVAILABLE, "The store could not be read. The log says why.");
        return;
    }
    if (atomic_load(&board_gauges(call->options->board)->draining))
        fail(call, ADMIN_OVERLOADED, "Recibo is shutting down.");
    else if (is_last || ++walk->pages >= PAGES_MAX)
        answer(call);
    else
        ask(call);
}

static void ask(struct call *call)
{
    struct walk *walk = call->state;
    struct arena *page = arena_new(PAGE_BYTES_MAX);
    if (page == NULL) {
        fail(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    call->arena = page;
    call->op = (struct store_op){.kind = STORE_OBSERVED};
    call->op.in.observed.route = walk->route;
    call->op.in.observed.since_ms = walk->since_ms;
    call->op.in.observed.after_identity = walk->after_identity;
    call->op.in.observed.after_id = walk->after_id;
    call->op.in.observed.rows_max = walk->rows_max;
    if (!call_try_submit(call, on_page))
        fail(call, ADMIN_STORE_UNAVAILABLE, "The queue to the store is full; ask again.");
}

/* ---- the question ---- */

static const char *take_since(struct call *call, struct span value, int64_t *ret_ms)
{
    int64_t ms = 0;
    if (gw_rfc3339_parse(value, ret_ms))
        return NULL;
    if (value_number(CONF_DURATION, value, &ms) != NULL || ms < 0)
        return "is neither a time such as 2026-11-30T02:11:04Z nor a duration such as 24h";
    *ret_ms = call->now_ms > ms ? call->now_ms - ms : 0;
    return NULL;
}

static bool take_query(struct call *call, struct walk *walk)
{
    struct query *query = arena_take(call->arena, sizeof(*query));
    if (query == NULL || !query_parse(call->arena, call->query, query)) {
        call_problem(call, ADMIN_PARAMETER, "%s", query == NULL ? "Out of memory." : query->fault);
        return false;
    }
    for (uint32_t i = 0; i < query->count; i++) {
        const struct query_pair *pair = &query->pairs[i];
        const char *fault = NULL;
        if (pair->value.len == 0)
            fault = "has no value";
        else if (span_equal(pair->name, SPAN("route")))
            walk->route = pair->value;
        else if (span_equal(pair->name, SPAN("since")))
            fault = take_since(call, pair->value, &walk->since_ms);
        else
            fault = "is not one of route, since";
        if (fault == NULL)
            continue;
        call_problem(call, ADMIN_PARAMETER, "The parameter %.*s %s.",
                     (int)(pair->name.len > 64 ? 64 : pair->name.len), pair->name.ptr, fault);
        return false;
    }
    return true;
}

void call_report(struct call *call)
{
    struct walk *walk = arena_take(call->arena, sizeof(*walk));
    if (walk == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    if (!take_query(call, walk))
        return;
    if (call->admin->is_reporting) {
        call_problem(call, ADMIN_OVERLOADED, "Another report is being made; ask again.");
        return;
    }
    walk->home = call->arena;
    walk->rows_max = STORE_PAGE_ROWS_MAX;
    walk->memory = arena_new(REPORT_BYTES_MAX);
    walk->report = walk->memory == NULL ? NULL : report_new(walk->memory, call->conf);
    call->state = walk;
    call->admin->is_reporting = true;
    if (walk->report == NULL)
        fail(call, ADMIN_OVERLOADED, "Out of memory.");
    else
        ask(call);
}
