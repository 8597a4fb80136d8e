/* What observe mode saw, in the SQLite backend: added at one end, dropped at the
 * other, read by identity so that what belongs together comes together. */
#include <sqlite3.h>

#include "store/sqlite.h"

/* Columns of OBSERVED_GET, in its order; from at_ms on also the places of OBSERVE. */
enum {
    OBSERVED_id,
    OBSERVED_at_ms,
    OBSERVED_route,
    OBSERVED_identity,
    OBSERVED_print,
    OBSERVED_members,
    OBSERVED_method,
    OBSERVED_target,
    OBSERVED_fault,
    OBSERVED_end,
    OBSERVED_means,
    OBSERVED_status,
    OBSERVED_answered_ms,
    OBSERVED_request_bytes,
    OBSERVED_answer_bytes,
};

enum gw_status sqlite_observe_add(struct store_backend *backend, const struct observation *seen,
                                  struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite3_stmt *statement = s->statements[SQL_OBSERVE];
    sqlite_bind_int(statement, OBSERVED_at_ms, seen->at_ms);
    sqlite_bind_bytes(statement, OBSERVED_route, seen->route);
    sqlite_bind_bytes(statement, OBSERVED_identity,
                      span_of((const char *)seen->identity.bytes, sizeof(seen->identity.bytes)));
    sqlite_bind_bytes(statement, OBSERVED_print,
                      span_of((const char *)seen->print.bytes, sizeof(seen->print.bytes)));
    sqlite_bind_bytes(statement, OBSERVED_members, seen->members);
    sqlite_bind_bytes(statement, OBSERVED_method, seen->method);
    sqlite_bind_bytes(statement, OBSERVED_target, seen->target);
    sqlite_bind_bytes(statement, OBSERVED_fault, seen->fault);
    sqlite_bind_int(statement, OBSERVED_end, seen->end);
    sqlite_bind_int(statement, OBSERVED_means, seen->means);
    sqlite_bind_int(statement, OBSERVED_status, seen->status);
    sqlite_bind_int(statement, OBSERVED_answered_ms, seen->answered_ms);
    sqlite_bind_int(statement, OBSERVED_request_bytes, (int64_t)seen->request_bytes);
    sqlite_bind_int(statement, OBSERVED_answer_bytes, (int64_t)seen->answer_bytes);
    enum gw_status status = sqlite_run(s, SQL_OBSERVE, "writing an observation to", err);
    int64_t dropped = sqlite3_last_insert_rowid(s->db) - OBSERVED_ROWS_MAX;
    if (status != GW_OK || dropped <= 0)
        return status;
    sqlite_bind_int(s->statements[SQL_OBSERVED_DROP], 1, dropped);
    return sqlite_run(s, SQL_OBSERVED_DROP, "dropping the oldest observation from", err);
}

/* false: no observation can look like this. */
static bool observation_of(sqlite3_stmt *statement, struct observation *ret)
{
    struct gw_error ignored;
    bool damaged = false;
    *ret = (struct observation){.id = sqlite_int(statement, OBSERVED_id),
                                .at_ms = sqlite_int(statement, OBSERVED_at_ms)};
    sqlite_exact(statement, OBSERVED_identity, ret->identity.bytes, sizeof(ret->identity.bytes),
                 &damaged);
    sqlite_exact(statement, OBSERVED_print, ret->print.bytes, sizeof(ret->print.bytes), &damaged);
    ret->route = sqlite_bytes(statement, OBSERVED_route);
    ret->members = sqlite_bytes(statement, OBSERVED_members);
    ret->method = sqlite_bytes(statement, OBSERVED_method);
    ret->target = sqlite_bytes(statement, OBSERVED_target);
    ret->fault = sqlite_bytes(statement, OBSERVED_fault);
    ret->end = (uint8_t)sqlite_u32(statement, OBSERVED_end, UINT8_MAX, &damaged);
    ret->means = (uint8_t)sqlite_u32(statement, OBSERVED_means, UINT8_MAX, &damaged);
    ret->status = (uint16_t)sqlite_u32(statement, OBSERVED_status, UINT16_MAX, &damaged);
    ret->answered_ms = sqlite_int(statement, OBSERVED_answered_ms);
    ret->request_bytes = (uint64_t)sqlite_int(statement, OBSERVED_request_bytes);
    ret->answer_bytes = (uint64_t)sqlite_int(statement, OBSERVED_answer_bytes);
    return !damaged && observation_check(ret, &ignored) == GW_OK;
}

