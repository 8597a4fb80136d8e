/* What the table of admit() cannot show: the edges of time, and that what runs is
 * really free. The whole table: tests/golden/admit.txt. */
#include "tests/lib/testlib.h"

#include "policy/admit.h"

#define EXPIRE    INT64_C(10000)
#define TOMBSTONE INT64_C(500)
#define UPDATED   INT64_C(2000)
#define WINDOW    INT64_C(300)

static const struct fingerprint same = {{1}};

static enum admit_verdict ask(const struct receipt *seen, int64_t now_ms)
{
    const struct route_policy route = {.tombstone_ms = TOMBSTONE};
    const struct admit_facts facts = {.seen = seen,
                                      .print = &same,
                                      .seen_print = &same,
                                      .same_mode = true,
                                      .answer_kept = true,
                                      .now_ms = now_ms};
    return admit(&route, &facts);
}

/* Guards: expiry and the end of the tombstone are judged on read, to the millisecond. */
static void test_edges_of_time(void **state)
{
    (void)state;
    const struct receipt completed = {
        .state = RECEIPT_COMPLETED, .attempt = 1, .token = 7, .expire_ms = EXPIRE};
    assert_int_equal(ask(&completed, EXPIRE - 1), ADMIT_REPLAY);
    assert_int_equal(ask(&completed, EXPIRE), ADMIT_EXPIRED);
    assert_int_equal(ask(&completed, EXPIRE + TOMBSTONE - 1), ADMIT_EXPIRED);
    assert_int_equal(ask(&completed, EXPIRE + TOMBSTONE), ADMIT_RENEW);
    const struct receipt cancelled = {.state = RECEIPT_CANCELLED, .expire_ms = EXPIRE};
    assert_int_equal(ask(&cancelled, EXPIRE - 1), ADMIT_CANCELLED);
    assert_int_equal(ask(&cancelled, EXPIRE), ADMIT_EXPIRED);
    assert_int_equal(ask(&cancelled, EXPIRE + TOMBSTONE), ADMIT_RENEW);
    const struct receipt expired = {.state = RECEIPT_EXPIRED, .expire_ms = EXPIRE};
    assert_int_equal(ask(&expired, EXPIRE - 1), ADMIT_EXPIRED);
    assert_int_equal(ask(&expired, EXPIRE), ADMIT_RENEW);
    const struct receipt released = {
        .state = RECEIPT_RELEASED, .attempt = 1, .token = 7, .expire_ms = EXPIRE};
    assert_int_equal(ask(&released, EXPIRE - 1), ADMIT_RERUN);
    assert_int_equal(ask(&released, EXPIRE), ADMIT_RENEW);
}

/* Guards: times at their end do not overflow, and a row without an end has none. */
static void test_far_times(void **state)
{
    (void)state;
    const struct receipt last = {.state = RECEIPT_COMPLETED, .expire_ms = INT64_MAX};
    assert_int_equal(ask(&last, INT64_MAX - 1), ADMIT_REPLAY);
    assert_int_equal(ask(&last, INT64_MAX), ADMIT_EXPIRED);
    const struct receipt endless = {.state = RECEIPT_COMPLETED, .expire_ms = 0};
    assert_int_equal(ask(&endless, INT64_MAX), ADMIT_REPLAY);
}

/* Guards: a doubt, a promise and a lease outlive every window. */
static void test_doubt_outlives_time(void **state)
{
    (void)state;
    const struct receipt unknown = {.state = RECEIPT_UNKNOWN, .attempt = 1, .token = 7};
    const struct receipt abandoned = {.state = RECEIPT_ABANDONED, .attempt = 1, .token = 7};
    const struct receipt deferred = {.state = RECEIPT_DEFERRED, .due_ms = 1};
    const struct receipt sent = {
        .state = RECEIPT_SENT, .attempt = 1, .token = 7, .lease_until_ms = 1};
    assert_int_equal(ask(&unknown, INT64_MAX), ADMIT_UNKNOWN);
    assert_int_equal(ask(&abandoned, INT64_MAX), ADMIT_ABANDONED);
    assert_int_equal(ask(&deferred, INT64_MAX), ADMIT_DEFERRED);
    assert_int_equal(ask(&sent, INT64_MAX), ADMIT_WAIT);
}

static enum admit_verdict ask_by_content(const struct receipt *seen, int64_t now_ms)
{
    const struct route_policy route = {.tombstone_ms = TOMBSTONE,
                                       .key = {.from = KEY_FROM_CONTENT, .window_ms = WINDOW}};
    const struct admit_facts facts = {.seen = seen,
                                      .print = &same,
                                      .seen_print = &same,
                                      .same_mode = true,
                                      .answer_kept = true,
                                      .updated_ms = UPDATED,
                                      .now_ms = now_ms};
    return admit(&route, &facts);
}

/* Guards: the window of a content key is judged on read, to the millisecond; it begins with
 * what was told, and ends nothing that is open. */
