/* What goes wrong around a store: foreign locks, full disks, damage, and how it
 * recovers. Nothing may be reported that is not on the disk, and nothing may crash. */
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "tests/store/fixture.h"

#define NOW_MS FIXTURE_NOW_MS

static sqlite3 *raw_open(const struct fixture *f)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    return db;
}

static void raw_run(sqlite3 *db, const char *sql)
{
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
}

static struct store_stats stats_of(struct fixture *f)
{
    struct store_stats stats;
    store_stats(f->store, &stats);
    return stats;
}

/* Many operations ride in few commits, and the counts say so. */
static void group_commit(void **state)
{
    enum { MANY = 2000 };
    struct fixture *f = *state;
    struct store_row *rows = calloc(MANY, sizeof(*rows));
    struct store_op *ops = calloc(MANY, sizeof(*ops));
    uint32_t left = 0;
    for (unsigned i = 0; i < MANY; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        rows[i] = fixture_row(f, key, i);
        ops[i] = fixture_claim(&rows[i]);
    }
    for (unsigned i = 0; i < MANY; i++)
        fixture_send(f, &ops[i], &left);
    fixture_wait(f->inbox, &left);
    struct store_stats stats = stats_of(f);
    uint64_t batches = 0, commits = 0;
    for (unsigned i = 0; i < STORE_HISTOGRAM_BUCKETS; i++) {
        batches += stats.batch_count[i];
        commits += stats.commit_count[i];
    }
    assert_int_equal(stats.operations, MANY);
    assert_true(stats.commits < MANY / 2);
    assert_true(stats.commits >= MANY / f->options.batch_max);
    assert_int_equal(commits, stats.commits);
    assert_int_equal(batches, stats.commits);
    assert_int_equal(stats.queue_length, 0);
    assert_false(stats.is_failing);
    assert_int_equal(stats.last_error.status, GW_OK);
    free(ops);
    free(rows);
}

/* The bounds of a batch hold, by count and by bytes. */
static void batches_are_bounded(void **state)
{
    enum { MANY = 40 };
    struct fixture *f = *state;
    for (unsigned round = 0; round < 2; round++) {
        struct store_row rows[MANY];
        struct store_op ops[MANY];
        uint32_t left = 0;
        fixture_close(f);
        f->options.batch_max = round == 0 ? 1 : 256;
        f->options.batch_bytes_max = round == 0 ? (size_t)1 << 20 : 5000;
        fixture_open(f);
        struct span body = fixture_message(f, span_of((char[4000]){0}, 4000));
        for (unsigned i = 0; i < MANY; i++) {
            char key[16];
            (void)snprintf(key, sizeof(key), "r%uk%u", round, i); /* fits */
            rows[i] = fixture_row(f, key, round * MANY + i);
            rows[i].request = body;
            ops[i] = fixture_claim(&rows[i]);
        }
        for (unsigned i = 0; i < MANY; i++)
            fixture_send(f, &ops[i], &left);
        fixture_wait(f->inbox, &left);
        assert_int_equal(stats_of(f).commits, MANY);
    }
}

/* A foreign lock longer than busy_ms: writers fail with nothing changed, readers
 * are served, and everything works again when the lock is gone. */
static void foreign_lock_is_busy(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1), other = fixture_row(f, "other", 2);
    fixture_close(f);
    f->options.busy_ms = 20;
    fixture_open(f);
    (void)fixture_put(f, &row);
    sqlite3 *db = raw_open(f);
    raw_run(db, "BEGIN IMMEDIATE");
    struct store_op ops[] = {fixture_claim(&other), fixture_lookup(&row, 0),
                             fixture_lookup(&other, 0)};
    uint32_t left = 0;
    for (size_t i = 0; i < GW_COUNT(ops); i++)
        fixture_send(f, &ops[i], &left);
    fixture_wait(f->inbox, &left);
    assert_int_equal(ops[0].out.status, GW_BUSY);
    assert_int_equal(ops[0].out.row_count, 0);
    assert_int_equal(ops[1].out.status, GW_OK);
    assert_int_equal(ops[1].out.found, STORE_HELD);
    assert_int_equal(ops[2].out.found, STORE_NONE);
    struct store_stats stats = stats_of(f);
    assert_true(stats.busy >= 1);
    assert_true(stats.is_failing);
    assert_int_equal(stats.last_error.status, GW_BUSY);
    assert_non_null(strstr(stats.last_error.text, f->path));
    raw_run(db, "ROLLBACK");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    (void)fixture_put(f, &other);
    assert_false(stats_of(f).is_failing);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* No room on the disk: the batch fails as a whole and leaves nothing; what was won
 * before stays; with room again the store works again by itself. */
