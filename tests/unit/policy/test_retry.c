/* What follows an attempt without an outcome, and when a free key may be tried. */
#include "tests/lib/testlib.h"

#include "policy/retry.h"

#define NOW    INT64_C(1800000000000)
#define SECOND INT64_C(1000)
#define HOUR   (3600 * SECOND)

static struct route_policy a_route(void)
{
    struct route_policy route = {.retry = {.is_on = true,
                                           .when_not_sent = true,
                                           .attempts_max = 4,
                                           .within_ms = 120 * SECOND,
                                           .backoff = {.base_ms = 500, .max_ms = 20 * SECOND},
                                           .wait_at_most_ms = 5 * SECOND},
                                 .defer = {.max_age_ms = 24 * HOUR},
                                 .quiet_ms = 600 * SECOND};
    status_set_add(&route.retry.when, 429);
    return route;
}

static struct retry_facts refused(const struct retry_budget *budget)
{
    return (struct retry_facts){.event = RECEIPT_EV_REFUSED,
                                .basis = BASIS_PROVED,
                                .budget = budget,
                                .now_ms = budget->written_ms};
}

/* Guards: what may have run is never tried again but by the upstream's own memory. */
static void test_lost_is_not_tried_again(void **state)
{
    (void)state;
    struct route_policy route = a_route();
    const struct retry_budget budget = {.window_ms = NOW, .attempts = 1, .written_ms = NOW};
    struct retry_facts facts = refused(&budget);
    facts.event = RECEIPT_EV_LOST;
    facts.basis = BASIS_NONE;
    facts.first_sent_ms = NOW;
    facts.promised_ms = NOW;
    facts.may_defer = true;
    for (uint16_t status = 0; status < 600; status++) {
        facts.status = status;
        assert_int_equal(retry_judge(&route, &facts).next, RETRY_NO);
    }
    route.passes_key = true;
    route.dedup_window_ms = 24 * HOUR;
    assert_int_equal(retry_judge(&route, &facts).next, RETRY_RESEND);
}

/* Guards: the window of the upstream counts from the first sending, and covers the time
 * that bytes need to land. */
static void test_window_of_the_upstream(void **state)
{
    (void)state;
    struct route_policy route = a_route();
    route.passes_key = true;
    route.dedup_window_ms = 24 * HOUR;
    const int64_t last = 24 * HOUR - route.quiet_ms - 1;
    assert_true(retry_may_resend(&route, NOW, NOW));
    assert_true(retry_may_resend(&route, NOW, NOW + last));
    assert_false(retry_may_resend(&route, NOW, NOW + last + 1));
    assert_false(retry_may_resend(&route, NOW, NOW - 1)); /* the clock was set back */
    assert_false(retry_may_resend(&route, 0, NOW));
    route.passes_key = false;
    assert_false(retry_may_resend(&route, NOW, NOW));
}

/* Guards: attempts of callers and of the gateway are one count, and the window reopens. */
static void test_budget(void **state)
{
    (void)state;
    const struct route_policy route = a_route();
    struct retry_budget budget = {0};
    for (uint32_t i = 1; i <= 4; i++) {
        assert_int_equal(retry_ask(&route.retry, &budget, NOW + i).gate, RETRY_OPEN);
        retry_count(&route.retry, &budget, NOW + i);
        assert_int_equal(budget.attempts, i);
        assert_int_equal(budget.window_ms, NOW + 1);
    }
    struct retry_pass pass = retry_ask(&route.retry, &budget, NOW + 10);
    assert_int_equal(pass.gate, RETRY_SPENT);
    assert_int_equal(pass.wait_ms, 120 * SECOND - 9);
    assert_int_equal(retry_ask(&route.retry, &budget, NOW + 120 * SECOND).gate, RETRY_SPENT);
    assert_int_equal(retry_ask(&route.retry, &budget, NOW + 120 * SECOND + 1).gate, RETRY_OPEN);
    retry_count(&route.retry, &budget, NOW + 120 * SECOND + 1);
    assert_int_equal(budget.attempts, 1);
}

/* Guards: a clock that is set back by an hour blocks no key for an hour. */
static void test_clock_set_back(void **state)
{
    (void)state;
    const struct route_policy route = a_route();
    const struct retry_budget budget = {.window_ms = NOW - SECOND,
                                        .attempts = 4,
                                        .not_before_ms = NOW + 10 * SECOND,
                                        .written_ms = NOW};
    assert_int_equal(retry_ask(&route.retry, &budget, NOW).gate, RETRY_SPENT);
    assert_int_equal(retry_ask(&route.retry, &budget, NOW - HOUR).gate, RETRY_OPEN);
    assert_int_equal(retry_ask(&route.retry, &budget, NOW + HOUR).gate, RETRY_OPEN);
}

