/* Plans of the SQLite backend. Their answers and entries lie in a table of their own,
 * so that neither a list nor a step of progress touches them. */
#include <sqlite3.h>

#include "store/plan.h"
#include "store/sqlite.h"

/* Columns of PLAN_GET and PLANS, in their order; one behind it the places of PLAN_INSERT
 * and PLAN_UPDATE. */
enum {
    PLAN_COLUMN_plan_id,
    PLAN_COLUMN_state,
    PLAN_COLUMN_created_ms,
    PLAN_COLUMN_expires_ms,
    PLAN_COLUMN_apply_at_ms,
    PLAN_COLUMN_ended_ms,
    PLAN_COLUMN_actor,
    PLAN_COLUMN_applied_by,
    PLAN_COLUMN_filter,
    PLAN_COLUMN_verdict,
    PLAN_COLUMN_note,
    PLAN_COLUMN_is_forced,
    PLAN_COLUMN_count,
    PLAN_COLUMN_settled,
    PLAN_COLUMN_changed,
    PLAN_COLUMN_refused,
};

static enum gw_status make_room(struct sqlite_store *s, const struct plan_entry *wanted,
                                struct gw_error *err);

static void bind_plan(sqlite3_stmt *statement, const struct plan_entry *entry)
{
    sqlite_bind_text(statement, PLAN_COLUMN_plan_id + 1, span_of(entry->plan_id, PLAN_ID_BYTES));
    sqlite_bind_int(statement, PLAN_COLUMN_state + 1, entry->state);
    sqlite_bind_int(statement, PLAN_COLUMN_created_ms + 1, entry->created_ms);
    sqlite_bind_int(statement, PLAN_COLUMN_expires_ms + 1, entry->expires_ms);
    sqlite_bind_int(statement, PLAN_COLUMN_apply_at_ms + 1, entry->apply_at_ms);
    sqlite_bind_int(statement, PLAN_COLUMN_ended_ms + 1, entry->ended_ms);
    sqlite_bind_bytes(statement, PLAN_COLUMN_actor + 1, entry->actor);
    sqlite_bind_bytes(statement, PLAN_COLUMN_applied_by + 1, entry->applied_by);
    sqlite_bind_bytes(statement, PLAN_COLUMN_filter + 1, entry->where);
    sqlite_bind_bytes(statement, PLAN_COLUMN_verdict + 1, entry->verdict);
    sqlite_bind_bytes(statement, PLAN_COLUMN_note + 1, entry->note);
    sqlite_bind_int(statement, PLAN_COLUMN_is_forced + 1, entry->force);
    sqlite_bind_int(statement, PLAN_COLUMN_count + 1, entry->count);
    sqlite_bind_int(statement, PLAN_COLUMN_settled + 1, entry->settled);
    sqlite_bind_int(statement, PLAN_COLUMN_changed + 1, entry->changed);
    sqlite_bind_int(statement, PLAN_COLUMN_refused + 1, entry->refused);
}

/* false: no plan can look like this. Its spans live until the statement moves. */
static bool plan_of(sqlite3_stmt *statement, struct plan_entry *ret)
{
    struct gw_error ignored;
    bool damaged = false;
    *ret = (struct plan_entry){.created_ms = sqlite_int(statement, PLAN_COLUMN_created_ms)};
    sqlite_exact(statement, PLAN_COLUMN_plan_id, ret->plan_id, PLAN_ID_BYTES, &damaged);
    ret->state =
        (enum plan_state)sqlite_u32(statement, PLAN_COLUMN_state, PLAN_STATE_COUNT - 1, &damaged);
    ret->expires_ms = sqlite_int(statement, PLAN_COLUMN_expires_ms);
    ret->apply_at_ms = sqlite_int(statement, PLAN_COLUMN_apply_at_ms);
    ret->ended_ms = sqlite_int(statement, PLAN_COLUMN_ended_ms);
    ret->actor = sqlite_bytes(statement, PLAN_COLUMN_actor);
    ret->applied_by = sqlite_bytes(statement, PLAN_COLUMN_applied_by);
    ret->where = sqlite_bytes(statement, PLAN_COLUMN_filter);
    ret->verdict = sqlite_bytes(statement, PLAN_COLUMN_verdict);
    ret->note = sqlite_bytes(statement, PLAN_COLUMN_note);
    ret->force = sqlite_int(statement, PLAN_COLUMN_is_forced) != 0;
    ret->count = sqlite_u32(statement, PLAN_COLUMN_count, UINT32_MAX, &damaged);
    ret->settled = sqlite_u32(statement, PLAN_COLUMN_settled, UINT32_MAX, &damaged);
    ret->changed = sqlite_u32(statement, PLAN_COLUMN_changed, UINT32_MAX, &damaged);
    ret->refused = sqlite_u32(statement, PLAN_COLUMN_refused, UINT32_MAX, &damaged);
    return !damaged && plan_check(ret, &ignored) == GW_OK;
}

