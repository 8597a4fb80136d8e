/* What the files that give operations their meaning share. For store/ alone. */
#ifndef RECIBO_STORE_APPLY_H
#define RECIBO_STORE_APPLY_H

#include "store/table.h"

#define AUDIT_TEXT_BYTES_MAX ((size_t)64 << 10)

/* The operation fails, its batch goes on. Only before its first write. */
enum gw_status op_fail_alone(struct store_op *op, enum gw_status status);
enum gw_status op_found(struct store_op *op, enum store_found what);

/* GW_LIMIT: a text is too large. NULL is fine. */
enum gw_status audit_check(const struct audit_entry *entry, struct gw_error *err);
/* NULL: nothing is written. */
enum gw_status audit_write(struct store_backend *backend, const struct audit_entry *entry,
                           struct gw_error *err);

/* Room for one row of the result; false: the arena is full. */
bool op_make_room(struct store_op *op);
/* Reads the row and checks it, as every read is; into out.rows[0]. */
enum gw_status op_get_row(struct store_backend *backend, const struct row_key *key,
                          struct store_op *op, bool *ret_found, struct gw_error *err);
/* A row that is unsound was made by us; a large one came from outside. */
enum gw_status row_check_for_write(const struct store_row *row, struct gw_error *err);
/* Did the very operation write it that wants to? */
bool is_same_claim(const struct store_row *there, const struct store_row *wanted);
/* Who has the identity: STORE_HELD, or STORE_WON for a claim that is there already. */
struct holder_query {
    const struct store_row *wanted;
    bool load_answer;   /* of a completed one */
    bool may_be_absent; /* STORE_NONE then; else it is an error */
};
enum gw_status op_read_holder(struct store_backend *backend, struct store_op *op,
                              const struct holder_query *query, struct gw_error *err);

/* apply_local.c */
enum gw_status apply_local(struct store_backend *backend, struct store_op *op,
                           struct gw_error *err);

/* apply_aside.c */
enum gw_status apply_aside(struct store_backend *backend, struct store_op *op,
                           struct gw_error *err);

/* apply_plan.c */
enum gw_status apply_plan_set(struct store_backend *backend, struct store_op *op,
                              struct gw_error *err);
enum gw_status apply_plan_get(struct store_backend *backend, struct store_op *op,
                              struct gw_error *err);

/* apply_observe.c */
enum gw_status apply_observe(struct store_backend *backend, struct store_op *op,
                             struct gw_error *err);

#endif
