/* The SQLite file: who may open it, where it may lie, and what lives on from one
 * opening to the next. */
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "store/sqlite.h"
#include "store/where.h"
#include "tests/store/fixture.h"

#define NOW_MS FIXTURE_NOW_MS

static void raw(const char *path, const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Opening must fail with this status and a text that holds each word. */
static void refuses(const struct fixture *f, const char *path, enum gw_status status,
                    const char *word, const char *word_too)
{
    struct store_options options = f->options;
    struct gw_error err = {0};
    struct store *store = NULL;
    options.path = path;
    assert_int_equal(store_open(&options, &store, &err), status);
    assert_null(store);
    if (strstr(err.text, word) == NULL || strstr(err.text, word_too) == NULL)
        fail_msg("neither '%s' nor '%s' may be missing in: %s", word, word_too, err.text);
}

/* Receipts, their answers and the store's secret are there after a restart. */
static void reopening_keeps_everything(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row done = fixture_step(&won, RECEIPT_COMPLETED);
    done.answer = fixture_message(f, SPAN("answer"));
    (void)fixture_move(f, &won, &done);
    char secret[32];
    memcpy(secret, store_secret(f->store).ptr, 32);
    fixture_close(f);
    fixture_open(f);
    assert_memory_equal(store_secret(f->store).ptr, secret, 32);
    struct store_op op = fixture_lookup(&row, LOAD_ANSWER);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    assert_int_equal(op.out.rows[0].receipt.state, RECEIPT_COMPLETED);
    assert_span(op.out.rows[0].answer, done.answer);
}

/* A lease of an earlier life is dead, whatever the clock says, until a fresh token
 * replaces it. */
static void earlier_leases_are_dead(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1), other = fixture_row(f, "k", 2);
    struct store_row won = fixture_put(f, &row);
    fixture_close(f);
    fixture_open(f);
    struct store_op ops[] = {
        fixture_claim(&other),
        fixture_lookup(&row, 0),
        {.kind = STORE_FIND, .in.find = {.operation_id = span_str(row.operation_id)}},
        {.kind = STORE_LIST},
        {.kind = STORE_SCAN, .in.scan = {.kind = SCAN_LAPSED, .now_ms = 1, .rows_max = 9}},
    };
    for (size_t i = 0; i < GW_COUNT(ops); i++) {
        (void)fixture_ask(f, &ops[i]);
        assert_int_equal(ops[i].out.row_count, 1);
        assert_true(ops[i].out.rows[0].lease_is_dead);
    }
    struct store_row marked = fixture_step(&won, RECEIPT_CLAIMED);
    marked.receipt.marks = RECEIPT_CANCEL_REQUESTED;
    struct store_row after = fixture_move(f, &won, &marked);
    assert_true(after.lease_is_dead);
    assert_int_equal(fixture_ask(f, &ops[1]), STORE_HELD);
    assert_true(ops[1].out.rows[0].lease_is_dead);
    struct store_row fresh = fixture_step(&after, RECEIPT_CLAIMED);
    fresh.receipt.token = 99;
    after = fixture_move(f, &after, &fresh);
    assert_false(after.lease_is_dead);
    assert_int_equal(fixture_ask(f, &ops[4]), STORE_PAGE);
    assert_int_equal(ops[4].out.row_count, 0);
    /* A state without a lease has no dead one. */
    struct store_row released = fixture_step(&after, RECEIPT_RELEASED);
    (void)fixture_move(f, &after, &released);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(fixture_ask(f, &ops[1]), STORE_HELD);
    assert_false(ops[1].out.rows[0].lease_is_dead);
}

/* A row number is never given out twice, not even when its row is gone. */
static void ids_are_never_used_again(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row gone = {.receipt = {.state = RECEIPT_ABSENT, .version = 2}};
    (void)fixture_move(f, &won, &gone);
    fixture_close(f);
    fixture_open(f);
    assert_true(fixture_put(f, &row).id > won.id);
}

/* One process owns the file: another opening is refused, here and elsewhere, under
 * this name and any other, and it is free again after a close. */