static void full_disk_recovers(void **state)
{
    enum { MANY = 64, BODY = 40000 };
    struct fixture *f = *state;
    struct store_row rows[MANY];
    struct store_op ops[MANY];
    char *bytes = calloc(1, BODY);
    struct span body = fixture_message(f, span_of(bytes, BODY));
    uint32_t left = 0;
    unsigned won = 0, failed = 0;
    free(bytes);
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    limit_file_size(1 << 20);
    for (unsigned i = 0; i < MANY; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        rows[i] = fixture_row(f, key, i);
        rows[i].request = body;
        ops[i] = fixture_claim(&rows[i]);
    }
    for (unsigned i = 0; i < MANY; i++) {
        fixture_send(f, &ops[i], &left);
        if (i % 4 == 3)
            fixture_wait(f->inbox, &left);
    }
    for (unsigned i = 0; i < MANY; i++) {
        won += ops[i].out.status == GW_OK;
        failed += ops[i].out.status == GW_IO;
    }
    bool was_failing = stats_of(f).is_failing;
    struct gw_error told = stats_of(f).last_error;
    limit_file_size(RLIM_INFINITY);
    (void)signal(SIGXFSZ, before);
    assert_true(won > 0);
    assert_true(failed > 0);
    assert_int_equal(won + failed, MANY);
    assert_true(was_failing);
    assert_non_null(strstr(told.text, "disk"));
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < MANY; i++) {
            struct store_op op = fixture_lookup(&rows[i], LOAD_REQUEST);
            bool is_there = fixture_ask(f, &op) == STORE_HELD;
            assert_int_equal(is_there, ops[i].out.status == GW_OK);
        }
        fixture_close(f);
        fixture_open(f);
    }
    for (unsigned i = 0; i < MANY; i++)
        (void)fixture_put(f, &rows[i]);
    assert_false(stats_of(f).is_failing);
}

/* Nobody asks for anything: the store itself finds out that the disk has room again,
 * and not before. */
static void a_probe_finds_the_disk_well(void **state)
{
    enum { BODY = 2000000, LOOKS_MAX = 3000 };
    struct fixture *f = *state;
    char *bytes = calloc(1, BODY);
    struct store_row row = fixture_row(f, "large", 1), kept = fixture_row(f, "kept", 2);
    struct pollfd nobody = {.fd = -1};
    fixture_close(f);
    f->options.probe_ms = 10;
    fixture_open(f);
    (void)fixture_put(f, &kept);
    row.request = fixture_message(f, span_of(bytes, BODY));
    free(bytes);
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    limit_file_size(1);
    struct store_op op = fixture_claim(&row), look = fixture_lookup(&kept, 0);
    enum gw_status refused = fixture_try(f, &op);
    for (unsigned i = 0; i < LOOKS_MAX && stats_of(f).probes < 3; i++)
        (void)poll(&nobody, 1, 10);
    struct store_stats ill = stats_of(f);
    enum store_found read = fixture_ask(f, &look); /* readers are served meanwhile */
    limit_file_size(RLIM_INFINITY);
    (void)signal(SIGXFSZ, before);
    for (unsigned i = 0; i < LOOKS_MAX && stats_of(f).is_failing; i++)
        (void)poll(&nobody, 1, 10);
    struct store_stats well = stats_of(f);
    assert_int_equal(refused, GW_IO);
    assert_true(ill.probes >= 3);
    assert_true(ill.is_failing);
    assert_int_equal(read, STORE_HELD);
    assert_false(well.is_failing);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    struct store_row other = fixture_row(f, "other", 3);
    (void)fixture_put(f, &other);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(fixture_ask(f, &look), STORE_HELD);
}

