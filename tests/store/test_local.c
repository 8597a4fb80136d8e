/* Local effects: receipt, row and answer are committed together or not at all, one for
 * each key, and no operation beside one loses anything by it. */
#include <math.h>
#include <sqlite3.h>

#include "tests/store/fixture.h"

enum { OWNER, SUBJECT, NUMBER, VALUES };
static const struct span parameters[VALUES] = {{"owner", 5}, {"subject", 7}, {"number", 6}};

#define SETUP                                                                                      \
    "CREATE TABLE IF NOT EXISTS tickets(id INTEGER PRIMARY KEY, owner TEXT NOT NULL,"              \
    " subject TEXT UNIQUE CHECK (length(subject) <= 120), place INTEGER REFERENCES tickets(id)"    \
    " DEFERRABLE INITIALLY DEFERRED, parent INTEGER REFERENCES tickets(id));"

/* One effect for each thing that can become of one. */
enum {
    INSERT,
    NO_ROW,
    MANY_ROWS,
    NOT_NULL,
    DEFERRED_KEY,
    FOREIGN_KEY,
    BYTES,
    NOT_TEXT,
    LARGE,
    BROKEN_JSON,
    ENDLESS,
    SHAPES,
    EMPTY,
    INFINITE,
    EFFECTS,
};
static const char *const statements[EFFECTS] = {
    [INSERT] = "INSERT INTO tickets(owner, subject) VALUES (:owner, :subject)"
               " RETURNING id AS ticket_id, subject",
    [NO_ROW] = "UPDATE tickets SET owner = :owner WHERE subject = :subject RETURNING id",
    [MANY_ROWS] = "INSERT INTO tickets(owner) VALUES (:owner), (:owner) RETURNING id",
    [NOT_NULL] = "INSERT INTO tickets(owner, subject) VALUES (NULL, :subject) RETURNING id",
    [DEFERRED_KEY] = "INSERT INTO tickets(owner, place) VALUES (:owner, 4711) RETURNING id",
    [FOREIGN_KEY] = "INSERT INTO tickets(owner, parent) VALUES (:owner, 4711) RETURNING id",
    [BYTES] = "INSERT INTO tickets(owner) VALUES (:owner) RETURNING x'00ff' AS bytes",
    [NOT_TEXT] = "INSERT INTO tickets(owner) VALUES (:owner) RETURNING CAST(x'ff' AS TEXT) AS t",
    [LARGE] = "INSERT INTO tickets(owner) VALUES (:owner) RETURNING printf('%.*c', 5000, 'x') AS t",
    [BROKEN_JSON] =
        "INSERT INTO tickets(owner, subject) VALUES (:owner, json(:subject)) RETURNING id",
    [ENDLESS] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                " INSERT INTO tickets(owner, subject) SELECT :owner, max(i) FROM n RETURNING id",
    [SHAPES] = "INSERT INTO tickets(owner) VALUES (:owner) RETURNING :number AS given,"
               " typeof(:number) AS type, 1.5 AS half, 3.0 AS three, 1e300 AS big, 0.1 AS tenth,"
               " -9223372036854775808 AS least, NULL AS none, 'a\"b' || char(10) AS text",
    [EMPTY] = "DELETE FROM tickets WHERE subject = :subject RETURNING id",
    [INFINITE] = "INSERT INTO tickets(owner) VALUES (:owner) RETURNING 9e999 AS much",
};

static struct store_effect effects[EFFECTS];

static int open_with_effects(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    fixture_init(f, "sqlite");
    for (size_t i = 0; i < EFFECTS; i++)
        effects[i] = (struct store_effect){.name = SPAN("create-ticket"),
                                           .setup = SPAN(SETUP),
                                           .statement = span_str(statements[i]),
                                           .parameters = parameters,
                                           .parameter_count = VALUES,
                                           .status = i == EMPTY ? 204 : 201,
                                           .time_max_ms = i == ENDLESS ? 20 : 60000,
                                           .answer_max = 4096};
    f->options.effects = effects;
    f->options.effect_count = EFFECTS;
    fixture_open(f);
    *state = f;
    return 0;
}

