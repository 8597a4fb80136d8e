/* One row of the SQLite backend: found, inserted, changed, removed; its bodies and
 * the index of its labels go with it. */
#include <sqlite3.h>

#include "store/row_pack.h"
#include "store/sqlite.h"

static sqlite3_stmt *statement_for(struct sqlite_store *s, const struct row_key *key)
{
    sqlite3_stmt *statement = NULL;
    switch (key->by) {
    case ROW_BY_ID:
        statement = s->statements[SQL_GET_BY_ID];
        sqlite_bind_int(statement, 1, key->id);
        break;
    case ROW_BY_IDENTITY:
        statement = s->statements[SQL_GET_BY_IDENTITY];
        sqlite_bind_bytes(statement, 1,
                          span_of((const char *)key->identity.bytes, sizeof(key->identity.bytes)));
        break;
    case ROW_BY_OPERATION:
        statement = s->statements[SQL_GET_BY_OPERATION];
        sqlite_bind_text(statement, 1, key->operation_id);
        break;
    }
    return statement;
}

/* What a damaged row can still say about itself. */
static enum gw_status damaged(const struct sqlite_store *s, sqlite3_stmt *statement,
                              struct gw_error *err)
{
    struct span id = sqlite_bytes(statement, COLUMN_operation_id);
    bool is_id = id.len == OPERATION_ID_BYTES && memcmp(id.ptr, "op_", 3) == 0;
    return gw_error_set(err, GW_CORRUPT,
                        "operation %.*s (row %lld) in '%s' is damaged: a column holds what no "
                        "receipt can",
                        is_id ? (int)id.len : 1, is_id ? id.ptr : "?",
                        (long long)sqlite_int(statement, COLUMN_id), s->where.path);
}

enum gw_status sqlite_get(struct store_backend *backend, const struct row_key *key,
                          struct arena *arena, struct store_row *ret, bool *ret_found,
                          struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite3_stmt *statement = statement_for(s, key);
    struct store_row row;
    enum gw_status status = GW_OK;
    int rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "reading a receipt from", err);
    else if (rc == SQLITE_ROW && !sqlite_row(s, statement, &row))
        status = damaged(s, statement, err);
    else if (rc == SQLITE_ROW && !row_copy(arena, &row, ret))
        status = op_no_memory(err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    *ret_found = rc == SQLITE_ROW;
    return status;
}

static enum gw_status load_one(struct sqlite_store *s, enum sqlite_sql which, int64_t id,
                               struct arena *arena, struct span *ret, struct gw_error *err)
{
    sqlite3_stmt *statement = s->statements[which];
    enum gw_status status = GW_OK;
    sqlite_bind_int(statement, 1, id);
    int rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "reading a body from", err);
    else if (rc == SQLITE_ROW && !arena_copy(arena, sqlite_bytes(statement, 0), ret))
        status = op_no_memory(err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status;
}

enum gw_status sqlite_load(struct store_backend *backend, uint32_t load, struct arena *arena,
                           struct store_row *row, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    enum gw_status status = GW_OK;
    if ((load & LOAD_REQUEST) != 0)
        status = load_one(s, SQL_GET_REQUEST, row->id, arena, &row->request, err);
    if (status == GW_OK && (load & LOAD_ANSWER) != 0 && row->answer_kept) {
        status = load_one(s, SQL_GET_ANSWER, row->id, arena, &row->answer, err);
        if (status == GW_OK && row->answer.len == 0)
            status = gw_error_set(err, GW_CORRUPT, "operation %s: its answer is gone from '%s'",
                                  row->operation_id, s->where.path);
    }
    if (status == GW_OK && (load & LOAD_KEPT) != 0)
        status = load_one(s, SQL_GET_KEPT, row->id, arena, &row->kept, err);
    return status;
}

/* 0 belongs to no life: a dead lease stays dead. */
static int64_t lease_epoch(const struct sqlite_store *s, const struct store_row *row)
{
    return receipt_is_leased(row->receipt.state) && !row->lease_is_dead ? s->epoch : 0;
}

static void bind_receipt(sqlite3_stmt *statement, const struct receipt *receipt)
{
    sqlite_bind_int(statement, COLUMN_state + 1, receipt->state);
    sqlite_bind_int(statement, COLUMN_attempt + 1, receipt->attempt);
    sqlite_bind_int(statement, COLUMN_version + 1, receipt->version);
    sqlite_bind_int(statement, COLUMN_marks + 1, receipt->marks);
    sqlite_bind_int(statement, COLUMN_token + 1, (int64_t)receipt->token);
    sqlite_bind_int(statement, COLUMN_lease_until_ms + 1, receipt->lease_until_ms);
    sqlite_bind_int(statement, COLUMN_due_ms + 1, receipt->due_ms);
    sqlite_bind_int(statement, COLUMN_expire_ms + 1, receipt->expire_ms);
}

