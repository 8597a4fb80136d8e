/* Values in and out of statements, and what SQLite's result codes mean to an
 * operator. What comes out of a file is never believed without a look. */
#include <errno.h>
#include <sqlite3.h>

#include "store/sqlite.h"

static enum gw_status fail_io(const struct sqlite_store *s, int rc, const char *doing,
                              struct gw_error *err)
{
    int code = s->db == NULL ? 0 : sqlite3_system_errno(s->db);
    return gw_error_set(err, GW_IO, "%s '%s': %s%s%s; check the disk and its file system", doing,
                        s->where.path, sqlite3_errstr(rc), code == 0 ? "" : ", ",
                        code == 0 ? "" : strerror(code));
}

enum gw_status sqlite_fail(const struct sqlite_store *s, int rc, const char *doing,
                           struct gw_error *err)
{
    const char *path = s->where.path;
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return gw_error_set(err, GW_BUSY,
                            "%s '%s': another program has kept it locked for more than %lld ms; "
                            "find and stop it",
                            doing, path, (long long)s->busy_ms);
    case SQLITE_FULL:
        return gw_error_set(err, GW_IO, "%s '%s': the disk is full; make room on it", doing, path);
    case SQLITE_NOMEM:
        return gw_error_set(err, GW_NOMEM, "%s '%s': out of memory", doing, path);
    case SQLITE_TOOBIG:
        return gw_error_set(err, GW_LIMIT, "%s '%s': a value is larger than SQLite allows", doing,
                            path);
    case SQLITE_NOTADB:
        return gw_error_set(err, GW_CORRUPT,
                            "%s '%s': it is not a database; give the store another file, or "
                            "restore a backup",
                            doing, path);
    case SQLITE_CORRUPT:
        return gw_error_set(err, GW_CORRUPT, "%s '%s': the file is damaged; restore a backup",
                            doing, path);
    case SQLITE_CONSTRAINT:
        return gw_error_set(err, GW_CORRUPT, "%s '%s': %s", doing, path, sqlite3_errmsg(s->db));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return gw_error_set(err, GW_IO,
                            "%s '%s': %s; the file and its directory must be writable for the user "
                            "that runs Recibo",
                            doing, path, sqlite3_errstr(rc));
    default:
        return fail_io(s, rc, doing, err);
    }
}

/* Binding fails only for an index that the statement does not have, or without
 * memory; a value that would be missing then is refused by NOT NULL. */
void sqlite_bind_int(struct sqlite3_stmt *statement, int at, int64_t value)
{
    (void)sqlite3_bind_int64(statement, at, value); /* see above */
}

/* The bytes stay where they are until the statement was run. */
void sqlite_bind_bytes(struct sqlite3_stmt *statement, int at, struct span bytes)
{
    /* Empty is a value too; a NULL pointer would bind NULL. See above for the result. */
    (void)sqlite3_bind_blob64(statement, at, bytes.len == 0 ? "" : bytes.ptr, bytes.len,
                              SQLITE_STATIC);
}

void sqlite_bind_text(struct sqlite3_stmt *statement, int at, struct span text)
{
    (void)sqlite3_bind_text64(statement, at, text.len == 0 ? "" : text.ptr, text.len, SQLITE_STATIC,
                              SQLITE_UTF8); /* see above */
}

int64_t sqlite_int(struct sqlite3_stmt *statement, int at)
{
    return sqlite3_column_int64(statement, at);
}

struct span sqlite_bytes(struct sqlite3_stmt *statement, int at)
{
    const char *ptr = sqlite3_column_blob(statement, at);
    int len = sqlite3_column_bytes(statement, at);
    return ptr == NULL || len <= 0 ? span_of("", 0) : span_of(ptr, (size_t)len);
}

uint32_t sqlite_u32(struct sqlite3_stmt *statement, int at, uint32_t max, bool *damaged)
{
    int64_t value = sqlite3_column_int64(statement, at);
    if (value < 0 || value > (int64_t)max) {
        *damaged = true;
        return 0;
    }
    return (uint32_t)value;
}

void sqlite_exact(struct sqlite3_stmt *statement, int at, void *to, size_t len, bool *damaged)
{
    struct span bytes = sqlite_bytes(statement, at);
    if (bytes.len != len) {
        *damaged = true;
        return;
    }
    memcpy(to, bytes.ptr, len);
}

