/* What the committer's files share: the queue in, the thread, the counts. For
 * store/ alone. */
#ifndef RECIBO_STORE_COMMITTER_H
#define RECIBO_STORE_COMMITTER_H

#include <pthread.h>

#include "store/checkpoint.h"
#include "store/holding.h"
#include "store/table.h"

/* Rows that one page may look at in all: slices of STORE_PAGE_EXAMINED_MAX. */
#define STORE_PAGE_SLICES_MAX 100

struct op_list {
    struct store_op *first, *last;
    uint32_t count;
};

struct store {
    struct store_options options;
    struct store_backend *backend;     /* the committer thread's, but for its checkpoint_pass */
    struct checkpointer *checkpointer; /* NULL: the backend has no log */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock: */
    struct op_list queue;
    bool is_stopping;
    bool wants_last; /* the checkpointer asks for its held pass */
    bool pass_failed;
    int64_t probe_at_ms; /* monotonic; while stats.is_failing */
    int64_t beat_at_ms;  /* likewise, of a shared store: when the others are to hear of this one */
    struct store_stats stats;
    struct holding holding; /* any thread reads it, without the lock */
    /* The committer thread's own: */
    struct op_list cut;   /* pages that go on when others were served */
    uint32_t slices;      /* that the first of them has had */
    uint32_t wake_frames; /* of the log, that start the next checkpoint */
    uint32_t last_frames; /* when the last held pass ran; 0: judged already */
};

void op_list_add(struct op_list *list, struct store_op *op);
struct store_op *op_list_take(struct op_list *list); /* NULL: empty */

/* committer.c */
void *committer_run(void *ctx);
/* Between two batches, and once before the thread is started. */
GW_MUST_CHECK enum gw_status committer_beat(struct store *store, struct gw_error *err);

/* batch.c: one batch, from begin to commit; every op gets its out.status. */
struct batch_result {
    bool wrote;          /* a transaction with a write lock was committed or tried */
    bool failed;         /* its begin or commit failed */
    bool busy;           /* because of a foreign lock */
    uint64_t commits;    /* that succeeded */
    uint64_t commit_us;  /* of the last commit */
    struct gw_error err; /* the last thing that went wrong; status GW_OK: nothing did */
};
void batch_run(struct store_backend *backend, const struct op_list *ops, struct batch_result *ret);
/* Goes on with a page that was cut, in a transaction of its own. */
void batch_continue(struct store_backend *backend, struct store_op *op, struct batch_result *ret);

#endif
