/* One database. Synchronous; called from the committer thread alone, so a backend
 * needs no locks. Every backend passes the same suite. */
#ifndef RECIBO_STORE_BACKEND_H
#define RECIBO_STORE_BACKEND_H

#include "store/store.h"

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
};
extern const struct store_backend_ops store_memory_ops, store_sqlite_ops;

#endif