/* In a list a damaged plan must not hide the sound ones: it is passed over. */
static bool take_plan(sqlite3_stmt *statement, struct store_op *op)
{
    struct plan_entry from;
    if (!plan_of(statement, &from))
        return true;
    struct plan_entry *entry = op_add_plan(op);
    return entry != NULL && plan_copy(op->arena, &from, entry);
}

static enum gw_status read_parts(struct sqlite_store *s, struct store_op *op,
                                 struct plan_entry *entry, struct gw_error *err)
{
    sqlite3_stmt *statement = s->statements[SQL_PLAN_PARTS];
    enum gw_status status = GW_OK;
    sqlite_bind_text(statement, 1, span_of(entry->plan_id, PLAN_ID_BYTES));
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_DONE)
        status = gw_error_set(err, GW_CORRUPT, "%s: its entries are gone from '%s'", entry->plan_id,
                              s->where.path);
    else if (rc != SQLITE_ROW)
        status = sqlite_fail(s, rc, "reading a plan from", err);
    else if (!arena_copy(op->arena, sqlite_bytes(statement, 0), &entry->items) ||
             !arena_copy(op->arena, sqlite_bytes(statement, 1), &entry->answer))
        status = op_no_memory(err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status == GW_OK ? plan_check(entry, err) : status;
}

