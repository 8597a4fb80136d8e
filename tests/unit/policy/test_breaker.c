/* The breaker with a clock of the test's own: when it opens, what it lets through,
 * and the edges of its window. */
#include "tests/lib/testlib.h"

#include "policy/breaker.h"

/* 16 slots of 10 ms. */
static const struct breaker_policy policy = {
    .is_on = true, .unknowns = 4, .share_percent = 50, .overdue_ms = 30, .in_ms = 160};

static void end(struct breaker *breaker, bool unknown, int count, int64_t now)
{
    for (int i = 0; i < count; i++)
        breaker_ended(breaker, &policy, unknown, false, now);
}

static struct breaker opened_at(int64_t now)
{
    struct breaker breaker;
    breaker_init(&breaker, now);
    end(&breaker, true, 4, now);
    assert_int_equal(breaker.state, BREAKER_OPEN);
    return breaker;
}

/* Guards: it opens at the number, not before, and from then on nothing passes. */
static void test_opens_at_the_number(void **state)
{
    (void)state;
    struct breaker breaker;
    breaker_init(&breaker, 1000);
    end(&breaker, true, 3, 1000);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1000), BREAKER_PASS);
    assert_int_equal(breaker_retry_ms(&breaker, &policy, 1000), 0);
    end(&breaker, true, 1, 1000);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1001), BREAKER_STOP);
    assert_int_equal(breaker_retry_ms(&breaker, &policy, 1001), 159);
}

/* Guards: a large number that is a small share does not open it; the share itself does. */
static void test_share(void **state)
{
    (void)state;
    struct breaker breaker;
    breaker_init(&breaker, 0);
    end(&breaker, false, 5, 0);
    end(&breaker, true, 4, 0);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 0), BREAKER_PASS); /* 4 of 9 */
    end(&breaker, true, 1, 0);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 0), BREAKER_STOP); /* 5 of 10 */
}

/* Guards: attempts that are overdue count before they end, in number and in share. */
static void test_overdue(void **state)
{
    (void)state;
    struct breaker breaker;
    breaker_init(&breaker, 0);
    assert_int_equal(breaker_ask(&breaker, &policy, 3, 0), BREAKER_PASS);
    assert_int_equal(breaker_ask(&breaker, &policy, 4, 0), BREAKER_STOP);
    breaker_init(&breaker, 0);
    end(&breaker, false, 5, 0);
    assert_int_equal(breaker_ask(&breaker, &policy, 4, 0), BREAKER_PASS); /* 4 of 9 */
    assert_int_equal(breaker_ask(&breaker, &policy, 5, 0), BREAKER_STOP); /* 5 of 10 */
    breaker_init(&breaker, 0);
    end(&breaker, true, 2, 0);
    assert_int_equal(breaker_ask(&breaker, &policy, 2, 0), BREAKER_STOP);
}

/* Guards: an unknown counts for the whole window and not for longer. */
static void test_edges_of_the_window(void **state)
{
    (void)state;
    struct breaker breaker;
    breaker_init(&breaker, 0);
    end(&breaker, true, 3, 0);
    end(&breaker, true, 1, 159);
    assert_int_equal(breaker.state, BREAKER_OPEN);

    breaker_init(&breaker, 0);
    end(&breaker, true, 3, 0);
    end(&breaker, true, 1, 160);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    end(&breaker, true, 2, 160);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    end(&breaker, true, 1, 319);
    assert_int_equal(breaker.state, BREAKER_OPEN); /* 3 of 160 and 1 of 319 */

    breaker_init(&breaker, 0);
    end(&breaker, true, 2, 5);
    end(&breaker, true, 1, 15);  /* the slot after */
    end(&breaker, true, 1, 165); /* the first slot is over, the second is not */
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    end(&breaker, true, 2, 169);
    assert_int_equal(breaker.state, BREAKER_OPEN);
}

/* Guards: known ends leave the window too, so that old good days hide no outage. */
static void test_old_successes_are_forgotten(void **state)
{
    (void)state;
    struct breaker breaker;
    breaker_init(&breaker, 0);
    end(&breaker, false, 1000, 0);
    end(&breaker, true, 4, 150);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 160), BREAKER_STOP);
}

/* Guards: however far time jumps, the counts are forgotten and nothing overflows. */
static void test_far_jumps(void **state)
{
    (void)state;
    static const int64_t jumps[] = {160, 161, 1000000, INT64_MAX};
    for (size_t i = 0; i < GW_COUNT(jumps); i++) {
        struct breaker breaker;
        breaker_init(&breaker, 0);
        end(&breaker, true, 3, 0);
        end(&breaker, true, 3, jumps[i]);
        assert_int_equal(breaker.state, BREAKER_CLOSED);
        end(&breaker, true, 1, jumps[i]);
        assert_int_equal(breaker.state, BREAKER_OPEN);
    }
}