/* All that may change, as {changes} and {numbered} number it. */
static void bind_changeable(const struct sqlite_store *s, sqlite3_stmt *statement,
                            const struct store_row *row)
{
    bind_receipt(statement, &row->receipt);
    sqlite_bind_int(statement, COLUMN_epoch + 1, lease_epoch(s, row));
    sqlite_bind_bytes(statement, COLUMN_print + 1,
                      span_of((const char *)row->print.bytes, sizeof(row->print.bytes)));
    sqlite_bind_bytes(statement, COLUMN_print_mode + 1, row->print_mode);
    sqlite_bind_bytes(statement, COLUMN_members + 1, row->members);
    sqlite_bind_bytes(statement, COLUMN_method + 1, row->method);
    sqlite_bind_bytes(statement, COLUMN_target + 1, row->target);
    sqlite_bind_bytes(statement, COLUMN_labels + 1, row->labels);
    sqlite_bind_int(statement, COLUMN_updated_ms + 1, row->updated_ms);
    sqlite_bind_int(statement, COLUMN_repeats + 1, row->repeats);
    sqlite_bind_int(statement, COLUMN_last_repeat_ms + 1, row->last_repeat_ms);
    sqlite_bind_int(statement, COLUMN_end + 1, row->end);
    sqlite_bind_int(statement, COLUMN_status + 1, row->status);
    sqlite_bind_bytes(statement, COLUMN_attempts + 1, row->attempts);
    sqlite_bind_int(statement, COLUMN_evidence_until_ms + 1, row->evidence_until_ms);
    sqlite_bind_int(statement, COLUMN_answer_kept + 1, row->answer_kept);
    sqlite_bind_bytes(statement, COLUMN_claimed_by + 1, row->claimed_by);
    sqlite_bind_int(statement, COLUMN_claimed_ms + 1, row->claimed_ms);
    sqlite_bind_int(statement, COLUMN_probe + 1, row->probe);
    sqlite_bind_int(statement, COLUMN_probe_count + 1, row->probe_count);
    sqlite_bind_int(statement, COLUMN_probe_due_ms + 1, row->probe_due_ms);
    sqlite_bind_bytes(statement, COLUMN_probes + 1, row->probes);
    sqlite_bind_int(statement, COLUMN_promised_ms + 1, row->promised_ms);
    sqlite_bind_int(statement, COLUMN_window_ms + 1, row->window_ms);
    sqlite_bind_int(statement, COLUMN_window_attempts + 1, row->window_attempts);
    sqlite_bind_int(statement, COLUMN_retry_ms + 1, row->retry_ms);
}

static void bind_fixed(sqlite3_stmt *statement, int64_t id, const struct store_row *row)
{
    sqlite_bind_int(statement, COLUMN_id + 1, id);
    sqlite_bind_text(statement, COLUMN_operation_id + 1,
                     span_of(row->operation_id, OPERATION_ID_BYTES));
    sqlite_bind_bytes(statement, COLUMN_identity + 1,
                      span_of((const char *)row->identity.bytes, sizeof(row->identity.bytes)));
    sqlite_bind_bytes(statement, COLUMN_owner + 1, row->owner);
    sqlite_bind_bytes(statement, COLUMN_scope + 1, row->scope);
    sqlite_bind_bytes(statement, COLUMN_key + 1, row->key);
    sqlite_bind_bytes(statement, COLUMN_route + 1, row->route);
    sqlite_bind_int(statement, COLUMN_created_ms + 1, row->created_ms);
}

/* `which` adds or removes; labels that are there twice count once. */
static enum gw_status each_label(struct sqlite_store *s, enum sqlite_sql which, int64_t id,
                                 struct span labels, struct gw_error *err)
{
    sqlite3_stmt *statement = s->statements[which];
    struct label_step step = {0};
    struct label label;
    enum gw_status status = GW_OK;
    while (status == GW_OK && labels_next(labels, &step, &label)) {
        sqlite_bind_bytes(statement, 1, label.name);
        sqlite_bind_bytes(statement, 2, label.value);
        sqlite_bind_int(statement, 3, id);
        status = sqlite_run(s, which, "writing labels to", err);
    }
    return status;
}

static enum gw_status set_body(struct sqlite_store *s, enum sqlite_sql which, int64_t id,
                               struct span body, struct gw_error *err)
{
    sqlite3_stmt *statement = s->statements[which];
    sqlite_bind_int(statement, 1, id);
    if (body.len > 0)
        sqlite_bind_bytes(statement, 2, body);
    else
        (void)sqlite3_bind_null(statement, 2); /* cannot fail: the place is there */
    return sqlite_run(s, which, "writing a body to", err);
}

