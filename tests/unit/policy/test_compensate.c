/* The wish to take back, in every state, of the operation and of its compensation. */
#include "tests/lib/testlib.h"

#include "policy/compensate.h"

#define NOW INT64_C(1000000)

static const struct template_part with_response[] = {{TEMPLATE_TEXT, {"/t/", 3}, 1},
                                                     {TEMPLATE_RESPONSE, {"/id", 3}, 4}};
static const struct template_part with_label[] = {{TEMPLATE_TEXT, {"/t/", 3}, 1},
                                                  {TEMPLATE_LABEL, {"order", 5}, 4}};
static const struct route_policy sent_by = {.is_compensation = true};
static const struct route_policy route = {
    .compensate = {.by = COMPENSATE_BY_OPERATOR | COMPENSATE_BY_OWNER,
                   .target = {.parts = with_response, .part_count = 2},
                   .route = &sent_by}};

static struct receipt in_state(enum receipt_state state)
{
    struct receipt row = {.state = state, .attempt = 1, .version = 4, .token = 9};
    if (receipt_is_leased(state))
        row.lease_until_ms = NOW + 1;
    if (state == RECEIPT_DEFERRED)
        row.due_ms = NOW + 1;
    if (state == RECEIPT_COMPLETED)
        row.expire_ms = NOW + 1;
    return row;
}

static struct compensate_facts of(const struct receipt *receipt)
{
    return (struct compensate_facts){.route = &route,
                                     .receipt = receipt,
                                     .by = COMPENSATE_BY_OWNER,
                                     .status = 201,
                                     .answer_kept = true,
                                     .now_ms = NOW};
}

/* Guards: only what is known to have been carried out is taken back; every refusal has a text. */
static void test_every_state(void **state)
{
    static const enum compensate_says wanted[RECEIPT_STATE_COUNT] = {
        [RECEIPT_ABSENT] = COMPENSATE_NEVER_RAN,   [RECEIPT_DEFERRED] = COMPENSATE_NOT_YET,
        [RECEIPT_CLAIMED] = COMPENSATE_NOT_YET,    [RECEIPT_SENT] = COMPENSATE_NOT_YET,
        [RECEIPT_COMPLETED] = COMPENSATE_MAY,      [RECEIPT_RELEASED] = COMPENSATE_NEVER_RAN,
        [RECEIPT_UNKNOWN] = COMPENSATE_IN_DOUBT,   [RECEIPT_CANCELLED] = COMPENSATE_NEVER_RAN,
        [RECEIPT_ABANDONED] = COMPENSATE_IN_DOUBT, [RECEIPT_EXPIRED] = COMPENSATE_EXPIRED,
    };
    (void)state;
    for (uint32_t s = 0; s < RECEIPT_STATE_COUNT; s++) {
        const struct receipt row = in_state((enum receipt_state)s);
        const struct compensate_facts facts = of(&row);
        assert_int_equal(compensate_judge(&facts), wanted[s]);
    }
    for (uint32_t says = 0; says < COMPENSATE_SAYS_COUNT; says++)
        assert_true(strlen(compensate_text((enum compensate_says)says)) > 0);
}

/* Guards: expiry is judged when it is read, to the millisecond, also where the sweep is late. */
static void test_expiry(void **state)
{
    struct receipt row = in_state(RECEIPT_COMPLETED);
    struct compensate_facts facts = of(&row);
    (void)state;
    row.expire_ms = NOW;
    assert_int_equal(compensate_judge(&facts), COMPENSATE_EXPIRED);
    assert_int_equal(compensate_again(&row, NOW), COMPENSATE_OVER);
    row.expire_ms = NOW + 1;
    assert_int_equal(compensate_judge(&facts), COMPENSATE_MAY);
    assert_int_equal(compensate_again(&row, NOW), COMPENSATE_DONE);
}

/* Guards: an answer that says "no" is not taken back, and one that is not there only where it
 * is not needed. */
static void test_answer(void **state)
{
    const struct receipt row = in_state(RECEIPT_COMPLETED);
    struct compensate_facts facts = of(&row);
    struct route_policy by_label = route;
    (void)state;
    for (uint16_t status = 0; status < 600; status++) {
        facts.status = status;
        assert_int_equal(compensate_judge(&facts),
                         status >= 400 ? COMPENSATE_DECLINED : COMPENSATE_MAY);
    }
    facts.status = 0;
    facts.answer_kept = false;
    assert_int_equal(compensate_judge(&facts), COMPENSATE_NO_RESPONSE);
    by_label.compensate.target.parts = with_label;
    facts.route = &by_label;
    assert_int_equal(compensate_judge(&facts), COMPENSATE_MAY);
}

/* Guards: who may ask is asked in every state, and before the state is told. */
static void test_who(void **state)
{
    struct route_policy only = route;
    (void)state;
    for (uint32_t s = 0; s < RECEIPT_STATE_COUNT; s++) {
        const struct receipt row = in_state((enum receipt_state)s);
        struct compensate_facts facts = of(&row);
        facts.route = NULL;
        assert_int_equal(compensate_judge(&facts), COMPENSATE_NO_POLICY);
        facts.route = &sent_by;
        assert_int_equal(compensate_judge(&facts), COMPENSATE_ITSELF);
        facts.route = &only;
        only.compensate.by = COMPENSATE_BY_OPERATOR;
        assert_int_equal(compensate_judge(&facts), COMPENSATE_NOT_BY);
        facts.by = COMPENSATE_BY_OPERATOR;
        assert_true(compensate_judge(&facts) != COMPENSATE_NOT_BY);
        only.compensate.by = COMPENSATE_BY_OWNER;
        assert_int_equal(compensate_judge(&facts), COMPENSATE_NOT_BY);
    }
}

/* Guards: a compensation begins anew only where nothing of it ran and nobody was told that it
 * is stopped. */
static void test_again(void **state)
{
    static const enum compensate_again wanted[RECEIPT_STATE_COUNT] = {
        [RECEIPT_ABSENT] = COMPENSATE_UNKNOWN,      [RECEIPT_DEFERRED] = COMPENSATE_UNDER_WAY,
        [RECEIPT_CLAIMED] = COMPENSATE_UNDER_WAY,   [RECEIPT_SENT] = COMPENSATE_UNDER_WAY,
        [RECEIPT_COMPLETED] = COMPENSATE_DONE,      [RECEIPT_RELEASED] = COMPENSATE_ANEW,
        [RECEIPT_UNKNOWN] = COMPENSATE_UNKNOWN,     [RECEIPT_CANCELLED] = COMPENSATE_CANCELLED,
        [RECEIPT_ABANDONED] = COMPENSATE_ABANDONED, [RECEIPT_EXPIRED] = COMPENSATE_OVER,
    };
    (void)state;
    for (uint32_t s = 0; s < RECEIPT_STATE_COUNT; s++) {
        struct receipt row = in_state((enum receipt_state)s);
        assert_int_equal(compensate_again(&row, NOW), wanted[s]);
        assert_true(wanted[s] != COMPENSATE_ANEW || !receipt_may_have_run(row.state));
        row.marks = RECEIPT_CANCEL_REQUESTED;
        assert_true(compensate_again(&row, NOW) != COMPENSATE_ANEW);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_state), cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_answer),      cmocka_unit_test(test_who),
        cmocka_unit_test(test_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
