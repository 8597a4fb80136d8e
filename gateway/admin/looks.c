/* What an operator looks at first: the sum, the routes, the audit, the refusals. It
 * changes nothing. */
#include "gateway/admin/operation.h"
#include "gateway/admin/query.h"
#include "gateway/problem.h"

/* Two store operations make one look: the tally, then the pauses. */
struct overview {
    call_fn *print;
    struct tally_entry *tally;
    uint32_t tally_count;
};

static void on_pauses(struct call *call)
{
    const struct overview *overview = call->state;
    if (call_store_is_well(call))
        overview->print(call);
}

static void on_tally(struct call *call)
{
    struct overview *overview = call->state;
    if (!call_store_is_well(call))
        return;
    overview->tally = call->op.out.tally;
    overview->tally_count = call->op.out.tally_count;
    call->op.kind = STORE_PAUSES;
    call_submit(call, on_pauses);
}

static void look(struct call *call, call_fn *print)
{
    struct overview *overview = arena_take(call->arena, sizeof(*overview));
    if (overview == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    overview->print = print;
    call->state = overview;
    call->op.kind = STORE_TALLY;
    call_submit(call, on_tally);
}

static const struct tally_entry *tally_of(const struct overview *overview, struct span route)
{
    for (uint32_t i = 0; i < overview->tally_count; i++)
        if (span_equal(overview->tally[i].route, route))
            return &overview->tally[i];
    return NULL;
}

/* ---- GET /v1/summary ---- */

static void print_unknowns(struct call *call, const struct overview *overview)
{
    struct json_writer *json = &call->json;
    uint64_t unknown = 0;
    int64_t oldest_ms = 0;
    for (uint32_t i = 0; i < overview->tally_count; i++) {
        const struct tally_entry *entry = &overview->tally[i];
        unknown += entry->unknown;
        if (entry->unknown > 0 && (oldest_ms == 0 || entry->oldest_ms < oldest_ms))
            oldest_ms = entry->oldest_ms;
    }
    writer_number(json, "unknown", (int64_t)(unknown & INT64_MAX));
    writer_time(json, "oldest_unknown_at", oldest_ms);
    writer_open(json, "routes", '[');
    for (uint32_t i = 0; i < overview->tally_count; i++) {
        writer_open(json, NULL, '{');
        writer_text(json, "route", overview->tally[i].route);
        writer_number(json, "unknown", (int64_t)(overview->tally[i].unknown & INT64_MAX));
        writer_time(json, "oldest_unknown_at", overview->tally[i].oldest_ms);
        writer_close(json, '}');
    }
    writer_close(json, ']');
}

static uint64_t in_flight(const struct call *call)
{
    const struct route_table *table = &call->conf->routes;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < table->count; i++)
        sum += atomic_load(&board_route(call->options->board, &table->routes[i])->in_flight);
    return sum;
}

static void print_pause(struct json_writer *json, const char *name, const struct pause_entry *entry)
{
    writer_open(json, name, '{');
    writer_text(json, entry->subject == PAUSE_ROUTE ? "route" : "upstream", entry->name);
    writer_text(json, "actor", entry->actor);
    writer_text(json, "note", entry->note);
    writer_time(json, "at", entry->at_ms);
    writer_close(json, '}');
}

static void print_pauses(struct call *call)
{
    writer_open(&call->json, "paused", '[');
    for (uint32_t i = 0; i < call->op.out.pause_count; i++)
        print_pause(&call->json, NULL, &call->op.out.pauses[i]);
    writer_close(&call->json, ']');
}

static void print_summary(struct call *call)
{
    struct board_gauges *gauges = board_gauges(call->options->board);
    call_begin(call, 200);
    print_unknowns(call, call->state);
    writer_number(&call->json, "in_flight", (int64_t)in_flight(call));
    writer_number(&call->json, "late_listening", atomic_load(&gauges->late_listening));
    writer_bool(&call->json, "draining", atomic_load(&gauges->draining));
    print_pauses(call);
    writer_time(&call->json, "at", call->now_ms);
    call_end(call);
}

void call_summary(struct call *call)
{
    look(call, print_summary);
}

/* ---- GET /v1/routes ---- */

