/* What is over makes room: its identity is free for the next operation with the same key,
 * and its receipt stays. It must never free the key of what may still run, or is in doubt. */
#include "store/apply.h"

static bool is_over(const struct store_row *row)
{
    return row->receipt.state == RECEIPT_COMPLETED || row->receipt.state == RECEIPT_CANCELLED;
}

/* "KEY/OPERATION_ID": no operation id is given twice, and so no such key. */
static bool take_new_key(struct store_op *op, struct store_row *row)
{
    struct span key =
        arena_print(op->arena, "%.*s/%s", (int)row->key.len, row->key.ptr, row->operation_id);
    if (key.len == 0)
        return false;
    row->key = key;
    store_identity(row->owner, row->scope, row->key, &row->identity);
    return true;
}

static bool bears_own_id(const struct store_row *row)
{
    struct span id = span_str(row->operation_id);
    return row->key.len > id.len &&
           span_equal(span_of(row->key.ptr + row->key.len - id.len, id.len), id);
}

enum gw_status apply_aside(struct store_backend *backend, struct store_op *op, struct gw_error *err)
{
    const struct row_key key = {.by = ROW_BY_ID, .id = op->in.aside.id};
    bool is_there = false;
    if (!op_make_room(op))
        return op_fail_alone(op, op_no_memory(err));
    enum gw_status status = op_get_row(backend, &key, op, &is_there, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    if (!is_there)
        return op_found(op, STORE_NONE);
    struct store_row *row = op->out.rows;
    bool is_expected = row->receipt.version == op->in.aside.expect_version;
    /* A batch whose commit was not heard of is applied again. */
    if (!is_expected)
        return op_found(op,
                        row->receipt.version == op->in.aside.expect_version + 1 && bears_own_id(row)
                            ? STORE_WON
                            : STORE_STALE);
    if (!is_over(row))
        return op_found(op, STORE_STALE);
    const struct store_row old = *row;
    if (!take_new_key(op, row))
        return op_fail_alone(op, op_no_memory(err));
    row->receipt = receipt_mark(&old.receipt, 0);
    status = row_check_for_write(row, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    const struct row_change change = {.old = &old, .row = row, .set_identity = true};
    status = backend->table->update(backend, &change, err);
    return status == GW_OK ? op_found(op, STORE_WON) : status;
}
