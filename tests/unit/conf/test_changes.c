/* Two snapshots side by side, and what a new one keeps of the first: values by the names of
 * routes, secrets unseen, no chain of snapshots that keeps them all. */
#include "conf/changes.h"
#include "tests/lib/testlib.h"

#define ROOM_BYTES ((size_t)4 << 20)
#define DIGEST     "0000000000000000000000000000000000000000000000000000000000000000"
#define OTHER      "1111111111111111111111111111111111111111111111111111111111111111"
#define ROUTE_A    "  - {name: a, mode: pass, match: {path: /a}}\n"
#define ROUTE_B    "  - {name: b, mode: pass, match: {path: /b}}\n"

static struct conf *load(const char *text)
{
    struct conf *conf = NULL;
    struct conf_report report = {0};
    enum gw_status status = conf_parse(span_str(text), "t.yaml", &conf, &report);
    if (status != GW_OK)
        fail_msg("%s", report.count > 0 ? report.findings[0].text : "no memory");
    conf_report_fini(&report);
    return conf;
}

#define UPSTREAM "upstreams: {u: {url: \"http://127.0.0.1:1\"}}\n"

static void test_values(void **state)
{
    /* Guards: what differs is found by its path, with both values and its place; nothing else
     * is told. */
    (void)state;
    struct arena *arena = arena_new(ROOM_BYTES);
    struct conf_changes changes;
    struct conf *before = load(UPSTREAM "via: x\nworkers: 1\nroutes:\n" ROUTE_A ROUTE_B);
    struct conf *after = load(UPSTREAM "via: y\nworkers: 2\nroutes:\n" ROUTE_B ROUTE_A);
    assert_true(conf_compare(arena, before, after, &changes));
    assert_int_equal(changes.count, 2);
    assert_int_equal(changes.restart_count, 1);
    assert_true(span_equal(changes.items[0].path, SPAN("via")));
    assert_true(span_equal(changes.items[0].before, SPAN("x")));
    assert_true(span_equal(changes.items[0].after, SPAN("y")));
    assert_int_equal(changes.items[0].line, 2);
    assert_false(changes.items[0].needs_restart);
    assert_true(span_equal(changes.items[1].path, SPAN("workers")));
    assert_true(changes.items[1].needs_restart);
    assert_false(conf_changes_touch_identity(&changes));
    assert_true(conf_compare(arena, before, before, &changes));
    assert_int_equal(changes.count, 0);
    conf_unref(before);
    conf_unref(after);
    arena_free(arena);
}

static void test_a_route_that_goes(void **state)
{
    /* Guards: a route that is gone or new is told by what the file says of it, and touches
     * where repeats are led. */
    (void)state;
    struct arena *arena = arena_new(ROOM_BYTES);
    struct conf_changes changes;
    struct conf *before = load(UPSTREAM "routes:\n" ROUTE_A ROUTE_B);
    struct conf *after = load(UPSTREAM "routes:\n" ROUTE_B);
    assert_true(conf_compare(arena, before, after, &changes));
    assert_int_equal(changes.count, 3);
    for (uint32_t i = 0; i < changes.count; i++) {
        assert_memory_equal(changes.items[i].path.ptr, "routes[a].", 10);
        assert_null(changes.items[i].after.ptr);
        assert_false(changes.items[i].needs_restart);
    }
    assert_true(conf_changes_touch_identity(&changes));
    conf_unref(before);
    conf_unref(after);
    arena_free(arena);
}

static void test_secrets(void **state)
{
    /* Guards: a secret that differs is told without its value. */
    (void)state;
    struct arena *arena = arena_new(ROOM_BYTES);
    struct conf_changes changes;
#define TOKENS(sha256)                                                                             \
    "admin: {address: \"127.0.0.1:2\", tokens: [{name: t, rights: [settle], sha256: \"" sha256     \
    "\"}]}\n"
    struct conf *before = load(UPSTREAM TOKENS(DIGEST) "routes:\n" ROUTE_A);
    struct conf *after = load(UPSTREAM TOKENS(OTHER) "routes:\n" ROUTE_A);
    assert_true(conf_compare(arena, before, after, &changes));
    assert_int_equal(changes.count, 1);
    assert_true(changes.items[0].is_secret);
    assert_int_equal(changes.items[0].before.len, 0);
    assert_int_equal(changes.items[0].after.len, 0);
    conf_unref(before);
    conf_unref(after);
    arena_free(arena);
}

static void test_carried_over(void **state)
{
    /* Guards: what needs a restart stays that of the first snapshot, which lives as long as
     * somebody borrows from it, and no longer (the address sanitizer counts). */
    (void)state;
    struct gw_error err = {GW_OK, ""};
    struct conf *first = load(UPSTREAM "listen: [{address: \"127.0.0.1:7\"}]\nvia: one\n"
                                       "limits: {connections: 7}\nroutes:\n" ROUTE_A);
    struct conf *second = load(UPSTREAM "listen: [{address: \"127.0.0.1:8\"}]\nvia: two\n"
                                        "workers: 3\nroutes:\n" ROUTE_A);
    struct conf *third = load(UPSTREAM "via: three\nroutes:\n" ROUTE_B);
    assert_int_equal(conf_carry_over(second, first, &err), GW_OK);
    assert_int_equal(conf_carry_over(third, first, &err), GW_OK);
    conf_unref(first);
    assert_int_equal(second->listen[0].port, 7);
    assert_int_equal(second->limits.connections, 7);
    assert_int_equal(second->workers, 1);
    assert_true(span_equal(second->via_name, SPAN("two")));
    conf_unref(second);
    assert_int_equal(third->listen[0].port, 7);
    assert_true(span_equal(third->via_name, SPAN("three")));
    conf_unref(third);
}

static void test_memory(void **state)
{
    /* Guards: new routes within old limits are judged by the memory that they take together. */
    (void)state;
    struct gw_error err = {GW_OK, ""};
    struct conf *first =
        load(UPSTREAM "limits: {memory_max: 512MiB, connections: 100}\nroutes:\n" ROUTE_A);
    struct conf *second = load("upstreams: {u: {url: \"http://127.0.0.1:1\", connections: {max: "
                               "8000}}}\nlimits: {memory_max: 4GiB, connections: 100}\n"
                               "routes:\n" ROUTE_A);
    enum gw_status status = conf_carry_over(second, first, &err);
    assert_int_equal(status, GW_INVALID);
    assert_non_null(strstr(err.text, "memory_max"));
    conf_unref(second);
    conf_unref(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_a_route_that_goes),
        cmocka_unit_test(test_secrets), cmocka_unit_test(test_carried_over),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