static void test_window_of_content(void **state)
{
    (void)state;
    struct receipt completed = {.state = RECEIPT_COMPLETED,
                                .attempt = 1,
                                .token = 7,
                                .marks = RECEIPT_CONSUMED,
                                .expire_ms = EXPIRE};
    assert_int_equal(ask_by_content(&completed, UPDATED + WINDOW - 1), ADMIT_REPLAY);
    assert_int_equal(ask_by_content(&completed, UPDATED + WINDOW), ADMIT_NEXT);
    assert_int_equal(ask_by_content(&completed, UPDATED - 1), ADMIT_REPLAY); /* a clock went back */
    assert_int_equal(ask_by_content(&completed, EXPIRE), ADMIT_RENEW);
    completed.marks = 0;
    assert_int_equal(ask_by_content(&completed, EXPIRE - 1), ADMIT_REPLAY);
    const struct receipt cancelled = {.state = RECEIPT_CANCELLED, .expire_ms = EXPIRE};
    assert_int_equal(ask_by_content(&cancelled, UPDATED + WINDOW - 1), ADMIT_CANCELLED);
    assert_int_equal(ask_by_content(&cancelled, UPDATED + WINDOW), ADMIT_NEXT);
    const struct receipt unknown = {.state = RECEIPT_UNKNOWN, .attempt = 1, .token = 7};
    const struct receipt abandoned = {.state = RECEIPT_ABANDONED, .attempt = 1, .token = 7};
    const struct receipt deferred = {.state = RECEIPT_DEFERRED, .due_ms = 1};
    const struct receipt sent = {
        .state = RECEIPT_SENT, .attempt = 1, .token = 7, .lease_until_ms = 1};
    const struct receipt released = {
        .state = RECEIPT_RELEASED, .attempt = 1, .token = 7, .expire_ms = EXPIRE};
    const struct receipt expired = {.state = RECEIPT_EXPIRED, .expire_ms = EXPIRE};
    assert_int_equal(ask_by_content(&unknown, INT64_MAX), ADMIT_UNKNOWN);
    assert_int_equal(ask_by_content(&abandoned, INT64_MAX), ADMIT_ABANDONED);
    assert_int_equal(ask_by_content(&deferred, INT64_MAX), ADMIT_DEFERRED);
    assert_int_equal(ask_by_content(&sent, INT64_MAX), ADMIT_WAIT);
    assert_int_equal(ask_by_content(&released, EXPIRE - 1), ADMIT_RERUN);
    assert_int_equal(ask_by_content(&expired, EXPIRE - 1), ADMIT_RENEW);
}

/* Guards: one differing bit anywhere in the print is a mismatch (FPR-8). */
static void test_every_bit_of_the_print_counts(void **state)
{
    (void)state;
    const struct receipt sent = {
        .state = RECEIPT_SENT, .attempt = 1, .token = 7, .lease_until_ms = 1};
    const struct route_policy route = {.tombstone_ms = 0};
    for (unsigned bit = 0; bit < 256; bit++) {
        struct fingerprint other = same;
        other.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        const struct admit_facts facts = {
            .seen = &sent, .print = &other, .seen_print = &same, .same_mode = true, .now_ms = 1};
        assert_int_equal(admit(&route, &facts), ADMIT_MISMATCH);
    }
}

/* Guards: a released key that somebody asked to cancel is not run, as receipt_step()
 * would not start it. */
static void test_cancel_request_on_a_free_key(void **state)
{
    (void)state;
    const struct receipt released = {.state = RECEIPT_RELEASED,
                                     .attempt = 1,
                                     .token = 7,
                                     .marks = RECEIPT_CANCEL_REQUESTED,
                                     .expire_ms = EXPIRE};
    assert_int_equal(ask(&released, 1), ADMIT_CANCELLED);
}

/* Guards: whatever is let run, the table lets the step of that verdict do. */
static void test_what_runs_is_free(void **state)
{
    (void)state;
    for (uint32_t s = 1; s < RECEIPT_STATE_COUNT; s++) {
        struct receipt row = {.state = (enum receipt_state)s, .attempt = 1, .token = 7};
        row.lease_until_ms = receipt_is_leased(row.state) ? 1 : 0;
        row.due_ms = row.state == RECEIPT_DEFERRED ? 1 : 0;
        const enum admit_verdict verdict = ask(&row, 1);
        const struct receipt_event claim = {.kind = RECEIPT_EV_CLAIM, .token = 8, .until_ms = 2};
        struct receipt next;
        assert_int_equal(verdict == ADMIT_RERUN,
                         receipt_step(&row, &claim, &next) == RECEIPT_MOVED);
        assert_true(verdict != ADMIT_RUN && verdict != ADMIT_RENEW);
    }
}

/* Guards: each verdict has a word of its own. */
static void test_names(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < ADMIT_VERDICT_COUNT; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(admit_verdict_name((enum admit_verdict)i),
                                    admit_verdict_name((enum admit_verdict)j));
    assert_string_equal(admit_verdict_name(ADMIT_RUN), "run");
    assert_string_equal(admit_verdict_name(ADMIT_FULL), "full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges_of_time),
        cmocka_unit_test(test_far_times),
        cmocka_unit_test(test_window_of_content),
        cmocka_unit_test(test_doubt_outlives_time),
        cmocka_unit_test(test_every_bit_of_the_print_counts),
        cmocka_unit_test(test_cancel_request_on_a_free_key),
        cmocka_unit_test(test_what_runs_is_free),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
