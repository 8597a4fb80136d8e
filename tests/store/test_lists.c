/* Pages for an operator: filters, cursors, and pages that need more than one go. */
#include "store/table.h"
#include "tests/store/fixture.h"

#define NOW_MS FIXTURE_NOW_MS

static struct store_op list_op(struct store_filter filter, uint32_t rows_max)
{
    return (struct store_op){.kind = STORE_LIST,
                             .in.list = {.filter = filter, .rows_max = rows_max}};
}

static uint32_t count_of(struct fixture *f, struct store_filter filter)
{
    struct store_op op = list_op(filter, 500);
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.next_cursor, 0);
    for (uint32_t i = 1; i < op.out.row_count; i++)
        assert_true(op.out.rows[i].id < op.out.rows[i - 1].id);
    return op.out.row_count;
}

/* Twelve rows that differ in everything a filter looks at. */
static void put_mixed(struct fixture *f)
{
    static const enum receipt_state states[] = {RECEIPT_CLAIMED,   RECEIPT_SENT,
                                                RECEIPT_COMPLETED, RECEIPT_UNKNOWN,
                                                RECEIPT_RELEASED,  RECEIPT_DEFERRED};
    for (unsigned i = 0; i < 12; i++) {
        char key[8], value[8];
        (void)snprintf(key, sizeof(key), "k%u", i);        /* fits */
        (void)snprintf(value, sizeof(value), "%u", i % 3); /* fits */
        struct store_row row = fixture_row(f, key, i);
        enum receipt_state state = states[i % GW_COUNT(states)];
        row.owner = i < 6 ? SPAN("acme") : SPAN("beta");
        row.route = i % 2 == 0 ? SPAN("even") : SPAN("odd");
        row.receipt.state = state;
        row.receipt.lease_until_ms = receipt_is_leased(state) ? NOW_MS : 0;
        row.receipt.due_ms = state == RECEIPT_DEFERRED ? NOW_MS : 0;
        row.receipt.marks = i == 3 || i == 4 ? RECEIPT_CONTRADICTED : 0;
        row.end = i % 4 == 0 ? END_answer_timeout : END_answered;
        row.created_ms = NOW_MS + i;
        row.labels = fixture_labels(f, i < 9 ? "order" : "ticket", value);
        store_identity(row.owner, row.scope, row.key, &row.identity);
        (void)fixture_put(f, &row);
    }
}

/* Each filter leaves out what does not fit; together they leave what fits all. */
static void filters(void **state)
{
    struct fixture *f = *state;
    put_mixed(f);
    assert_int_equal(count_of(f, (struct store_filter){0}), 12);
    assert_int_equal(count_of(f, (struct store_filter){.states = 1u << RECEIPT_UNKNOWN}), 2);
    assert_int_equal(count_of(f, (struct store_filter){.states = 1u << RECEIPT_COMPLETED}), 2);
    assert_int_equal(
        count_of(f, (struct store_filter){.states = 1u << RECEIPT_UNKNOWN | 1u << RECEIPT_SENT}),
        4);
    assert_int_equal(count_of(f, (struct store_filter){.states = 1u << RECEIPT_ABANDONED}), 0);
    assert_int_equal(count_of(f, (struct store_filter){.owner = SPAN("beta")}), 6);
    assert_int_equal(count_of(f, (struct store_filter){.route = SPAN("even")}), 6);
    assert_int_equal(count_of(f, (struct store_filter){.key = SPAN("k7")}), 1);
    assert_int_equal(count_of(f, (struct store_filter){.key = SPAN("k")}), 0);
    assert_int_equal(count_of(f, (struct store_filter){.end = SPAN("answer_timeout")}), 3);
    assert_int_equal(count_of(f, (struct store_filter){.contradicted = true}), 2);
    assert_int_equal(count_of(f, (struct store_filter){.created_after_ms = NOW_MS + 9}), 3);
    assert_int_equal(count_of(f, (struct store_filter){.created_before_ms = NOW_MS + 9}), 9);
    assert_int_equal(count_of(f, (struct store_filter){.label_name = SPAN("order")}), 9);
    assert_int_equal(
        count_of(f, (struct store_filter){.label_name = SPAN("order"), .label_value = SPAN("1")}),
        3);
    assert_int_equal(
        count_of(f, (struct store_filter){.label_name = SPAN("ticket"), .label_value = SPAN("1")}),
        1);
    assert_int_equal(count_of(f, (struct store_filter){.label_name = SPAN("order"),
                                                       .label_value = SPAN("1"),
                                                       .owner = SPAN("acme"),
                                                       .route = SPAN("odd")}),
                     1);
    assert_int_equal(
        count_of(f, (struct store_filter){.contradicted = true, .states = 1u << RECEIPT_UNKNOWN}),
        1);
}

/* A name that no attempt can end by is refused, not taken for "nothing fits". */
static void unknown_end_is_refused(void **state)
{
    struct fixture *f = *state;
    struct store_op op = list_op((struct store_filter){.end = SPAN("no_such_end")}, 10);
    assert_int_equal(fixture_try(f, &op), GW_INVALID);
}

/* The label index follows the row: a label that was replaced is no longer found. */
static void labels_follow_the_row(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    row.labels = fixture_labels(f, "order", "old");
    struct store_row won = fixture_put(f, &row);
    struct store_row next = fixture_step(&won, RECEIPT_RELEASED);
    next.labels = fixture_labels(f, "order", "new");
    (void)fixture_move(f, &won, &next);
    struct store_filter filter = {.label_name = SPAN("order"), .label_value = SPAN("old")};
    assert_int_equal(count_of(f, filter), 0);
    filter.label_value = SPAN("new");
    assert_int_equal(count_of(f, filter), 1);
}

