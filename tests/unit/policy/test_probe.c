/* What an answer to a probe says, and when it is asked again. */
#include "tests/lib/testlib.h"

#include "policy/probe.h"

#define NODES_MAX 32
#define EVERY     INT64_C(30000)
#define QUIET     INT64_C(600000)

struct parsed {
    struct json_doc doc;
    struct json_node nodes[NODES_MAX];
    uint32_t order[NODES_MAX];
};

static const struct span items[] = {{"items", 5}}, first[] = {{"items", 5}, {"0", 1}};
static const struct rule_json has_first = {.pointer = {{"/items/0", 8}, first, 2},
                                           .test = RULE_EXISTS};
static const struct rule_json has_none = {.pointer = {{"/items", 6}, items, 1}, .test = RULE_EMPTY};

static struct route_policy route_that_asks(void)
{
    struct route_policy route = {.quiet_ms = QUIET};
    struct probe_policy *probe = &route.probe;
    probe->is_on = probe->has_executed = probe->has_absent = true;
    probe->executed = (struct answer_rule){.json = &has_first, .json_count = 1};
    probe->absent = (struct answer_rule){.json = &has_none, .json_count = 1};
    probe->answer_status = 201;
    probe->answer_has_body = true;
    probe->answer_body = has_first.pointer;
    probe->every_ms = EVERY;
    probe->attempts_max = 10;
    return route;
}

static struct probe_verdict judge(const struct probe_policy *probe, const char *body,
                                  enum attempt_end end)
{
    const struct json_limits limits = {.depth_max = 8, .nodes_max = NODES_MAX};
    const struct upstream_facts facts = {.end = end, .bytes_out = 9, .status = 200};
    struct parsed parsed;
    struct json_fault fault;
    uint32_t count = 0;
    struct answer_view view = {.status = 200, .body = span_str(body), .body_is_whole = true};
    if (json_count(view.body, &limits, &count, &fault) &&
        json_parse(view.body, &limits, parsed.nodes, parsed.order, count, &parsed.doc, &fault))
        view.json = &parsed.doc;
    return probe_judge(probe, &facts, end == END_answered ? &view : NULL);
}

/* Guards: each of the four words, and that a body is named where one is to be built. */
static void test_words(void **state)
{
    (void)state;
    const struct route_policy route = route_that_asks();
    struct probe_verdict verdict = judge(&route.probe, "{\"items\":[{\"a\":1}]}", END_answered);
    assert_int_equal(verdict.says, PROBE_SAYS_EXECUTED);
    assert_int_not_equal(verdict.body_node, JSON_NONE);
    assert_int_equal(judge(&route.probe, "{\"items\":[]}", END_answered).says, PROBE_SAYS_ABSENT);
    assert_int_equal(judge(&route.probe, "{}", END_answered).says, PROBE_SAYS_UNCLEAR);
    assert_int_equal(judge(&route.probe, "not JSON", END_answered).says, PROBE_SAYS_UNCLEAR);
    for (int end = 0; end < END_COUNT; end++) {
        if (end == END_answered)
            continue;
        verdict = judge(&route.probe, "{\"items\":[1]}", (enum attempt_end)end);
        assert_int_equal(verdict.says, PROBE_SAYS_NOTHING);
        assert_int_equal(verdict.body_node, JSON_NONE);
    }
}

/* Guards: two conditions that both fit say nothing. */
static void test_both(void **state)
{
    (void)state;
    struct route_policy route = route_that_asks();
    route.probe.absent = route.probe.executed;
    assert_int_equal(judge(&route.probe, "{\"items\":[1]}", END_answered).says, PROBE_SAYS_UNCLEAR);
}

/* Guards: a condition that was not given never fits. */
static void test_one_condition(void **state)
{
    (void)state;
    struct route_policy route = route_that_asks();
    route.probe.has_absent = false;
    assert_int_equal(judge(&route.probe, "{\"items\":[]}", END_answered).says, PROBE_SAYS_UNCLEAR);
    assert_int_equal(judge(&route.probe, "{\"items\":[1]}", END_answered).says,
                     PROBE_SAYS_EXECUTED);
    route = route_that_asks();
    route.probe.has_executed = false;
    assert_int_equal(judge(&route.probe, "{\"items\":[1]}", END_answered).says, PROBE_SAYS_UNCLEAR);
}

