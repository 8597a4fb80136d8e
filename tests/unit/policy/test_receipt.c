/* Stories of one receipt that the table alone does not show, and what may be read
 * from a disk. The whole table: tests/golden/receipt.txt. */
#include "tests/lib/testlib.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/receipt.h"

#define SOON 100

static const struct receipt_event *event(struct receipt_event *ev, enum receipt_event_kind kind,
                                         uint64_t token)
{
    *ev =
        (struct receipt_event){.kind = kind, .now_ms = SOON, .until_ms = 2 * SOON, .token = token};
    return ev;
}

static void must_move(struct receipt *row, enum receipt_event_kind kind, uint64_t token,
                      enum receipt_state to)
{
    struct receipt_event ev;
    const uint32_t version = row->version;
    assert_int_equal(receipt_step(row, event(&ev, kind, token), row), RECEIPT_MOVED);
    assert_string_equal(receipt_state_name(row->state), receipt_state_name(to));
    assert_int_equal(row->version, version + 1);
    assert_true(receipt_is_sound(row));
}

static void must_not_move(const struct receipt *row, enum receipt_event_kind kind, uint64_t token,
                          enum receipt_verdict verdict)
{
    struct receipt_event ev;
    struct receipt next;
    memset(&next, 0x5a, sizeof(next));
    const struct receipt untouched = next;
    assert_int_equal(receipt_step(row, event(&ev, kind, token), &next), verdict);
    assert_memory_equal(&next, &untouched, sizeof(next));
}

static struct receipt sent_row(uint64_t token)
{
    struct receipt row = {.state = RECEIPT_ABSENT};
    must_move(&row, RECEIPT_EV_CLAIM, token, RECEIPT_CLAIMED);
    must_move(&row, RECEIPT_EV_DISPATCH, token, RECEIPT_SENT);
    return row;
}

/* Guards: one attempt that is answered ends COMPLETED, keeps its token, and counts once. */
static void test_plain_life(void **state)
{
    (void)state;
    struct receipt row = sent_row(7);
    assert_int_equal(row.lease_until_ms, 2 * SOON);
    must_move(&row, RECEIPT_EV_ANSWERED, 7, RECEIPT_COMPLETED);
    assert_int_equal(row.attempt, 1);
    assert_int_equal(row.token, 7);
    assert_int_equal(row.lease_until_ms, 0);
    assert_int_equal(row.expire_ms, 2 * SOON);
    must_move(&row, RECEIPT_EV_EXPIRE, 0, RECEIPT_EXPIRED);
    must_move(&row, RECEIPT_EV_FORGET, 0, RECEIPT_ABSENT);
    assert_int_equal(row.attempt, 0);
    assert_int_equal(row.token, 0);
    must_move(&row, RECEIPT_EV_CLAIM, 8, RECEIPT_CLAIMED);
}

/* Guards: a worker whose key was claimed again by another changes nothing and does
 * not look like a bug, whatever it reports. */
static void test_late_writer_is_stale(void **state)
{
    (void)state;
    struct receipt row = sent_row(7);
    must_move(&row, RECEIPT_EV_REFUSED, 7, RECEIPT_RELEASED);
    must_move(&row, RECEIPT_EV_CLAIM, 8, RECEIPT_CLAIMED);
    static const enum receipt_event_kind reports[] = {RECEIPT_EV_DISPATCH, RECEIPT_EV_ANSWERED,
                                                      RECEIPT_EV_REFUSED,  RECEIPT_EV_LOST,
                                                      RECEIPT_EV_CANCEL,   RECEIPT_EV_LAPSED};
    for (size_t i = 0; i < GW_COUNT(reports); i++)
        must_not_move(&row, reports[i], 7, RECEIPT_STALE);
    assert_int_equal(row.attempt, 2);
}

/* Guards: a report without a token is nobody's, even on a row that was never claimed. */
static void test_report_needs_a_token(void **state)
{
    (void)state;
    struct receipt row = {.state = RECEIPT_ABSENT};
    must_move(&row, RECEIPT_EV_DEFER, 0, RECEIPT_DEFERRED);
    assert_int_equal(row.token, 0);
    must_not_move(&row, RECEIPT_EV_ANSWERED, 0, RECEIPT_STALE);
}