static struct store_row completed(struct fixture *f, const char *key, unsigned number)
{
    struct store_row row = fixture_row(f, key, number);
    row.receipt.state = RECEIPT_COMPLETED;
    row.receipt.version = 3;
    row.receipt.lease_until_ms = 0;
    row.receipt.expire_ms = FIXTURE_NOW_MS + 1000;
    return row;
}

static struct store_op local(const struct store_row *row, uint32_t effect,
                             const struct store_value *values)
{
    return (struct store_op){.kind = STORE_LOCAL,
                             .in.local = {.row = row, .effect = effect, .values = values}};
}

static struct store_value text(const char *value)
{
    return (struct store_value){.kind = STORE_VALUE_TEXT, .text = span_str(value)};
}

/* What a second connection sees: committed rows alone. */
static int64_t count(const struct fixture *f, const char *table)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    char sql[100];
    (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table); /* fits */
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t rows = sqlite3_column_int64(statement, 0);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return rows;
}

static void assert_answer(struct fixture *f, struct span packed, uint16_t status, struct span body)
{
    struct stored_message message;
    assert_int_equal(message_decode(f->arena, packed, &message), GW_OK);
    assert_int_equal(message.status, status);
    assert_span(message.body, body);
    assert_int_equal(message.field_count, body.len > 0 ? 1 : 0);
    if (body.len > 0) {
        assert_span(message.fields[0].name, SPAN("Content-Type"));
        assert_span(message.fields[0].value, SPAN("application/json"));
    }
}

/* Guards: the returned row is the stored answer, before and after the file was closed,
 * and a key that is there is not run again, by whomever it is asked. */
static void a_row_is_the_answer(void **state)
{
    struct fixture *f = *state;
    struct store_row row = completed(f, "k", 1), other = completed(f, "k", 2);
    const struct store_value values[VALUES] = {text("acme"), text("lamp")};
    const struct span answer = SPAN("{\"ticket_id\":1,\"subject\":\"lamp\"}");
    struct store_op op = local(&row, INSERT, values);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(op.out.rows[0].receipt.state, RECEIPT_COMPLETED);
    assert_true(op.out.rows[0].id > 0 && op.out.rows[0].answer_kept);
    assert_answer(f, op.out.rows[0].answer, 201, answer);
    for (int i = 0; i < 2; i++) {
        struct store_op again = local(&row, INSERT, values); /* the very same, submitted twice */
        assert_int_equal(fixture_ask(f, &again), STORE_WON);
        assert_answer(f, again.out.rows[0].answer, 201, answer);
        struct store_op held = local(&other, INSERT, values);
        assert_int_equal(fixture_ask(f, &held), STORE_HELD);
        assert_string_equal(held.out.rows[0].operation_id, row.operation_id);
        assert_answer(f, held.out.rows[0].answer, 201, answer);
        fixture_close(f);
        fixture_open(f);
    }
    struct store_op seen = fixture_lookup(&row, LOAD_ANSWER);
    assert_int_equal(fixture_ask(f, &seen), STORE_HELD);
    assert_answer(f, seen.out.rows[0].answer, 201, answer);
    assert_int_equal(count(f, "tickets"), 1);
    assert_int_equal(count(f, "receipts"), 1);
}

/* Guards: whatever refuses an effect, neither of the two rows stays, the key is free, and
 * the operations of the same batch are kept. */
