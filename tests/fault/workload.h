/* A short life of a store, and what must be left of it whatever happens to its disk. */
#ifndef RECIBO_TESTS_FAULT_WORKLOAD_H
#define RECIBO_TESTS_FAULT_WORKLOAD_H

#include "tests/fault/vfs.h"
#include "tests/store/fixture.h"

#define WORKLOAD_KEYS  12
#define WORKLOAD_PAUSE WORKLOAD_KEYS /* what lies beside counts as more, but is no row */
#define WORKLOAD_PLAN  (WORKLOAD_KEYS + 1)
#define WORKLOAD_SEEN  (WORKLOAD_KEYS + 2)
#define WORKLOAD_NOTE  (WORKLOAD_KEYS + 3)

/* What is known of one key: what the last reported operation left, and what one that
 * was not reported as done may have left. */
struct deed {
    bool is_there, has_doubt, may_be_there;
    struct store_row row, doubtful;
};

struct workload {
    struct fixture f;
    struct fault_vfs *vfs;
    enum vfs_fault fault;
    struct deed deeds[WORKLOAD_NOTE + 1];
    bool was_opened; /* store_open() has reported success once */
    uint8_t secret[32];
    bool has_audit;
    int64_t id_max;
    uint32_t failures; /* operations that reported one */
};

void workload_init(struct workload *w, struct fault_vfs *vfs);
void workload_fini(struct workload *w);
/* Lives through it with this fault. NULL: as it should be; else what was wrong. But
 * for a power cut, what fails must have changed nothing and work when tried again. */
const char *workload_run(struct workload *w, enum vfs_fault fault, uint32_t at);
/* Looks at the same files again, or (tear) at what a power cut would have left. */
const char *workload_check(struct workload *w);
const char *workload_check_torn(struct workload *w, enum vfs_tear tear, uint32_t seed);

#endif