/* Guards: a late answer ends a doubt, and contradicts every verdict that said otherwise. */
static void test_late_answer(void **state)
{
    (void)state;
    struct receipt row = sent_row(7);
    must_move(&row, RECEIPT_EV_LOST, 7, RECEIPT_UNKNOWN);
    struct receipt doubt = row;
    must_move(&row, RECEIPT_EV_ANSWERED, 7, RECEIPT_COMPLETED);
    assert_int_equal(row.marks, 0);
    static const struct {
        enum receipt_event_kind verdict;
        enum receipt_state state;
        uint32_t marks;
    } cases[] = {{RECEIPT_EV_SETTLE_NOT_EXECUTED, RECEIPT_RELEASED, 0},
                 {RECEIPT_EV_PROBED_ABSENT, RECEIPT_RELEASED, 0},
                 {RECEIPT_EV_SETTLE_NOT_EXECUTED, RECEIPT_DEFERRED, RECEIPT_PROMISED},
                 {RECEIPT_EV_SETTLE_NOT_EXECUTED, RECEIPT_CANCELLED, RECEIPT_CANCEL_REQUESTED},
                 {RECEIPT_EV_SETTLE_ABANDONED, RECEIPT_ABANDONED, 0}};
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        row = receipt_mark(&doubt, cases[i].marks);
        must_move(&row, cases[i].verdict, 0, cases[i].state);
        must_not_move(&row, RECEIPT_EV_ANSWERED, 6, RECEIPT_STALE);
        must_move(&row, RECEIPT_EV_ANSWERED, 7, RECEIPT_COMPLETED);
        assert_int_equal(row.marks & ~(uint32_t)cases[i].marks, RECEIPT_CONTRADICTED);
        must_not_move(&row, RECEIPT_EV_REOPEN, 0, RECEIPT_ILLEGAL); /* no verdict is left */
    }
}

/* What only speaks of one attempt, or does not find it. */
static const enum receipt_event_kind no_proofs[] = {RECEIPT_EV_REFUSED, RECEIPT_EV_LAPSED,
                                                    RECEIPT_EV_CANCEL, RECEIPT_EV_PROBED_ABSENT,
                                                    RECEIPT_EV_GIVE_UP};

/* Every event on the row; none of them may leave it in a state that says "not run". */
static void assert_held(const struct receipt *row)
{
    for (size_t i = 0; i < GW_COUNT(no_proofs); i++) {
        struct receipt_event ev;
        struct receipt next;
        (void)event(&ev, no_proofs[i], row->token);
        ev.lease_is_dead = true;
        if (receipt_step(row, &ev, &next) == RECEIPT_MOVED)
            assert_true(receipt_may_have_run(next.state));
    }
}

/* Guards: once an attempt is known to have run, nothing that speaks of another one, or of
 * what was not found, frees the key; a person does, and is asked again only by news. */
static void test_known_run_holds_the_key(void **state)
{
    (void)state;
    struct receipt row = sent_row(7);
    must_move(&row, RECEIPT_EV_LOST, 7, RECEIPT_UNKNOWN);
    must_move(&row, RECEIPT_EV_SETTLE_NOT_EXECUTED, 0, RECEIPT_RELEASED);
    const struct receipt released = row;
    must_move(&row, RECEIPT_EV_CLAIM, 8, RECEIPT_CLAIMED);
    must_move(&row, RECEIPT_EV_CONTRADICT, 7, RECEIPT_CLAIMED);
    assert_int_equal(row.lease_until_ms, 2 * SOON);
    assert_held(&row);
    must_move(&row, RECEIPT_EV_DISPATCH, 8, RECEIPT_SENT);
    assert_held(&row);
    must_move(&row, RECEIPT_EV_REFUSED, 8, RECEIPT_UNKNOWN);
    assert_int_equal(row.marks, RECEIPT_CONTRADICTED);
    assert_held(&row);
    must_move(&row, RECEIPT_EV_SETTLE_NOT_EXECUTED, 0, RECEIPT_RELEASED);
    /* Taken back, the doubt is there again with all that is known. */
    struct receipt reopened = row;
    must_move(&reopened, RECEIPT_EV_REOPEN, 0, RECEIPT_UNKNOWN);
    assert_held(&reopened);
    /* The next attempt builds on what a person said in sight of it. */
    must_move(&row, RECEIPT_EV_CLAIM, 9, RECEIPT_CLAIMED);
    must_move(&row, RECEIPT_EV_REFUSED, 9, RECEIPT_RELEASED);
    assert_true((row.marks & RECEIPT_CONTRADICTED) != 0);
    /* The answer finds the key free: it is free no more. */
    row = released;
    must_move(&row, RECEIPT_EV_CONTRADICT, 0, RECEIPT_UNKNOWN);
    assert_held(&row);
}

