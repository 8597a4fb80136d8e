/* Walks along an index, one row at a time; a statement never stays open behind one. */
#include <sqlite3.h>

#include "store/sqlite.h"

static int64_t start_of(const struct walk *walk)
{
    if (walk->after_id != 0)
        return walk->after_id;
    return walk->oldest_first ? 0 : INT64_MAX;
}

/* A statement in each order; one by time has one only. `by_id`: it gives ids, and
 * the rows are read one by one. */
struct way {
    enum sqlite_sql oldest, newest;
    bool by_id, by_time;
};

static const struct way ways[] = {
    [WALK_ID] = {SQL_WALK_ID_OLDEST, SQL_WALK_ID_NEWEST, false, false},
    [WALK_STATE] = {SQL_WALK_STATE_OLDEST, SQL_WALK_STATE_NEWEST, false, false},
    [WALK_CONTRADICTED] = {SQL_WALK_CONTRADICTED_OLDEST, SQL_WALK_CONTRADICTED_NEWEST, false,
                           false},
    [WALK_LABEL] = {SQL_LABELLED_OLDEST, SQL_LABELLED_NEWEST, true, false},
    [WALK_LEASED] = {SQL_WALK_LEASED, SQL_WALK_LEASED, false, false},
    [WALK_EXPIRE] = {SQL_WALK_EXPIRE, SQL_WALK_EXPIRE, false, true},
    [WALK_EVIDENCE] = {SQL_WALK_EVIDENCE, SQL_WALK_EVIDENCE, false, true},
    [WALK_PROBES] = {SQL_DOUBT_DUE, SQL_DOUBT_DUE, true, true},
    [WALK_DUE] = {SQL_WALK_DUE, SQL_WALK_DUE, false, true},
    [WALK_GROUP] = {SQL_DOUBT_GROUP_OLDEST, SQL_DOUBT_GROUP_NEWEST, true, false},
    [WALK_UNKNOWN_KEY] = {SQL_DOUBT_KEY_OLDEST, SQL_DOUBT_KEY_NEWEST, true, false},
    [WALK_UNKNOWN_OWNER] = {SQL_DOUBT_OWNER_OLDEST, SQL_DOUBT_OWNER_NEWEST, true, false},
    [WALK_UNKNOWN_ROUTE] = {SQL_DOUBT_ROUTE_OLDEST, SQL_DOUBT_ROUTE_NEWEST, true, false},
    [WALK_CLAIMED] = {SQL_DOUBT_CLAIMED_OLDEST, SQL_DOUBT_CLAIMED_NEWEST, true, false},
    [WALK_PROBED] = {SQL_DOUBT_PROBED_OLDEST, SQL_DOUBT_PROBED_NEWEST, true, false},
};

static bool visit(const struct sqlite_store *s, sqlite3_stmt *statement, const struct walk *walk)
{
    struct store_row row;
    bool sound = sqlite_row(s, statement, &row);
    return walk->visit(walk->ctx, row.id, sound ? &row : NULL);
}

/* What the walk looks for, behind the place where it begins. */
static void bind_wanted(sqlite3_stmt *statement, const struct walk *walk)
{
    switch (walk->by) {
    case WALK_ID:
    case WALK_CONTRADICTED:
    case WALK_LEASED:
    case WALK_EXPIRE:
    case WALK_EVIDENCE:
    case WALK_PROBES:
    case WALK_DUE:
    case WALK_CLAIMED:
        break;
    case WALK_STATE:
        sqlite_bind_int(statement, 2, walk->state);
        break;
    case WALK_LABEL:
        sqlite_bind_bytes(statement, 2, walk->label_name);
        sqlite_bind_bytes(statement, 3, walk->label_value);
        break;
    case WALK_GROUP:
        sqlite_bind_bytes(statement, 2, walk->route);
        sqlite_bind_int(statement, 3, walk->end);
        sqlite_bind_int(statement, 4, walk->status);
        break;
    case WALK_UNKNOWN_KEY:
        sqlite_bind_bytes(statement, 2, walk->key);
        break;
    case WALK_UNKNOWN_OWNER:
        sqlite_bind_bytes(statement, 2, walk->owner);
        break;
    case WALK_UNKNOWN_ROUTE:
        sqlite_bind_bytes(statement, 2, walk->route);
        break;
    case WALK_PROBED:
        sqlite_bind_int(statement, 2, walk->probe);
        break;
    }
}

/* The row of an id. *ret_go false: stop. */
static int visit_id(struct sqlite_store *s, int64_t id, const struct walk *walk, bool *ret_go)
{
    sqlite3_stmt *statement = s->statements[SQL_GET_BY_ID];
    sqlite_bind_int(statement, 1, id);
    int rc = sqlite3_step(statement);
    *ret_go = rc == SQLITE_ROW ? visit(s, statement, walk) : rc == SQLITE_DONE;
    (void)sqlite3_reset(statement); /* repeats the code that is returned */
    return rc;
}

/* Steps until there is no more, or nobody wants it. */
static int run(struct sqlite_store *s, sqlite3_stmt *statement, const struct walk *walk, bool by_id)
{
    bool go = true;
    int rc = sqlite3_step(statement);
    while (rc == SQLITE_ROW && go) {
        if (by_id)
            rc = visit_id(s, sqlite_int(statement, 0), walk, &go);
        else
            go = visit(s, statement, walk);
        if (rc == SQLITE_ROW || rc == SQLITE_DONE)
            rc = go ? sqlite3_step(statement) : SQLITE_DONE;
    }
    return rc;
}

enum gw_status sqlite_walk(struct store_backend *backend, const struct walk *walk,
                           struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    gw_assert(walk->by < GW_COUNT(ways));
    const struct way *way = &ways[walk->by];
    sqlite3_stmt *statement = s->statements[walk->oldest_first ? way->oldest : way->newest];
    sqlite_bind_int(statement, 1, way->by_time ? walk->until_ms : start_of(walk));
    if (way->by_time) {
        sqlite_bind_int(statement, 2, walk->after_ms);
        sqlite_bind_int(statement, 3, walk->after_id);
    }
    bind_wanted(statement, walk);
    int rc = run(s, statement, walk, way->by_id);
    enum gw_status status = GW_OK;
    if (rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "listing receipts of", err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status;
}
