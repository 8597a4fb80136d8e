/* One batch as one transaction. If an operation breaks it, each is tried again
 * alone, and only the guilty one fails. It must never report success before the
 * commit has returned. */
#include <time.h>

#include "base/fault.h"
#include "store/committer.h"

static uint64_t now_us(void)
{
    /* For a histogram alone: milliseconds would hide what a commit costs. */
    struct timespec ts;
    int rc = clock_gettime(CLOCK_MONOTONIC, &ts);
    gw_assert(rc == 0);
    return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

static void clear_result(struct store_op *op)
{
    memset(&op->out, 0, sizeof(op->out));
}

static void fail(struct store_op *op, enum gw_status status)
{
    gw_assert(status != GW_OK);
    clear_result(op);
    op->out.status = status;
}

/* What went wrong with one op alone is worth telling, but not the store's failure. */
static void note(struct batch_result *ret, const struct gw_error *err)
{
    if (err->status != GW_OK)
        ret->err = *err;
}

/* What a batch changes, as bits of enum store_op_kind; 0: it only reads. */
static uint32_t changes_of(const struct store_op *op)
{
    return op_writes(op) ? 1u << op->kind : 0;
}

/* A test breaks the commit here. */
static bool is_broken_before(uint32_t changes)
{
    return ((changes & 1u << STORE_CLAIM) != 0 && GW_FAULT(claim_commit)) ||
           ((changes & 1u << STORE_ADVANCE) != 0 && GW_FAULT(record_commit)) ||
           ((changes & 1u << STORE_LOCAL) != 0 && GW_FAULT(local_commit));
}

static void may_crash_after(uint32_t changes)
{
    if ((changes & 1u << STORE_CLAIM) != 0)
        (void)GW_FAULT(claim_committed); /* what is on the disk cannot fail any more */
    if ((changes & 1u << STORE_ADVANCE) != 0)
        (void)GW_FAULT(record_committed); /* likewise */
    if ((changes & 1u << STORE_LOCAL) != 0)
        (void)GW_FAULT(local_committed); /* likewise */
}

static enum gw_status commit(struct store_backend *backend, uint32_t changes,
                             struct batch_result *ret, struct gw_error *err)
{
    uint64_t before = now_us();
    enum gw_status status;
    if (is_broken_before(changes)) {
        backend->ops->rollback(backend);
        status = gw_error_set(err, GW_IO, "a test broke the commit");
    } else {
        status = backend->ops->commit(backend, err);
    }
    if (changes == 0)
        return status;
    if (status == GW_OK)
        may_crash_after(changes);
    ret->wrote = true;
    ret->commit_us = now_us() - before;
    ret->failed = status != GW_OK;
    ret->busy = ret->busy || status == GW_BUSY;
    ret->commits += status == GW_OK;
    return status;
}

static enum gw_status begin(struct store_backend *backend, bool writes, struct batch_result *ret,
                            struct gw_error *err)
{
    enum gw_status status = backend->ops->begin(backend, writes, err);
    if (status != GW_OK && writes) {
        ret->wrote = true;
        ret->failed = true;
        ret->busy = ret->busy || status == GW_BUSY;
    }
    return status;
}

static void run_alone(struct store_backend *backend, struct store_op *op, struct batch_result *ret)
{
    struct gw_error err = {0};
    uint32_t changes = changes_of(op);
    clear_result(op);
    enum gw_status status = begin(backend, changes != 0, ret, &err);
    if (status == GW_OK) {
        status = backend->ops->apply(backend, op, &err);
        if (status == GW_OK)
            status = commit(backend, changes, ret, &err);
        else
            backend->ops->rollback(backend);
    }
    if (status != GW_OK)
        fail(op, status);
    note(ret, &err);
}

enum batch_end {
    BATCH_DONE,
    BATCH_BROKEN,    /* an operation broke it: nothing was changed */
    BATCH_NOT_BEGUN, /* no write lock */
    BATCH_NOT_COMMITTED,
};

static enum batch_end run_together(struct store_backend *backend, const struct op_list *ops,
                                   struct batch_result *ret, enum gw_status *ret_status)
{
    struct gw_error err = {0};
    uint32_t changes = 0;
    for (const struct store_op *op = ops->first; op != NULL; op = op->next)
        changes |= changes_of(op);
    *ret_status = begin(backend, changes != 0, ret, &err);
    if (*ret_status != GW_OK) {
        note(ret, &err);
        return BATCH_NOT_BEGUN;
    }
    for (struct store_op *op = ops->first; op != NULL && *ret_status == GW_OK; op = op->next) {
        clear_result(op);
        *ret_status = backend->ops->apply(backend, op, &err);
    }
    enum batch_end end = BATCH_BROKEN;
    if (*ret_status != GW_OK) {
        backend->ops->rollback(backend);
    } else {
        *ret_status = commit(backend, changes, ret, &err);
        end = *ret_status == GW_OK ? BATCH_DONE : BATCH_NOT_COMMITTED;
    }
    note(ret, &err);
    return end;
}

void batch_run(struct store_backend *backend, const struct op_list *ops, struct batch_result *ret)
{
    enum gw_status status;
    *ret = (struct batch_result){0};
    enum batch_end end = run_together(backend, ops, ret, &status);
    for (struct store_op *op = ops->first; op != NULL && end != BATCH_DONE; op = op->next) {
        /* Readers need no write lock; but what they saw in a batch that was not
         * committed never was. */
        bool again = end == BATCH_BROKEN || !op_writes(op);
        if (again)
            run_alone(backend, op, ret);
        else
            fail(op, status);
    }
}

void batch_continue(struct store_backend *backend, struct store_op *op, struct batch_result *ret)
{
    struct gw_error err = {0};
    *ret = (struct batch_result){0};
    op_continue(op);
    enum gw_status status = begin(backend, false, ret, &err);
    if (status == GW_OK) {
        status = backend->ops->apply(backend, op, &err);
        if (status == GW_OK)
            status = commit(backend, 0, ret, &err);
        else
            backend->ops->rollback(backend);
    }
    if (status != GW_OK)
        fail(op, status);
    note(ret, &err);
}