enum gw_status sqlite_insert(struct store_backend *backend, const struct store_row *row,
                             int64_t *ret_id, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite3_stmt *statement = s->statements[SQL_INSERT];
    int64_t id = s->next_id;
    gw_assert(s->next_id < s->reserved_id || s->wanted_id > s->next_id);
    bind_fixed(statement, id, row);
    bind_changeable(s, statement, row);
    sqlite_bind_int(statement, COLUMN_request_kept + 1, row->request.len > 0);
    enum gw_status status = sqlite_run(s, SQL_INSERT, "writing a receipt to", err);
    if (status != GW_OK)
        return status;
    if (sqlite3_changes(s->db) == 0) {
        *ret_id = 0;
        return GW_OK;
    }
    s->next_id++;
    status = each_label(s, SQL_ADD_LABEL, id, row->labels, err);
    if (status == GW_OK && row->request.len > 0)
        status = set_body(s, SQL_SET_REQUEST, id, row->request, err);
    if (status == GW_OK && row->kept.len > 0)
        status = set_body(s, SQL_SET_KEPT, id, row->kept, err);
    if (status == GW_OK)
        *ret_id = id;
    return status;
}

enum gw_status sqlite_set_answer(struct sqlite_store *s, int64_t id, struct span answer,
                                 struct gw_error *err)
{
    gw_assert(answer.len > 0);
    return set_body(s, SQL_SET_ANSWER, id, answer, err);
}

static enum gw_status update_labels(struct sqlite_store *s, const struct row_change *change,
                                    struct gw_error *err)
{
    if (span_equal(change->old->labels, change->row->labels))
        return GW_OK;
    enum gw_status status =
        each_label(s, SQL_REMOVE_LABEL, change->row->id, change->old->labels, err);
    return status == GW_OK ? each_label(s, SQL_ADD_LABEL, change->row->id, change->row->labels, err)
                           : status;
}

static enum gw_status rename_row(struct sqlite_store *s, const struct store_row *row,
                                 struct gw_error *err)
{
    sqlite3_stmt *statement = s->statements[SQL_RENAME];
    sqlite_bind_int(statement, 1, row->id);
    sqlite_bind_bytes(statement, 2,
                      span_of((const char *)row->identity.bytes, sizeof(row->identity.bytes)));
    sqlite_bind_bytes(statement, 3, row->key);
    return sqlite_run(s, SQL_RENAME, "writing a key to", err);
}

enum gw_status sqlite_update(struct store_backend *backend, const struct row_change *change,
                             struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    const struct store_row *row = change->row;
    sqlite3_stmt *statement = s->statements[SQL_UPDATE];
    sqlite_bind_int(statement, 1, row->id);
    bind_changeable(s, statement, row);
    if (change->set_request)
        sqlite_bind_int(statement, COLUMN_request_kept + 1, row->request.len > 0);
    else
        (void)sqlite3_bind_null(statement, COLUMN_request_kept + 1); /* the place is there */
    enum gw_status status = sqlite_run(s, SQL_UPDATE, "writing a receipt to", err);
    if (status == GW_OK)
        gw_assert(sqlite3_changes(s->db) == 1);
    if (status == GW_OK)
        status = update_labels(s, change, err);
    if (status == GW_OK && change->set_identity)
        status = rename_row(s, row, err);
    /* A row that has no answer and gets none is left alone. */
    if (status == GW_OK && change->set_answer && (row->answer_kept || change->old->answer_kept))
        status = set_body(s, SQL_SET_ANSWER, row->id, row->answer, err);
    if (status == GW_OK && change->set_request)
        status = set_body(s, SQL_SET_REQUEST, row->id, row->request, err);
    if (status == GW_OK && change->set_kept)
        status = set_body(s, SQL_SET_KEPT, row->id, row->kept, err);
    return status;
}

enum gw_status sqlite_remove(struct store_backend *backend, const struct store_row *old,
                             struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite_bind_int(s->statements[SQL_REMOVE], 1, old->id);
    sqlite_bind_int(s->statements[SQL_REMOVE_BODIES], 1, old->id);
    enum gw_status status = sqlite_run(s, SQL_REMOVE, "removing a receipt from", err);
    if (status == GW_OK)
        status = sqlite_run(s, SQL_REMOVE_BODIES, "removing a body from", err);
    return status == GW_OK ? each_label(s, SQL_REMOVE_LABEL, old->id, old->labels, err) : status;
}

enum gw_status sqlite_touch(struct store_backend *backend, int64_t id, int64_t now_ms,
                            bool *ret_found, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite_bind_int(s->statements[SQL_TOUCH], 1, id);
    sqlite_bind_int(s->statements[SQL_TOUCH], 2, now_ms);
    enum gw_status status = sqlite_run(s, SQL_TOUCH, "counting a repeat in", err);
    *ret_found = status == GW_OK && sqlite3_changes(s->db) > 0;
    return status;
}