/* Guards: the upstream's Retry-After is a lower bound, also for the next repeat. */
static void test_wish_of_the_upstream(void **state)
{
    (void)state;
    const struct route_policy route = a_route();
    struct retry_budget budget = {.window_ms = NOW, .attempts = 1, .written_ms = NOW};
    struct retry_facts facts = refused(&budget);
    facts.basis = BASIS_DECLARED;
    facts.status = 429;
    for (uint64_t random = 0; random < 1000; random++) {
        facts.random = random;
        facts.retry_after_ms = 3 * SECOND;
        struct retry_verdict verdict = retry_judge(&route, &facts);
        assert_int_equal(verdict.next, RETRY_WAIT);
        assert_true(verdict.wait_ms >= 3 * SECOND);
        facts.retry_after_ms = 60 * SECOND;
        verdict = retry_judge(&route, &facts);
        assert_int_equal(verdict.next, RETRY_RELEASE);
        assert_true(verdict.at_ms >= NOW + 60 * SECOND);
    }
    budget.not_before_ms = NOW + 60 * SECOND;
    struct retry_pass pass = retry_ask(&route.retry, &budget, NOW + SECOND);
    assert_int_equal(pass.gate, RETRY_LATER);
    assert_int_equal(pass.wait_ms, 59 * SECOND);
    pass = retry_ask(&route.retry, &budget, NOW + 56 * SECOND);
    assert_int_equal(pass.gate, RETRY_NEAR);
    assert_int_equal(pass.wait_ms, 4 * SECOND);
    assert_int_equal(retry_ask(&route.retry, &budget, NOW + 60 * SECOND).gate, RETRY_OPEN);
}

/* Guards: due times of many that fail at once lie apart, in every attempt of them. */
static void test_due_times_lie_apart(void **state)
{
    (void)state;
    const struct route_policy route = a_route();
    for (uint32_t attempts = 1; attempts <= 8; attempts++) {
        const struct retry_budget budget = {
            .window_ms = NOW, .attempts = attempts, .written_ms = NOW};
        struct retry_facts facts = refused(&budget);
        facts.promised_ms = NOW;
        int64_t first = INT64_MAX, last = 0;
        for (uint64_t i = 0; i < 500; i++) {
            facts.random = i * 0x9e3779b97f4a7c15u >> 7;
            const struct retry_verdict verdict = retry_judge(&route, &facts);
            assert_int_equal(verdict.next, RETRY_DEFER);
            first = verdict.at_ms < first ? verdict.at_ms : first;
            last = verdict.at_ms > last ? verdict.at_ms : last;
        }
        int64_t most = attempts < 6 ? INT64_C(500) << (attempts - 1) : 16 * SECOND;
        assert_true(last - first > most / 2);
        if (attempts >= 4) /* the window is used up: none comes before its end */
            assert_true(first >= NOW + 120 * SECOND);
    }
}

/* Guards: a promise is kept trying until it is too old, and then it says so. */
static void test_promise(void **state)
{
    (void)state;
    struct route_policy route = a_route();
    const struct retry_budget budget = {.window_ms = NOW, .attempts = 1, .written_ms = NOW};
    struct retry_facts facts = refused(&budget);
    facts.promised_ms = NOW - 24 * HOUR;
    facts.random = 1;
    assert_int_equal(retry_judge(&route, &facts).next, RETRY_GIVE_UP);
    facts.promised_ms = NOW - 23 * HOUR;
    assert_int_equal(retry_judge(&route, &facts).next, RETRY_DEFER);
    route.retry.is_on = false; /* a proof that nothing left needs no list */
    assert_int_equal(retry_judge(&route, &facts).next, RETRY_DEFER);
    facts.basis = BASIS_DECLARED;
    facts.status = 429;
    assert_int_equal(retry_judge(&route, &facts).next, RETRY_GIVE_UP);
    assert_false(retry_is_too_old(&route.defer, NOW, NOW + 24 * HOUR));
    assert_true(retry_is_too_old(&route.defer, NOW, NOW + 24 * HOUR + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_is_not_tried_again),
        cmocka_unit_test(test_window_of_the_upstream),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_clock_set_back),
        cmocka_unit_test(test_wish_of_the_upstream),
        cmocka_unit_test(test_due_times_lie_apart),
        cmocka_unit_test(test_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
