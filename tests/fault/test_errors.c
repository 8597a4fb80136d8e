/* A call of the disk fails at any place: write, short write, full disk, sync, read.
 * The store reports it, changes nothing by it, and goes on when the fault is over. */
#include "tests/fault/workload.h"

#define PLACES_MAX 4000
#ifndef FAULT_STRIDE
#define FAULT_STRIDE 1 /* each n-th place: slow builds look at fewer */
#endif

/* Counts the fault up until a whole run meets none. */
static void run_all(struct fault_vfs *vfs, enum vfs_fault fault)
{
    uint32_t places = 0, failures = 0;
    bool has_struck = true;
    for (uint32_t at = 1; has_struck && at <= PLACES_MAX; at += FAULT_STRIDE) {
        struct workload w;
        workload_init(&w, vfs);
        const char *wrong = workload_run(&w, fault, at);
        if (wrong != NULL)
            fail_msg("%s at %u: %s", vfs_fault_name(fault), at, wrong);
        has_struck = vfs_has_struck(vfs);
        places += has_struck;
        failures += w.failures;
        /* What the run left, after a power cut now and after an orderly end. */
        wrong = workload_check_torn(&w, VFS_TEAR_NONE, at);
        if (wrong == NULL)
            wrong = workload_check(&w);
        if (wrong != NULL)
            fail_msg("after %s at %u: %s", vfs_fault_name(fault), at, wrong);
        workload_fini(&w);
    }
    print_message("%s: %u places, %u operations reported it\n", vfs_fault_name(fault), places,
                  failures);
    assert_false(has_struck);
    assert_true(places > 0);
    assert_true(failures > 0);
}

/* A write that fails is reported, and nothing of its transaction is seen. */
static void failed_writes(void **state)
{
    run_all(*state, VFS_WRITE_ERROR);
}

/* Half a write is no write. */
static void short_writes(void **state)
{
    run_all(*state, VFS_WRITE_SHORT);
}

/* A full disk is reported; with room again the store goes on by itself. */
static void full_disk(void **state)
{
    run_all(*state, VFS_DISK_FULL);
}

/* After a failed sync the kernel may drop what it held: nothing relies on it. */
static void failed_syncs(void **state)
{
    run_all(*state, VFS_SYNC_ERROR);
}

/* What cannot be read is reported, and is there when it can be read again. */
static void failed_reads(void **state)
{
    run_all(*state, VFS_READ_ERROR);
}

static int setup(void **state)
{
    *state = vfs_new();
    return 0;
}

static int teardown(void **state)
{
    vfs_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_writes), cmocka_unit_test(short_writes),
        cmocka_unit_test(full_disk),     cmocka_unit_test(failed_syncs),
        cmocka_unit_test(failed_reads),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
