/* Writes a report as JSON. It counts nothing: what it prints is summed up already, or
 * stands on the board. */
#include "gateway/admin/report_print.h"

#define SUGGESTION_BYTES_MAX ((size_t)1 << 20)

static int64_t shown(uint64_t number)
{
    return (int64_t)(number & INT64_MAX);
}

static void print_names(struct json_writer *json, const char *name, const char *word,
                        const struct report_names *names)
{
    writer_open(json, name, '[');
    for (uint32_t i = 0; i < names->count; i++) {
        writer_open(json, NULL, '{');
        writer_text(json, word, names->items[i].name);
        writer_number(json, "count", shown(names->items[i].count));
        writer_close(json, '}');
    }
    writer_close(json, ']');
}

static void print_statuses(struct json_writer *json, const char *name,
                           const struct report_statuses *statuses)
{
    writer_open(json, name, '[');
    for (uint32_t i = 0; i < statuses->count; i++) {
        const struct report_status *item = &statuses->items[i];
        writer_open(json, NULL, '{');
        if (item->end == END_none)
            writer_null(json, "end");
        else
            writer_text(json, "end", span_str(end_name((enum attempt_end)item->end)));
        if (item->status == 0)
            writer_null(json, "status");
        else
            writer_number(json, "status", item->status);
        writer_number(json, "count", shown(item->count));
        writer_close(json, '}');
    }
    writer_close(json, ']');
}

static uint64_t sum(const struct report_statuses *statuses)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < statuses->count; i++)
        count += statuses->items[i].count;
    return count;
}

static void print_status(struct json_writer *json, const char *name, uint16_t status)
{
    if (status == 0)
        writer_null(json, name);
    else
        writer_number(json, name, status);
}

static void print_twice(struct json_writer *json, const struct report_route *seen)
{
    writer_open(json, "ran_twice", '{');
    writer_number(json, "count", shown(seen->ran_twice));
    writer_number(json, "perhaps", shown(seen->may_have_run_twice));
    writer_open(json, "examples", '[');
    for (uint32_t i = 0; i < seen->twice_count; i++) {
        const struct report_twice *twice = &seen->twice[i];
        writer_open(json, NULL, '{');
        writer_time(json, "first_at", twice->first_ms);
        writer_time(json, "again_at", twice->again_ms);
        writer_text(json, "method", twice->method);
        writer_text(json, "target", twice->target);
        print_status(json, "first_status", twice->first_status);
        print_status(json, "again_status", twice->again_status);
        writer_close(json, '}');
    }
    writer_close(json, ']');
    writer_close(json, '}');
}

static void print_fate(struct json_writer *json, const struct report_route *seen)
{
    writer_open(json, "would_refuse", '{');
    writer_number(json, "count", shown(seen->refused));
    print_names(json, "reasons", "reason", &seen->reasons);
    writer_close(json, '}');
    writer_number(json, "without_key", shown(seen->unprotected));
    writer_number(json, "keys", shown(seen->keys));
    writer_number(json, "repeated_keys", shown(seen->repeated_keys));
    writer_number(json, "would_send", shown(seen->sent));
    writer_number(json, "would_replay", shown(seen->replayed));
    writer_number(json, "would_be_pending", shown(seen->pending));
    writer_open(json, "would_mismatch", '{');
    writer_number(json, "count", shown(seen->mismatched));
    writer_number(json, "compared", shown(seen->compared));
    print_names(json, "changed", "member", &seen->members);
    writer_close(json, '}');
    writer_number(json, "would_hold", shown(seen->held_unknown));
    writer_number(json, "would_miss_answer", shown(seen->unavailable));
    writer_number(json, "would_be_expired", shown(seen->expired));
    writer_open(json, "would_be_unknown", '{');
    writer_number(json, "count", shown(sum(&seen->unknown)));
    print_statuses(json, "by", &seen->unknown);
    writer_close(json, '}');
    print_twice(json, seen);
}

static uint64_t lost_of(const struct call *call, const struct route_policy *route)
{
    return atomic_load(&board_route(call->options->board, route)->observed_lost);
}

