/* Which rule or list decides, and the names of the ends. The whole table:
 * tests/golden/classify.txt. */
#include "tests/lib/testlib.h"

#include "policy/classify.h"

static const struct upstream_facts answered = {
    .end = END_answered, .bytes_out = 100, .status = 200};

/* Guards: the first rule that fits decides, and says where it stands. */
static void test_first_rule_decides(void **state)
{
    (void)state;
    struct answer_rule rules[4] = {{.has_status = true, .means = MEANS_REFUSED, .line = 10},
                                   {.text = SPAN("denied"), .means = MEANS_REFUSED, .line = 11},
                                   {.means = MEANS_UNKNOWN, .line = 12},
                                   {.means = MEANS_COMPLETED, .line = 13}};
    status_set_add(&rules[0].status, 404);
    const struct route_policy route = {.outcome = {.rules = rules, .rule_count = 4}};
    struct answer_view answer = {.status = 200, .body = SPAN("fine"), .body_is_whole = true};
    struct classify_result result = classify(&route, &answered, &answer);
    assert_int_equal(result.event, RECEIPT_EV_LOST);
    assert_int_equal(result.basis, BASIS_NONE);
    assert_int_equal(result.rule, 2);
    assert_int_equal(result.line, 12);

    answer.body = SPAN("access denied");
    result = classify(&route, &answered, &answer);
    assert_int_equal(result.event, RECEIPT_EV_REFUSED);
    assert_int_equal(result.basis, BASIS_DECLARED);
    assert_int_equal(result.rule, 1);
    assert_int_equal(result.line, 11);
}

/* Guards: a rule is stronger than both lists, and a list says its own line. */
static void test_rules_before_lists(void **state)
{
    (void)state;
    struct answer_rule rule = {.text = SPAN("queued"), .means = MEANS_COMPLETED, .line = 20};
    struct route_policy route = {
        .outcome = {.refused_line = 8, .unknown_line = 9, .rules = &rule, .rule_count = 1}};
    status_set_add(&route.outcome.refused, 429);
    status_set_add(&route.outcome.unknown, 503);
    static const uint16_t statuses[] = {429, 503};
    for (size_t i = 0; i < GW_COUNT(statuses); i++) {
        struct answer_view answer = {
            .status = statuses[i], .body = SPAN("queued"), .body_is_whole = true};
        assert_int_equal(classify(&route, &answered, &answer).event, RECEIPT_EV_ANSWERED);
        answer.body = SPAN("");
        const struct classify_result result = classify(&route, &answered, &answer);
        assert_int_equal(result.event, statuses[i] == 429 ? RECEIPT_EV_REFUSED : RECEIPT_EV_LOST);
        assert_int_equal(result.line, statuses[i] == 429 ? 8 : 9);
        assert_int_equal(result.rule, CLASSIFY_NO_RULE);
    }
}

/* Guards: a count that died with its process is never taken for a proof. */
static void test_crash_proves_nothing(void **state)
{
    (void)state;
    const struct route_policy route = {.name = SPAN("r")};
    const struct upstream_facts facts = {.end = END_crashed, .bytes_out = 0};
    assert_int_equal(classify(&route, &facts, NULL).event, RECEIPT_EV_LOST);
}

/* Guards: names go both ways, groups and sentences are there, and nothing else is a name. */
static void test_names_of_ends(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < END_COUNT; i++) {
        const enum attempt_end end = (enum attempt_end)i;
        assert_int_equal(end_by_name(span_str(end_name(end))), end);
        assert_true(strlen(end_doc(end)) > 0);
    }
    assert_int_equal(end_by_name(SPAN("")), END_COUNT);
    assert_int_equal(end_by_name(SPAN("Answered")), END_COUNT);
    assert_int_equal(end_by_name(SPAN("answered ")), END_COUNT);
    assert_int_equal(end_by_name(SPAN("answere")), END_COUNT);
    assert_int_equal(end_group(END_stale_connection), END_GROUP_NOT_SENT);
    assert_int_equal(end_group(END_answered), END_GROUP_ANSWERED);
    assert_int_equal(end_group(END_drained), END_GROUP_UNCLEAR);
}

/* Guards: the words for how a thing is known are the published ones. */
static void test_names_of_bases(void **state)
{
    (void)state;
    assert_string_equal(basis_name(BASIS_NONE), "none");
    assert_string_equal(basis_name(BASIS_PROVED), "proved");
    assert_string_equal(basis_name(BASIS_DECLARED), "declared");
    assert_string_equal(basis_name(BASIS_ASSERTED), "asserted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_rule_decides),   cmocka_unit_test(test_rules_before_lists),
        cmocka_unit_test(test_crash_proves_nothing), cmocka_unit_test(test_names_of_ends),
        cmocka_unit_test(test_names_of_bases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