/* A foreign lock that outlasts everything: probes go on failing, and find its end. */
static void a_probe_finds_the_lock_gone(void **state)
{
    enum { LOOKS_MAX = 3000 };
    struct fixture *f = *state;
    struct pollfd nobody = {.fd = -1};
    struct store_row row = fixture_row(f, "k", 1);
    fixture_close(f);
    f->options.busy_ms = 100;
    f->options.probe_ms = 1;
    fixture_open(f);
    sqlite3 *db = raw_open(f);
    raw_run(db, "BEGIN IMMEDIATE");
    struct store_op op = fixture_claim(&row);
    assert_int_equal(fixture_try(f, &op), GW_BUSY);
    for (unsigned i = 0; i < LOOKS_MAX && stats_of(f).probes < 3; i++)
        (void)poll(&nobody, 1, 10);
    assert_true(stats_of(f).probes >= 3);
    assert_true(stats_of(f).is_failing);
    raw_run(db, "ROLLBACK");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    for (unsigned i = 0; i < LOOKS_MAX && stats_of(f).is_failing; i++)
        (void)poll(&nobody, 1, 10);
    assert_false(stats_of(f).is_failing);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
}

/* An operation that breaks the database's rules fails alone: its batch is applied
 * again without it. */
static void only_the_guilty_fails(void **state)
{
    struct fixture *f = *state;
    struct store_row rows[4];
    struct store_op ops[4];
    uint32_t left = 0;
    for (unsigned i = 0; i < 4; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        /* The last one brings an operation id that another has. */
        rows[i] = fixture_row(f, key, i == 3 ? 1 : i);
        rows[i].labels = fixture_labels(f, "order", key);
        ops[i] = fixture_claim(&rows[i]);
    }
    sqlite3 *db = raw_open(f);
    raw_run(db, "BEGIN IMMEDIATE"); /* so that all four are one batch, after the first */
    for (unsigned i = 0; i < 4; i++)
        fixture_send(f, &ops[i], &left);
    raw_run(db, "ROLLBACK");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    fixture_wait(f->inbox, &left);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ops[i].out.status, GW_OK);
        assert_int_equal(ops[i].out.found, STORE_WON);
    }
    assert_int_equal(ops[3].out.status, GW_CORRUPT);
    struct store_op op = fixture_lookup(&rows[3], 0);
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    op = (struct store_op){
        .kind = STORE_LIST,
        .in.list.filter = {.label_name = SPAN("order"), .label_value = SPAN("k3")}};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 0);
}

/* Damage in one row makes the operations on it fail and says which one it is; the
 * others go on, pages leave it out, and nothing crashes. */
