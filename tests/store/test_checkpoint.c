/* The write-ahead log is written back beside the commits and begins anew: it must
 * not grow without end, whatever reads beside it. */
#include <sqlite3.h>

#include "tests/store/fixture.h"

#define FRAMES      100
#define TRIES_MAX   50000
#define FRAME_BYTES (4096 + 24)

static uint64_t frames_of(struct fixture *f)
{
    struct store_stats stats;
    store_stats(f->store, &stats);
    assert_int_equal(stats.last_error.status, GW_OK);
    return stats.wal_frames;
}

static int setup(void **state)
{
    *state = NULL;
    (void)fixture_setup(state);
    struct fixture *f = *state;
    fixture_close(f);
    f->options.checkpoint_frames = FRAMES;
    fixture_open(f);
    return 0;
}

static void put_one(struct fixture *f, unsigned number)
{
    struct arena *kept = f->arena;
    char key[16];
    f->arena = arena_new((size_t)1 << 20);
    (void)snprintf(key, sizeof(key), "k%u", number); /* fits */
    struct store_row row = fixture_row(f, key, number);
    struct store_row won = fixture_put(f, &row);
    struct store_row done = fixture_step(&won, RECEIPT_COMPLETED);
    done.answer = fixture_message(f, span_of((char[500]){0}, 500));
    (void)fixture_move(f, &won, &done);
    arena_free(f->arena);
    f->arena = kept;
}

/* Works until the log has begun anew; gives up after many operations, not after a
 * time. Returns the next free number. */
static unsigned work_until_anew(struct fixture *f, unsigned number)
{
    unsigned end = number + TRIES_MAX;
    while (frames_of(f) < FRAMES)
        put_one(f, number++);
    while (frames_of(f) >= FRAMES && number < end)
        put_one(f, number++);
    assert_true(number < end);
    return number;
}

static off_t log_bytes(const struct fixture *f)
{
    char path[400];
    struct stat info;
    (void)snprintf(path, sizeof(path), "%s-wal", f->path); /* fits */
    assert_int_equal(stat(path, &info), 0);
    return info.st_size;
}

/* Round after round the log begins anew in the same space; it is never truncated
 * while somebody works. */
static void log_begins_anew(void **state)
{
    enum { ROUNDS = 12 };
    struct fixture *f = *state;
    unsigned number = 0;
    uint64_t written = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        off_t before = log_bytes(f);
        unsigned from = number;
        number = work_until_anew(f, number);
        written += (number - from) * 4u; /* at least: two commits of two pages each */
        assert_true(log_bytes(f) >= before);
    }
    assert_true((uint64_t)log_bytes(f) < written * FRAME_BYTES / 2);
    fixture_close(f);
    fixture_open(f);
    for (unsigned i = 0; i < number; i += 7) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        struct store_op op = fixture_lookup(&row, LOAD_ANSWER);
        assert_int_equal(fixture_ask(f, &op), STORE_HELD);
        assert_int_equal(op.out.rows[0].receipt.state, RECEIPT_COMPLETED);
    }
}

/* A reader beside it keeps the log from beginning anew, but nothing fails; once it
 * is gone, the log shrinks to its place again. */
static void reader_does_no_harm(void **state)
{
    struct fixture *f = *state;
    unsigned number = 0;
    sqlite3 *db;
    number = work_until_anew(f, number);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM receipts", NULL, NULL, NULL),
                     SQLITE_OK);
    while (frames_of(f) < 8 * FRAMES)
        put_one(f, number++);
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    (void)work_until_anew(f, number);
}

/* A closed store leaves one file that holds everything. */
static void close_leaves_one_file(void **state)
{
    struct fixture *f = *state;
    char path[400];
    put_one(f, 1);
    fixture_close(f);
    (void)snprintf(path, sizeof(path), "%s-wal", f->path); /* fits */
    assert_int_equal(access(path, F_OK), -1);
    fixture_open(f);
    struct store_row row = fixture_row(f, "k1", 1);
    struct store_op op = fixture_lookup(&row, 0);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(log_begins_anew, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(reader_does_no_harm, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(close_leaves_one_file, setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
