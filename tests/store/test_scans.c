/* What the store finds and lists by itself: rows whose time has come, pauses, the
 * tally, the audit; every backend. */
#include "tests/store/fixture.h"

#define NOW_MS FIXTURE_NOW_MS

/* Leases that are over are found, others are not. */
static void scan_lapsed(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < 5; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        row.receipt.lease_until_ms = NOW_MS + i;
        row.receipt.state = i % 2 == 0 ? RECEIPT_CLAIMED : RECEIPT_SENT;
        (void)fixture_put(f, &row);
    }
    struct store_row done = fixture_row(f, "done", 9);
    done.receipt.state = RECEIPT_UNKNOWN;
    done.receipt.lease_until_ms = 0;
    (void)fixture_put(f, &done);
    struct store_op op = {.kind = STORE_SCAN,
                          .in.scan = {.kind = SCAN_LAPSED, .now_ms = NOW_MS + 2, .rows_max = 500}};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 3);
    assert_int_equal(op.out.rows[2].receipt.lease_until_ms, NOW_MS + 2);
    int64_t second = op.out.rows[1].id;
    op.in.scan.after_id = second;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 1);
    assert_true(op.out.rows[0].id > second);
    op.in.scan = (__typeof__(op.in.scan)){SCAN_LAPSED, NOW_MS + 100, 2, 0, 0};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 2);
    op.in.scan.now_ms = NOW_MS - 1;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 0);
}

/* Rows whose time is over are found in the order of their times, at any step of
 * the clock; rows without one are never found. */
static void scan_expired_and_evidence(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < 6; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        row.receipt.state = RECEIPT_COMPLETED;
        row.receipt.lease_until_ms = 0;
        row.receipt.expire_ms = i == 5 ? 0 : NOW_MS + 100 - i;
        row.request = i < 2 ? fixture_message(f, SPAN("x")) : span_of("", 0);
        row.evidence_until_ms = NOW_MS + i;
        (void)fixture_put(f, &row);
    }
    struct store_op op = {.kind = STORE_SCAN,
                          .in.scan = {.kind = SCAN_EXPIRED, .now_ms = NOW_MS + 99, .rows_max = 3}};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 3);
    assert_int_equal(op.out.rows[0].receipt.expire_ms, NOW_MS + 96);
    assert_int_equal(op.out.rows[2].receipt.expire_ms, NOW_MS + 98);
    op.in.scan.now_ms = INT64_MAX;
    op.in.scan.rows_max = 500;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 5);
    op.in.scan.after_id = op.out.rows[0].id;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 0);
    op.in.scan = (__typeof__(op.in.scan)){SCAN_EXPIRED, 0, 500, 0, 0};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 0);
    op.in.scan = (__typeof__(op.in.scan)){SCAN_EVIDENCE, NOW_MS, 500, 0, 0};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 1);
    op.in.scan.now_ms = NOW_MS + 50;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 2);
    /* Once it was dropped it is not found again. */
    struct store_row from = op.out.rows[0], next = fixture_step(&from, RECEIPT_COMPLETED);
    struct store_op drop = fixture_advance(&from, &next);
    drop.in.advance.set_request = true;
    assert_int_equal(fixture_ask(f, &drop), STORE_WON);
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 1);
}

