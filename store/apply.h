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

/* apply_plan.c */
enum gw_status apply_plan_set(struct store_backend *backend, struct store_op *op,
                              struct gw_error *err);
enum gw_status apply_plan_get(struct store_backend *backend, struct store_op *op,
                              struct gw_error *err);

/* apply_observe.c */
enum gw_status apply_observe(struct store_backend *backend, struct store_op *op,
                             struct gw_error *err);

#endif