static void print_methods(struct json_writer *json, uint32_t methods)
{
    static const struct {
        enum route_method bit;
        const char *name;
    } names[] = {{METHOD_GET, "GET"},        {METHOD_HEAD, "HEAD"},   {METHOD_POST, "POST"},
                 {METHOD_PUT, "PUT"},        {METHOD_PATCH, "PATCH"}, {METHOD_DELETE, "DELETE"},
                 {METHOD_OPTIONS, "OPTIONS"}};
    writer_open(json, "methods", '[');
    for (size_t i = 0; i < GW_COUNT(names); i++)
        if ((methods & names[i].bit) != 0)
            writer_text(json, NULL, span_str(names[i].name));
    writer_close(json, ']');
}

static const struct pause_entry *pause_of(const struct call *call, const struct route_policy *route)
{
    for (uint32_t i = 0; i < call->op.out.pause_count; i++) {
        const struct pause_entry *entry = &call->op.out.pauses[i];
        struct span upstream = route->upstream == NULL ? SPAN("") : route->upstream->name;
        if (span_equal(entry->name, entry->subject == PAUSE_ROUTE ? route->name : upstream))
            return entry;
    }
    return NULL;
}

static void print_route(struct call *call, const struct route_policy *route)
{
    struct json_writer *json = &call->json;
    const struct board_route *counts = board_route(call->options->board, route);
    const struct tally_entry *tally = tally_of(call->state, route->name);
    const struct pause_entry *pause = pause_of(call, route);
    writer_open(json, NULL, '{');
    writer_text(json, "name", route->name);
    writer_text(json, "mode", span_str(route_mode_name(route->mode)));
    print_methods(json, route->methods);
    writer_text(json, "path", route->path);
    writer_text(json, "upstream", route->upstream == NULL ? SPAN("") : route->upstream->name);
    writer_bool(json, "paused", atomic_load(&counts->paused));
    if (pause == NULL)
        writer_null(json, "pause");
    else
        print_pause(json, "pause", pause);
    writer_text(json, "breaker",
                span_str(route->breaker.is_on
                             ? breaker_state_name((enum breaker_state)atomic_load(&counts->breaker))
                             : "none"));
    writer_number(json, "in_flight", atomic_load(&counts->in_flight));
    writer_number(json, "in_flight_max", route->route_in_flight_max);
    writer_number(json, "overdue", atomic_load(&counts->overdue));
    writer_number(json, "unknown", tally == NULL ? 0 : (int64_t)(tally->unknown & INT64_MAX));
    writer_time(json, "oldest_unknown_at", tally == NULL ? 0 : tally->oldest_ms);
    writer_close(json, '}');
}

static void print_routes(struct call *call)
{
    const struct route_table *table = &call->conf->routes;
    call_begin(call, 200);
    writer_open(&call->json, "routes", '[');
    for (uint32_t i = 0; i < table->count; i++)
        print_route(call, &table->routes[i]);
    writer_close(&call->json, ']');
    print_pauses(call);
    call_end(call);
}

void call_routes(struct call *call)
{
    look(call, print_routes);
}

/* ---- GET /v1/audit ---- */

static void on_audit(struct call *call)
{
    if (!call_store_is_well(call))
        return;
    call_begin(call, 200);
    operation_print_audit(call, call->op.out.audit, call->op.out.audit_count);
    call_end(call);
}

static bool audit_subject_is_sound(const struct query_pair *pair)
{
    if (span_equal(pair->name, SPAN("operation")))
        return operation_id_is_sound(pair->value);
    return span_equal(pair->name, SPAN("subject")) && pair->value.len > 0;
}

void call_audit(struct call *call)
{
    struct query *query = arena_take(call->arena, sizeof(*query));
    if (query == NULL || !query_parse(call->arena, call->query, query)) {
        call_problem(call, ADMIN_PARAMETER, "%s", query == NULL ? "Out of memory." : query->fault);
        return;
    }
    if (query->count != 1 || !audit_subject_is_sound(&query->pairs[0])) {
        call_problem(call, ADMIN_PARAMETER,
                     "Ask for operation=ID, or subject=route:NAME or subject=upstream:NAME.");
        return;
    }
    call->op.kind = STORE_AUDIT;
    call->op.in.find.operation_id = query->pairs[0].value;
    call_submit(call, on_audit);
}

/* ---- GET /v1/refused ---- */

void call_refused(struct call *call)
{
    call_begin(call, 200);
    writer_open(&call->json, "refused", '{');
    for (uint32_t i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++)
        writer_number(&call->json, problem_code((enum problem)i),
                      (int64_t)(board_refused(call->options->board, (enum problem)i) & INT64_MAX));
    writer_close(&call->json, '}');
    call_end(call);
}
