/* Operations that are to run later: how they are found when they are due, and what is
 * kept of their request for that. */
#include "tests/store/fixture.h"

#define NOW_MS FIXTURE_NOW_MS

static struct store_row put_deferred(struct fixture *f, const char *key, unsigned number,
                                     int64_t due_ms)
{
    struct store_row row = fixture_row(f, key, number);
    row.receipt.state = RECEIPT_DEFERRED;
    row.receipt.token = 0;
    row.receipt.attempt = 0;
    row.receipt.lease_until_ms = 0;
    row.receipt.due_ms = due_ms;
    row.receipt.marks = RECEIPT_PROMISED;
    row.promised_ms = NOW_MS;
    row.window_ms = NOW_MS - 5;
    row.window_attempts = 3;
    row.retry_ms = NOW_MS + 7;
    row.kept = fixture_message(f, SPAN("the whole request"));
    row.request = fixture_message(f, SPAN("evidence"));
    return fixture_put(f, &row);
}

static struct span load_kept(struct fixture *f, const struct store_row *row)
{
    struct store_op op = fixture_lookup(row, LOAD_KEPT);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    return op.out.rows[0].kept;
}

/* Guards: what is due is found in the order of its time, in pages, and nothing else is. */
static void scan_due(void **state)
{
    struct fixture *f = *state;
    static const int64_t dues[] = {30, 10, 20, 10, 40};
    for (unsigned i = 0; i < GW_COUNT(dues); i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        (void)put_deferred(f, key, i + 1, NOW_MS + dues[i]);
    }
    struct store_row other = fixture_row(f, "other", 9);
    (void)fixture_put(f, &other);
    struct store_op op = {.kind = STORE_SCAN, .in.scan = {SCAN_DUE, NOW_MS + 30, 3, 0, 0}};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 3);
    assert_span(op.out.rows[0].key, SPAN("k1"));
    assert_span(op.out.rows[1].key, SPAN("k3"));
    assert_span(op.out.rows[2].key, SPAN("k2"));
    assert_int_equal(op.out.rows[0].window_ms, NOW_MS - 5);
    assert_int_equal(op.out.rows[0].window_attempts, 3);
    assert_int_equal(op.out.rows[0].retry_ms, NOW_MS + 7);
    assert_int_equal(op.out.rows[0].promised_ms, NOW_MS);
    op.in.scan.after_ms = op.out.rows[2].receipt.due_ms;
    op.in.scan.after_id = op.out.rows[2].id;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 1);
    assert_span(op.out.rows[0].key, SPAN("k0"));
    op.in.scan = (__typeof__(op.in.scan)){SCAN_DUE, NOW_MS + 9, 3, 0, 0};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 0);
}

/* Guards: while the promise stands, whoever writes to the row does not take the request
 * away; the evidence beside it is another thing. */
static void kept_while_promised(void **state)
{
    static const enum receipt_state states[] = {RECEIPT_CLAIMED, RECEIPT_SENT, RECEIPT_UNKNOWN,
                                                RECEIPT_DEFERRED};
    struct fixture *f = *state;
    struct store_row row = put_deferred(f, "k", 1, NOW_MS);
    for (size_t i = 0; i < GW_COUNT(states); i++) {
        struct store_row next = fixture_step(&row, states[i]);
        next.receipt.token = 5;
        next.receipt.attempt = 1;
        struct store_op op = fixture_advance(&row, &next);
        op.in.advance.set_request = i == 0; /* drops the evidence */
        assert_int_equal(fixture_ask(f, &op), STORE_WON);
        row = op.out.rows[0];
        assert_span(load_kept(f, &row), fixture_message(f, SPAN("the whole request")));
        assert_int_equal(row.promised_ms, NOW_MS);
    }
    struct store_row next = fixture_step(&row, RECEIPT_DEFERRED);
    next.kept = fixture_message(f, SPAN("another"));
    struct store_op op = fixture_advance(&row, &next);
    op.in.advance.set_kept = true;
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_span(load_kept(f, &row), next.kept);
}

/* Guards: with the end of the promise the request is gone, whoever wrote that end. */
static void gone_with_the_promise(void **state)
{
    static const enum receipt_state ends[] = {RECEIPT_COMPLETED, RECEIPT_CANCELLED,
                                              RECEIPT_RELEASED, RECEIPT_ABANDONED};
    struct fixture *f = *state;
    for (unsigned i = 0; i < GW_COUNT(ends); i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = put_deferred(f, key, i + 1, NOW_MS);
        struct store_row next = fixture_step(&row, ends[i]);
        next.receipt.marks = ends[i] == RECEIPT_RELEASED ? 0 : RECEIPT_PROMISED;
        struct store_op op = fixture_advance(&row, &next);
        assert_int_equal(fixture_ask(f, &op), STORE_WON);
        assert_int_equal(op.out.rows[0].promised_ms, 0);
        assert_int_equal(load_kept(f, &row).len, 0);
        op = fixture_lookup(&row, LOAD_REQUEST);
        assert_int_equal(fixture_ask(f, &op), STORE_HELD);
        assert_true(op.out.rows[0].request.len > 0);
    }
}

/* Guards: a deferred operation outlives the process, with all that it needs to run. */
static void survives(void **state)
{
    struct fixture *f = *state;
    if (strcmp(f->options.kind, "sqlite") != 0)
        return;
    struct store_row row = put_deferred(f, "k", 1, NOW_MS + 3);
    fixture_close(f);
    fixture_open(f);
    struct store_op op = {.kind = STORE_SCAN, .in.scan = {SCAN_DUE, NOW_MS + 3, 3, 0, 0}};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 1);
    assert_string_equal(op.out.rows[0].operation_id, row.operation_id);
    assert_span(load_kept(f, &row), fixture_message(f, SPAN("the whole request")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {BOTH(scan_due), BOTH(kept_while_promised),
                                       BOTH(gone_with_the_promise), BOTH(survives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
