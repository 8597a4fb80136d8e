/* GET /v1/history. It asks nobody: what it tells was seen before. */
#include "gateway/admin/call.h"
#include "gateway/admin/plane.h"
#include "gateway/admin/query.h"

#include "base/text.h"

static int64_t shown(uint64_t number)
{
    return (int64_t)(number & INT64_MAX);
}

static bool take_after(struct call *call, int64_t *ret_ms)
{
    struct query *query = arena_take(call->arena, sizeof(*query));
    if (query == NULL || !query_parse(call->arena, call->query, query)) {
        call_problem(call, ADMIN_PARAMETER, "%s", query == NULL ? "Out of memory." : query->fault);
        return false;
    }
    for (uint32_t i = 0; i < query->count; i++) {
        const struct query_pair *pair = &query->pairs[i];
        bool is_known = span_equal(pair->name, SPAN("after"));
        if (is_known && gw_rfc3339_parse(pair->value, ret_ms))
            continue;
        call_problem(call, ADMIN_PARAMETER, "The parameter %.*s %s.",
                     (int)(pair->name.len > 64 ? 64 : pair->name.len), pair->name.ptr,
                     is_known ? "is not a time such as 2026-11-30T02:11:04Z"
                              : "is not one of after");
        return false;
    }
    return true;
}

static void print_sample(struct json_writer *json, const struct history_sample *sample)
{
    writer_open(json, NULL, '{');
    writer_time(json, "at", sample->at_ms);
    if (sample->is_known)
        writer_number(json, "unknown", shown(sample->unknown));
    else
        writer_null(json, "unknown");
    writer_time(json, "oldest_unknown_at", sample->oldest_ms);
    writer_number(json, "in_flight", shown(sample->in_flight));
    writer_number(json, "paused", sample->paused);
    writer_number(json, "breakers_open", sample->breakers_open);
    writer_close(json, '}');
}

void call_history(struct call *call)
{
    const struct history *history = call->admin->history;
    int64_t after_ms = INT64_MIN;
    if (!take_after(call, &after_ms))
        return;
    call_begin(call, 200);
    writer_time(&call->json, "at", call->now_ms);
    writer_time(&call->json, "since", history_since_ms(history));
    writer_number(&call->json, "every_ms", history_every_ms(history));
    writer_open(&call->json, "samples", '[');
    for (uint32_t i = 0; i < history_count(history); i++)
        if (history_at(history, i)->at_ms > after_ms)
            print_sample(&call->json, history_at(history, i));
    writer_close(&call->json, ']');
    call_end(call);
}
