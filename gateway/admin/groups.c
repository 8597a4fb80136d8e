/* GET /v1/backlog/groups: the backlog as a person reads it first. It changes
 * nothing. */
#include "gateway/admin/call.h"

#define GROWTH_MS ((int64_t)3600 * 1000)

static int64_t number(uint64_t count)
{
    return (int64_t)(count & INT64_MAX);
}

static void print_group(struct json_writer *json, const struct group_entry *group, uint32_t at)
{
    writer_open(json, NULL, '{');
    writer_number(json, "number", at + 1);
    writer_text(json, "route", group->route);
    if (group->end == END_none || group->end >= END_COUNT)
        writer_null(json, "end");
    else
        writer_text(json, "end", span_str(end_name((enum attempt_end)group->end)));
    if (group->status == 0)
        writer_null(json, "status");
    else
        writer_number(json, "status", group->status);
    writer_number(json, "count", number(group->count));
    writer_time(json, "first_at", group->first_ms);
    writer_time(json, "last_at", group->last_ms);
    writer_number(json, "grown_last_hour", number(group->grown));
    writer_bool(json, "grown_is_cut", group->grown_is_cut);
    writer_number(json, "clients_waiting", number(group->asked));
    writer_number(json, "claimed", number(group->claimed));
    writer_open(json, "probes", '{');
    for (uint32_t i = 0; i < PROBE_RESULT_COUNT; i++)
        writer_number(json, probe_result_name((enum probe_result)i), number(group->probes[i]));
    writer_close(json, '}');
    writer_close(json, '}');
}

static void on_groups(struct call *call)
{
    const struct group_entry *groups = call->op.out.groups;
    uint32_t count = call->op.out.group_count;
    uint64_t unknown = 0;
    if (!call_store_is_well(call))
        return;
    for (uint32_t i = 0; i < count; i++)
        unknown += groups[i].count;
    call_begin(call, 200);
    writer_number(&call->json, "unknown", number(unknown));
    writer_open(&call->json, "groups", '[');
    for (uint32_t i = 0; i < count; i++)
        print_group(&call->json, &groups[i], i);
    writer_close(&call->json, ']');
    call_end(call);
}

void call_groups(struct call *call)
{
    call->op.kind = STORE_GROUPS;
    call->op.in.groups.since_ms = call->now_ms - GROWTH_MS;
    call_submit(call, on_groups);
}