static void print_route(struct call *call, const struct report_route *seen)
{
    struct json_writer *json = &call->json;
    const struct route_policy *route = seen->route;
    int64_t p99 = report_level_percentile(&seen->levels, 99);
    writer_open(json, NULL, '{');
    writer_text(json, "route", seen->name);
    writer_text_or_null(json, "mode",
                        route == NULL ? SPAN("") : span_str(route_mode_name(route->mode)));
    writer_text_or_null(json, "upstream",
                        route == NULL || route->upstream == NULL ? SPAN("")
                                                                 : route->upstream->name);
    writer_number(json, "exchanges", shown(seen->exchanges));
    writer_time(json, "first_at", seen->first_ms);
    writer_time(json, "last_at", seen->last_ms);
    writer_number(json, "lost", route == NULL ? 0 : shown(lost_of(call, route)));
    print_fate(json, seen);
    print_statuses(json, "answers", &seen->answers);
    writer_number(json, "callers_left", shown(seen->callers_left));
    writer_number(json, "slowest_answer_ms", seen->slowest_ms);
    writer_number(json, "p99_answer_ms", p99 < seen->slowest_ms ? p99 : seen->slowest_ms);
    writer_number(json, "largest_request_bytes", shown(seen->largest_request));
    writer_number(json, "largest_answer_bytes", shown(seen->largest_answer));
    writer_bool(json, "cut", seen->is_cut);
    writer_close(json, '}');
}

/* A route that nothing was asked of yet is told as well: its losses, and that it is there. */
static bool was_seen(const struct report *report, const struct route_policy *route)
{
    const struct report_route *seen;
    for (uint32_t i = 0; (seen = report_at(report, i)) != NULL; i++)
        if (seen->route == route)
            return true;
    return false;
}

static void print_routes(struct call *call, const struct report_print_options *options)
{
    const struct route_table *table = &call->conf->routes;
    const struct report_route *seen;
    writer_open(&call->json, "routes", '[');
    for (uint32_t i = 0; (seen = report_at(options->report, i)) != NULL; i++)
        print_route(call, seen);
    for (uint32_t i = 0; i < table->count; i++) {
        const struct route_policy *route = &table->routes[i];
        bool is_asked = options->route.len == 0 || span_equal(options->route, route->name);
        if (route->mode != ROUTE_OBSERVE || !is_asked || was_seen(options->report, route))
            continue;
        struct report_route *none = arena_take(call->arena, sizeof(*none));
        if (none == NULL)
            continue; /* the sum below counts its losses */
        none->name = route->name;
        none->route = route;
        print_route(call, none);
    }
    writer_close(&call->json, ']');
}

/* What the codec could not read has no route; it is refused in every mode. */
static uint64_t unreadable(const struct call *call)
{
    static const enum problem problems[] = {PROBLEM_BAD_REQUEST, PROBLEM_URI_TOO_LONG,
                                            PROBLEM_HEADERS_TOO_LARGE, PROBLEM_NOT_IMPLEMENTED,
                                            PROBLEM_VERSION};
    uint64_t count = 0;
    for (size_t i = 0; i < GW_COUNT(problems); i++)
        count += board_refused(call->options->board, problems[i]);
    return count;
}

static void print_suggestion(struct call *call, const struct report *report)
{
    struct gw_buf text;
    gw_buf_init(&text, SUGGESTION_BYTES_MAX);
    report_suggest(report, call->conf, &text);
    writer_text_or_null(&call->json, "suggestion", text.failed ? SPAN("") : gw_buf_span(&text));
    gw_buf_fini(&text);
}

void report_print(struct call *call, const struct report_print_options *options)
{
    const struct route_table *table = &call->conf->routes;
    struct json_writer *json = &call->json;
    uint64_t exchanges = 0, lost = 0;
    const struct report_route *seen;
    for (uint32_t i = 0; (seen = report_at(options->report, i)) != NULL; i++)
        exchanges += seen->exchanges;
    for (uint32_t i = 0; i < table->count; i++)
        lost += lost_of(call, &table->routes[i]);
    writer_time(json, "at", call->now_ms);
    writer_time(json, "since", options->since_ms);
    writer_number(json, "exchanges", shown(exchanges));
    writer_number(json, "lost", shown(lost));
    writer_number(json, "unreadable", shown(unreadable(call)));
    writer_bool(json, "cut", report_is_cut(options->report));
    print_routes(call, options);
    print_suggestion(call, options->report);
}