static enum gw_status read_one(struct sqlite_store *s, const struct plans_query *query,
                               struct store_op *op, struct gw_error *err)
{
    sqlite3_stmt *statement = s->statements[SQL_PLAN_GET];
    struct plan_entry from;
    enum gw_status status = GW_OK;
    sqlite_bind_text(statement, 1, span_str(query->plan_id));
    int rc = sqlite3_step(statement);
    bool is_there = rc == SQLITE_ROW;
    if (is_there && !plan_of(statement, &from))
        status = gw_error_set(err, GW_CORRUPT, "%.*s in '%s' is damaged", PLAN_ID_BYTES,
                              query->plan_id, s->where.path);
    else if (is_there && !take_plan(statement, op))
        status = op_no_memory(err);
    else if (!is_there && rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "reading a plan from", err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    if (status == GW_OK && is_there && query->with_parts)
        status = read_parts(s, op, &op->out.plans[0], err);
    return status;
}

enum gw_status sqlite_plans_read(struct store_backend *backend, const struct plans_query *query,
                                 struct store_op *op, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    gw_implies(query->with_parts, query->plan_id != NULL);
    if (query->plan_id != NULL)
        return read_one(s, query, op, err);
    sqlite_bind_int(s->statements[SQL_PLANS], 1, STORE_PLANS_MAX);
    return sqlite_read_all(s, s->statements[SQL_PLANS], op, take_plan, err);
}

static enum gw_status set_part(struct sqlite_store *s, enum sqlite_sql which, const char *plan_id,
                               struct span part, struct gw_error *err)
{
    if (part.len == 0)
        return GW_OK;
    sqlite_bind_text(s->statements[which], 1, span_of(plan_id, PLAN_ID_BYTES));
    sqlite_bind_bytes(s->statements[which], 2, part);
    return sqlite_run(s, which, "writing a plan to", err);
}

static enum gw_status insert(struct sqlite_store *s, const struct plan_entry *entry,
                             struct gw_error *err)
{
    enum gw_status status = make_room(s, entry, err);
    if (status != GW_OK)
        return status;
    bind_plan(s->statements[SQL_PLAN_INSERT], entry);
    status = sqlite_run(s, SQL_PLAN_INSERT, "writing a plan to", err);
    if (status != GW_OK)
        return status;
    sqlite_bind_text(s->statements[SQL_PLAN_ADD_PARTS], 1, span_of(entry->plan_id, PLAN_ID_BYTES));
    return sqlite_run(s, SQL_PLAN_ADD_PARTS, "writing a plan to", err);
}

enum gw_status sqlite_plan_set(struct store_backend *backend, const struct plan_entry *entry,
                               struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    bind_plan(s->statements[SQL_PLAN_UPDATE], entry);
    enum gw_status status = sqlite_run(s, SQL_PLAN_UPDATE, "writing a plan to", err);
    if (status == GW_OK && sqlite3_changes(s->db) == 0)
        status = insert(s, entry, err);
    if (status == GW_OK)
        status = set_part(s, SQL_PLAN_SET_ITEMS, entry->plan_id, entry->items, err);
    if (status == GW_OK)
        status = set_part(s, SQL_PLAN_SET_ANSWER, entry->plan_id, entry->answer, err);
    return status;
}

/* The number of plans, or the id of one that may give way: the first row's column. */
static enum gw_status ask(struct sqlite_store *s, enum sqlite_sql which, int64_t *ret_number,
                          char ret_plan_id[PLAN_ID_BYTES + 1], struct gw_error *err)
{
    sqlite3_stmt *statement = s->statements[which];
    bool damaged = false;
    int rc = sqlite3_step(statement);
    enum gw_status status = GW_OK;
    if (rc == SQLITE_ROW && ret_number != NULL)
        *ret_number = sqlite_int(statement, 0);
    else if (rc == SQLITE_ROW)
        sqlite_exact(statement, 0, ret_plan_id, PLAN_ID_BYTES, &damaged);
    else if (rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "reading the plans of", err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status;
}

/* The oldest that is over when the new one comes, else the oldest draft of the same
 * person, if it has stood for long enough; "": there is none. */
static enum gw_status find_leaver(struct sqlite_store *s, const struct plan_entry *wanted,
                                  char ret_plan_id[PLAN_ID_BYTES + 1], struct gw_error *err)
{
    sqlite3_stmt *over = s->statements[SQL_PLAN_OVER], *draft = s->statements[SQL_PLAN_OLD_DRAFT];
    sqlite_bind_int(over, 1, PLAN_DONE);
    sqlite_bind_int(over, 2, PLAN_DRAFT);
    sqlite_bind_int(over, 3, wanted->created_ms);
    enum gw_status status = ask(s, SQL_PLAN_OVER, NULL, ret_plan_id, err);
    if (status != GW_OK || ret_plan_id[0] != '\0')
        return status;
    sqlite_bind_int(draft, 1, PLAN_DRAFT);
    sqlite_bind_bytes(draft, 2, wanted->actor);
    sqlite_bind_int(draft, 3, wanted->created_ms - PLAN_DRAFT_STAYS_MS);
    return ask(s, SQL_PLAN_OLD_DRAFT, NULL, ret_plan_id, err);
}

/* Nothing is written before it is known that there will be room. */
static enum gw_status make_room(struct sqlite_store *s, const struct plan_entry *wanted,
                                struct gw_error *err)
{
    char plan_id[PLAN_ID_BYTES + 1] = {0};
    int64_t count = 0;
    enum gw_status status = ask(s, SQL_PLAN_COUNT, &count, NULL, err);
    if (status != GW_OK || count < STORE_PLANS_MAX)
        return status;
    status = find_leaver(s, wanted, plan_id, err);
    if (status == GW_OK && plan_id[0] == '\0')
        status = gw_error_set(err, GW_LIMIT, "there are %d plans already, and none is over",
                              STORE_PLANS_MAX);
    static const enum sqlite_sql removals[] = {SQL_PLAN_REMOVE, SQL_PLAN_REMOVE_PARTS};
    for (size_t i = 0; i < GW_COUNT(removals) && status == GW_OK; i++) {
        sqlite_bind_text(s->statements[removals[i]], 1, span_of(plan_id, PLAN_ID_BYTES));
        status = sqlite_run(s, removals[i], "removing a plan from", err);
    }
    return status;
}
