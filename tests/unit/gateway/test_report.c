/* The report of observe mode: what it makes of exchanges that are given to it in the
 * order of the store. No store and no socket. */
#include "base/buf.h"
#include "gateway/admin/report.h"
#include "tests/lib/testlib.h"

#include <stdio.h>

#define MS_PER_DAY INT64_C(86400000)

static const char text[] =
    "upstreams: {u: {url: \"http://127.0.0.1:1\"}}\n"
    "owners: {everyone: {kind: static}}\n"
    "routes:\n"
    "  - {name: a, mode: observe, match: {path: /a}, replay_body_max: 1KiB, retention: 1d,"
    " tombstone: 2d}\n"
    "  - {name: b, mode: observe, match: {path: /b}, on_changed_after_release: replace,"
    " on_expiry: rerun, retention: 1d}\n";

struct fixture {
    struct conf *conf;
    struct arena *arena;
    struct report *report;
    int64_t id;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct conf_report findings = {0};
    assert_non_null(fixture);
    assert_int_equal(conf_parse(SPAN(text), "t.yaml", &fixture->conf, &findings), GW_OK);
    conf_report_fini(&findings);
    fixture->arena = arena_new(REPORT_BYTES_MAX);
    fixture->report = report_new(fixture->arena, fixture->conf);
    assert_non_null(fixture->report);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    report_fini(fixture->report);
    arena_free(fixture->arena);
    conf_unref(fixture->conf);
    free(fixture);
    return 0;
}

/* An exchange of the key `key` (0: none) with the content `content`. */
static struct observation seen(uint8_t key, uint8_t content, int64_t at_ms)
{
    struct observation one = {.at_ms = at_ms,
                              .route = SPAN("a"),
                              .method = SPAN("POST"),
                              .target = SPAN("/a"),
                              .end = END_answered,
                              .means = MEANS_COMPLETED,
                              .status = 201,
                              .answered_ms = 10};
    one.identity.bytes[0] = key;
    one.print.bytes[0] = content;
    return one;
}

static void take(struct fixture *fixture, struct observation one)
{
    one.id = ++fixture->id;
    report_take(fixture->report, &one);
}

static const struct report_route *finish(struct fixture *fixture)
{
    report_finish(fixture->report);
    assert_non_null(report_at(fixture->report, 0));
    return report_at(fixture->report, 0);
}

static void test_by_time(void **state)
{
    /* Guards: exchanges are played in the order in which they came, not in which they ended. */
    struct fixture *fixture = *state;
    struct observation slow = seen(1, 1, 1000);
    slow.answered_ms = 500;
    take(fixture, seen(1, 1, 1100));
    take(fixture, slow);
    take(fixture, seen(1, 1, 2000));
    const struct report_route *route = finish(fixture);
    assert_int_equal(route->sent, 1);
    assert_int_equal(route->pending, 1);
    assert_int_equal(route->replayed, 1);
    assert_int_equal(route->ran_twice, 2);
    assert_int_equal(route->twice[0].first_ms, 1000);
    assert_int_equal(route->twice[0].again_ms, 1100);
}

static void test_times_of_a_receipt(void **state)
{
    /* Guards: after retention a repeat is told so, and after the tombstone it is a new operation.
     */
    struct fixture *fixture = *state;
    take(fixture, seen(1, 1, 1000));
    take(fixture, seen(1, 1, 1000 + MS_PER_DAY));
    take(fixture, seen(1, 1, 2000 + MS_PER_DAY));
    take(fixture, seen(1, 1, 2000 + 3 * MS_PER_DAY));
    const struct report_route *route = finish(fixture);
    assert_int_equal(route->replayed, 1);
    assert_int_equal(route->expired, 1);
    assert_int_equal(route->sent, 2);
}

