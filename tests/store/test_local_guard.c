/* Which statements of a configuration the store lets in: none that could read or write
 * what is Recibo's own, none that does more than one effect. */
#include <sqlite3.h>

#include "tests/store/fixture.h"

#define SETUP                                                                                      \
    "CREATE TABLE IF NOT EXISTS tickets(id INTEGER PRIMARY KEY, owner TEXT NOT NULL,"              \
    " subject TEXT NOT NULL, place TEXT UNIQUE);"
#define INSERT "INSERT INTO tickets(owner, subject) VALUES (:owner, :subject) RETURNING id"

static const struct span parameters[] = {
    {"owner", 5}, {"operation_id", 12}, {"key", 3}, {"body", 4}, {"subject", 7}};

static struct store_effect effect(const char *setup, const char *statement)
{
    return (struct store_effect){.name = SPAN("create-ticket"),
                                 .setup = span_str(setup),
                                 .statement = span_str(statement),
                                 .parameters = parameters,
                                 .parameter_count = GW_COUNT(parameters),
                                 .status = 201,
                                 .time_max_ms = 1000,
                                 .answer_max = 4096};
}

struct refused {
    const char *setup, *statement, *word;
};

/* Both ways in say the same: `check` on a database in memory, and the start on the file. */
static void is_refused(struct fixture *f, const struct refused *wrong)
{
    const struct store_effect one = effect(wrong->setup, wrong->statement);
    struct store_options options = f->options;
    struct gw_error err = {0}, at_start = {0};
    struct store *store = NULL;
    if (store_effects_check(&one, 1, &err) == GW_OK)
        fail_msg("let in: %s | %s", wrong->setup, wrong->statement);
    options.effects = &one;
    options.effect_count = 1;
    enum gw_status status = store_open(&options, &store, &at_start);
    if (status == GW_OK)
        store_close(store);
    if (status != GW_INVALID || strstr(err.text, wrong->word) == NULL ||
        strstr(at_start.text, wrong->word) == NULL)
        fail_msg("%s | %s\n  no '%s' in: %s\n  or: %s", wrong->setup, wrong->statement, wrong->word,
                 err.text, at_start.text);
}

static void all_are_refused(struct fixture *f, const struct refused *wrong, size_t count)
{
    fixture_close(f);
    for (size_t i = 0; i < count; i++)
        is_refused(f, &wrong[i]);
    fixture_open(f);
}

