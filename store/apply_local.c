/* A claim whose effect is local: the receipt is written completed, with its effect and
 * its answer, or nothing is. It must never run the effect of a key that is taken. */
#include "store/apply.h"

/* The row as it will stand; what is fixed comes from the one that is there. */
static void describe(struct store_op *op, const struct store_row *old)
{
    struct store_row *row = op->out.rows;
    *row = *op->in.local.row;
    row->id = old == NULL ? 0 : old->id;
    row->holder = 0;
    row->lease_is_dead = row->lease_is_foreign = false;
    row->answer = span_of("", 0);
    row->answer_kept = true;
    if (old == NULL)
        return;
    memcpy(row->operation_id, old->operation_id, sizeof(row->operation_id));
    row->identity = old->identity;
    row->owner = old->owner;
    row->scope = old->scope;
    row->key = old->key;
    row->route = old->route;
    row->created_ms = old->created_ms;
}

static enum gw_status run(struct store_backend *backend, struct store_op *op,
                          const struct store_row *old, struct gw_error *err)
{
    describe(op, old);
    enum gw_status status = row_check_for_write(op->out.rows, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    status = backend->table->local(backend, op, old, err);
    if (status != GW_OK || op->out.status != GW_OK)
        return status;
    if (op->out.refusal == EFFECT_DONE)
        return op_found(op, STORE_WON);
    op->out.row_count = 0;
    return op_found(op, STORE_REFUSED);
}

/* An operation of which nothing ran is there already; it is claimed again. */
static enum gw_status run_again(struct store_backend *backend, struct store_op *op,
                                struct gw_error *err)
{
    const struct store_row *there = op->out.rows;
    if (there->id != op->in.local.id || there->receipt.version != op->in.local.expect_version)
        return op_found(op, STORE_STALE);
    struct store_row old = *there;
    return run(backend, op, &old, err);
}

enum gw_status apply_local(struct store_backend *backend, struct store_op *op, struct gw_error *err)
{
    const struct holder_query query = {
        .wanted = op->in.local.row, .load_answer = true, .may_be_absent = true};
    gw_assert(op->in.local.row->receipt.state == RECEIPT_COMPLETED);
    if (backend->table->local == NULL)
        return op_fail_alone(
            op, gw_error_set(err, GW_INVALID, "this store has no local effects; use sqlite"));
    if (op->in.local.is_slow)
        return op_fail_alone(op,
                             gw_error_set(err, GW_LIMIT, "a local effect took longer than it may"));
    if (!op_make_room(op))
        return op_fail_alone(op, op_no_memory(err));
    enum gw_status status = op_read_holder(backend, op, &query, err);
    if (status != GW_OK || op->out.status != GW_OK || op->out.found == STORE_WON)
        return status;
    if (op->in.local.id != 0)
        return op->out.found == STORE_HELD ? run_again(backend, op, err) : op_found(op, STORE_NONE);
    if (op->out.found == STORE_HELD)
        return GW_OK;
    return op_make_room(op) ? run(backend, op, NULL, err) : op_fail_alone(op, op_no_memory(err));
}