static void test_what_the_route_says(void **state)
{
    /* Guards: on_expiry and on_changed_after_release are those of the route. */
    struct fixture *fixture = *state;
    struct observation refused = seen(1, 1, 1000), changed = seen(1, 2, 2000);
    refused.means = MEANS_REFUSED;
    take(fixture, refused);
    take(fixture, changed);
    refused.route = changed.route = SPAN("b");
    refused.identity.bytes[0] = changed.identity.bytes[0] = 2;
    take(fixture, refused);
    take(fixture, changed);
    changed.at_ms += 2 * MS_PER_DAY;
    take(fixture, changed);
    const struct report_route *a = finish(fixture), *b = report_at(fixture->report, 1);
    assert_int_equal(a->mismatched, 1);
    assert_int_equal(a->sent, 1);
    assert_int_equal(b->mismatched, 0);
    assert_int_equal(b->sent, 3);
}

static void test_large_answers_and_losses(void **state)
{
    /* Guards: what is too large to be kept is not replayed; a lost answer holds its repeats. */
    struct fixture *fixture = *state;
    struct observation large = seen(1, 1, 1000), lost = seen(2, 1, 1000);
    large.answer_bytes = 1025;
    lost.end = END_answer_timeout;
    lost.means = MEANS_UNKNOWN;
    lost.status = 0;
    take(fixture, large);
    take(fixture, seen(1, 1, 2000));
    take(fixture, lost);
    take(fixture, seen(2, 1, 2000));
    const struct report_route *route = finish(fixture);
    assert_int_equal(route->unavailable, 1);
    assert_int_equal(route->held_unknown, 1);
    assert_int_equal(route->unknown.count, 1);
    assert_int_equal(route->unknown.items[0].end, END_answer_timeout);
    assert_int_equal(route->ran_twice, 1);
    assert_int_equal(route->may_have_run_twice, 1);
    assert_int_equal(route->keys, 2);
}

static void test_a_caller_who_left(void **state)
{
    /* Guards: a call that its caller broke off is no lost answer, nor a slow one. */
    struct fixture *fixture = *state;
    struct observation left = seen(1, 1, 1000);
    left.end = END_none;
    left.means = MEANS_UNKNOWN;
    left.status = 0;
    left.answered_ms = 60000;
    take(fixture, left);
    take(fixture, seen(1, 1, 2000));
    const struct report_route *route = finish(fixture);
    assert_int_equal(route->callers_left, 1);
    assert_int_equal(route->unknown.count, 0);
    assert_int_equal(route->held_unknown, 0);
    assert_int_equal(route->replayed, 1);
    assert_int_equal(route->slowest_ms, 10);
}

static void add_member(struct member_digest *member, const char *pointer, uint8_t value)
{
    member->pointer = span_str(pointer);
    memset(member->mac, value, sizeof(member->mac));
}

/* /in with /in/at inside, and /kind, of these values. */
static struct span members_of(struct gw_buf *room, uint8_t at, uint8_t kind)
{
    struct member_digest members[3];
    add_member(&members[0], "/in", at);
    add_member(&members[1], "/in/at", at);
    add_member(&members[2], "/kind", kind);
    gw_buf_init(room, 4096);
    assert_true(members_encode(room, members, 3));
    return gw_buf_span(room);
}

static uint64_t changes_of(const struct report_route *route, const char *pointer)
{
    for (uint32_t i = 0; i < route->members.count; i++)
        if (span_equal(route->members.items[i].name, span_str(pointer)))
            return route->members.items[i].count;
    return 0;
}

static void test_members(void **state)
{
    /* Guards: the deepest member that differs is named, on whichever side it stands. */
    struct fixture *fixture = *state;
    struct gw_buf rooms[3];
    for (uint8_t i = 0; i < 3; i++) {
        struct observation one = seen(1, (uint8_t)(i + 1), 1000 * (i + 1));
        one.members = members_of(&rooms[i], i, i == 2 ? 9 : 7);
        take(fixture, one);
    }
    const struct report_route *route = finish(fixture);
    assert_int_equal(route->mismatched, 2);
    assert_int_equal(route->compared, 2);
    assert_int_equal(changes_of(route, "/in/at"), 2);
    assert_int_equal(changes_of(route, "/in"), 0);
    assert_int_equal(changes_of(route, "/kind"), 1);
    for (size_t i = 0; i < GW_COUNT(rooms); i++)
        gw_buf_fini(&rooms[i]);
}