static void a_refusal_keeps_nothing(void **state)
{
    static const struct {
        uint32_t effect;
        const char *subject;
        enum effect_refusal refusal;
    } cases[] = {
        {INSERT, "taken", EFFECT_UNIQUE},
        {NO_ROW, "not there", EFFECT_NO_ROW},
        {MANY_ROWS, "", EFFECT_MANY_ROWS},
        {NOT_NULL, "", EFFECT_NOT_NULL},
        {DEFERRED_KEY, "", EFFECT_FOREIGN_KEY},
        {FOREIGN_KEY, "", EFFECT_FOREIGN_KEY},
        {BYTES, "", EFFECT_UNFIT},
        {NOT_TEXT, "", EFFECT_UNFIT},
        {INFINITE, "", EFFECT_UNFIT},
        {LARGE, "", EFFECT_UNFIT},
        {BROKEN_JSON, "{", EFFECT_FAILED},
    };
    struct fixture *f = *state;
    struct store_row first = completed(f, "first", 1);
    const struct store_value taken[VALUES] = {text("acme"), text("taken")};
    struct store_op op = local(&first, INSERT, taken);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    for (unsigned i = 0; i < GW_COUNT(cases); i++) {
        char key[3][24];
        for (int k = 0; k < 3; k++)
            (void)snprintf(key[k], sizeof(key[k]), "%u-%d", i, k); /* fits */
        struct store_row before = completed(f, key[0], 100 * i + 2);
        struct store_row wrong = completed(f, key[1], 100 * i + 3);
        struct store_row after = fixture_row(f, key[2], 100 * i + 4);
        const struct store_value own[VALUES] = {text("acme"), text(key[0])};
        const struct store_value values[VALUES] = {text("acme"), text(cases[i].subject)};
        struct store_op ops[] = {local(&before, INSERT, own),
                                 local(&wrong, cases[i].effect, values), fixture_claim(&after)};
        uint32_t left = 0;
        for (size_t k = 0; k < GW_COUNT(ops); k++)
            fixture_send(f, &ops[k], &left);
        fixture_wait(f->inbox, &left);
        assert_int_equal(ops[0].out.found, STORE_WON);
        assert_int_equal(ops[1].out.status, GW_OK);
        assert_int_equal(ops[1].out.found, STORE_REFUSED);
        assert_int_equal(ops[1].out.refusal, cases[i].refusal);
        assert_int_equal(ops[2].out.found, STORE_WON);
        assert_int_equal(count(f, "tickets"), i + 2);
        assert_int_equal(count(f, "receipts"), 2 * i + 3);
        struct store_op look = fixture_lookup(&wrong, 0);
        assert_int_equal(fixture_ask(f, &look), STORE_NONE);
    }
}

/* Guards: a check that fails is refused with the database's own words for the log, and
 * the same key is run when the content is mended. */
static void a_refused_key_is_not_spent(void **state)
{
    struct fixture *f = *state;
    char large[200];
    memset(large, 'x', sizeof(large));
    large[199] = '\0';
    struct store_row row = completed(f, "k", 1);
    struct store_value values[VALUES] = {text("acme"), text(large)};
    struct store_op op = local(&row, INSERT, values);
    assert_int_equal(fixture_ask(f, &op), STORE_REFUSED);
    assert_int_equal(op.out.refusal, EFFECT_CHECK);
    assert_true(op.out.reason.len > 0);
    values[SUBJECT] = text("short");
    struct store_op again = local(&row, INSERT, values);
    assert_int_equal(fixture_ask(f, &again), STORE_WON);
    assert_int_equal(count(f, "tickets"), 1);
}

/* Guards: a statement without an end is stopped and takes nobody with it, alone and in a
 * batch. */
