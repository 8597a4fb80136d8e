/* One local effect inside the open transaction: the receipt, the row of the effect and
 * the answer that it returned stand or fall together, by a savepoint of their own. The
 * other operations of the batch must never lose anything by it. */
#include <sqlite3.h>

#include "store/apply.h"
#include "store/sqlite.h"

/* Steps of the virtual machine between two looks at the clock. */
#define LOOK_STEPS 1000

/* Not 0: stop. */
static int is_out_of_time(void *ctx)
{
    const struct sqlite_store *s = ctx;
    return s->clock->ticks_ms(s->clock) >= s->effect_until_ticks;
}

static void bind(const struct sqlite_effect *effect, const struct store_value *values)
{
    for (int i = 0; i < effect->parameter_count; i++) {
        const struct store_value *value = &values[effect->value_of[i]];
        /* Binding fails only without memory: the parameter is NULL then, and the statement
         * is refused by the step, which needs more of it. */
        switch (value->kind) {
        case STORE_VALUE_NULL:
            (void)sqlite3_bind_null(effect->statement, i + 1);
            break;
        case STORE_VALUE_INTEGER:
            (void)sqlite3_bind_int64(effect->statement, i + 1, value->integer);
            break;
        case STORE_VALUE_REAL:
            (void)sqlite3_bind_double(effect->statement, i + 1, value->real);
            break;
        case STORE_VALUE_TEXT:
            sqlite_bind_text(effect->statement, i + 1, value->text);
            break;
        }
    }
}

static enum effect_refusal refusal_of(int rc)
{
    switch (rc) {
    case SQLITE_CONSTRAINT_CHECK:
        return EFFECT_CHECK;
    case SQLITE_CONSTRAINT_NOTNULL:
        return EFFECT_NOT_NULL;
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
        return EFFECT_UNIQUE;
    case SQLITE_CONSTRAINT_FOREIGNKEY:
        return EFFECT_FOREIGN_KEY;
    }
    int primary = rc & 0xff;
    return primary == SQLITE_CONSTRAINT || primary == SQLITE_MISMATCH ? EFFECT_CONSTRAINT
                                                                      : EFFECT_FAILED;
}

/* Is it the statement that failed, or the disk and the memory under all of them? */
static bool is_of_statement(int rc)
{
    int primary = rc & 0xff;
    return primary == SQLITE_CONSTRAINT || primary == SQLITE_MISMATCH || primary == SQLITE_ERROR ||
           primary == SQLITE_TOOBIG || primary == SQLITE_AUTH || primary == SQLITE_RANGE ||
           primary == SQLITE_SCHEMA;
}

/* DEFERRABLE rules are looked at by the commit, where they would fail for everybody. */
static bool owes_rows(struct sqlite_store *s)
{
    int owed = 0, most = 0;
    int rc = sqlite3_db_status(s->db, SQLITE_DBSTATUS_DEFERRED_FKS, &owed, &most, 0);
    gw_assert(rc == SQLITE_OK);
    return owed != 0;
}

/* The whole run of the statement: what it breaks may only show at its end. */
static int step_all(struct sqlite_store *s, const struct sqlite_effect *effect, struct gw_buf *json,
                    enum effect_refusal *ret_refusal)
{
    struct sqlite3_stmt *statement = effect->statement;
    int rc = sqlite3_step(statement);
    *ret_refusal = EFFECT_DONE;
    if (rc == SQLITE_DONE)
        *ret_refusal = EFFECT_NO_ROW;
    if (rc == SQLITE_ROW) {
        *ret_refusal = sqlite_answer_row(statement, json);
        rc = sqlite3_step(statement);
    }
    if (rc == SQLITE_ROW) {
        *ret_refusal = EFFECT_MANY_ROWS;
        return SQLITE_DONE;
    }
    if (rc == SQLITE_DONE && *ret_refusal == EFFECT_DONE && owes_rows(s))
        *ret_refusal = EFFECT_FOREIGN_KEY;
    return rc;
}

/* What the database said, for the log. Without room for it there is none. */
static void note_reason(struct sqlite_store *s, struct store_op *op)
{
    if (!arena_copy(op->arena, span_str(sqlite3_errmsg(s->db)), &op->out.reason))
        op->out.reason = span_of("", 0);
}