/* Guards: an answer to replay that cannot be built ends no doubt; none wanted needs none. */
static void test_response(void **state)
{
    (void)state;
    static const struct span elsewhere[] = {{"ticket", 6}};
    struct route_policy route = route_that_asks();
    route.probe.answer_body = (struct json_pointer){{"/ticket", 7}, elsewhere, 1};
    assert_int_equal(judge(&route.probe, "{\"items\":[1]}", END_answered).says, PROBE_SAYS_UNCLEAR);
    route.probe.answer_has_body = false;
    struct probe_verdict verdict = judge(&route.probe, "{\"items\":[1]}", END_answered);
    assert_int_equal(verdict.says, PROBE_SAYS_EXECUTED);
    assert_int_equal(verdict.body_node, JSON_NONE);
    assert_true(probe_wants_json(&route.probe));
    route.probe.executed = route.probe.absent = (struct answer_rule){.has_status = true};
    assert_false(probe_wants_json(&route.probe));
    route.probe.answer_has_body = true;
    assert_true(probe_wants_json(&route.probe));
}

/* Guards: the first question waits for the quiet time, and without a probe there is none. */
static void test_first(void **state)
{
    (void)state;
    struct route_policy route = route_that_asks();
    assert_int_equal(probe_first_ms(&route, 1000), 1000 + QUIET);
    route.quiet_ms = 0;
    assert_int_equal(probe_first_ms(&route, 0), 1);
    route.probe.is_on = false;
    assert_int_equal(probe_first_ms(&route, 1000), 0);
    assert_int_equal(probe_next_ms(&route, 0, 1000, 1000, 0), 0);
}

/* Guards: the wait doubles up to an hour, is spread by a quarter at most, and ends. */
static void test_next(void **state)
{
    (void)state;
    const struct route_policy route = route_that_asks();
    const int64_t now = QUIET * 10;
    static const int64_t waits[] = {1, 2, 4, 8, 16, 32, 64, 120, 120};
    for (uint32_t count = 1; count < 10; count++) {
        int64_t wait = waits[count - 1] * EVERY;
        assert_int_equal(probe_next_ms(&route, count, now, 0, 0), now + wait);
        assert_int_equal(probe_next_ms(&route, count, now, 0, (uint64_t)wait / 4),
                         now + wait + wait / 4);
        assert_int_equal(probe_next_ms(&route, count, now, 0, (uint64_t)wait / 4 + 1), now + wait);
        int64_t any = probe_next_ms(&route, count, now, 0, UINT64_MAX);
        assert_in_range(any, now + wait, now + wait + wait / 4);
    }
    assert_int_equal(probe_next_ms(&route, 10, now, 0, 0), 0);
    assert_int_equal(probe_next_ms(&route, UINT32_MAX, now, 0, 0), 0);
}

/* Guards: after an early question of a person the next one waits for the quiet time. */
static void test_next_is_not_early(void **state)
{
    (void)state;
    const struct route_policy route = route_that_asks();
    assert_int_equal(probe_next_ms(&route, 1, 5000, 4000, 0), 4000 + QUIET);
}

/* Guards: an interval over an hour is kept as it is. */
static void test_long_interval(void **state)
{
    (void)state;
    struct route_policy route = route_that_asks();
    route.probe.every_ms = 3 * PROBE_WAIT_MAX_MS;
    route.probe.attempts_max = 1000;
    for (uint32_t count = 1; count < 1000; count++)
        assert_int_equal(probe_next_ms(&route, count, QUIET, 0, 0), QUIET + 3 * PROBE_WAIT_MAX_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_both),
        cmocka_unit_test(test_one_condition),
        cmocka_unit_test(test_response),
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_next_is_not_early),
        cmocka_unit_test(test_long_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