/* Guards: a mark that somebody else sets holds the key as well. */
static void test_marked_doubt_is_held(void **state)
{
    (void)state;
    struct receipt row = sent_row(7);
    must_move(&row, RECEIPT_EV_LOST, 7, RECEIPT_UNKNOWN);
    must_move(&row, RECEIPT_EV_SETTLE_NOT_EXECUTED, 0, RECEIPT_RELEASED);
    must_move(&row, RECEIPT_EV_CLAIM, 8, RECEIPT_CLAIMED);
    must_move(&row, RECEIPT_EV_DISPATCH, 8, RECEIPT_SENT);
    must_move(&row, RECEIPT_EV_LOST, 8, RECEIPT_UNKNOWN);
    row = receipt_mark(&row, RECEIPT_CONTRADICTED);
    assert_held(&row);
    must_move(&row, RECEIPT_EV_ANSWERED, 8, RECEIPT_COMPLETED);
}

/* Guards: the real answer takes the place of an operator's word until a caller was told
 * another one; what was told is never replaced. */
static void test_late_answer_of_the_settled(void **state)
{
    (void)state;
    struct receipt row = sent_row(7);
    must_move(&row, RECEIPT_EV_LOST, 7, RECEIPT_UNKNOWN);
    must_move(&row, RECEIPT_EV_SETTLE_EXECUTED, 0, RECEIPT_COMPLETED);
    const struct receipt told = receipt_mark(&row, RECEIPT_CONSUMED);
    must_not_move(&row, RECEIPT_EV_ANSWERED, 6, RECEIPT_STALE);
    must_move(&row, RECEIPT_EV_ANSWERED, 7, RECEIPT_COMPLETED);
    assert_int_equal(row.marks, 0);
    must_not_move(&row, RECEIPT_EV_ANSWERED, 7, RECEIPT_ILLEGAL);
    must_not_move(&told, RECEIPT_EV_ANSWERED, 7, RECEIPT_ILLEGAL);
    struct receipt_event ev;
    (void)event(&ev, RECEIPT_EV_ANSWERED, 7);
    ev.none_was_told = true;
    assert_int_equal(receipt_step(&told, &ev, &row), RECEIPT_MOVED);
    assert_int_equal(row.state, RECEIPT_COMPLETED);
    assert_int_equal(row.marks, 0);
    row = told;
    must_move(&row, RECEIPT_EV_CONTRADICT, 7, RECEIPT_COMPLETED);
    assert_int_equal(row.marks, told.marks | RECEIPT_CONTRADICTED);
    assert_int_equal(row.expire_ms, told.expire_ms);
}

/* Guards: after a resend a refusal proves nothing about the attempt before it; only
 * who looked at the whole operation can say that it did not run. */
static void test_resend_keeps_the_doubt(void **state)
{
    (void)state;
    struct receipt row = sent_row(7);
    must_move(&row, RECEIPT_EV_LOST, 7, RECEIPT_UNKNOWN);
    must_move(&row, RECEIPT_EV_RESEND, 8, RECEIPT_SENT);
    assert_int_equal(row.attempt, 2);
    must_move(&row, RECEIPT_EV_REFUSED, 8, RECEIPT_UNKNOWN);
    must_move(&row, RECEIPT_EV_SETTLE_NOT_EXECUTED, 0, RECEIPT_RELEASED);
    /* A verdict taken back brings the doubt back with it. */
    struct receipt reopened = row;
    must_move(&reopened, RECEIPT_EV_REOPEN, 0, RECEIPT_UNKNOWN);
    must_move(&reopened, RECEIPT_EV_REFUSED, 8, RECEIPT_UNKNOWN);
    /* A new claim built on it starts without. */
    must_move(&row, RECEIPT_EV_CLAIM, 9, RECEIPT_CLAIMED);
    must_move(&row, RECEIPT_EV_REFUSED, 9, RECEIPT_RELEASED);
}

/* Guards: what was promised is never released silently, and a cancel request is
 * stronger than the promise. */
