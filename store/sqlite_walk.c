/* Walks along an index, one row at a time; a statement never stays open behind one. */
#include <sqlite3.h>

#include "store/sqlite.h"

static enum gw_status walk_labelled(struct sqlite_store *s, const struct walk *walk,
                                    struct gw_error *err);

static int64_t start_of(const struct walk *walk)
{
    if (walk->after_id != 0)
        return walk->after_id;
    return walk->oldest_first ? 0 : INT64_MAX;
}

static enum sqlite_sql choose(const struct walk *walk)
{
    switch (walk->by) {
    case WALK_ID:
        return walk->oldest_first ? SQL_WALK_ID_OLDEST : SQL_WALK_ID_NEWEST;
    case WALK_STATE:
        return walk->oldest_first ? SQL_WALK_STATE_OLDEST : SQL_WALK_STATE_NEWEST;
    case WALK_CONTRADICTED:
        return walk->oldest_first ? SQL_WALK_CONTRADICTED_OLDEST : SQL_WALK_CONTRADICTED_NEWEST;
    case WALK_LABEL:
        return walk->oldest_first ? SQL_LABELLED_OLDEST : SQL_LABELLED_NEWEST;
    case WALK_LEASED:
        return SQL_WALK_LEASED;
    case WALK_EXPIRE:
        return SQL_WALK_EXPIRE;
    case WALK_EVIDENCE:
        return SQL_WALK_EVIDENCE;
    }
    return SQL_COUNT;
}

static bool visit(const struct sqlite_store *s, sqlite3_stmt *statement, const struct walk *walk)
{
    struct store_row row;
    bool sound = sqlite_row(s, statement, &row);
    return walk->visit(walk->ctx, row.id, sound ? &row : NULL);
}

enum gw_status sqlite_walk(struct store_backend *backend, const struct walk *walk,
                           struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    if (walk->by == WALK_LABEL)
        return walk_labelled(s, walk, err);
    enum sqlite_sql which = choose(walk);
    gw_assert(which < SQL_COUNT);
    sqlite3_stmt *statement = s->statements[which];
    bool is_by_time = walk->by == WALK_EXPIRE || walk->by == WALK_EVIDENCE;
    sqlite_bind_int(statement, 1, is_by_time ? walk->until_ms : start_of(walk));
    if (walk->by == WALK_STATE)
        sqlite_bind_int(statement, 2, walk->state);
    int rc = sqlite3_step(statement);
    while (rc == SQLITE_ROW && visit(s, statement, walk))
        rc = sqlite3_step(statement);
    enum gw_status status = GW_OK;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "listing receipts of", err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status;
}

/* The row of an entry of the label index. *ret_go false: stop. */
static int visit_labelled(struct sqlite_store *s, int64_t id, const struct walk *walk, bool *ret_go)
{
    sqlite3_stmt *statement = s->statements[SQL_GET_BY_ID];
    sqlite_bind_int(statement, 1, id);
    int rc = sqlite3_step(statement);
    *ret_go = rc == SQLITE_ROW ? visit(s, statement, walk) : rc == SQLITE_DONE;
    (void)sqlite3_reset(statement); /* repeats the code that is returned */
    return rc;
}

static enum gw_status walk_labelled(struct sqlite_store *s, const struct walk *walk,
                                    struct gw_error *err)
{
    sqlite3_stmt *statement = s->statements[choose(walk)];
    bool go = true;
    sqlite_bind_int(statement, 1, start_of(walk));
    sqlite_bind_bytes(statement, 2, walk->label_name);
    sqlite_bind_bytes(statement, 3, walk->label_value);
    int rc = sqlite3_step(statement);
    while (rc == SQLITE_ROW && go) {
        rc = visit_labelled(s, sqlite_int(statement, 0), walk, &go);
        if (rc == SQLITE_ROW || rc == SQLITE_DONE)
            rc = go ? sqlite3_step(statement) : SQLITE_DONE;
    }
    enum gw_status status = GW_OK;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "listing receipts of", err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status;
}