/* Going from page to page shows every row once, in both orders, for every index,
 * and says when there is no more. */
static void pages_show_each_row_once(void **state)
{
    struct fixture *f = *state;
    const struct store_filter by[] = {
        {0},
        {.states = 1u << RECEIPT_UNKNOWN},
        {.contradicted = true},
        {.label_name = SPAN("all"), .label_value = SPAN("x")},
    };
    for (unsigned i = 0; i < 23; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        row.receipt.state = RECEIPT_UNKNOWN;
        row.receipt.lease_until_ms = 0;
        row.receipt.marks = RECEIPT_CONTRADICTED;
        row.labels = fixture_labels(f, "all", "x");
        (void)fixture_put(f, &row);
    }
    for (unsigned i = 0; i < 2 * GW_COUNT(by); i++) {
        struct store_op op = list_op(by[i / 2], 5);
        uint32_t seen = 0;
        int64_t last = 0;
        op.in.list.oldest_first = i % 2 == 1;
        do {
            assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
            assert_int_equal(op.out.row_count, seen < 20 ? 5 : 3);
            for (uint32_t j = 0; j < op.out.row_count; j++, seen++) {
                int64_t id = op.out.rows[j].id;
                assert_true(last == 0 || (op.in.list.oldest_first ? id > last : id < last));
                last = id;
            }
            op.in.list.cursor = op.out.next_cursor;
        } while (op.out.next_cursor != 0);
        assert_int_equal(seen, 23);
    }
}

/* Rows that come in between change neither what was on a page nor what follows. */
static void cursor_is_stable(void **state)
{
    struct fixture *f = *state;
    unsigned number = 0;
    for (; number < 10; number++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", number); /* fits */
        struct store_row row = fixture_row(f, key, number);
        (void)fixture_put(f, &row);
    }
    struct store_op op = list_op((struct store_filter){0}, 4);
    uint32_t seen = 0;
    do {
        assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
        for (uint32_t j = 0; j < op.out.row_count; j++, seen++) {
            char key[8];
            (void)snprintf(key, sizeof(key), "k%u", 9 - seen); /* fits */
            assert_span(op.out.rows[j].key, span_str(key));
        }
        op.in.list.cursor = op.out.next_cursor;
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", number); /* fits */
        struct store_row row = fixture_row(f, key, number++);
        (void)fixture_put(f, &row);
    } while (op.out.next_cursor != 0);
    assert_int_equal(seen, 10);
}

/* A page is never larger than the maximum, whatever was asked for. */
static void page_is_bounded(void **state)
{
    enum { MANY = STORE_PAGE_ROWS_MAX + 20 };
    struct fixture *f = *state;
    struct store_row *rows = calloc(MANY, sizeof(*rows));
    struct store_op *ops = calloc(MANY, sizeof(*ops));
    uint32_t left = 0;
    for (unsigned i = 0; i < MANY; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        rows[i] = fixture_row(f, key, i);
        ops[i] = fixture_claim(&rows[i]);
    }
    /* Not before: while one is submitted, the arena is the store's. */
    for (unsigned i = 0; i < MANY; i++)
        fixture_send(f, &ops[i], &left);
    fixture_wait(f->inbox, &left);
    struct store_op op = list_op((struct store_filter){0}, UINT32_MAX);
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, STORE_PAGE_ROWS_MAX);
    assert_true(op.out.next_cursor != 0);
    op.in.list.cursor = op.out.next_cursor;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 20);
    assert_int_equal(op.out.next_cursor, 0);
    free(ops);
    free(rows);
}

/* A filter that fits few rows of many is answered in one call, over several goes,
 * and other operations are served in between. */
static void rare_rows_are_found_among_many(void **state)
{
    enum { MANY = 2 * STORE_PAGE_EXAMINED_MAX + 500, CHUNK = 5000 };
    struct fixture *f = *state;
    struct arena *arena = arena_new((size_t)1 << 28);
    struct store_row *rows = calloc(CHUNK, sizeof(*rows));
    struct store_op *ops = calloc(CHUNK, sizeof(*ops));
    for (unsigned done = 0; done < MANY; done += CHUNK) {
        uint32_t left = 0;
        for (unsigned i = 0; i < CHUNK && done + i < MANY; i++) {
            char key[16];
            (void)snprintf(key, sizeof(key), "k%u", done + i); /* fits */
            rows[i] = fixture_row(f, key, done + i);
            rows[i].owner = (done + i) % STORE_PAGE_EXAMINED_MAX == 0 ? SPAN("rare") : SPAN("acme");
            ops[i] = fixture_claim(&rows[i]);
            ops[i].arena = arena;
            fixture_send(f, &ops[i], &left);
        }
        fixture_wait(f->inbox, &left);
    }
    struct store_op op = list_op((struct store_filter){.owner = SPAN("rare")}, 10);
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 3);
    assert_int_equal(op.out.next_cursor, 0);
    op = list_op((struct store_filter){.owner = SPAN("rare")}, 2);
    op.in.list.oldest_first = true;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 2);
    assert_span(op.out.rows[0].key, SPAN("k0"));
    op.in.list.cursor = op.out.next_cursor;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 1);
    free(ops);
    free(rows);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(filters),
        BOTH(unknown_end_is_refused),
        BOTH(labels_follow_the_row),
        BOTH(pages_show_each_row_once),
        BOTH(cursor_is_stable),
        BOTH(page_is_bounded),
        BOTH(rare_rows_are_found_among_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