static void second_opening_is_refused(void **state)
{
    struct fixture *f = *state;
    char pid[24], link[400], hard[400];
    (void)snprintf(pid, sizeof(pid), "process %ld ", (long)getpid()); /* fits */
    (void)snprintf(link, sizeof(link), "%s/link.db", f->folder);      /* fits */
    (void)snprintf(hard, sizeof(hard), "%s/hard.db", f->folder);      /* fits */
    refuses(f, f->path, GW_BUSY, pid, "one gateway per store file");
    refuses(f, f->path, GW_BUSY, f->path, "a file of its own");
    assert_int_equal(symlink(f->path, link), 0);
    refuses(f, link, GW_BUSY, pid, "one gateway per store file");
    assert_int_equal(linkat(AT_FDCWD, f->path, AT_FDCWD, hard, 0), 0);
    refuses(f, hard, GW_INVALID, "hard links", hard);
    assert_int_equal(unlink(hard), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl("/proc/self/exe", "test_sqlite", "second", f->path, (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), GW_BUSY);
    fixture_close(f);
    fixture_open(f);
}

/* The other process of the test above. */
static int open_second(const char *path)
{
    struct store_options options;
    struct store *store = NULL;
    struct gw_error err = {0};
    store_options_default(&options);
    options.path = path;
    enum gw_status status = store_open(&options, &store, &err);
    store_close(store);
    return (int)status;
}

/* Places that lose receipts or cannot lock are refused. */
static void bad_places_are_refused(void **state)
{
    struct fixture *f = *state;
    char path[500];
    struct statfs info;
    const char *name;
    refuses(f, "", GW_INVALID, "store.path", "no path");
    (void)snprintf(path, sizeof(path), "%s/none/x.db", f->folder); /* fits */
    refuses(f, path, GW_IO, "does not exist", "none");
    refuses(f, f->folder, GW_INVALID, "is a directory", f->folder);
    (void)snprintf(path, sizeof(path), "%s/", f->folder); /* fits */
    refuses(f, path, GW_INVALID, "is a directory", f->folder);
    (void)snprintf(path, sizeof(path), "%s/dangling", f->folder); /* fits */
    assert_int_equal(symlink("/nowhere/at/all", path), 0);
    refuses(f, path, GW_IO, "symbolic link", "nowhere");
    (void)snprintf(path, sizeof(path), "%s/fifo", f->folder); /* fits */
    assert_int_equal(mkfifo(path, 0600), 0);
    refuses(f, path, GW_INVALID, "no regular file", "fifo");
    (void)snprintf(path, sizeof(path), "%s/receipts.db/x", f->folder); /* fits */
    refuses(f, path, GW_IO, "receipts.db", "");
    if (statfs("/dev/shm", &info) == 0 &&
        where_kind_of((uint32_t)info.f_type, &name) == WHERE_MEMORY)
        refuses(f, "/dev/shm/recibo-test.db", GW_INVALID, "tmpfs", "power");
    else
        print_message("no memory file system at /dev/shm to try\n");
    assert_int_equal(access("/dev/shm/recibo-test.db.lock", F_OK), -1);
}

/* Every kind of network and memory file system is known by its number. */
static void file_systems_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        uint32_t magic;
        enum where_kind kind;
    } cases[] = {
        {0x6969, WHERE_NETWORK},     {0xff534d42, WHERE_NETWORK}, {0xfe534d42, WHERE_NETWORK},
        {0x517b, WHERE_NETWORK},     {0x65735546, WHERE_NETWORK}, {0x01021997, WHERE_NETWORK},
        {0x5346414f, WHERE_NETWORK}, {0x00c36400, WHERE_NETWORK}, {0x01021994, WHERE_MEMORY},
        {0x858458f6, WHERE_MEMORY},  {0xef53, WHERE_LOCAL},       {0x58465342, WHERE_LOCAL},
        {0x9123683e, WHERE_LOCAL},   {0x794c7630, WHERE_LOCAL},
    };
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        const char *name;
        assert_int_equal(where_kind_of(cases[i].magic, &name), cases[i].kind);
        assert_int_equal(name == NULL, cases[i].kind == WHERE_LOCAL);
    }
}

/* A file of a newer program is refused and stays as it is; so is a damaged version. */
static void newer_schema_is_refused(void **state)
{
    struct fixture *f = *state;
    fixture_close(f);
    raw(f->path, "UPDATE meta SET schema_version = 99");
    refuses(f, f->path, GW_INVALID, "newer Recibo", "99");
    raw(f->path, "UPDATE meta SET schema_version = 0");
    refuses(f, f->path, GW_CORRUPT, "version", f->path);
    raw(f->path, "UPDATE meta SET schema_version = 3");
    fixture_open(f);
    fixture_close(f);
    raw(f->path, "DELETE FROM meta");
    refuses(f, f->path, GW_CORRUPT, "meta", f->path);
}

