/* The wish to cancel, in every state. */
#include "tests/lib/testlib.h"

#include "policy/cancel.h"

#define NOW   INT64_C(1000000)
#define UNTIL INT64_C(2000000)

static struct receipt in_state(enum receipt_state state, uint32_t marks)
{
    struct receipt row = {.state = state, .attempt = 1, .version = 4, .token = 9, .marks = marks};
    if (receipt_is_leased(state))
        row.lease_until_ms = NOW + 1;
    if (state == RECEIPT_DEFERRED)
        row.due_ms = NOW + 1;
    if (state == RECEIPT_ABSENT)
        row = (struct receipt){.state = state};
    return row;
}

/* Guards: stopped is said only where nothing was sent, and every state has an answer. */
static void test_every_state(void **state)
{
    static const enum cancel_says wanted[RECEIPT_STATE_COUNT] = {
        [RECEIPT_ABSENT] = CANCEL_STOPPED,      [RECEIPT_DEFERRED] = CANCEL_STOPPED,
        [RECEIPT_CLAIMED] = CANCEL_STOPPED,     [RECEIPT_SENT] = CANCEL_REQUESTED,
        [RECEIPT_COMPLETED] = CANCEL_EXECUTED,  [RECEIPT_RELEASED] = CANCEL_STOPPED,
        [RECEIPT_UNKNOWN] = CANCEL_UNKNOWN,     [RECEIPT_CANCELLED] = CANCEL_STOPPED,
        [RECEIPT_ABANDONED] = CANCEL_ABANDONED, [RECEIPT_EXPIRED] = CANCEL_EXPIRED,
    };
    (void)state;
    for (uint32_t s = 0; s < RECEIPT_STATE_COUNT; s++) {
        const struct receipt row = in_state((enum receipt_state)s, 0);
        const struct cancel_verdict verdict = cancel_judge(&row, NOW, UNTIL);
        assert_int_equal(verdict.says, wanted[s]);
        assert_true(verdict.says != CANCEL_STOPPED || !receipt_may_have_run(row.state));
        assert_true(!verdict.changes || verdict.next.version == row.version + 1);
    }
}

/* Guards: what was asked for once is not asked for again, and the key stays spent. */
static void test_twice(void **state)
{
    static const enum receipt_state states[] = {RECEIPT_DEFERRED, RECEIPT_CLAIMED, RECEIPT_SENT,
                                                RECEIPT_RELEASED};
    (void)state;
    for (size_t i = 0; i < GW_COUNT(states); i++) {
        const struct receipt row =
            in_state(states[i], states[i] == RECEIPT_DEFERRED ? RECEIPT_PROMISED : 0);
        const struct cancel_verdict first = cancel_judge(&row, NOW, UNTIL);
        assert_true(first.changes);
        assert_true(receipt_is_sound(&first.next));
        const struct cancel_verdict second = cancel_judge(&first.next, NOW, UNTIL);
        assert_false(second.changes);
        assert_int_equal(second.says, first.says);
        const struct receipt_event claim = {
            .kind = RECEIPT_EV_CLAIM, .now_ms = NOW, .until_ms = UNTIL, .token = 77};
        struct receipt next;
        assert_int_not_equal(receipt_step(&first.next, &claim, &next), RECEIPT_MOVED);
    }
}

/* Guards: after the request a refusal cancels, a lost answer stays a doubt, an answer counts. */
static void test_after_the_request(void **state)
{
    static const struct {
        enum receipt_event_kind event;
        enum receipt_state to;
    } rows[] = {{RECEIPT_EV_REFUSED, RECEIPT_CANCELLED},
                {RECEIPT_EV_LOST, RECEIPT_UNKNOWN},
                {RECEIPT_EV_ANSWERED, RECEIPT_COMPLETED}};
    (void)state;
    const struct receipt sent = in_state(RECEIPT_SENT, RECEIPT_PROMISED);
    const struct cancel_verdict verdict = cancel_judge(&sent, NOW, UNTIL);
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        const struct receipt_event event = {
            .kind = rows[i].event, .now_ms = NOW, .until_ms = UNTIL, .token = 9};
        struct receipt next;
        assert_int_equal(receipt_step(&verdict.next, &event, &next), RECEIPT_MOVED);
        assert_int_equal(next.state, rows[i].to);
    }
}

/* Guards: a row with evidence that it ran is never called stopped. */
static void test_contradicted(void **state)
{
    (void)state;
    const struct receipt row = in_state(RECEIPT_DEFERRED, RECEIPT_PROMISED | RECEIPT_CONTRADICTED);
    const struct cancel_verdict verdict = cancel_judge(&row, NOW, UNTIL);
    assert_int_equal(verdict.says, CANCEL_UNKNOWN);
    assert_int_equal(verdict.next.state, RECEIPT_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_state), cmocka_unit_test(test_twice),
        cmocka_unit_test(test_after_the_request), cmocka_unit_test(test_contradicted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