static void a_slow_effect_is_stopped(void **state)
{
    struct fixture *f = *state;
    const struct store_value values[VALUES] = {text("acme"), text("lamp")};
    for (unsigned i = 0; i < 3; i++) {
        char key[2][24];
        for (int k = 0; k < 2; k++)
            (void)snprintf(key[k], sizeof(key[k]), "%u-%d", i, k); /* fits */
        const struct store_value own[VALUES] = {text("acme"), text(key[0])};
        struct store_row good = completed(f, key[0], 10 * i + 1);
        struct store_row slow = completed(f, key[1], 10 * i + 2);
        struct store_op ops[] = {local(&good, INSERT, own), local(&slow, ENDLESS, values)};
        uint32_t left = 0;
        for (size_t k = 0; k < GW_COUNT(ops); k++)
            fixture_send(f, &ops[k], &left);
        fixture_wait(f->inbox, &left);
        assert_int_equal(ops[0].out.status, GW_OK);
        assert_int_equal(ops[0].out.found, STORE_WON);
        assert_int_equal(ops[1].out.status, GW_LIMIT);
        assert_int_equal(count(f, "tickets"), i + 1);
        assert_int_equal(count(f, "receipts"), i + 1);
    }
    struct store_stats stats;
    store_stats(f->store, &stats);
    assert_false(stats.is_failing);
    assert_non_null(strstr(stats.last_error.text, "took longer"));
}

/* Guards: numbers, texts and nothing come back as JSON that says exactly what they are. */
static void values_keep_their_shape(void **state)
{
    static const struct {
        struct store_value value;
        const char *given;
    } cases[] = {
        {{.kind = STORE_VALUE_NULL}, "null,\"type\":\"null\""},
        {{.kind = STORE_VALUE_INTEGER, .integer = INT64_MAX},
         "9223372036854775807,\"type\":\"integer\""},
        {{.kind = STORE_VALUE_REAL, .real = 0.30000000000000004},
         "0.30000000000000004,\"type\":\"real\""},
        {{.kind = STORE_VALUE_REAL, .real = 2}, "2.0,\"type\":\"real\""},
        {{.kind = STORE_VALUE_TEXT, .text = {"\xc3\xa9", 2}}, "\"\xc3\xa9\",\"type\":\"text\""},
        {{.kind = STORE_VALUE_TEXT, .text = {"", 0}}, "\"\",\"type\":\"text\""},
    };
    struct fixture *f = *state;
    for (unsigned i = 0; i < GW_COUNT(cases); i++) {
        char key[24], json[400];
        (void)snprintf(key, sizeof(key), "%u", i); /* fits */
        struct store_row row = completed(f, key, i + 1);
        const struct store_value values[VALUES] = {
            [OWNER] = text("acme"), [SUBJECT] = text(""), [NUMBER] = cases[i].value};
        struct store_op op = local(&row, SHAPES, values);
        assert_int_equal(fixture_ask(f, &op), STORE_WON);
        int len = snprintf(json, sizeof(json),
                           "{\"given\":%s,\"half\":1.5,\"three\":3.0,\"big\":1e+300,\"tenth\":0.1,"
                           "\"least\":-9223372036854775808,\"none\":null,"
                           "\"text\":\"a\\\"b\\u000a\"}",
                           cases[i].given);
        assert_answer(f, op.out.rows[0].answer, 201, span_of(json, (size_t)len));
    }
}

/* Guards: an answer without content has none, and no type of one. */
static void no_content_has_no_body(void **state)
{
    struct fixture *f = *state;
    struct store_row row = completed(f, "a", 1), gone = completed(f, "b", 2);
    const struct store_value values[VALUES] = {text("acme"), text("lamp")};
    struct store_op op = local(&row, INSERT, values), drop = local(&gone, EMPTY, values);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(fixture_ask(f, &drop), STORE_WON);
    assert_answer(f, drop.out.rows[0].answer, 204, SPAN(""));
    assert_int_equal(count(f, "tickets"), 0);
}