static void test_promise_and_cancel(void **state)
{
    (void)state;
    struct receipt row = {.state = RECEIPT_ABSENT};
    const struct receipt_event promise = {
        .kind = RECEIPT_EV_DEFER, .until_ms = 50, .promises = true};
    assert_int_equal(receipt_step(&row, &promise, &row), RECEIPT_MOVED);
    assert_int_equal(row.marks, RECEIPT_PROMISED);
    assert_int_equal(row.due_ms, 50);
    must_move(&row, RECEIPT_EV_DUE, 7, RECEIPT_CLAIMED);
    must_move(&row, RECEIPT_EV_REFUSED, 7, RECEIPT_DEFERRED);
    must_move(&row, RECEIPT_EV_DUE, 8, RECEIPT_CLAIMED);
    const struct receipt_event dead = {
        .kind = RECEIPT_EV_LAPSED, .until_ms = 60, .lease_is_dead = true};
    assert_int_equal(receipt_step(&row, &dead, &row), RECEIPT_MOVED);
    assert_int_equal(row.state, RECEIPT_DEFERRED);
    assert_int_equal(row.attempt, 2);
    must_move(&row, RECEIPT_EV_DUE, 9, RECEIPT_CLAIMED);
    must_move(&row, RECEIPT_EV_DISPATCH, 9, RECEIPT_SENT);
    row = receipt_mark(&row, RECEIPT_CANCEL_REQUESTED);
    must_move(&row, RECEIPT_EV_REFUSED, 9, RECEIPT_CANCELLED);
    assert_int_equal(row.marks, RECEIPT_CANCEL_REQUESTED);
}

/* Guards: after a cancel request no further attempt is started. */
static void test_no_attempt_after_cancel(void **state)
{
    (void)state;
    struct receipt row = sent_row(7);
    row = receipt_mark(&row, RECEIPT_CANCEL_REQUESTED);
    must_move(&row, RECEIPT_EV_LOST, 7, RECEIPT_UNKNOWN);
    must_not_move(&row, RECEIPT_EV_RESEND, 8, RECEIPT_ILLEGAL);
    must_move(&row, RECEIPT_EV_PROBED_ABSENT, 0, RECEIPT_CANCELLED);
}

/* Guards: a verdict can be taken back once, and only until somebody relied on it. */
static void test_reopen(void **state)
{
    (void)state;
    struct receipt doubt = sent_row(7);
    must_move(&doubt, RECEIPT_EV_LOST, 7, RECEIPT_UNKNOWN);
    static const enum receipt_event_kind verdicts[] = {
        RECEIPT_EV_SETTLE_EXECUTED, RECEIPT_EV_SETTLE_NOT_EXECUTED, RECEIPT_EV_SETTLE_ABANDONED};
    static const enum receipt_state states[] = {RECEIPT_COMPLETED, RECEIPT_RELEASED,
                                                RECEIPT_ABANDONED};
    for (size_t i = 0; i < GW_COUNT(verdicts); i++) {
        struct receipt row = doubt;
        must_move(&row, verdicts[i], 0, states[i]);
        assert_int_equal(row.marks, RECEIPT_SETTLED);
        const struct receipt told = receipt_mark(&row, RECEIPT_CONSUMED);
        must_not_move(&told, RECEIPT_EV_REOPEN, 0, RECEIPT_ILLEGAL);
        must_move(&row, RECEIPT_EV_REOPEN, 0, RECEIPT_UNKNOWN);
        assert_int_equal(row.marks, 0);
        assert_int_equal(row.expire_ms, 0);
    }
    struct receipt probed = doubt;
    must_move(&probed, RECEIPT_EV_PROBED_EXECUTED, 0, RECEIPT_COMPLETED);
    must_not_move(&probed, RECEIPT_EV_REOPEN, 0, RECEIPT_ILLEGAL);
}

/* Guards: an answer of a later attempt is no verdict, though an earlier one was settled. */
static void test_claim_consumes_the_verdict(void **state)
{
    (void)state;
    struct receipt row = sent_row(7);
    must_move(&row, RECEIPT_EV_LOST, 7, RECEIPT_UNKNOWN);
    must_move(&row, RECEIPT_EV_SETTLE_NOT_EXECUTED, 0, RECEIPT_RELEASED);
    must_move(&row, RECEIPT_EV_CLAIM, 8, RECEIPT_CLAIMED);
    assert_int_equal(row.marks, RECEIPT_SETTLED | RECEIPT_CONSUMED);
    must_move(&row, RECEIPT_EV_REFUSED, 8, RECEIPT_RELEASED);
    must_not_move(&row, RECEIPT_EV_REOPEN, 0, RECEIPT_ILLEGAL);
}

