/* Durable before done(): every commit is synced, and a sync that fails is believed.
 * This program's own fsync() and fdatasync() stand before the C library's. */
#include <stdatomic.h>
#include <sys/syscall.h>

#include "tests/store/fixture.h"

int fdatasync(int fd);
int fsync(int fd);

static atomic_uint log_syncs, file_syncs;
static atomic_bool log_fails, file_fails;

static int sync_with(long number, int fd)
{
    char link[32], path[400];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd); /* fits */
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    path[len < 0 ? 0 : len] = '\0';
    bool is_log = strstr(path, "receipts.db-wal") != NULL;
    bool is_file = !is_log && strstr(path, "receipts.db") != NULL;
    if ((is_log && atomic_load(&log_fails)) || (is_file && atomic_load(&file_fails))) {
        errno = EIO;
        return -1;
    }
    atomic_fetch_add(&log_syncs, is_log);
    atomic_fetch_add(&file_syncs, is_file);
    return (int)syscall(number, fd);
}

int fdatasync(int fd)
{
    return sync_with(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    return sync_with(SYS_fsync, fd);
}

static int setup(void **state)
{
    *state = NULL;
    (void)fixture_setup(state);
    struct fixture *f = *state;
    fixture_close(f);
    f->options.checkpoint_frames = 60;
    fixture_open(f);
    return 0;
}

static struct store_row put(struct fixture *f, unsigned number)
{
    char key[16];
    (void)snprintf(key, sizeof(key), "k%u", number); /* fits */
    struct store_row row = fixture_row(f, key, number);
    return fixture_put(f, &row);
}

/* Each change has been synced when its done() runs; what only reads syncs nothing. */
static void changes_are_synced_before_done(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < 5; i++) {
        unsigned before = atomic_load(&log_syncs);
        struct store_row won = put(f, i);
        assert_true(atomic_load(&log_syncs) > before);
        before = atomic_load(&log_syncs);
        struct store_row sent = fixture_step(&won, RECEIPT_SENT);
        (void)fixture_move(f, &won, &sent);
        assert_true(atomic_load(&log_syncs) > before);
        before = atomic_load(&log_syncs);
        struct store_op look = fixture_lookup(&won, 0), list = {.kind = STORE_LIST};
        struct store_op held = fixture_claim(&sent);
        (void)fixture_ask(f, &look);
        (void)fixture_ask(f, &list);
        (void)fixture_ask(f, &held);
        assert_int_equal(atomic_load(&log_syncs), before);
    }
}

/* A commit whose sync fails is a failure: nothing of it is seen, and the store
 * works again when the disk does. */
static void failed_sync_fails_the_batch(void **state)
{
    struct fixture *f = *state;
    struct store_stats stats;
    (void)put(f, 1);
    struct store_row row = fixture_row(f, "k2", 2);
    struct store_op op = fixture_claim(&row), look = fixture_lookup(&row, 0);
    atomic_store(&log_fails, true);
    assert_int_equal(fixture_try(f, &op), GW_IO);
    store_stats(f->store, &stats);
    atomic_store(&log_fails, false);
    assert_true(stats.is_failing);
    assert_int_equal(stats.failed_commits, 1);
    assert_int_equal(fixture_ask(f, &look), STORE_NONE);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(fixture_ask(f, &look), STORE_HELD);
}

/* Once a sync of the database file has failed, the log is never begun anew: pages
 * that the kernel has dropped are only there. After a restart all is found. */
static void failed_write_back_stops_for_good(void **state)
{
    enum { TRIES_MAX = 20000, MORE = 600 };
    struct fixture *f = *state;
    struct store_stats stats = {0};
    unsigned number = 0;
    char log[400];
    atomic_store(&file_fails, true);
    while (stats.last_error.status == GW_OK && number < TRIES_MAX) {
        (void)put(f, number++);
        store_stats(f->store, &stats);
    }
    atomic_store(&file_fails, false);
    assert_int_equal(stats.last_error.status, GW_IO);
    assert_non_null(strstr(stats.last_error.text, "restart"));
    uint64_t frames = stats.wal_frames;
    for (unsigned i = 0; i < MORE; i++) {
        (void)put(f, number++);
        store_stats(f->store, &stats);
        assert_true(stats.wal_frames > frames);
        frames = stats.wal_frames;
    }
    unsigned before = atomic_load(&file_syncs);
    fixture_close(f);
    assert_int_equal(atomic_load(&file_syncs), before);
    (void)snprintf(log, sizeof(log), "%s-wal", f->path); /* fits */
    assert_int_equal(access(log, F_OK), 0);
    fixture_open(f);
    for (unsigned i = 0; i < number; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        struct store_op op = fixture_lookup(&row, 0);
        assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(changes_are_synced_before_done, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(failed_sync_fails_the_batch, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(failed_write_back_stops_for_good, setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
