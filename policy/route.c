/* Finds the route of a target by what every reading of its path would reach. Must
 * never let a spelling lead a request round a guarded route: where readings
 * disagree, the answer is a refusal. Allocates nothing, fails on no bytes. */
#include "policy/route.h"

#include "policy/route_path.h"
#include "policy/route_pattern.h"

static const struct {
    struct span name;
    enum route_method bit;
} methods[] = {
    {{"GET", 3}, METHOD_GET},         {{"HEAD", 4}, METHOD_HEAD},   {{"POST", 4}, METHOD_POST},
    {{"PUT", 3}, METHOD_PUT},         {{"PATCH", 5}, METHOD_PATCH}, {{"DELETE", 6}, METHOD_DELETE},
    {{"OPTIONS", 7}, METHOD_OPTIONS},
};

const char *route_mode_name(enum route_mode mode)
{
    switch (mode) {
    case ROUTE_ENFORCE:
        return "enforce";
    case ROUTE_PASS:
        return "pass";
    case ROUTE_OBSERVE:
        return "observe";
    }
    gw_assert(mode <= ROUTE_OBSERVE);
    return "";
}

uint32_t route_method_bit(struct span method)
{
    for (size_t i = 0; i < GW_COUNT(methods); i++)
        if (span_equal(methods[i].name, method))
            return (uint32_t)methods[i].bit;
    return 0;
}

struct span route_scope(const struct route_policy *route)
{
    return route->scope_gateway ? SPAN("gateway") : route->name;
}

const struct route_policy *route_by_name(const struct route_table *table, struct span name)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct route_policy *route = &table->routes[i];
        const struct route_policy *compensation = route->compensate.route;
        if (span_equal(route->name, name))
            return route;
        if (compensation != NULL && span_equal(compensation->name, name))
            return compensation;
    }
    return NULL;
}

/* ---- one reading against one route ---- */

/* The path as this route sees it. */
static struct span effective_path(const struct route_policy *route, struct span path)
{
    if (route->trailing_slash_same && path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    return path;
}

static bool route_fits(const struct route_policy *route, struct span path)
{
    path = effective_path(route, path);
    const uint32_t count = route_effective_count(route);
    const bool ignore_case = route_ignores_case(route);
    struct span text;
    size_t at = 0;
    if (path.len == 0 || path.ptr[0] != '/')
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct route_segment *segment = &route->segments[i];
        bool has_text = path_next_segment(path, &at, &text);
        switch (segment->kind) {
        case SEGMENT_REST:
            return has_text || route->trailing_slash_same; /* "/x" as "/x/" */
        case SEGMENT_PARAM:
            if (!has_text || text.len == 0)
                return false;
            break;
        case SEGMENT_LITERAL:
            if (!has_text || !path_segment_equal(segment->text, text, ignore_case))
                return false;
            break;
        }
    }
    return !path_next_segment(path, &at, &text);
}

/* Of two routes that fit the same reading and method. */
static bool goes_before(const struct route_policy *a, const struct route_policy *b)
{
    int order = route_specificity(a, b);
    if (order != 0)
        return order < 0;
    if (a->mode == ROUTE_ENFORCE || b->mode == ROUTE_ENFORCE)
        return a->mode == ROUTE_ENFORCE && b->mode != ROUTE_ENFORCE;
    return a->mode == ROUTE_OBSERVE && b->mode != ROUTE_OBSERVE;
}

struct best_route {
    const struct route_policy *route; /* NULL: none with this method */
    uint32_t methods;                 /* of all routes that the path fits */
};

static struct best_route find_best(const struct route_table *table, uint32_t method_bit,
                                   struct span path)
{
    struct best_route best = {NULL, 0};
    for (uint32_t i = 0; i < table->count; i++) {
        const struct route_policy *route = &table->routes[i];
        if (!route_fits(route, path))
            continue;
        best.methods |= route->methods;
        if ((route->methods & method_bit) == 0)
            continue;
        if (best.route == NULL || goes_before(route, best.route))
            best.route = route;
    }
    return best;
}

/* ---- all readings ---- */

static bool is_guarded(const struct route_table *table, const struct route_policy *route)
{
    return route->mode == ROUTE_ENFORCE || (table->guards_observed && route->mode == ROUTE_OBSERVE);
}

/* The guarded route that is met, if any. */
static const struct route_policy *guard_of(const struct route_table *table, struct best_route best)
{
    return best.route != NULL && is_guarded(table, best.route) ? best.route : NULL;
}

static bool has_guard(const struct route_table *table, uint32_t method_bit)
{
    for (uint32_t i = 0; i < table->count; i++)
        if (is_guarded(table, &table->routes[i]) && (table->routes[i].methods & method_bit) != 0)
            return true;
    return false;
}

/* Plain readings must all meet what the received path meets. A wary reading only
 * counts when it reaches a guarded route: that such an upstream would read another
 * page does no harm, that it would run a guarded operation does. */
static bool readings_agree(const struct route_table *table, uint32_t method_bit,
                           struct path_readings *readings, const struct route_policy *guard)
{
    struct span reading;
    for (;;) {
        enum path_next next = path_readings_next(readings, &reading);
        if (next == PATH_END)
            return true;
        if (next == PATH_TOO_MANY)
            return false; /* nobody needs a target with so many oddities */
        const struct route_policy *met = guard_of(table, find_best(table, method_bit, reading));
        if (met != guard && (met != NULL || readings->breadth == PATH_PLAIN))
            return false;
    }
}

static bool is_ambiguous(const struct route_table *table, uint32_t method_bit, struct span path,
                         char *work, const struct route_policy *guard)
{
    static const enum path_breadth breadths[] = {PATH_PLAIN, PATH_WARY};
    if (!path_has_readings(path) || !has_guard(table, method_bit))
        return false;
    for (size_t i = 0; i < GW_COUNT(breadths); i++) {
        struct path_readings readings;
        path_readings_init(&readings, path, work, breadths[i]);
        if (!readings_agree(table, method_bit, &readings, guard))
            return true;
    }
    return false;
}

static void collect_params(const struct route_policy *route, struct span path,
                           struct route_match *ret_match)
{
    struct span text;
    size_t at = 0;
    path = effective_path(route, path);
    for (uint32_t i = 0; i < route->segment_count; i++) {
        if (!path_next_segment(path, &at, &text))
            return;
        if (route->segments[i].kind != SEGMENT_PARAM)
            continue;
        gw_assert(ret_match->param_count < ROUTE_PARAMS_MAX);
        ret_match->params[ret_match->param_count++] =
            (struct route_param){route->segments[i].text, text};
    }
}

enum route_verdict route_find(const struct route_table *table, struct span method, struct span path,
                              char *work, size_t work_len, struct route_match *ret_match)
{
    gw_assert(table != NULL);
    gw_assert(work != NULL);
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] == '?')
            path.len = i;
    gw_assert(work_len >= path.len);
    const uint32_t method_bit = route_method_bit(method);
    const struct best_route best = find_best(table, method_bit, path);
    *ret_match = (struct route_match){.route = best.route};
    if (is_ambiguous(table, method_bit, path, work, guard_of(table, best))) {
        ret_match->route = NULL;
        return ROUTE_AMBIGUOUS_PATH;
    }
    if (best.route != NULL) {
        collect_params(best.route, path, ret_match);
        return ROUTE_FOUND;
    }
    if (best.methods == 0)
        return ROUTE_NONE;
    ret_match->allowed_methods = best.methods;
    return ROUTE_WRONG_METHOD;
}