/* Guards: a doubt does not end by time. */
static void test_doubt_does_not_expire(void **state)
{
    (void)state;
    struct receipt row = sent_row(7);
    must_move(&row, RECEIPT_EV_LOST, 7, RECEIPT_UNKNOWN);
    assert_int_equal(row.expire_ms, 0);
    must_not_move(&row, RECEIPT_EV_EXPIRE, 0, RECEIPT_ILLEGAL);
    must_move(&row, RECEIPT_EV_SETTLE_ABANDONED, 0, RECEIPT_ABANDONED);
    assert_int_equal(row.expire_ms, 0);
    must_not_move(&row, RECEIPT_EV_EXPIRE, 0, RECEIPT_ILLEGAL);
    must_not_move(&row, RECEIPT_EV_FORGET, 0, RECEIPT_ILLEGAL);
}

/* Guards: numbers at their end (a row of a disk may hold them) stay sound. */
static void test_last_numbers(void **state)
{
    (void)state;
    struct receipt row = {.state = RECEIPT_RELEASED,
                          .attempt = UINT32_MAX,
                          .version = UINT32_MAX,
                          .token = UINT64_MAX,
                          .expire_ms = INT64_MAX};
    struct receipt_event ev;
    assert_int_equal(receipt_step(&row, event(&ev, RECEIPT_EV_CLAIM, 7), &row), RECEIPT_MOVED);
    assert_int_equal(row.attempt, UINT32_MAX);
    assert_int_equal(row.version, 0);
}

/* Guards: a row that no step could have made is refused, field by field. */
static void test_soundness(void **state)
{
    (void)state;
    static const struct receipt unsound[] = {
        {.state = RECEIPT_STATE_COUNT},
        {.state = (enum receipt_state)200},
        {.state = RECEIPT_ABSENT, .attempt = 1},
        {.state = RECEIPT_ABSENT, .token = 1},
        {.state = RECEIPT_ABSENT, .marks = RECEIPT_SETTLED},
        {.state = RECEIPT_ABSENT, .expire_ms = 1},
        {.state = RECEIPT_UNKNOWN, .marks = RECEIPT_MARKS_ALL + 1},
        {.state = RECEIPT_UNKNOWN, .lease_until_ms = 1},
        {.state = RECEIPT_UNKNOWN, .due_ms = 1},
        {.state = RECEIPT_UNKNOWN, .expire_ms = 1},
        {.state = RECEIPT_ABANDONED, .expire_ms = 1},
        {.state = RECEIPT_CLAIMED, .attempt = 1, .token = 1},
        {.state = RECEIPT_CLAIMED, .attempt = 1, .token = 1, .lease_until_ms = -1},
        {.state = RECEIPT_CLAIMED, .attempt = 1, .lease_until_ms = 1},
        {.state = RECEIPT_SENT, .token = 1, .lease_until_ms = 1},
        {.state = RECEIPT_SENT, .attempt = 1, .token = 1, .lease_until_ms = 1, .expire_ms = 1},
        {.state = RECEIPT_DEFERRED},
        {.state = RECEIPT_DEFERRED, .due_ms = -1},
        {.state = RECEIPT_DEFERRED, .due_ms = 1, .expire_ms = 1},
        {.state = RECEIPT_COMPLETED, .expire_ms = -1},
        {.state = RECEIPT_EXPIRED, .expire_ms = -1},
        {.state = RECEIPT_RELEASED, .expire_ms = -1},
        {.state = RECEIPT_CANCELLED, .expire_ms = -1},
        {.state = RECEIPT_RELEASED, .marks = RECEIPT_PROMISED, .expire_ms = 1},
    };
    for (size_t i = 0; i < GW_COUNT(unsound); i++)
        if (receipt_is_sound(&unsound[i]))
            fail_msg("row %zu is taken for sound", i);
    static const struct receipt sound[] = {
        {.state = RECEIPT_ABSENT, .version = 9},
        {.state = RECEIPT_DEFERRED, .due_ms = 1, .marks = RECEIPT_MARKS_ALL},
        {.state = RECEIPT_CLAIMED, .attempt = 1, .token = 1, .lease_until_ms = 1},
        {.state = RECEIPT_COMPLETED, .attempt = 1, .token = 1, .expire_ms = 1},
        {.state = RECEIPT_UNKNOWN, .attempt = 1, .token = 1},
    };
    for (size_t i = 0; i < GW_COUNT(sound); i++)
        if (!receipt_is_sound(&sound[i]))
            fail_msg("row %zu is taken for unsound", i);
}

