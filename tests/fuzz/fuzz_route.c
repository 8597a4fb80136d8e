/* Feeds targets and patterns to the choice of a route: no bytes crash it, parameters
 * are views of the target, a pattern of literals that is accepted meets itself, and
 * comparing two routes does not depend on their order. */
#include <stdlib.h>

#include "policy/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BYTES_MAX    4096
#define SEGMENTS_MAX 16
#define ROUTES       5

static const char *const patterns[ROUTES - 1] = {"/orders", "/orders/{id}", "/tree/*", "/*"};

static bool add_route(struct route_policy *route, struct route_segment *room, struct span pattern,
                      const struct upstream_policy *upstream)
{
    const char *fault = NULL;
    *route = (struct route_policy){.mode = ROUTE_ENFORCE,
                                   .methods = METHOD_POST,
                                   .path = pattern,
                                   .segments = room,
                                   .trailing_slash_same = true,
                                   .upstream = upstream};
    if (route_pattern_parse(pattern, room, SEGMENTS_MAX, &route->segment_count, &fault))
        return true;
    gw_assert(fault != NULL);
    return false;
}

/* Does the pattern hold nothing but literals? Then it is a target too. */
static bool is_plain(const struct route_policy *route)
{
    for (uint32_t i = 0; i < route->segment_count; i++)
        if (route->segments[i].kind != SEGMENT_LITERAL)
            return false;
    return true;
}

static enum route_verdict find(const struct route_table *table, struct span path,
                               struct route_match *ret_match)
{
    size_t work_len = 2 * path.len + 2;
    char *work = malloc(work_len);
    gw_assert(work != NULL);
    enum route_verdict verdict = route_find(table, SPAN("POST"), path, work, work_len, ret_match);
    free(work);
    return verdict;
}

/* The first byte chooses, then a pattern up to a line feed, then a target. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > BYTES_MAX)
        return 0;
    struct route_segment room[ROUTES][SEGMENTS_MAX];
    struct route_policy routes[ROUTES];
    const struct upstream_policy upstream = {.path_case = (data[0] & 1) != 0 ? PATH_CASE_INSENSITIVE
                                                                             : PATH_CASE_SENSITIVE};
    const char *text = (const char *)data + 1;
    const char *feed = memchr(text, '\n', size - 1);
    size_t pattern_len = feed == NULL ? 0 : (size_t)(feed - text);
    struct span path =
        feed == NULL ? span_of(text, size - 1) : span_of(feed + 1, size - 2 - pattern_len);
    for (uint32_t i = 0; i < ROUTES - 1; i++)
        gw_assert(add_route(&routes[i], room[i], span_str(patterns[i]), &upstream));
    routes[ROUTES - 2].mode = ROUTE_PASS;
    bool has_pattern =
        add_route(&routes[ROUTES - 1], room[ROUTES - 1], span_of(text, pattern_len), &upstream);
    const struct route_table table = {.routes = routes, .count = has_pattern ? ROUTES : ROUTES - 1};
    struct route_match match;
    if (find(&table, path, &match) == ROUTE_FOUND) {
        gw_assert(path.len > 0 && path.ptr[0] == '/');
        gw_assert(match.param_count <= ROUTE_PARAMS_MAX);
        for (uint32_t i = 0; i < match.param_count; i++)
            gw_assert(match.params[i].value.len > 0 && match.params[i].value.ptr >= path.ptr &&
                      match.params[i].value.ptr + match.params[i].value.len <= path.ptr + path.len);
    }
    if (has_pattern && is_plain(&routes[ROUTES - 1]))
        gw_assert(find(&table, routes[ROUTES - 1].path, &match) == ROUTE_FOUND);
    for (uint32_t i = 0; has_pattern && i < ROUTES; i++)
        gw_assert(route_compare(&routes[i], &routes[ROUTES - 1]) ==
                  route_compare(&routes[ROUTES - 1], &routes[i]));
    return 0;
}
