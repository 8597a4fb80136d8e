/* The thread that writes a backend's log back beside the commits. One round:
 * passes from this thread, then a wish for the last one, which the committer runs
 * between two batches. For store/ alone. Threads: as said at each call. */
#ifndef RECIBO_STORE_CHECKPOINT_H
#define RECIBO_STORE_CHECKPOINT_H

#include "store/backend.h"

struct checkpointer;

/* From the checkpointer's thread, without a lock of it. GW_OK: please run the last
 * pass and then call checkpointer_rest(). Else the round is over. */
typedef void checkpoint_passed_fn(void *ctx, enum gw_status status, const struct gw_error *why);

struct checkpointer_options {
    struct store_backend *backend; /* with a checkpoint_pass; borrowed */
    checkpoint_passed_fn *passed;
    void *ctx;
};

GW_MUST_CHECK enum gw_status checkpointer_new(const struct checkpointer_options *options,
                                              struct checkpointer **ret, struct gw_error *err);
void checkpointer_free(struct checkpointer *checkpointer); /* NULL is fine; waits for a pass */
/* From the committer: begins a round, unless one is going on. */
void checkpointer_wake(struct checkpointer *checkpointer);
/* From the committer: the last pass was run. */
void checkpointer_rest(struct checkpointer *checkpointer);

#endif
