/* What is unknown, from counters that triggers keep: neither call may cost more when
 * there are a million of them. */
#include <sqlite3.h>

#include "store/sqlite.h"

/* Columns of GROUPS, in its order. */
enum {
    GROUP_ROUTE,
    GROUP_END,
    GROUP_STATUS,
    GROUP_COUNT,
    GROUP_ASKED,
    GROUP_CLAIMED,
    GROUP_PROBES,
};

static bool take_tally(sqlite3_stmt *statement, struct store_op *op)
{
    struct tally_entry *entry = op_add_tally(op);
    if (entry == NULL)
        return false;
    entry->unknown = (uint64_t)sqlite_int(statement, 1);
    entry->oldest_ms = sqlite_int(statement, 2);
    return arena_copy(op->arena, sqlite_bytes(statement, 0), &entry->route);
}

enum gw_status sqlite_tally_read(struct store_backend *backend, struct store_op *op,
                                 struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite_bind_int(s->statements[SQL_TALLY], 1, STORE_TALLY_ROUTES_MAX);
    return sqlite_read_all(s, s->statements[SQL_TALLY], op, take_tally, err);
}

/* A group that no attempt can be in is of no use to anybody: it is passed over. */
static bool take_group(sqlite3_stmt *statement, struct store_op *op)
{
    bool damaged = false;
    uint8_t end = (uint8_t)sqlite_u32(statement, GROUP_END, END_COUNT - 1, &damaged);
    uint16_t status = (uint16_t)sqlite_u32(statement, GROUP_STATUS, 999, &damaged);
    if (damaged)
        return true;
    struct group_entry *entry = op_add_group(op);
    if (entry == NULL)
        return false;
    entry->end = end;
    entry->status = status;
    entry->count = (uint64_t)sqlite_int(statement, GROUP_COUNT);
    entry->asked = (uint64_t)sqlite_int(statement, GROUP_ASKED);
    entry->claimed = (uint64_t)sqlite_int(statement, GROUP_CLAIMED);
    for (int i = 0; i < PROBE_RESULT_COUNT; i++)
        entry->probes[i] = (uint64_t)sqlite_int(statement, GROUP_PROBES + i);
    return arena_copy(op->arena, sqlite_bytes(statement, GROUP_ROUTE), &entry->route);
}

static void bind_group(sqlite3_stmt *statement, const struct group_entry *entry)
{
    sqlite_bind_bytes(statement, 1, entry->route);
    sqlite_bind_int(statement, 2, entry->end);
    sqlite_bind_int(statement, 3, entry->status);
}

static enum gw_status read_oldest(struct sqlite_store *s, struct group_entry *entry,
                                  struct gw_error *err)
{
    sqlite3_stmt *statement = s->statements[SQL_GROUP_OLDEST];
    bind_group(statement, entry);
    int rc = sqlite3_step(statement);
    enum gw_status status = GW_OK;
    if (rc == SQLITE_ROW)
        entry->first_ms = sqlite_int(statement, 0);
    else if (rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "reading the oldest of a group in", err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status;
}

/* The last one, and from there back all that came since `since_ms`. */
static enum gw_status read_newest(struct sqlite_store *s, struct group_entry *entry,
                                  int64_t since_ms, uint64_t grown_max, struct gw_error *err)
{
    sqlite3_stmt *statement = s->statements[SQL_GROUP_NEWEST];
    bind_group(statement, entry);
    sqlite_bind_int(statement, 4, (int64_t)grown_max + 1);
    int rc = sqlite3_step(statement);
    enum gw_status status = GW_OK;
    if (rc == SQLITE_ROW)
        entry->last_ms = sqlite_int(statement, 0);
    while (rc == SQLITE_ROW && sqlite_int(statement, 0) > since_ms) {
        entry->grown_is_cut = entry->grown == grown_max;
        entry->grown += entry->grown_is_cut ? 0 : 1;
        rc = sqlite3_step(statement);
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "reading the newest of a group in", err);
    (void)sqlite3_reset(statement); /* repeats the error that was just reported */
    return status;
}

enum gw_status sqlite_groups_read(struct store_backend *backend, struct store_op *op,
                                  struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    sqlite_bind_int(s->statements[SQL_GROUPS], 1, STORE_GROUPS_MAX);
    enum gw_status status = sqlite_read_all(s, s->statements[SQL_GROUPS], op, take_group, err);
    uint64_t counted = 0;
    for (uint32_t i = 0; i < op->out.group_count && status == GW_OK; i++) {
        struct group_entry *entry = &op->out.groups[i];
        status = read_oldest(s, entry, err);
        if (status == GW_OK)
            status =
                read_newest(s, entry, op->in.groups.since_ms, op_grown_max(op, i, counted), err);
        counted += entry->grown;
    }
    return status;
}