/* Guards: a released operation is run under its own id, once, by whoever saw it last. */
static void a_released_one_is_run_again(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row freed = fixture_step(&won, RECEIPT_RELEASED);
    freed.receipt.expire_ms = FIXTURE_NOW_MS + 5;
    freed = fixture_move(f, &won, &freed);
    struct store_row wish = completed(f, "k", 9);
    wish.receipt.version = freed.receipt.version + 3;
    wish.receipt.token = 77;
    const struct store_value values[VALUES] = {text("acme"), text("lamp")};
    struct store_op stale = local(&wish, INSERT, values), op = stale, late = stale;
    stale.in.local.id = op.in.local.id = late.in.local.id = freed.id;
    stale.in.local.expect_version = won.receipt.version;
    op.in.local.expect_version = late.in.local.expect_version = freed.receipt.version;
    assert_int_equal(fixture_ask(f, &stale), STORE_STALE);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_string_equal(op.out.rows[0].operation_id, row.operation_id);
    assert_int_equal(op.out.rows[0].id, freed.id);
    assert_int_equal(fixture_ask(f, &late), STORE_STALE);
    assert_int_equal(late.out.rows[0].receipt.state, RECEIPT_COMPLETED);
    assert_int_equal(count(f, "tickets"), 1);
    assert_int_equal(count(f, "receipts"), 1);
    struct store_op seen = fixture_lookup(&row, LOAD_ANSWER);
    assert_int_equal(fixture_ask(f, &seen), STORE_HELD);
    assert_answer(f, seen.out.rows[0].answer, 201, SPAN("{\"ticket_id\":1,\"subject\":\"lamp\"}"));
}

/* Guards: while somebody else holds the database nothing is kept, and afterwards the same
 * key is run once. */
static void a_foreign_writer_keeps_it_out(void **state)
{
    struct fixture *f = *state;
    sqlite3 *db;
    fixture_close(f);
    f->options.busy_ms = 20;
    fixture_open(f);
    struct store_row row = completed(f, "k", 1);
    const struct store_value values[VALUES] = {text("acme"), text("lamp")};
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    struct store_op op = local(&row, INSERT, values);
    assert_int_equal(fixture_try(f, &op), GW_BUSY);
    assert_int_equal(count(f, "tickets") + count(f, "receipts"), 0);
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    struct store_op again = local(&row, INSERT, values);
    assert_int_equal(fixture_ask(f, &again), STORE_WON);
    assert_int_equal(count(f, "tickets"), 1);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Guards: a table that somebody takes away or changes while the store runs is told of, is
 * not run past the guard, and costs the others nothing. */
static void a_changed_table_is_told_of(void **state)
{
    struct fixture *f = *state;
    sqlite3 *db;
    const struct store_value values[VALUES] = {text("acme"), text("lamp")};
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TRIGGER t AFTER INSERT ON tickets BEGIN"
                                  " DELETE FROM receipts; END",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    struct store_row row = completed(f, "k", 1), other = fixture_row(f, "c", 2);
    struct store_op claim = fixture_claim(&other), op = local(&row, INSERT, values);
    assert_int_equal(fixture_ask(f, &claim), STORE_WON);
    assert_int_equal(fixture_ask(f, &op), STORE_REFUSED);
    assert_int_equal(op.out.refusal, EFFECT_FAILED);
    assert_int_equal(count(f, "receipts"), 1);
    assert_int_equal(sqlite3_exec(db, "DROP TABLE tickets", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    struct store_op gone = local(&row, INSERT, values);
    assert_int_equal(fixture_ask(f, &gone), STORE_REFUSED);
    assert_int_equal(gone.out.refusal, EFFECT_FAILED);
    assert_non_null(memmem(gone.out.reason.ptr, gone.out.reason.len, "no such table", 13));
    assert_int_equal(count(f, "receipts"), 1);
}

int main(void)
{
#define ONE(test) cmocka_unit_test_setup_teardown(test, open_with_effects, fixture_teardown)
    const struct CMUnitTest tests[] = {
        ONE(a_row_is_the_answer),         ONE(a_refusal_keeps_nothing),
        ONE(a_refused_key_is_not_spent),  ONE(a_slow_effect_is_stopped),
        ONE(values_keep_their_shape),     ONE(no_content_has_no_body),
        ONE(a_released_one_is_run_again), ONE(a_foreign_writer_keeps_it_out),
        ONE(a_changed_table_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