static void write_file(const char *path, const char *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

/* What is no store of ours is refused and not written to. */
static void foreign_files_are_refused(void **state)
{
    struct fixture *f = *state;
    char path[400], wal[410];
    size_t before_len, after_len;
    char text[9000];
    memset(text, 'x', sizeof(text));
    (void)snprintf(path, sizeof(path), "%s/garbage", f->folder); /* fits */
    write_file(path, text, sizeof(text));
    refuses(f, path, GW_CORRUPT, "not a database", path);
    char *after = test_read_file(path, &after_len);
    assert_int_equal(after_len, sizeof(text));
    assert_memory_equal(after, text, sizeof(text));
    free(after);
    (void)snprintf(path, sizeof(path), "%s/foreign", f->folder); /* fits */
    raw(path, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
    char *before = test_read_file(path, &before_len);
    refuses(f, path, GW_INVALID, "another program", path);
    after = test_read_file(path, &after_len);
    assert_int_equal(after_len, before_len);
    assert_memory_equal(after, before, before_len);
    (void)snprintf(wal, sizeof(wal), "%s-wal", path); /* fits */
    assert_int_equal(access(wal, F_OK), -1);
    free(before);
    free(after);
}

/* An empty file becomes a store; a name with signs that mean something in a URI works. */
static void odd_names_and_empty_files(void **state)
{
    struct fixture *f = *state;
    struct fixture other = *f;
    fixture_close(f);
    (void)snprintf(other.path, sizeof(other.path), "%s/a%%20b?c#d&e.db", f->folder); /* fits */
    write_file(other.path, "", 0);
    other.options.path = other.path;
    fixture_open(&other);
    struct store_row row = fixture_row(&other, "k", 1);
    (void)fixture_put(&other, &row);
    fixture_close(&other);
    struct stat info;
    assert_int_equal(stat(other.path, &info), 0);
    assert_true(info.st_size > 0);
}

/* Receipts are for the owner's eyes only. */
static void files_are_private(void **state)
{
    struct fixture *f = *state;
    static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
    for (size_t i = 0; i < GW_COUNT(ends); i++) {
        char path[400];
        struct stat info;
        (void)snprintf(path, sizeof(path), "%s%s", f->path, ends[i]); /* fits */
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 0777, 0600);
    }
}

/* A kind that does not exist is refused. */
static void unknown_kind_is_refused(void **state)
{
    struct fixture *f = *state;
    f->options.kind = "paper";
    refuses(f, f->path, GW_INVALID, "paper", "sqlite");
    f->options.kind = "sqlite";
}

/* Every statement of service finds its rows by an index and in the right order:
 * none sorts, none reads a whole table to find a few. */
static void statements_are_bounded(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {
#define SQL(name, text) text,
#include "store/sqlite_sql.def"
#undef SQL
    };
    static const char *const whole[] = {"FROM pauses", "FROM unknowns", "FROM audit ORDER BY",
                                        "FROM plans"};
    sqlite3 *db;
    struct gw_buf text;
    struct gw_error err;
    gw_buf_init(&text, 16384);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    unsigned plans = 0;
    for (size_t i = 0; i < GW_COUNT(texts); i++) {
        sqlite3_stmt *statement;
        bool may_scan = false;
        for (size_t j = 0; j < GW_COUNT(whole); j++)
            may_scan = may_scan || strstr(texts[i], whole[j]) != NULL;
        gw_buf_clear(&text);
        assert_true(gw_buf_add(&text, SPAN("EXPLAIN QUERY PLAN ")));
        assert_int_equal(sqlite_expand(texts[i], &text, &err), GW_OK);
        assert_int_equal(sqlite3_prepare_v2(db, text.ptr, -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(statement, 3);
            plans++;
            /* Groups are few, whatever is in them. */
            bool sorts = strstr(plan, "TEMP B-TREE") != NULL && i != SQL_GROUPS;
            if (sorts ||
                (strstr(plan, "SCAN") != NULL && !may_scan && strstr(texts[i], "meta") == NULL))
                fail_msg("%s: %s", texts[i], plan);
        }
        assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    }
    assert_true(plans > 20);
    gw_buf_fini(&text);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Of more observations than are kept the oldest give way, by a look at one end. */
static void oldest_observations_give_way(void **state)
{
    struct fixture *f = *state;
    struct observation seen = {.route = SPAN("r"), .end = END_answered};
    struct store_op add = {.kind = STORE_OBSERVE, .in.observe = {&seen, 1}};
    struct store_op all = {.kind = STORE_OBSERVED};
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(fixture_ask(f, &add), STORE_WON);
    fixture_close(f);
    raw(f->path, "UPDATE observed SET id = id + 999997 WHERE id = 4");
    fixture_open(f);
    assert_int_equal(fixture_ask(f, &add), STORE_WON);
    assert_int_equal(fixture_ask(f, &all), STORE_PAGE);
    assert_int_equal(all.out.observed_count, 3);
    assert_int_equal(all.out.observed[0].id, 3);
    assert_int_equal(fixture_ask(f, &add), STORE_WON);
    assert_int_equal(fixture_ask(f, &all), STORE_PAGE);
    assert_int_equal(all.out.observed_count, 3);
    assert_int_equal(all.out.observed[0].id, 1000001);
}

/* What is read for many unknowns is read from an index alone: no row is touched. */
static void indexes_cover_what_is_counted(void **state)
{
    struct fixture *f = *state;
    static const struct {
        enum sqlite_sql which;
        const char *index;
    } wanted[] = {{SQL_TALLY, "COVERING INDEX backlog_group (route=? AND end=? AND status=?)"},
                  {SQL_GROUP_OLDEST, "COVERING INDEX backlog_group (route=? AND end=?"},
                  {SQL_GROUP_NEWEST, "COVERING INDEX backlog_group (route=? AND end=?"},
                  {SQL_DOUBT_GROUP_NEWEST,
                   "COVERING INDEX backlog_group (route=? AND end=? AND status=? AND id<"},
                  {SQL_DOUBT_KEY_NEWEST, "COVERING INDEX backlog_key (key=? AND rowid<?)"},
                  {SQL_DOUBT_OWNER_OLDEST, "COVERING INDEX backlog_owner (owner=? AND rowid>?)"},
                  {SQL_DOUBT_ROUTE_NEWEST, "COVERING INDEX backlog_route (route=? AND rowid<?)"},
                  {SQL_DOUBT_CLAIMED_NEWEST, "backlog_claimed (id<?)"},
                  {SQL_DOUBT_PROBED_OLDEST, "COVERING INDEX backlog_probe (probe=? AND rowid>?)"},
                  {SQL_DOUBT_DUE, "COVERING INDEX backlog_due (due_ms>? AND due_ms<?)"},
                  {SQL_OBSERVED_SAME, "COVERING INDEX observed_identity (identity=? AND id>?)"},
                  {SQL_OBSERVED_NEXT, "COVERING INDEX observed_identity (identity>?)"}};
    static const char *const texts[] = {
#define SQL(name, text) text,
#include "store/sqlite_sql.def"
#undef SQL
    };
    sqlite3 *db;
    struct gw_buf text;
    struct gw_error err;
    gw_buf_init(&text, 16384);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    for (size_t i = 0; i < GW_COUNT(wanted); i++) {
        sqlite3_stmt *statement;
        bool is_so = false;
        gw_buf_clear(&text);
        assert_true(gw_buf_add(&text, SPAN("EXPLAIN QUERY PLAN ")));
        assert_int_equal(sqlite_expand(texts[wanted[i].which], &text, &err), GW_OK);
        assert_int_equal(sqlite3_prepare_v2(db, text.ptr, -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(statement, 3);
            is_so = is_so || strstr(plan, wanted[i].index) != NULL;
        }
        if (!is_so)
            fail_msg("%s is not read by %s", texts[wanted[i].which], wanted[i].index);
        assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    }
    gw_buf_fini(&text);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "second") == 0)
        return open_second(argv[2]);
    const struct CMUnitTest tests[] = {
        WITH_STORE(reopening_keeps_everything),    WITH_STORE(earlier_leases_are_dead),
        WITH_STORE(ids_are_never_used_again),      WITH_STORE(second_opening_is_refused),
        WITH_STORE(bad_places_are_refused),        cmocka_unit_test(file_systems_are_told_apart),
        WITH_STORE(newer_schema_is_refused),       WITH_STORE(foreign_files_are_refused),
        WITH_STORE(odd_names_and_empty_files),     WITH_STORE(files_are_private),
        WITH_STORE(unknown_kind_is_refused),       WITH_STORE(statements_are_bounded),
        WITH_STORE(indexes_cover_what_is_counted), WITH_STORE(oldest_observations_give_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