static enum gw_status run_statement(struct sqlite_store *s, struct store_op *op,
                                    struct gw_buf *json, struct gw_error *err)
{
    const struct sqlite_effect *effect = &s->effects[op->in.local.effect];
    enum gw_status status = GW_OK;
    bind(effect, op->in.local.values);
    s->effect_until_ticks = s->clock->ticks_ms(s->clock) + effect->effect->time_max_ms;
    s->guard = SQLITE_GUARD_STATEMENT; /* the schema may have changed: it is prepared anew then */
    sqlite3_progress_handler(s->db, LOOK_STEPS, is_out_of_time, s);
    int rc = step_all(s, effect, json, &op->out.refusal);
    sqlite3_progress_handler(s->db, 0, NULL, NULL);
    s->guard = SQLITE_GUARD_OFF;
    if (rc != SQLITE_DONE && is_of_statement(rc)) {
        op->out.refusal = refusal_of(rc);
        note_reason(s, op);
    } else if (rc == SQLITE_INTERRUPT) {
        op->in.local.is_slow = true;
        op->out.status = gw_error_set(err, GW_LIMIT,
                                      "local effect of route %.*s: took longer than "
                                      "%lld ms and was taken back",
                                      (int)effect->effect->name.len, effect->effect->name.ptr,
                                      (long long)effect->effect->time_max_ms);
    } else if (rc != SQLITE_DONE) {
        status = sqlite_fail(s, rc, "running a local effect in", err);
    }
    (void)sqlite3_reset(effect->statement);          /* repeats the error that was just reported */
    (void)sqlite3_clear_bindings(effect->statement); /* cannot fail; the values end with the op */
    return status;
}

/* The answer, as it will be replayed. false: no room for it in the flow's memory. */
static bool pack_answer(const struct store_effect *effect, struct store_op *op, struct span json)
{
    struct http_field type = {SPAN("Content-Type"), SPAN("application/json")};
    struct stored_message message = {.status = effect->status, .body_kept = true};
    struct gw_buf packed;
    if (effect->status != 204) {
        message.fields = &type;
        message.field_count = 1;
        message.body = json;
        message.body_bytes = json.len;
    }
    gw_buf_init(&packed, json.len + 4096);
    bool ok = message_encode(&packed, &message) &&
              arena_copy(op->arena, gw_buf_span(&packed), &op->out.rows->answer);
    gw_buf_fini(&packed);
    return ok;
}

static enum gw_status write_row(struct sqlite_store *s, struct store_op *op,
                                const struct store_row *old, struct gw_error *err)
{
    struct store_row *row = op->out.rows;
    if (old == NULL) {
        enum gw_status status = sqlite_insert(&s->base, row, &row->id, err);
        gw_implies(status == GW_OK, row->id > 0); /* nobody has the key: it was looked up */
        return status;
    }
    const struct row_change change = {.old = old, .row = row, .set_request = true};
    return sqlite_update(&s->base, &change, err);
}

static enum gw_status run_all(struct sqlite_store *s, struct store_op *op,
                              const struct store_row *old, struct gw_error *err)
{
    const struct store_effect *effect = s->effects[op->in.local.effect].effect;
    struct gw_buf json;
    gw_buf_init(&json, (size_t)effect->answer_max);
    enum gw_status status = write_row(s, op, old, err);
    if (status == GW_OK)
        status = run_statement(s, op, &json, err);
    bool is_done = status == GW_OK && op->out.status == GW_OK && op->out.refusal == EFFECT_DONE;
    if (is_done && !pack_answer(effect, op, gw_buf_span(&json)))
        op->out.status = op_no_memory(err);
    else if (is_done)
        status = sqlite_set_answer(s, op->out.rows->id, op->out.rows->answer, err);
    gw_buf_fini(&json);
    return status;
}

enum gw_status sqlite_local(struct store_backend *backend, struct store_op *op,
                            const struct store_row *old, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    gw_assert(op->in.local.effect < s->effect_count);
    enum gw_status status = sqlite_run(s, SQL_LOCAL_BEGIN, "beginning a local effect in", err);
    if (status == GW_OK)
        status = run_all(s, op, old, err);
    /* Where SQLite has undone the whole transaction by itself there is no savepoint left. */
    if (status != GW_OK || sqlite3_get_autocommit(s->db) != 0)
        return status;
    if (op->out.status != GW_OK || op->out.refusal != EFFECT_DONE)
        status = sqlite_run(s, SQL_LOCAL_UNDO, "taking a local effect back in", err);
    if (status == GW_OK)
        status = sqlite_run(s, SQL_LOCAL_END, "ending a local effect in", err);
    return status;
}