/* Guards: setup makes tables and indexes of its own, and nothing else whatever. */
static void setup_is_kept_off(void **state)
{
    static const struct refused wrong[] = {
        {"CREATE TABLE IF NOT EXISTS receipts(id)", INSERT, "not authorized"},
        {"CREATE TABLE IF NOT EXISTS \"Receipts\"(id)", INSERT, "not authorized"},
        {"CREATE TABLE IF NOT EXISTS [META](id)", INSERT, "not authorized"},
        {"CREATE TABLE IF NOT EXISTS bodies(id)", INSERT, "not authorized"},
        {"CREATE TABLE IF NOT EXISTS backlog(id)", INSERT, "not authorized"},
        {"CREATE TABLE IF NOT EXISTS plans(id)", INSERT, "not authorized"},
        {"CREATE TABLE IF NOT EXISTS receipts_open(id)", INSERT, "not authorized"},
        {"CREATE TABLE IF NOT EXISTS recibo_tickets(id)", INSERT, "not authorized"},
        {"CREATE TABLE IF NOT EXISTS Recibo_x(id)", INSERT, "not authorized"},
        {"CREATE TABLE IF NOT EXISTS main.labels(id)", INSERT, "not authorized"},
        {"CREATE INDEX IF NOT EXISTS by_owner ON receipts(owner)", INSERT, "not authorized"},
        {SETUP "CREATE INDEX IF NOT EXISTS recibo_i ON tickets(owner)", INSERT, "authorized"},
        {"CREATE TABLE IF NOT EXISTS copy AS SELECT * FROM receipts", INSERT, "prohibited"},
        {"CREATE TABLE IF NOT EXISTS copy AS SELECT count(*) AS n FROM bodies", INSERT, "(bodies)"},
        {"CREATE TEMP TABLE IF NOT EXISTS t(id)", INSERT, "not authorized"},
        {"CREATE TABLE IF NOT EXISTS temp.t(id)", INSERT, "not authorized"},
        {"CREATE VIEW IF NOT EXISTS v AS SELECT * FROM receipts", INSERT, "not authorized"},
        {SETUP "CREATE TRIGGER IF NOT EXISTS t AFTER INSERT ON tickets BEGIN DELETE FROM receipts;"
               " END",
         INSERT, "not authorized"},
        {"CREATE VIRTUAL TABLE IF NOT EXISTS v USING fts5(a)", INSERT, "not authorized"},
        {SETUP "DROP TABLE receipts", INSERT, "not authorized"},
        {SETUP "DROP TABLE tickets", INSERT, "not authorized"},
        {SETUP "ALTER TABLE receipts ADD COLUMN x", INSERT, "not authorized"},
        {SETUP "DELETE FROM receipts", INSERT, "not authorized"},
        {SETUP "DELETE FROM sqlite_master", INSERT, "may not be modified"},
        {SETUP "UPDATE sqlite_master SET sql = ''", INSERT, "may not be modified"},
        {SETUP "INSERT INTO tickets(owner, subject) VALUES ('a', 'b')", INSERT, "not authorized"},
        {SETUP "ATTACH 'other.db' AS other", INSERT, "not authorized"},
        {SETUP "DETACH main", INSERT, "not authorized"},
        {SETUP "PRAGMA synchronous = OFF", INSERT, "not authorized"},
        {SETUP "PRAGMA journal_mode = DELETE", INSERT, "not authorized"},
        {SETUP "VACUUM", INSERT, "transaction"},
        {SETUP "VACUUM INTO 'copy.db'", INSERT, "transaction"},
        {SETUP "COMMIT", INSERT, "not authorized"},
        {SETUP "ROLLBACK", INSERT, "not authorized"},
        {SETUP "SAVEPOINT a", INSERT, "not authorized"},
        {SETUP "ANALYZE", INSERT, "not authorized"},
        {SETUP "REINDEX", INSERT, "not authorized"},
        {SETUP "CREATE TABLE IF NOT EXISTS t(id REFERENCES receipts(id))", INSERT,
         "refers to receipts"},
        {SETUP "CREATE TABLE IF NOT EXISTS t(id REFERENCES \"RECEIPTS\"(id))", INSERT,
         "Recibo's own"},
        {"CREATE TABLE IF NOT EXISTS t(", INSERT, "incomplete"},
    };
    all_are_refused(*state, wrong, GW_COUNT(wrong));
}