/* Pauses are set, replaced, listed and cleared, and each change is in the audit. */
static void pauses(void **state)
{
    struct fixture *f = *state;
    struct audit_entry audit = {NOW_MS,          SPAN("token:ana"),  SPAN("pause"),
                                SPAN("route:r"), SPAN("incident 7"), SPAN("")};
    struct store_op op = {.kind = STORE_PAUSE,
                          .in.pause = {.entry = {PAUSE_ROUTE, SPAN("r"), SPAN("token:ana"),
                                                 SPAN("incident 7"), NOW_MS},
                                       .audit = &audit}};
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    struct store_op other = op;
    other.in.pause.audit = NULL;
    other.in.pause.entry.subject = PAUSE_UPSTREAM;
    assert_int_equal(fixture_ask(f, &other), STORE_WON);
    other.in.pause.entry.note = SPAN("still");
    assert_int_equal(fixture_ask(f, &other), STORE_WON);
    struct store_op all = {.kind = STORE_PAUSES};
    assert_int_equal(fixture_ask(f, &all), STORE_PAGE);
    assert_int_equal(all.out.pause_count, 2);
    unsigned at = all.out.pauses[0].subject == PAUSE_ROUTE ? 0 : 1;
    assert_span(all.out.pauses[at].note, SPAN("incident 7"));
    assert_span(all.out.pauses[at].name, SPAN("r"));
    assert_span(all.out.pauses[at].actor, SPAN("token:ana"));
    assert_int_equal(all.out.pauses[at].at_ms, NOW_MS);
    assert_span(all.out.pauses[1 - at].note, SPAN("still"));
    audit.action = SPAN("resume");
    op.in.pause.clear = true;
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    assert_int_equal(fixture_ask(f, &all), STORE_PAGE);
    assert_int_equal(all.out.pause_count, 1);
    struct store_op log = {.kind = STORE_AUDIT, .in.find = {.operation_id = SPAN("route:r")}};
    assert_int_equal(fixture_ask(f, &log), STORE_PAGE);
    assert_int_equal(log.out.audit_count, 2);
    assert_span(log.out.audit[0].action, SPAN("pause"));
    assert_span(log.out.audit[1].action, SPAN("resume"));
}

/* Unknowns are counted by route, with the oldest, as they come and go. */
static void tally(void **state)
{
    struct fixture *f = *state;
    struct store_row rows[4];
    for (unsigned i = 0; i < 4; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        row.route = i < 3 ? SPAN("a") : SPAN("b");
        row.created_ms = NOW_MS + 10 + i;
        rows[i] = fixture_put(f, &row);
        struct store_row next = fixture_step(&rows[i], RECEIPT_UNKNOWN);
        rows[i] = fixture_move(f, &rows[i], &next);
    }
    struct store_op op = {.kind = STORE_TALLY};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.tally_count, 2);
    unsigned a = op.out.tally[0].route.ptr[0] == 'a' ? 0 : 1;
    assert_int_equal(op.out.tally[a].unknown, 3);
    assert_int_equal(op.out.tally[a].oldest_ms, NOW_MS + 10);
    assert_int_equal(op.out.tally[1 - a].unknown, 1);
    struct store_row settled = fixture_step(&rows[0], RECEIPT_COMPLETED);
    (void)fixture_move(f, &rows[0], &settled);
    struct store_row gone = {.receipt = {.state = RECEIPT_ABSENT, .version = 3}};
    (void)fixture_move(f, &rows[3], &gone);
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.tally_count, 1);
    assert_span(op.out.tally[0].route, SPAN("a"));
    assert_int_equal(op.out.tally[0].unknown, 2);
    assert_int_equal(op.out.tally[0].oldest_ms, NOW_MS + 11);
}

/* A change and its audit are one: neither is there without the other. */
static void audit_belongs_to_its_change(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row next = fixture_step(&won, RECEIPT_SENT);
    struct audit_entry audit = {NOW_MS,    SPAN("a"), SPAN("settle"), span_str(won.operation_id),
                                SPAN("n"), SPAN("d")};
    struct store_op op = fixture_advance(&won, &next);
    op.in.advance.audit = &audit;
    op.in.advance.expect_version = 77;
    assert_int_equal(fixture_ask(f, &op), STORE_STALE);
    struct store_op log = {.kind = STORE_AUDIT,
                           .in.find = {.operation_id = span_str(won.operation_id)}};
    assert_int_equal(fixture_ask(f, &log), STORE_PAGE);
    assert_int_equal(log.out.audit_count, 0);
    op.in.advance.expect_version = 1;
    char *huge = calloc(1, (size_t)1 << 20);
    audit.note = span_of(huge, (size_t)1 << 20);
    assert_int_equal(fixture_try(f, &op), GW_LIMIT);
    free(huge);
    audit.note = SPAN("n");
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(fixture_ask(f, &log), STORE_PAGE);
    assert_int_equal(log.out.audit_count, 1);
    assert_span(log.out.audit[0].detail, SPAN("d"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(scan_lapsed), BOTH(scan_expired_and_evidence),   BOTH(pauses),
        BOTH(tally),       BOTH(audit_belongs_to_its_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
