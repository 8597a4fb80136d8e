/* Sums up observations route by route. It judges none: what would have become of a
 * request is played in report_keys.c, what it was taken for was noted when it came. */
#include "gateway/admin/report.h"

#define FAULT_BYTES_MAX 300 /* of a reason */

struct report {
    struct arena *arena;
    const struct conf *conf;
    struct report_route *routes[REPORT_ROUTES_MAX];
    uint32_t count;
    struct report_group *group;
    struct report_route *last; /* where the one before went */
    bool is_cut;
};

struct report *report_new(struct arena *arena, const struct conf *conf)
{
    struct report *report = arena_take(arena, sizeof(*report));
    if (report == NULL)
        return NULL;
    report->arena = arena;
    report->conf = conf;
    report->group = report_group_new(arena);
    return report->group == NULL ? NULL : report;
}

void report_fini(struct report *report)
{
    if (report != NULL)
        report_group_fini(report->group);
}

/* ---- lists with a maximum ---- */

bool report_names_count(struct report_names *names, struct arena *arena, struct span name)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (span_equal(names->items[i].name, name)) {
            names->items[i].count++;
            return true;
        }
    if (names->count == REPORT_NAMES_MAX ||
        !arena_copy(arena, name, &names->items[names->count].name))
        return false;
    names->items[names->count++].count = 1;
    return true;
}

bool report_statuses_count(struct report_statuses *statuses, uint8_t end, uint16_t status)
{
    for (uint32_t i = 0; i < statuses->count; i++)
        if (statuses->items[i].end == end && statuses->items[i].status == status) {
            statuses->items[i].count++;
            return true;
        }
    if (statuses->count == REPORT_STATUSES_MAX)
        return false;
    statuses->items[statuses->count++] = (struct report_status){end, status, 1};
    return true;
}

/* ---- durations ---- */

#define LEVEL_BITS 4 /* of a number that tell its level */

/* Numbers under 16 each have a level; above, each power of two has eight. */
static uint32_t level_of(uint64_t ms)
{
    uint32_t shift = 0;
    while (ms >> shift >= (1u << LEVEL_BITS))
        shift++;
    uint32_t level = shift * (1u << (LEVEL_BITS - 1)) + (uint32_t)(ms >> shift);
    return level < REPORT_LEVELS ? level : REPORT_LEVELS - 1;
}

static int64_t level_end(uint32_t level)
{
    const uint32_t half = 1u << (LEVEL_BITS - 1);
    uint32_t shift = level < 2 * half ? 0 : level / half - 1;
    uint64_t top = level - shift * half;
    return (int64_t)(((top + 1) << shift) - 1);
}

void report_level_add(struct report_levels *levels, int64_t ms)
{
    levels->counts[level_of(ms < 0 ? 0 : (uint64_t)ms)]++;
    levels->count++;
}

int64_t report_level_percentile(const struct report_levels *levels, uint32_t percent)
{
    uint64_t wanted = (levels->count * percent + 99) / 100, seen = 0;
    if (levels->count == 0)
        return 0;
    for (uint32_t level = 0; level < REPORT_LEVELS; level++) {
        seen += levels->counts[level];
        if (seen >= wanted)
            return level_end(level);
    }
    return level_end(REPORT_LEVELS - 1);
}

/* ---- one observation ---- */

static struct report_route *add_route(struct report *report, struct span name)
{
    struct report_route *route = arena_take(report->arena, sizeof(*route));
    if (report->count == REPORT_ROUTES_MAX || route == NULL ||
        !arena_copy(report->arena, name, &route->name))
        return NULL;
    route->route = route_by_name(&report->conf->routes, name);
    report->routes[report->count++] = route;
    return route;
}

static struct report_route *route_of(struct report *report, struct span name)
{
    if (report->last != NULL && span_equal(report->last->name, name))
        return report->last;
    for (uint32_t i = 0; i < report->count; i++)
        if (span_equal(report->routes[i]->name, name))
            return report->last = report->routes[i];
    struct report_route *route = add_route(report, name);
    report->is_cut = report->is_cut || route == NULL;
    return report->last = route;
}

static void take_sizes(struct report_route *route, const struct observation *seen)
{
    if (seen->request_bytes > route->largest_request)
        route->largest_request = seen->request_bytes;
    if (seen->answer_bytes > route->largest_answer)
        route->largest_answer = seen->answer_bytes;
    if (route->first_ms == 0 || seen->at_ms < route->first_ms)
        route->first_ms = seen->at_ms;
    if (seen->at_ms > route->last_ms)
        route->last_ms = seen->at_ms;
    if (seen->end == END_none) {
        route->callers_left++; /* how long the answer would have taken nobody knows */
        return;
    }
    if (seen->answered_ms > route->slowest_ms)
        route->slowest_ms = seen->answered_ms;
    report_level_add(&route->levels, seen->answered_ms);
}

static bool is_keyless(const struct store_identity *identity)
{
    static const struct store_identity none = {{0}};
    return memcmp(identity, &none, sizeof(none)) == 0;
}

static void take_fault(struct report *report, struct report_route *route,
                       const struct observation *seen)
{
    struct span fault = seen->fault;
    if (fault.len > FAULT_BYTES_MAX)
        fault.len = FAULT_BYTES_MAX;
    route->refused++;
    if (!report_names_count(&route->reasons, report->arena, fault))
        route->is_cut = true;
}

void report_take(struct report *report, const struct observation *seen)
{
    struct report_route *route = route_of(report, seen->route);
    if (!report_group_holds(report->group, &seen->identity))
        report_group_close(report->group, report->arena);
    if (route == NULL)
        return;
    route->exchanges++;
    take_sizes(route, seen);
    if (!report_statuses_count(&route->answers, seen->end, seen->status))
        route->is_cut = true;
    if (!is_keyless(&seen->identity)) {
        report_group_add(report->group, seen, route);
        return;
    }
    if (seen->fault.len > 0)
        take_fault(report, route, seen);
    else
        route->unprotected++;
    report_sample_take(route, report->arena, seen);
}

void report_finish(struct report *report)
{
    report_group_close(report->group, report->arena);
    /* Few, and nearly sorted: those that are gone come last. */
    for (uint32_t i = 1; i < report->count; i++) {
        struct report_route *route = report->routes[i];
        uint32_t index = route->route == NULL ? UINT32_MAX : route->route->index, at = i;
        for (; at > 0; at--) {
            const struct route_policy *before = report->routes[at - 1]->route;
            if (before != NULL && before->index <= index)
                break;
            if (before == NULL && route->route == NULL)
                break;
            report->routes[at] = report->routes[at - 1];
        }
        report->routes[at] = route;
    }
}

uint32_t report_count(const struct report *report)
{
    return report->count;
}

const struct report_route *report_at(const struct report *report, uint32_t index)
{
    return index < report->count ? report->routes[index] : NULL;
}

bool report_is_cut(const struct report *report)
{
    return report->is_cut;
}