static void take_receipt(struct sqlite3_stmt *statement, struct receipt *ret, bool *damaged)
{
    ret->state =
        (enum receipt_state)sqlite_u32(statement, COLUMN_state, RECEIPT_STATE_COUNT - 1, damaged);
    ret->attempt = sqlite_u32(statement, COLUMN_attempt, UINT32_MAX, damaged);
    ret->version = sqlite_u32(statement, COLUMN_version, UINT32_MAX, damaged);
    ret->marks = sqlite_u32(statement, COLUMN_marks, RECEIPT_MARKS_ALL, damaged);
    ret->token = (uint64_t)sqlite_int(statement, COLUMN_token);
    ret->lease_until_ms = sqlite_int(statement, COLUMN_lease_until_ms);
    ret->due_ms = sqlite_int(statement, COLUMN_due_ms);
    ret->expire_ms = sqlite_int(statement, COLUMN_expire_ms);
}

bool sqlite_row(const struct sqlite_store *s, struct sqlite3_stmt *statement, struct store_row *ret)
{
    struct store_row row = {.id = sqlite_int(statement, COLUMN_id)};
    bool damaged = false;
    sqlite_exact(statement, COLUMN_operation_id, row.operation_id, OPERATION_ID_BYTES, &damaged);
    sqlite_exact(statement, COLUMN_identity, row.identity.bytes, sizeof(row.identity.bytes),
                 &damaged);
    sqlite_exact(statement, COLUMN_print, row.print.bytes, sizeof(row.print.bytes), &damaged);
    take_receipt(statement, &row.receipt, &damaged);
    row.lease_is_dead =
        receipt_is_leased(row.receipt.state) && sqlite_int(statement, COLUMN_epoch) != s->epoch;
    row.owner = sqlite_bytes(statement, COLUMN_owner);
    row.scope = sqlite_bytes(statement, COLUMN_scope);
    row.key = sqlite_bytes(statement, COLUMN_key);
    row.route = sqlite_bytes(statement, COLUMN_route);
    row.print_mode = sqlite_bytes(statement, COLUMN_print_mode);
    row.members = sqlite_bytes(statement, COLUMN_members);
    row.method = sqlite_bytes(statement, COLUMN_method);
    row.target = sqlite_bytes(statement, COLUMN_target);
    row.labels = sqlite_bytes(statement, COLUMN_labels);
    row.attempts = sqlite_bytes(statement, COLUMN_attempts);
    row.created_ms = sqlite_int(statement, COLUMN_created_ms);
    row.updated_ms = sqlite_int(statement, COLUMN_updated_ms);
    row.repeats = sqlite_u32(statement, COLUMN_repeats, UINT32_MAX, &damaged);
    row.last_repeat_ms = sqlite_int(statement, COLUMN_last_repeat_ms);
    row.end = (uint8_t)sqlite_u32(statement, COLUMN_end, UINT8_MAX, &damaged);
    row.status = (uint16_t)sqlite_u32(statement, COLUMN_status, UINT16_MAX, &damaged);
    row.evidence_until_ms = sqlite_int(statement, COLUMN_evidence_until_ms);
    row.answer_kept = sqlite_int(statement, COLUMN_answer_kept) != 0;
    row.claimed_by = sqlite_bytes(statement, COLUMN_claimed_by);
    row.claimed_ms = sqlite_int(statement, COLUMN_claimed_ms);
    row.probe = (uint8_t)sqlite_u32(statement, COLUMN_probe, PROBE_RESULT_COUNT - 1, &damaged);
    row.probe_count = sqlite_u32(statement, COLUMN_probe_count, UINT32_MAX, &damaged);
    row.probe_due_ms = sqlite_int(statement, COLUMN_probe_due_ms);
    row.probes = sqlite_bytes(statement, COLUMN_probes);
    row.promised_ms = sqlite_int(statement, COLUMN_promised_ms);
    row.window_ms = sqlite_int(statement, COLUMN_window_ms);
    row.window_attempts = sqlite_u32(statement, COLUMN_window_attempts, UINT32_MAX, &damaged);
    row.retry_ms = sqlite_int(statement, COLUMN_retry_ms);
    *ret = row;
    return !damaged;
}

enum gw_status sqlite_run(struct sqlite_store *s, enum sqlite_sql which, const char *doing,
                          struct gw_error *err)
{
    int rc = sqlite3_step(s->statements[which]);
    /* While the step's own message is there; the reset repeats the code. */
    enum gw_status status = rc == SQLITE_DONE ? GW_OK : sqlite_fail(s, rc, doing, err);
    (void)sqlite3_reset(s->statements[which]);
    return status;
}