/* Guards: ticks that another thread read a little earlier do no harm. */
static void test_ticks_out_of_order(void **state)
{
    (void)state;
    struct breaker breaker;
    breaker_init(&breaker, 1000);
    end(&breaker, true, 2, 1040);
    end(&breaker, true, 2, 1039);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 990), BREAKER_STOP);
}

/* Guards: after the window one trial goes out, the others wait for its end. */
static void test_one_trial(void **state)
{
    (void)state;
    struct breaker breaker = opened_at(1000);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1159), BREAKER_STOP);
    assert_int_equal(breaker_retry_ms(&breaker, &policy, 1159), 1);
    assert_int_equal(breaker_retry_ms(&breaker, &policy, 1160), 0);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1160), BREAKER_TRIAL);
    for (int64_t now = 1160; now < 5000; now += 160)
        assert_int_equal(breaker_ask(&breaker, &policy, 0, now), BREAKER_STOP);
    assert_int_equal(breaker_retry_ms(&breaker, &policy, 5000), 10);
    end(&breaker, true, 9, 5000); /* ends of before say nothing about the trial */
    end(&breaker, false, 9, 5000);
    assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
}

/* Guards: a known end of the trial closes and starts with clean counts. */
static void test_trial_closes(void **state)
{
    (void)state;
    struct breaker breaker = opened_at(1000);
    end(&breaker, true, 50, 1150); /* attempts that were out when it opened */
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1160), BREAKER_TRIAL);
    breaker_ended(&breaker, &policy, false, true, 1165);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1165), BREAKER_PASS);
    end(&breaker, true, 3, 1166);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1166), BREAKER_PASS);
}

/* Guards: an unknown end of the trial opens for another whole window. */
static void test_trial_opens_again(void **state)
{
    (void)state;
    struct breaker breaker = opened_at(1000);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1500), BREAKER_TRIAL);
    breaker_ended(&breaker, &policy, true, true, 1530);
    assert_int_equal(breaker.state, BREAKER_OPEN);
    assert_int_equal(breaker_retry_ms(&breaker, &policy, 1530), 160);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1689), BREAKER_STOP);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1690), BREAKER_TRIAL);
}

/* Guards: switched off it passes everything; switched on again it starts with a trial,
 * also where the one that was out ended meanwhile. */
static void test_switched_off(void **state)
{
    (void)state;
    const struct breaker_policy off = {.is_on = false};
    struct breaker breaker = opened_at(1000);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1160), BREAKER_TRIAL);
    assert_int_equal(breaker_ask(&breaker, &off, 100, 1161), BREAKER_PASS);
    assert_int_equal(breaker_retry_ms(&breaker, &off, 1161), 0);
    breaker_ended(&breaker, &off, true, false, 1162);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1163), BREAKER_STOP);
    breaker_ended(&breaker, &off, true, true, 1164);
    assert_int_equal(breaker_retry_ms(&breaker, &policy, 1165), 0);
    assert_int_equal(breaker_ask(&breaker, &policy, 0, 1165), BREAKER_TRIAL);
    /* A trial that ends after somebody closed it counts as any other. */
    breaker_init(&breaker, 1166);
    breaker_ended(&breaker, &policy, true, true, 1167);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
}

/* Guards: limits at their ends: nothing happened is never too much, and a window
 * shorter than its slots still counts. */
static void test_small_limits(void **state)
{
    (void)state;
    const struct breaker_policy touchy = {
        .is_on = true, .unknowns = 0, .share_percent = 0, .in_ms = 1};
    struct breaker breaker;
    breaker_init(&breaker, 0);
    assert_int_equal(breaker_ask(&breaker, &touchy, 0, 0), BREAKER_PASS);
    breaker_ended(&breaker, &touchy, false, false, 0);
    assert_int_equal(breaker_ask(&breaker, &touchy, 0, 0), BREAKER_PASS);
    breaker_ended(&breaker, &touchy, true, false, 0);
    assert_int_equal(breaker_ask(&breaker, &touchy, 0, 0), BREAKER_STOP);
    assert_int_equal(breaker_ask(&breaker, &touchy, 0, 1), BREAKER_TRIAL);
}

/* Guards: the words of the three states. */
static void test_names(void **state)
{
    (void)state;
    assert_string_equal(breaker_state_name(BREAKER_CLOSED), "closed");
    assert_string_equal(breaker_state_name(BREAKER_OPEN), "open");
    assert_string_equal(breaker_state_name(BREAKER_HALF_OPEN), "half_open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opens_at_the_number),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_overdue),
        cmocka_unit_test(test_edges_of_the_window),
        cmocka_unit_test(test_old_successes_are_forgotten),
        cmocka_unit_test(test_far_jumps),
        cmocka_unit_test(test_ticks_out_of_order),
        cmocka_unit_test(test_one_trial),
        cmocka_unit_test(test_trial_closes),
        cmocka_unit_test(test_trial_opens_again),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_small_limits),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
