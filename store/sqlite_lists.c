/* Audit and pauses of the SQLite backend, and its table of functions. */
#include <sqlite3.h>

#include "store/sqlite.h"

static void bind_audit(sqlite3_stmt *statement, const struct audit_entry *entry)
{
    sqlite_bind_int(statement, 1, entry->at_ms);
    sqlite_bind_bytes(statement, 2, entry->actor);
    sqlite_bind_bytes(statement, 3, entry->action);
    sqlite_bind_bytes(statement, 4, entry->subject);
    sqlite_bind_bytes(statement, 5, entry->note);
}

static enum gw_status sqlite_audit_add(struct store_backend *backend,
                                       const struct audit_entry *entry, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    bind_audit(s->statements[SQL_AUDIT_ADD], entry);
    sqlite_bind_bytes(s->statements[SQL_AUDIT_ADD], 6, entry->detail);
    return sqlite_run(s, SQL_AUDIT_ADD, "writing the audit to", err);
}

static enum gw_status sqlite_audit_has(struct store_backend *backend,
                                       const struct audit_entry *entry, bool *ret_has,
                                       struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite3_stmt *statement = s->statements[SQL_AUDIT_HAS];
    bind_audit(statement, entry);
    int rc = sqlite3_step(statement);
    enum gw_status status = GW_OK;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "reading the audit of", err);
    *ret_has = rc == SQLITE_ROW;
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status;
}

enum gw_status sqlite_read_all(struct sqlite_store *s, sqlite3_stmt *statement, struct store_op *op,
                               bool (*take)(sqlite3_stmt *, struct store_op *),
                               struct gw_error *err)
{
    enum gw_status status = GW_OK;
    int rc = sqlite3_step(statement);
    while (rc == SQLITE_ROW && status == GW_OK) {
        if (!take(statement, op))
            status = op_no_memory(err);
        else
            rc = sqlite3_step(statement);
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "reading a list of", err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status;
}

static bool take_audit(sqlite3_stmt *statement, struct store_op *op)
{
    struct audit_entry *entry = op_add_audit(op);
    const struct audit_entry from = {.at_ms = sqlite_int(statement, 0),
                                     .actor = sqlite_bytes(statement, 1),
                                     .action = sqlite_bytes(statement, 2),
                                     .subject = sqlite_bytes(statement, 3),
                                     .note = sqlite_bytes(statement, 4),
                                     .detail = sqlite_bytes(statement, 5)};
    return entry != NULL && audit_copy(op->arena, &from, entry);
}

/* The newest were read first; people read forward. */
static enum gw_status sqlite_audit_read(struct store_backend *backend, struct span subject,
                                        struct store_op *op, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite3_stmt *statement = s->statements[subject.len > 0 ? SQL_AUDIT_OF : SQL_AUDIT_ALL];
    sqlite_bind_int(statement, 1, STORE_PAGE_ROWS_MAX);
    if (subject.len > 0)
        sqlite_bind_bytes(statement, 2, subject);
    enum gw_status status = sqlite_read_all(s, statement, op, take_audit, err);
    for (uint32_t i = 0; i < op->out.audit_count / 2; i++) {
        struct audit_entry *low = &op->out.audit[i];
        struct audit_entry *high = &op->out.audit[op->out.audit_count - 1 - i];
        struct audit_entry kept = *low;
        *low = *high;
        *high = kept;
    }
    return status;
}

static enum gw_status sqlite_pause_set(struct store_backend *backend,
                                       const struct pause_entry *entry, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite3_stmt *statement = s->statements[SQL_PAUSE_SET];
    sqlite_bind_int(statement, 1, entry->subject);
    sqlite_bind_bytes(statement, 2, entry->name);
    sqlite_bind_bytes(statement, 3, entry->actor);
    sqlite_bind_bytes(statement, 4, entry->note);
    sqlite_bind_int(statement, 5, entry->at_ms);
    return sqlite_run(s, SQL_PAUSE_SET, "writing a pause to", err);
}

static enum gw_status sqlite_pause_clear(struct store_backend *backend,
                                         const struct pause_entry *entry, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite_bind_int(s->statements[SQL_PAUSE_CLEAR], 1, entry->subject);
    sqlite_bind_bytes(s->statements[SQL_PAUSE_CLEAR], 2, entry->name);
    return sqlite_run(s, SQL_PAUSE_CLEAR, "removing a pause from", err);
}

/* A subject that is neither is of no use to anybody: it is passed over. */
static bool take_pause(sqlite3_stmt *statement, struct store_op *op)
{
    int64_t subject = sqlite_int(statement, 0);
    if (subject != PAUSE_ROUTE && subject != PAUSE_UPSTREAM)
        return true;
    struct pause_entry *entry = op_add_pause(op);
    const struct pause_entry from = {.subject = (enum pause_subject)subject,
                                     .name = sqlite_bytes(statement, 1),
                                     .actor = sqlite_bytes(statement, 2),
                                     .note = sqlite_bytes(statement, 3),
                                     .at_ms = sqlite_int(statement, 4)};
    return entry != NULL && pause_copy(op->arena, &from, entry);
}

static enum gw_status sqlite_pauses_read(struct store_backend *backend, struct store_op *op,
                                         struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite_bind_int(s->statements[SQL_PAUSES], 1, STORE_PAUSES_MAX);
    return sqlite_read_all(s, s->statements[SQL_PAUSES], op, take_pause, err);
}

const struct table_ops sqlite_table_ops = {
    .get = sqlite_get,
    .load = sqlite_load,
    .insert = sqlite_insert,
    .update = sqlite_update,
    .remove = sqlite_remove,
    .touch = sqlite_touch,
    .walk = sqlite_walk,
    .audit_add = sqlite_audit_add,
    .audit_has = sqlite_audit_has,
    .audit_read = sqlite_audit_read,
    .pause_set = sqlite_pause_set,
    .pause_clear = sqlite_pause_clear,
    .pauses_read = sqlite_pauses_read,
    .tally_read = sqlite_tally_read,
    .groups_read = sqlite_groups_read,
    .plan_set = sqlite_plan_set,
    .plans_read = sqlite_plans_read,
    .observe_add = sqlite_observe_add,
    .observed_read = sqlite_observed_read,
    .local = sqlite_local,
};
