/* Routes that only observe, beside enforced and passing ones: which one a target gets,
 * and what would be ambiguous if they were enforced. */
#include "policy/route.h"
#include "tests/lib/testlib.h"

static struct route_segment segments[3][4];
static const struct upstream_policy upstream = {.path_case = PATH_CASE_SENSITIVE};

static struct route_policy route(uint32_t index, enum route_mode mode, const char *path)
{
    struct route_policy one = {.mode = mode,
                               .methods = METHOD_POST,
                               .path = span_str(path),
                               .segments = segments[index],
                               .upstream = &upstream,
                               .trailing_slash_same = true,
                               .index = index};
    const char *fault = NULL;
    assert_true(route_pattern_parse(one.path, segments[index], 4, &one.segment_count, &fault));
    return one;
}

static enum route_verdict find(const struct route_table *table, const char *path,
                               struct route_match *ret)
{
    char work[256];
    return route_find(table, SPAN("POST"), span_str(path), work, sizeof(work), ret);
}

static void test_order(void **state)
{
    /* Guards: of routes with the same path the enforced one wins, then the observed one. */
    (void)state;
    static const enum route_mode orders[][3] = {{ROUTE_PASS, ROUTE_OBSERVE, ROUTE_ENFORCE},
                                                {ROUTE_ENFORCE, ROUTE_OBSERVE, ROUTE_PASS},
                                                {ROUTE_OBSERVE, ROUTE_ENFORCE, ROUTE_PASS},
                                                {ROUTE_OBSERVE, ROUTE_PASS, ROUTE_PASS},
                                                {ROUTE_PASS, ROUTE_PASS, ROUTE_OBSERVE}};
    static const enum route_mode winners[] = {ROUTE_ENFORCE, ROUTE_ENFORCE, ROUTE_ENFORCE,
                                              ROUTE_OBSERVE, ROUTE_OBSERVE};
    for (size_t i = 0; i < GW_COUNT(orders); i++) {
        struct route_match match;
        const struct route_policy routes[] = {route(0, orders[i][0], "/x"),
                                              route(1, orders[i][1], "/x"),
                                              route(2, orders[i][2], "/x")};
        const struct route_table table = {.routes = routes, .count = GW_COUNT(routes)};
        assert_int_equal(find(&table, "/x", &match), ROUTE_FOUND);
        assert_int_equal(match.route->mode, winners[i]);
    }
}

static void test_spellings(void **state)
{
    /* Guards: an observed route refuses no spelling; judged as guarded, it tells which it would. */
    (void)state;
    static const struct {
        const char *path;
        bool ambiguous;
    } cases[] = {{"/orders", false}, {"/%6frders", true}, {"/x/../orders", true},
                 {"//orders", true}, {"/other", false},   {"/%6fther", false}};
    const struct route_policy routes[] = {route(0, ROUTE_OBSERVE, "/orders"),
                                          route(1, ROUTE_PASS, "/*")};
    struct route_table table = {.routes = routes, .count = GW_COUNT(routes)};
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct route_match match;
        table.guards_observed = false;
        assert_int_equal(find(&table, cases[i].path, &match), ROUTE_FOUND);
        table.guards_observed = true;
        assert_int_equal(find(&table, cases[i].path, &match),
                         cases[i].ambiguous ? ROUTE_AMBIGUOUS_PATH : ROUTE_FOUND);
    }
}

static void test_names(void **state)
{
    /* Guards: each mode has the name that the configuration gives it. */
    (void)state;
    assert_string_equal(route_mode_name(ROUTE_ENFORCE), "enforce");
    assert_string_equal(route_mode_name(ROUTE_PASS), "pass");
    assert_string_equal(route_mode_name(ROUTE_OBSERVE), "observe");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_spellings),
                                       cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