static void test_few_are_compared(void **state)
{
    /* Guards: of a key that mismatches over and over all are counted, and some are compared:
     * the share of a member is counted of those. */
    enum { MANY = 200, COMPARED = 16 };
    struct fixture *fixture = *state;
    for (uint8_t i = 0; i <= MANY; i++) {
        struct gw_buf room;
        struct observation one = seen(1, (uint8_t)(i + 1), 1000 * (i + 1));
        one.members = members_of(&room, i, 7);
        take(fixture, one);
        gw_buf_fini(&room);
    }
    const struct report_route *route = finish(fixture);
    assert_int_equal(route->mismatched, MANY);
    assert_int_equal(route->compared, COMPARED);
    assert_int_equal(changes_of(route, "/in/at"), COMPARED);
}

static void test_candidates(void **state)
{
    /* Guards: a member that tells keyless requests apart is proposed, one that does not is not. */
    struct fixture *fixture = *state;
    struct report_candidate found[REPORT_CANDIDATES_MAX];
    for (uint8_t i = 0; i < 5; i++) {
        struct gw_buf room;
        struct observation one = seen(0, (uint8_t)(i + 1), 1000);
        one.fault = SPAN("key-missing");
        one.members = members_of(&room, i, 7);
        take(fixture, one);
        gw_buf_fini(&room);
    }
    const struct report_route *route = finish(fixture);
    assert_int_equal(route->refused, 5);
    assert_int_equal(report_sample_candidates(route, found), 1);
    assert_true(span_equal(found[0].pointer, SPAN("/in")));
    assert_int_equal(found[0].values, 5);
}

static void test_maxima(void **state)
{
    /* Guards: more reasons, repeats of a key or routes than are counted are told, not dropped. */
    struct fixture *fixture = *state;
    char name[32];
    for (int i = 0; i < REPORT_NAMES_MAX + 1; i++) {
        struct observation one = seen(0, 0, 1000);
        (void)snprintf(name, sizeof(name), "reason %d", i); /* short */
        one.fault = span_str(name);
        take(fixture, one);
    }
    for (int i = 0; i < 300; i++) {
        struct observation one = seen(1, 1, 1000 + i);
        one.route = SPAN("b");
        take(fixture, one);
    }
    for (int i = 0; i < REPORT_ROUTES_MAX; i++) {
        struct observation one = seen(2, 1, 1000);
        (void)snprintf(name, sizeof(name), "gone-%d", i); /* short */
        one.route = span_str(name);
        take(fixture, one);
    }
    const struct report_route *a = finish(fixture), *b = report_at(fixture->report, 1);
    assert_int_equal(a->refused, REPORT_NAMES_MAX + 1);
    assert_int_equal(a->reasons.count, REPORT_NAMES_MAX);
    assert_true(a->is_cut);
    assert_int_equal(b->exchanges, 300);
    assert_true(b->is_cut);
    assert_int_equal(report_count(fixture->report), REPORT_ROUTES_MAX);
    assert_true(report_is_cut(fixture->report));
    assert_null(report_at(fixture->report, 2)->route);
}

static void test_percentile(void **state)
{
    /* Guards: a percentile is never under the value it stands for, and near it. */
    (void)state;
    static const int64_t values[] = {0, 1, 15, 16, 17, 31, 32, 99, 1000, 123456, INT64_MAX};
    for (size_t i = 0; i < GW_COUNT(values); i++) {
        struct report_levels levels = {0};
        report_level_add(&levels, values[i]);
        int64_t told = report_level_percentile(&levels, 99);
        assert_true(told >= values[i]);
        assert_true(told - values[i] <= values[i] / 8);
    }
    struct report_levels levels = {0};
    assert_int_equal(report_level_percentile(&levels, 99), 0);
    for (int i = 0; i < 99; i++)
        report_level_add(&levels, 5);
    report_level_add(&levels, 5000);
    assert_int_equal(report_level_percentile(&levels, 99), 5);
    assert_true(report_level_percentile(&levels, 100) >= 5000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_by_time),
        TEST(test_times_of_a_receipt),
        TEST(test_what_the_route_says),
        TEST(test_large_answers_and_losses),
        TEST(test_a_caller_who_left),
        TEST(test_members),
        TEST(test_few_are_compared),
        TEST(test_candidates),
        TEST(test_maxima),
        cmocka_unit_test(test_percentile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
