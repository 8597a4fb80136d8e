/* One database. Synchronous; called from the committer thread alone, so a backend
 * needs no locks. Every backend passes the same suite. */
#ifndef RECIBO_STORE_BACKEND_H
#define RECIBO_STORE_BACKEND_H

#include "store/store.h"

/* What a heart-beat brought. */
struct store_beat {
    int64_t holder; /* this process's number from now on */
    int64_t now_ms; /* the database's clock */
};

struct store_backend; /* each backend has its own; first member: ops */

struct store_backend_ops {
    const char *name;
    enum gw_status (*open)(const struct store_options *options, struct store_backend **ret,
                           struct gw_error *err);
    void (*close)(struct store_backend *backend);
    /* 32 bytes, as long as the backend lives. */
    struct span (*secret)(const struct store_backend *backend);
    /* A batch is one transaction: begin, any number of apply, then commit. After a
     * failed commit nothing of the batch is visible. `writes` false: begin without
     * a write lock; commit then syncs nothing. apply: GW_OK with op->out.status set
     * means that the op failed alone and changed nothing; any other result condemns
     * the batch. */
    enum gw_status (*begin)(struct store_backend *backend, bool writes, struct gw_error *err);
    enum gw_status (*apply)(struct store_backend *backend, struct store_op *op,
                            struct gw_error *err);
    enum gw_status (*commit)(struct store_backend *backend, struct gw_error *err);
    void (*rollback)(struct store_backend *backend);
    /* Between two batches: a commit of its own that changes nothing of meaning, to learn
     * whether the database can be written. It must not wait for a foreign lock. */
    enum gw_status (*probe)(struct store_backend *backend, struct gw_error *err);
    /* WAL frames not yet written back, after a commit; 0 where there is no WAL. */
    uint32_t (*wal_frames)(const struct store_backend *backend);
    /* Called between two batches when the checkpointer asks for the last, held pass. */
    enum gw_status (*checkpoint_last)(struct store_backend *backend, struct gw_error *err);
    /* From the checkpointer's thread, beside commits: writes back what it can. NULL: nothing to do.
     */
    enum gw_status (*checkpoint_pass)(struct store_backend *backend, struct gw_error *err);
    /* Of stores that several gateways share (is_shared, table.h), else never called. Between two
     * batches, a transaction of its own: this process lives, for hold_ms from now by the
     * database's clock. In the same transaction whoever was not heard of for so long is
     * forgotten, if this one was heard of all that time itself: after an outage of the
     * database all of them come back before one judges. Forgotten is for ever, since a number is
     * never given twice, and a row that was leased by it is dead from then on (lease_is_dead), at
     * whatever gateway it is read. A process that was itself forgotten meanwhile joins under a new
     * number: what it leased before stays lost. begin() with `writes` fails with GW_BUSY while the
     * process is forgotten, so that nothing is leased by nobody. */
    enum gw_status (*beat)(struct store_backend *backend, int64_t hold_ms, struct store_beat *ret,
                           struct gw_error *err);
    /* In peace: nobody has to wait for the end of its time. Likewise. */
    void (*leave)(struct store_backend *backend);
};
extern const struct store_backend_ops store_memory_ops, store_sqlite_ops;

#endif