/* Guards: a statement reaches its own tables alone, and is one effect. */
static void statements_are_kept_off(void **state)
{
    static const struct refused wrong[] = {
        {SETUP, "INSERT INTO receipts DEFAULT VALUES RETURNING id", "not authorized"},
        {SETUP, "UPDATE receipts SET state = 4 RETURNING id", "not authorized"},
        {SETUP, "UPDATE main.\"Receipts\" SET state = 4 RETURNING id", "not authorized"},
        {SETUP, "DELETE FROM audit RETURNING id", "not authorized"},
        {SETUP, "DELETE FROM [meta] RETURNING 1", "not authorized"},
        {SETUP,
         "INSERT INTO tickets(owner, subject) SELECT owner, \"key\" FROM receipts RETURNING id",
         "prohibited"},
        {SETUP, "INSERT INTO tickets(owner, subject) SELECT 'a', count(*) FROM bodies RETURNING id",
         "(bodies)"},
        {SETUP,
         "INSERT INTO tickets(owner, subject) VALUES ('a', (SELECT secret FROM meta))"
         " RETURNING id",
         "prohibited"},
        {SETUP,
         "INSERT INTO tickets(owner, subject) VALUES ('a', 'b') RETURNING"
         " (SELECT max(request) FROM bodies) AS r",
         "prohibited"},
        {SETUP,
         "WITH x AS (SELECT note FROM audit) INSERT INTO tickets(owner, subject)"
         " SELECT note, note FROM x RETURNING id",
         "prohibited"},
        {SETUP, "UPDATE tickets SET subject = r.owner FROM receipts AS r RETURNING subject",
         "prohibited"},
        {SETUP,
         "INSERT INTO tickets(owner, subject) SELECT name, sql FROM sqlite_master RETURNING id",
         "prohibited"},
        {SETUP,
         "INSERT INTO tickets(owner, subject) SELECT name, name FROM"
         " pragma_table_info('receipts') RETURNING id",
         "not authorized"},
        {SETUP,
         "INSERT INTO tickets(owner, subject) VALUES (load_extension('x'), 'b') RETURNING id",
         "not authorized"},
        {SETUP, "INSERT INTO temp.tickets(owner) VALUES ('a') RETURNING id", "no such table"},
        {SETUP, "INSERT INTO other.tickets(owner) VALUES ('a') RETURNING id", "no such table"},
        {SETUP, "INSERT INTO nowhere(a) VALUES (1) RETURNING a", "no such table: nowhere"},
        {SETUP, "INSERT INTO tickets(colour) VALUES (1) RETURNING id", "no column named colour"},
        {SETUP, "INSERT INTO tickets(owner, subject) VALUES ('a', 'b')", "RETURNING"},
        {SETUP, "SELECT 1 AS a", "must be one INSERT"},
        {SETUP, "EXPLAIN " INSERT, "must be one INSERT"},
        {SETUP, INSERT "; " INSERT, "more than one"},
        {SETUP, INSERT "; DROP TABLE receipts", "more than one"},
        {SETUP, "INSERT INTO tickets(owner, subject) VALUES (:owner, :colour) RETURNING id",
         ":colour"},
        {SETUP, "INSERT INTO tickets(owner, subject) VALUES (:owner, ?) RETURNING id", "?"},
        {SETUP, "INSERT INTO tickets(owner, subject) VALUES (@owner, $key) RETURNING id", "@owner"},
        {SETUP, "INSERT INTO tickets(owner, subject) VALUES ('a', 'b') RETURNING id, subject AS id",
         "same name"},
        {SETUP, "CREATE TABLE x(a)", "not authorized"},
        {SETUP, "PRAGMA user_version = 1", "not authorized"},
        {SETUP, "ATTACH 'x' AS y", "not authorized"},
        {SETUP, "COMMIT", "not authorized"},
        {SETUP, "-- nothing", "must be one INSERT"},
        {"", INSERT, "no such table: tickets"},
        {"CREATE TABLE receipts2(a)", "INSERT INTO receipts2 VALUES (1) RETURNING a",
         "already exists"},
    };
    /* The last one would work at one start: it is not made by store_open() here. */
    all_are_refused(*state, wrong, GW_COUNT(wrong) - 1);
    const struct store_effect once =
        effect(wrong[GW_COUNT(wrong) - 1].setup, wrong[GW_COUNT(wrong) - 1].statement);
    struct gw_error err = {0};
    assert_int_equal(store_effects_check(&once, 1, &err), GW_INVALID);
    assert_non_null(strstr(err.text, "already exists"));
}