/* Guards: the words that callers read are the published ones. */
static void test_words(void **state)
{
    (void)state;
    static const struct {
        enum receipt_state state;
        const char *name, *public_state, *phase;
        bool ran, taken, leased;
    } words[] = {
        {RECEIPT_ABSENT, "ABSENT", "none", "", false, false, false},
        {RECEIPT_DEFERRED, "DEFERRED", "pending", "deferred", false, true, false},
        {RECEIPT_CLAIMED, "CLAIMED", "pending", "claimed", false, true, true},
        {RECEIPT_SENT, "SENT", "pending", "sent", true, true, true},
        {RECEIPT_COMPLETED, "COMPLETED", "completed", "", true, true, false},
        {RECEIPT_RELEASED, "RELEASED", "released", "", false, false, false},
        {RECEIPT_UNKNOWN, "UNKNOWN", "unknown", "", true, true, false},
        {RECEIPT_CANCELLED, "CANCELLED", "cancelled", "", false, true, false},
        {RECEIPT_ABANDONED, "ABANDONED", "abandoned", "", true, true, false},
        {RECEIPT_EXPIRED, "EXPIRED", "expired", "", true, true, false},
    };
    assert_int_equal(GW_COUNT(words), RECEIPT_STATE_COUNT);
    for (size_t i = 0; i < GW_COUNT(words); i++) {
        assert_string_equal(receipt_state_name(words[i].state), words[i].name);
        assert_string_equal(receipt_public_state(words[i].state), words[i].public_state);
        assert_string_equal(receipt_phase(words[i].state), words[i].phase);
        assert_int_equal(receipt_may_have_run(words[i].state), words[i].ran);
        assert_int_equal(receipt_key_is_taken(words[i].state), words[i].taken);
        assert_int_equal(receipt_is_leased(words[i].state), words[i].leased);
    }
    assert_string_equal(receipt_event_name(RECEIPT_EV_FORGET), "FORGET");
}

/* Runs one step in a child of its own; true if it stopped at an assertion. */
static bool step_aborts(const struct receipt *row, const struct receipt_event *ev)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL); /* not the handler of the test library */
        (void)close(STDERR_FILENO);     /* the message is wanted, not shown */
        struct receipt next;
        _exit(receipt_step(row, ev, &next) == RECEIPT_MOVED ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/* Guards: a claim without a fresh token, and a row that would never end, are our own
 * mistakes and stop the process before they reach a disk. */
static void test_our_mistakes_are_caught(void **state)
{
    (void)state;
    const struct receipt released = {
        .state = RECEIPT_RELEASED, .attempt = 1, .token = 7, .expire_ms = 1};
    const struct receipt doubt = {.state = RECEIPT_UNKNOWN, .attempt = 1, .token = 7};
    struct receipt_event ev;
    assert_false(step_aborts(&released, event(&ev, RECEIPT_EV_CLAIM, 8)));
    assert_true(step_aborts(&released, event(&ev, RECEIPT_EV_CLAIM, 0)));
    assert_true(step_aborts(&released, event(&ev, RECEIPT_EV_CLAIM, 7)));
    const struct receipt_event endless = {.kind = RECEIPT_EV_SETTLE_EXECUTED};
    assert_true(step_aborts(&doubt, &endless));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_life),
        cmocka_unit_test(test_late_writer_is_stale),
        cmocka_unit_test(test_report_needs_a_token),
        cmocka_unit_test(test_late_answer),
        cmocka_unit_test(test_known_run_holds_the_key),
        cmocka_unit_test(test_marked_doubt_is_held),
        cmocka_unit_test(test_late_answer_of_the_settled),
        cmocka_unit_test(test_resend_keeps_the_doubt),
        cmocka_unit_test(test_promise_and_cancel),
        cmocka_unit_test(test_no_attempt_after_cancel),
        cmocka_unit_test(test_reopen),
        cmocka_unit_test(test_claim_consumes_the_verdict),
        cmocka_unit_test(test_doubt_does_not_expire),
        cmocka_unit_test(test_last_numbers),
        cmocka_unit_test(test_soundness),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_our_mistakes_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
