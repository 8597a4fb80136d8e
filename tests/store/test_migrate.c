/* A file that an older Recibo has written opens and keeps all that is in it. The old
 * tables stand here as that program made them; they are never edited. */
#include <sqlite3.h>

#include "tests/store/fixture.h"

#define NOW_MS FIXTURE_NOW_MS
#define ROWS   60

static const char version_1[] =
    "CREATE TABLE receipts (id INTEGER PRIMARY KEY, operation_id TEXT NOT NULL, identity"
    " BLOB NOT NULL CHECK (length(identity) = 16), owner BLOB NOT NULL, scope BLOB NOT"
    " NULL, \"key\" BLOB NOT NULL, route BLOB NOT NULL, created_ms INTEGER NOT NULL, state"
    " INTEGER NOT NULL CHECK (state BETWEEN 1 AND 9), attempt INTEGER NOT NULL, version"
    " INTEGER NOT NULL, marks INTEGER NOT NULL CHECK (marks BETWEEN 0 AND 63), token"
    " INTEGER NOT NULL, lease_until_ms INTEGER NOT NULL, due_ms INTEGER NOT NULL,"
    " expire_ms INTEGER NOT NULL, epoch INTEGER NOT NULL, print BLOB NOT NULL CHECK"
    " (length(print) = 32), print_mode BLOB NOT NULL, members BLOB NOT NULL, method BLOB"
    " NOT NULL, target BLOB NOT NULL, labels BLOB NOT NULL, updated_ms INTEGER NOT NULL,"
    " repeats INTEGER NOT NULL, last_repeat_ms INTEGER NOT NULL, \"end\" INTEGER NOT NULL,"
    " status INTEGER NOT NULL, attempts BLOB NOT NULL, evidence_until_ms INTEGER NOT NULL,"
    " answer_kept INTEGER NOT NULL, request_kept INTEGER NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX receipts_identity ON receipts (identity);"
    "CREATE UNIQUE INDEX receipts_operation ON receipts (operation_id);"
    "CREATE INDEX receipts_leased ON receipts (id) WHERE state IN (2, 3);"
    "CREATE INDEX receipts_open ON receipts (state) WHERE state IN (1, 5, 6, 7, 8);"
    "CREATE INDEX receipts_unknown ON receipts (route, created_ms) WHERE state = 6;"
    "CREATE INDEX receipts_contradicted ON receipts (id) WHERE marks & 32;"
    "CREATE INDEX receipts_due ON receipts (due_ms) WHERE due_ms > 0;"
    "CREATE INDEX receipts_expire ON receipts (expire_ms) WHERE expire_ms > 0;"
    "CREATE INDEX receipts_evidence ON receipts (evidence_until_ms) WHERE request_kept ="
    " 1 AND evidence_until_ms > 0;"
    "CREATE TABLE bodies (id INTEGER PRIMARY KEY, request BLOB, answer BLOB) STRICT;"
    "CREATE TABLE labels (name BLOB NOT NULL, value BLOB NOT NULL, id INTEGER NOT NULL,"
    " PRIMARY KEY (name, value, id)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE audit (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, actor BLOB NOT"
    " NULL, action BLOB NOT NULL, subject BLOB NOT NULL, note BLOB NOT NULL, detail BLOB"
    " NOT NULL) STRICT;"
    "CREATE INDEX audit_subject ON audit (subject);"
    "CREATE TABLE pauses (subject INTEGER NOT NULL, name BLOB NOT NULL, actor BLOB NOT"
    " NULL, note BLOB NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (subject, name))"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE unknowns (route BLOB NOT NULL PRIMARY KEY, count INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "CREATE TRIGGER unknown_inserted AFTER INSERT ON receipts WHEN new.state = 6 BEGIN"
    " INSERT INTO unknowns VALUES (new.route, 1) ON CONFLICT (route) DO UPDATE SET count ="
    " count + 1; END;"
    "CREATE TRIGGER unknown_begun AFTER UPDATE OF state ON receipts WHEN new.state = 6"
    " AND old.state <> 6 BEGIN INSERT INTO unknowns VALUES (new.route, 1) ON CONFLICT"
    " (route) DO UPDATE SET count = count + 1; END;"
    "CREATE TRIGGER unknown_ended AFTER UPDATE OF state ON receipts WHEN old.state = 6"
    " AND new.state <> 6 BEGIN UPDATE unknowns SET count = count - 1 WHERE route ="
    " new.route; END;"
    "CREATE TRIGGER unknown_deleted AFTER DELETE ON receipts WHEN old.state = 6 BEGIN"
    " UPDATE unknowns SET count = count - 1 WHERE route = old.route; END;"
    "CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), schema_version INTEGER"
    " NOT NULL, epoch INTEGER NOT NULL, next_id INTEGER NOT NULL, secret BLOB NOT NULL"
    " CHECK (length(secret) = 32)) STRICT;"
    "INSERT INTO meta VALUES (1, 1, 0, 1, zeroblob(32));"
    "PRAGMA application_id = 1380272969;";

#define OLD_COLUMNS                                                                                \
    "id, operation_id, identity, owner, scope, \"key\", route, created_ms, state, attempt,"        \
    " version, marks, token, lease_until_ms, due_ms, expire_ms, epoch, print, print_mode,"         \
    " members, method, target, labels, updated_ms, repeats, last_repeat_ms, \"end\", status,"      \
    " attempts, evidence_until_ms, answer_kept, request_kept"

static sqlite3 *raw_open(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

static void raw_run(sqlite3 *db, const char *sql)
{
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
}

static int64_t raw_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    return number;
}

/* Rows of every state, with labels, bodies, repeats, an audit and a pause. */
static void fill(struct fixture *f)
{
    static const enum receipt_state states[] = {
        RECEIPT_DEFERRED, RECEIPT_CLAIMED,   RECEIPT_SENT,      RECEIPT_COMPLETED, RECEIPT_RELEASED,
        RECEIPT_UNKNOWN,  RECEIPT_CANCELLED, RECEIPT_ABANDONED, RECEIPT_EXPIRED};
    struct audit_entry audit = {NOW_MS,     SPAN("a"), SPAN("settle"),
                                SPAN("op"), SPAN("n"), SPAN("d")};
    for (unsigned i = 0; i < ROWS; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        row.route = i % 2 == 0 ? SPAN("even") : SPAN("odd");
        row.created_ms = NOW_MS + i;
        row.labels = fixture_labels(f, "order", key);
        row.request = fixture_message(f, SPAN("request"));
        row = fixture_put(f, &row);
        struct store_row next = fixture_step(&row, states[i % GW_COUNT(states)]);
        next.end = END_answered;
        next.status = i % 4 < 2 ? 503 : 500;
        next.answer =
            next.receipt.state == RECEIPT_COMPLETED ? fixture_message(f, SPAN("answer")) : SPAN("");
        struct store_op op = fixture_advance(&row, &next);
        op.in.advance.set_answer = true;
        op.in.advance.audit = &audit;
        assert_int_equal(fixture_ask(f, &op), STORE_WON);
        struct store_op touch = {.kind = STORE_TOUCH, .in.touch = {row.id, NOW_MS}};
        if (i % 2 == 0)
            assert_int_equal(fixture_ask(f, &touch), STORE_WON);
    }
    struct store_op pause = {
        .kind = STORE_PAUSE,
        .in.pause.entry = {PAUSE_ROUTE, SPAN("even"), SPAN("a"), SPAN("n"), NOW_MS}};
    assert_int_equal(fixture_ask(f, &pause), STORE_WON);
}

/* What the old program would have left of the same life. */
static void write_old_file(const struct fixture *f, const char *path)
{
    char text[600];
    sqlite3 *db = raw_open(path);
    raw_run(db, version_1);
    (void)snprintf(text, sizeof(text), "ATTACH '%s' AS today", f->path); /* fits */
    raw_run(db, text);
    raw_run(db, "INSERT INTO receipts SELECT " OLD_COLUMNS " FROM today.receipts");
    raw_run(db, "INSERT INTO bodies SELECT id, request, answer FROM today.bodies;"
                "INSERT INTO labels SELECT * FROM today.labels;"
                "INSERT INTO audit SELECT * FROM today.audit;"
                "INSERT INTO pauses SELECT * FROM today.pauses;"
                "UPDATE meta SET (epoch, next_id, secret) ="
                " (SELECT epoch, next_id, secret FROM today.meta)");
    assert_int_equal(raw_number(db, "SELECT count(*) FROM receipts"), ROWS);
    assert_true(raw_number(db, "SELECT sum(count) FROM unknowns") > 5);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_nothing_lost(const struct fixture *f, const char *path)
{
    static const char *const parts[] = {OLD_COLUMNS " FROM %sreceipts", "* FROM %sbodies",
                                        "* FROM %slabels", "* FROM %saudit", "* FROM %spauses"};
    char text[5000], from[1000], to[1000];
    sqlite3 *db = raw_open(path);
    (void)snprintf(text, sizeof(text), "ATTACH '%s' AS today", f->path); /* fits */
    raw_run(db, text);
    for (size_t i = 0; i < GW_COUNT(parts); i++) {
        size_t head = strcspn(parts[i], "%");
        (void)snprintf(from, sizeof(from), "%.*s%s%s", (int)head, parts[i], "main.",
                       parts[i] + head + 2); /* fits */
        (void)snprintf(to, sizeof(to), "%.*s%s%s", (int)head, parts[i], "today.",
                       parts[i] + head + 2); /* fits */
        (void)snprintf(text, sizeof(text),
                       "SELECT count(*) FROM (SELECT * FROM (SELECT %s EXCEPT SELECT %s) UNION ALL"
                       " SELECT * FROM (SELECT %s EXCEPT SELECT %s))",
                       from, to, to, from); /* fits */
        assert_int_equal(raw_number(db, text), 0);
    }
    assert_int_equal(raw_number(db, "SELECT count(*) FROM pragma_integrity_check"
                                    " WHERE integrity_check <> 'ok'"),
                     0);
    /* It now is as a file that was made today. */
    assert_int_equal(raw_number(db, "SELECT count(*) FROM (SELECT type, name FROM"
                                    " main.sqlite_schema EXCEPT SELECT type, name FROM"
                                    " today.sqlite_schema)"),
                     0);
    assert_int_equal(raw_number(db, "SELECT count(*) FROM (SELECT * FROM today.unknowns EXCEPT"
                                    " SELECT * FROM main.unknowns)"),
                     0);
    assert_int_equal(raw_number(db, "SELECT count(*) FROM (SELECT * FROM main.unknowns EXCEPT"
                                    " SELECT * FROM today.unknowns)"),
                     0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Everything of the old file is there, is counted and found as if it had been written
 * today, and the store goes on with it. */
static void an_old_file_keeps_everything(void **state)
{
    struct fixture *f = *state;
    struct fixture old = *f;
    char secret[32];
    fill(f);
    memcpy(secret, store_secret(f->store).ptr, sizeof(secret));
    fixture_close(f);
    (void)snprintf(old.path, sizeof(old.path), "%s/old.db", f->folder); /* fits */
    old.options.path = old.path;
    write_old_file(f, old.path);
    for (unsigned round = 0; round < 2; round++) {
        fixture_open(&old);
        assert_memory_equal(store_secret(old.store).ptr, secret, sizeof(secret));
        fixture_close(&old);
        assert_nothing_lost(f, old.path);
    }
    fixture_open(&old);
    struct store_op groups = {.kind = STORE_GROUPS};
    assert_int_equal(fixture_ask(&old, &groups), STORE_PAGE);
    assert_true(groups.out.group_count > 1);
    uint64_t count = 0, asked = 0;
    for (uint32_t i = 0; i < groups.out.group_count; i++) {
        count += groups.out.groups[i].count;
        asked += groups.out.groups[i].asked;
    }
    struct store_op list = {
        .kind = STORE_LIST,
        .in.list.filter = {.states = 1u << RECEIPT_UNKNOWN, .owner = SPAN("acme")}};
    assert_int_equal(fixture_ask(&old, &list), STORE_PAGE);
    assert_int_equal(list.out.row_count, count);
    assert_true(asked > 0);
    struct store_row row = list.out.rows[0], next = fixture_step(&row, RECEIPT_UNKNOWN);
    assert_int_equal(row.claimed_by.len + row.probes.len, 0);
    assert_int_equal(row.claimed_ms + row.probe_due_ms, 0);
    next.claimed_by = SPAN("token:ana");
    next.claimed_ms = NOW_MS;
    (void)fixture_move(&old, &row, &next);
    assert_int_equal(fixture_ask(&old, &groups), STORE_PAGE);
    uint64_t claimed = 0;
    for (uint32_t i = 0; i < groups.out.group_count; i++)
        claimed += groups.out.groups[i].claimed;
    assert_int_equal(claimed, 1);
    fixture_close(&old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_old_file_keeps_everything, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
