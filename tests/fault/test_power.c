/* The power goes at any write or sync, and whatever of the unsynced bytes has reached
 * the disk: what was reported as done is there, and the store opens. */
#include "tests/fault/workload.h"

#define CUTS_MAX 2000
#ifndef FAULT_STRIDE
#define FAULT_STRIDE 1 /* each n-th place: slow builds look at fewer */
#endif

/* What is durable by the store's word is durable: nothing reported is lost, whole or in
 * part, and nothing comes that nobody asked for. */
static void nothing_reported_is_lost(void **state)
{
    struct fault_vfs *vfs = *state;
    uint32_t cuts = 0, images = 0, failures = 0;
    bool has_struck = true;
    for (uint32_t at = 1; has_struck && at <= CUTS_MAX; at += FAULT_STRIDE) {
        struct workload w;
        workload_init(&w, vfs);
        const char *wrong = workload_run(&w, VFS_CUT, at);
        if (wrong != NULL)
            fail_msg("cut at change %u: %s", at, wrong);
        has_struck = vfs_has_struck(vfs);
        fixture_close(&w.f);
        for (uint32_t tear = 0; tear < VFS_TEAR_COUNT; tear++, images++) {
            wrong = workload_check_torn(&w, (enum vfs_tear)tear, at);
            if (wrong != NULL)
                fail_msg("cut at change %u, tear %u: %s", at, tear, wrong);
        }
        failures += w.failures;
        cuts += has_struck;
        workload_fini(&w);
    }
    print_message("%u cuts, %u images, %u operations refused after a cut\n", cuts, images,
                  failures);
    assert_false(has_struck);
    assert_true(cuts > 50 / FAULT_STRIDE);
    assert_true(failures > cuts); /* the power really was off */
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
        cmocka_unit_test(nothing_reported_is_lost),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