static void damaged_rows_are_named(void **state)
{
    static const char *const damage[] = {
        "UPDATE receipts SET print = x'00' WHERE id = ?",
        "UPDATE receipts SET state = 99 WHERE id = ?",
        "UPDATE receipts SET state = -1 WHERE id = ?",
        "UPDATE receipts SET state = 6 WHERE id = ?",
        "UPDATE receipts SET marks = 9999 WHERE id = ?",
        "UPDATE receipts SET version = -5 WHERE id = ?",
        "UPDATE receipts SET version = 99999999999 WHERE id = ?",
        "UPDATE receipts SET labels = x'0105' WHERE id = ?",
        "UPDATE receipts SET attempts = x'ff' WHERE id = ?",
        "UPDATE receipts SET members = zeroblob(100) WHERE id = ?",
        "UPDATE receipts SET \"end\" = 200 WHERE id = ?",
        "UPDATE receipts SET status = 7 WHERE id = ?",
        "UPDATE receipts SET lease_until_ms = -1 WHERE id = ?",
        "UPDATE receipts SET created_ms = -1 WHERE id = ?",
        "UPDATE receipts SET owner = x'41' WHERE id = ?",
        "UPDATE receipts SET \"key\" = zeroblob(3) WHERE id = ?",
        "UPDATE receipts SET target = zeroblob(3000000) WHERE id = ?",
        "UPDATE receipts SET identity = x'00' WHERE id = ?",
    };
    struct fixture *f = *state;
    struct store_row good = fixture_row(f, "good", 999);
    sqlite3 *db = raw_open(f);
    (void)fixture_put(f, &good);
    raw_run(db, "PRAGMA ignore_check_constraints = ON");
    for (unsigned i = 0; i < GW_COUNT(damage); i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        struct store_row won = fixture_put(f, &row), next = fixture_step(&won, RECEIPT_SENT);
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_prepare_v2(db, damage[i], -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_bind_int64(statement, 1, won.id), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
        assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
        struct store_op ops[] = {
            fixture_lookup(&good, 0),
            fixture_advance(&won, &next),
            fixture_claim(&good),
            {.kind = STORE_FIND, .in.find = {.operation_id = span_str(row.operation_id)}},
        };
        uint32_t left = 0;
        for (size_t j = 0; j < GW_COUNT(ops); j++)
            fixture_send(f, &ops[j], &left);
        fixture_wait(f->inbox, &left);
        assert_int_equal(ops[0].out.status, GW_OK);
        assert_int_equal(ops[2].out.status, GW_OK);
        bool is_foreign = strstr(damage[i], "owner") != NULL || strstr(damage[i], "key") != NULL;
        bool is_large = strstr(damage[i], "3000000") != NULL;
        if (!is_foreign) {
            assert_int_equal(ops[1].out.status, is_large ? GW_LIMIT : GW_CORRUPT);
            assert_int_equal(ops[3].out.status, is_large ? GW_LIMIT : GW_CORRUPT);
            assert_non_null(strstr(stats_of(f).last_error.text, row.operation_id));
        }
        if (strstr(damage[i], "identity") == NULL) {
            struct store_op claim = fixture_claim(&row);
            assert_true(fixture_try(f, &claim) != GW_OK || is_foreign);
            if (is_foreign)
                assert_int_equal(fixture_try(f, &claim), GW_CORRUPT);
        }
    }
    struct store_op list = {.kind = STORE_LIST};
    assert_int_equal(fixture_ask(f, &list), STORE_PAGE);
    assert_true(list.out.row_count >= 1);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* An answer that is on record but not there is damage, not an empty answer. */
static void lost_answer_is_damage(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row done = fixture_step(&won, RECEIPT_COMPLETED);
    done.answer = fixture_message(f, SPAN("answer"));
    (void)fixture_move(f, &won, &done);
    sqlite3 *db = raw_open(f);
    raw_run(db, "DELETE FROM bodies");
    struct store_op op = fixture_lookup(&row, LOAD_ANSWER);
    assert_int_equal(fixture_try(f, &op), GW_CORRUPT);
    op = fixture_lookup(&row, 0);
    assert_int_equal(fixture_try(f, &op), GW_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Damaged rows beside the receipts: a list leaves them out, one that was asked for by
 * its id is named. */
static void damaged_plans_are_named(void **state)
{
    struct fixture *f = *state;
    struct plan_entry plan = {.plan_id = "plan_00000000000000000000000001"};
    struct plan_entry good = {.plan_id = "plan_00000000000000000000000002"};
    struct observation seen = {.route = SPAN("r"), .end = END_answered};
    struct store_op ops[] = {{.kind = STORE_PLAN_SET, .in.plan = {.entry = &plan}},
                             {.kind = STORE_PLAN_SET, .in.plan = {.entry = &good}},
                             {.kind = STORE_OBSERVE, .in.observe = {&seen, 1}},
                             {.kind = STORE_OBSERVE, .in.observe = {&seen, 1}}};
    for (size_t i = 0; i < GW_COUNT(ops); i++)
        assert_int_equal(fixture_ask(f, &ops[i]), STORE_WON);
    sqlite3 *db = raw_open(f);
    static const char *const damages[] = {
        "UPDATE plan_parts SET items = x'07' WHERE plan_id LIKE '%1'",
        "DELETE FROM plan_parts WHERE plan_id LIKE '%1'",
        "UPDATE plans SET state = 77 WHERE plan_id LIKE '%1'",
        "UPDATE observed SET \"end\" = 200 WHERE id = 1",
    };
    struct store_op get = {.kind = STORE_PLAN_GET,
                           .in.find = {.operation_id = span_str(plan.plan_id)}};
    for (size_t i = 0; i < GW_COUNT(damages); i++) {
        raw_run(db, damages[i]);
        assert_int_equal(fixture_try(f, &get), GW_CORRUPT);
        assert_non_null(strstr(stats_of(f).last_error.text, plan.plan_id));
    }
    struct store_op list = {.kind = STORE_PLANS}, all = {.kind = STORE_OBSERVED};
    assert_int_equal(fixture_ask(f, &list), STORE_PAGE);
    assert_int_equal(list.out.plan_count, 1);
    assert_string_equal(list.out.plans[0].plan_id, good.plan_id);
    assert_int_equal(fixture_ask(f, &all), STORE_PAGE);
    assert_int_equal(all.out.observed_count, 1);
    assert_int_equal(all.out.observed[0].id, 2);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Something of every table. */
static void fill(struct fixture *f)
{
    struct observation seen = {.route = SPAN("r"), .end = END_answered};
    for (unsigned i = 0; i < 200; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        row.labels = fixture_labels(f, "order", key);
        row.request = fixture_message(f, SPAN("some request"));
        row.receipt.state = i % 4 == 0 ? RECEIPT_UNKNOWN : RECEIPT_CLAIMED;
        row.receipt.lease_until_ms = i % 4 == 0 ? 0 : NOW_MS;
        (void)fixture_put(f, &row);
    }
    for (unsigned i = 0; i < 30; i++) {
        struct plan_entry plan = {.state = PLAN_WAITING};
        (void)snprintf(plan.plan_id, sizeof(plan.plan_id), "plan_%026u", i); /* fits */
        plan.answer = fixture_message(f, SPAN("some answer"));
        struct store_op set = {.kind = STORE_PLAN_SET, .in.plan = {.entry = &plan}};
        struct store_op add = {.kind = STORE_OBSERVE, .in.observe = {&seen, 1}};
        assert_int_equal(fixture_ask(f, &set), STORE_WON);
        assert_int_equal(fixture_ask(f, &add), STORE_WON);
    }
}

/* One operation of every kind, whatever comes of it. */
static void try_all(struct fixture *f)
{
    struct store_row fresh = fixture_row(f, "fresh", 5000), row = fixture_row(f, "k199", 199);
    struct plan_entry plan = {.plan_id = "plan_00000000000000000000000007"};
    struct observation seen = {.route = SPAN("r"), .end = END_answered};
    struct store_op ops[] = {
        fixture_claim(&fresh),
        fixture_claim(&row),
        fixture_lookup(&row, LOAD_REQUEST),
        {.kind = STORE_LIST, .in.list = {.filter = {.owner = SPAN("acme")}}},
        {.kind = STORE_LIST,
         .in.list = {.filter = {.owner = SPAN("acme"), .states = 1u << RECEIPT_UNKNOWN}}},
        {.kind = STORE_SCAN, .in.scan = {.kind = SCAN_LAPSED, .now_ms = NOW_MS}},
        {.kind = STORE_SCAN, .in.scan = {.kind = SCAN_PROBES, .now_ms = NOW_MS}},
        {.kind = STORE_TALLY},
        {.kind = STORE_GROUPS},
        {.kind = STORE_PAUSES},
        {.kind = STORE_AUDIT},
        {.kind = STORE_PLANS},
        {.kind = STORE_PLAN_GET, .in.find = {.operation_id = span_str(plan.plan_id)}},
        {.kind = STORE_PLAN_SET, .in.plan = {.entry = &plan}},
        {.kind = STORE_OBSERVED},
        {.kind = STORE_OBSERVE, .in.observe = {&seen, 1}},
    };
    for (size_t i = 0; i < GW_COUNT(ops); i++)
        (void)fixture_try(f, &ops[i]);
}

static void write_hurt(const struct fixture *f, const char *bytes, size_t len, uint64_t *seed,
                       bool spares_first)
{
    char *hurt = malloc(len);
    assert_non_null(hurt);
    memcpy(hurt, bytes, len);
    for (unsigned i = 0; i < 64; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        hurt[(*seed >> 20) % len] = (char)(*seed >> 13);
    }
    if (spares_first)
        memcpy(hurt, bytes, 4096);
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(hurt, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    free(hurt);
}

/* Whatever bytes of the file are overwritten, no operation crashes the process. */
static void damaged_files_do_no_harm(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 77;
    size_t len;
    unsigned opened = 0;
    fill(f);
    fixture_close(f);
    char *bytes = test_read_file(f->path, &len);
    for (unsigned round = 0; round < 60; round++) {
        struct gw_error err = {0};
        /* The first page tells SQLite what the file is: half of the rounds spare it. */
        write_hurt(f, bytes, len, &seed, round % 2 == 0);
        if (store_open(&f->options, &f->store, &err) != GW_OK) {
            assert_true(err.text[0] != '\0');
            continue;
        }
        opened++;
        struct arena *kept = f->arena;
        f->arena = arena_new(FIXTURE_ARENA_BYTES);
        try_all(f);
        arena_free(f->arena);
        f->arena = kept;
        fixture_close(f);
    }
    assert_true(opened > 0);
    free(bytes);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(a_probe_finds_the_disk_well),
        WITH_STORE(a_probe_finds_the_lock_gone),
        WITH_STORE(group_commit),
        WITH_STORE(batches_are_bounded),
        WITH_STORE(foreign_lock_is_busy),
        WITH_STORE(full_disk_recovers),
        WITH_STORE(only_the_guilty_fails),
        WITH_STORE(damaged_rows_are_named),
        WITH_STORE(lost_answer_is_damage),
        WITH_STORE(damaged_plans_are_named),
        WITH_STORE(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