/* Guards: what is meant for a local effect is let in. */
static void honest_statements_are_let_in(void **state)
{
    static const char *const statements[] = {
        INSERT,
        INSERT ";",
        INSERT "; -- the end\n /* ; */ ",
        "insert into tickets(owner, subject) values (:owner, trim(:subject)) returning *",
        "INSERT OR IGNORE INTO tickets(owner, subject) VALUES (:owner, :key) RETURNING id",
        "REPLACE INTO tickets(owner, subject) VALUES (:owner, :body) RETURNING id",
        "UPDATE tickets SET subject = :subject WHERE owner = :owner RETURNING id, subject",
        "DELETE FROM tickets WHERE owner = :owner AND subject = :subject RETURNING id",
        "WITH last AS (SELECT max(id) AS id FROM tickets WHERE owner = :owner)"
        " INSERT INTO tickets(owner, subject) SELECT :owner, last.id FROM last RETURNING id",
        "INSERT INTO tickets(owner, subject, place) VALUES (:owner, :subject, :operation_id)"
        " ON CONFLICT (place) DO UPDATE SET subject = excluded.subject RETURNING id",
        "INSERT INTO tickets(owner, subject) VALUES (:owner, (SELECT count(*) FROM "
        "json_each(:body)))"
        " RETURNING id",
        "INSERT INTO counted(owner) VALUES (:owner) RETURNING id",
    };
    struct fixture *f = *state;
    fixture_close(f);
    for (size_t i = 0; i < GW_COUNT(statements); i++) {
        const struct store_effect one =
            effect(SETUP "CREATE INDEX IF NOT EXISTS by_place ON tickets(place);"
                         "CREATE TABLE IF NOT EXISTS counted(id INTEGER PRIMARY KEY AUTOINCREMENT,"
                         " owner TEXT REFERENCES tickets(place));",
                   statements[i]);
        struct gw_error err = {0};
        if (store_effects_check(&one, 1, &err) != GW_OK)
            fail_msg("%s: %s", statements[i], err.text);
        f->options.effects = &one;
        f->options.effect_count = 1;
        fixture_open(f);
        fixture_close(f);
    }
    f->options.effect_count = 0;
    fixture_open(f);
}

/* Guards: a start that is refused has made none of the tables, those of other routes
 * included, and a start without effects leaves the tables alone. */
static void setup_is_all_or_nothing(void **state)
{
    struct fixture *f = *state;
    struct store_effect two[] = {effect(SETUP, INSERT), effect("CREATE TABLE nonsense", INSERT)};
    struct gw_error err = {0};
    struct store *store = NULL;
    fixture_close(f);
    struct store_options options = f->options;
    options.effects = two;
    options.effect_count = 2;
    assert_int_equal(store_open(&options, &store, &err), GW_INVALID);
    two[1] = effect("", INSERT);
    two[0].setup = SPAN("");
    assert_int_equal(store_open(&options, &store, &err), GW_INVALID);
    assert_non_null(strstr(err.text, "no such table"));
    two[0].setup = SPAN(SETUP);
    assert_int_equal(store_open(&options, &store, &err), GW_OK);
    store_close(store);
    fixture_open(f);
    fixture_close(f);
    two[0].setup = SPAN("");
    assert_int_equal(store_open(&options, &store, &err), GW_OK);
    store_close(store);
    fixture_open(f);
}

/* Guards: a trigger that somebody made by hand reaches no further than the statement. */
static void triggers_by_hand_are_kept_off_too(void **state)
{
    struct fixture *f = *state;
    const struct store_effect one = effect(SETUP, INSERT);
    struct gw_error err = {0};
    struct store *store = NULL;
    sqlite3 *db;
    fixture_close(f);
    struct store_options options = f->options;
    options.effects = &one;
    options.effect_count = 1;
    assert_int_equal(store_open(&options, &store, &err), GW_OK);
    store_close(store);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TRIGGER t AFTER INSERT ON tickets BEGIN"
                                  " DELETE FROM audit; END",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    store = NULL;
    assert_int_equal(store_open(&options, &store, &err), GW_INVALID);
    assert_non_null(strstr(err.text, "not authorized"));
    fixture_open(f);
}

/* Guards: a store without a database says that it has no local effects. */
static void memory_has_none(void **state)
{
    struct fixture *f = *state;
    const struct store_effect one = effect(SETUP, INSERT);
    struct store_options options = f->options;
    struct gw_error err = {0};
    struct store *store = NULL;
    options.kind = "memory";
    options.effects = &one;
    options.effect_count = 1;
    assert_int_equal(store_open(&options, &store, &err), GW_INVALID);
    assert_non_null(strstr(err.text, "sqlite"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(setup_is_kept_off, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(statements_are_kept_off, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(honest_statements_are_let_in, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(setup_is_all_or_nothing, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(triggers_by_hand_are_kept_off_too, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(memory_has_none, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