/* A damaged observation is passed over: a report is of what is left. */
static enum gw_status add_one(struct sqlite_store *s, struct store_op *op, int64_t id,
                              struct gw_error *err)
{
    sqlite3_stmt *statement = s->statements[SQL_OBSERVED_GET];
    struct observation seen;
    enum gw_status status = GW_OK;
    sqlite_bind_int(statement, 1, id);
    int rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "reading an observation from", err);
    if (rc == SQLITE_ROW && observation_of(statement, &seen)) {
        struct observation *entry = op_add_observation(op);
        if (entry == NULL || !observation_copy(op->arena, &seen, entry))
            status = op_no_memory(err);
    }
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status;
}

/* An entry of the index: enough to know whether its row is wanted. */
static struct observation entry_of(sqlite3_stmt *walk)
{
    bool damaged = false;
    struct observation entry = {.id = sqlite_int(walk, 0), .at_ms = sqlite_int(walk, 2)};
    sqlite_exact(walk, 1, entry.identity.bytes, sizeof(entry.identity.bytes), &damaged);
    entry.route = sqlite_bytes(walk, 3);
    return entry;
}

/* Is there no more to be looked at in this go? The page is full, or it was long. */
static bool is_enough(struct store_op *op, const struct observation *last, uint32_t examined)
{
    if (op->out.observed_count == observed_rows_max(op))
        return true;
    if (examined < STORE_PAGE_EXAMINED_MAX)
        return false;
    op->out.next_cursor = last->id;
    op->out.next_identity = last->identity;
    return true;
}

/* Along one statement, until it ends or there is enough. */
static enum gw_status walk(struct sqlite_store *s, sqlite3_stmt *statement, struct store_op *op,
                           uint32_t *examined, struct gw_error *err)
{
    enum gw_status status = GW_OK;
    int rc = SQLITE_ROW;
    for (bool goes_on = true; goes_on && status == GW_OK;) {
        rc = sqlite3_step(statement);
        if (rc != SQLITE_ROW)
            break;
        struct observation entry = entry_of(statement);
        if (observed_fits(op, &entry))
            status = add_one(s, op, entry.id, err);
        (*examined)++;
        goes_on = !is_enough(op, &entry, *examined);
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "reading the observations of", err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status;
}

/* The rest of the identity that the page before ended in, then those behind it. */
enum gw_status sqlite_observed_read(struct store_backend *backend, struct store_op *op,
                                    struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite3_stmt *same = s->statements[SQL_OBSERVED_SAME];
    sqlite3_stmt *next = s->statements[SQL_OBSERVED_NEXT];
    const struct span after = span_of((const char *)op->in.observed.after_identity.bytes,
                                      sizeof(op->in.observed.after_identity.bytes));
    uint32_t examined = 0;
    op->out.next_cursor = 0;
    sqlite_bind_bytes(same, 1, after);
    sqlite_bind_int(same, 2, op->in.observed.after_id);
    enum gw_status status = walk(s, same, op, &examined, err);
    bool is_full = op->out.observed_count == observed_rows_max(op);
    if (status != GW_OK || is_full || op->out.next_cursor != 0)
        return status;
    sqlite_bind_bytes(next, 1, after);
    return walk(s, next, op, &examined, err);
}
