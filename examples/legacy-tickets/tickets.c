/* Rows in and out of the ticket table. It must never look for an equal ticket
 * before it inserts one. */
#include "examples/legacy-tickets/tickets.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "base/text.h"

#define TICKETS_BUSY_MS 5000

struct tickets {
    sqlite3 *db;
};

static enum gw_status run_schema(struct tickets *tickets, struct gw_error *err);
static enum gw_status begin(struct tickets *tickets, const char *sql, sqlite3_stmt **ret_stmt,
                            struct gw_error *err);
static enum gw_status fail(struct tickets *tickets, const char *what, struct gw_error *err);
static json_t *ticket_json(sqlite3_stmt *stmt);
static json_t *item_json(sqlite3_stmt *stmt);

enum gw_status tickets_open(const char *path, struct tickets **ret_tickets, struct gw_error *err)
{
    struct tickets *tickets = calloc(1, sizeof(*tickets));
    if (tickets == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");

    enum gw_status status = GW_OK;
    if (sqlite3_open(path, &tickets->db) != SQLITE_OK)
        status = fail(tickets, "open the ticket file", err);
    else
        status = run_schema(tickets, err);

    if (status != GW_OK) {
        gw_error_wrap(err, "'%s'", path);
        tickets_free(tickets);
        return status;
    }
    *ret_tickets = tickets;
    return GW_OK;
}

void tickets_free(struct tickets *tickets)
{
    if (tickets == NULL)
        return;
    /* Every statement is finalised where it was made, so closing cannot be refused. */
    (void)sqlite3_close(tickets->db);
    free(tickets);
}

enum gw_status tickets_insert(struct tickets *tickets, struct ticket_text text, int64_t *ret_id,
                              struct gw_error *err)
{
    gw_assert(text.subject != NULL);
    sqlite3_stmt *stmt = NULL;
    enum gw_status status = begin(
        tickets, "INSERT INTO tickets(subject, external_reference, created_at) VALUES (?, ?, ?)",
        &stmt, err);
    if (status != GW_OK)
        return status;

    struct gw_clock *clock = gw_clock_system();
    char created_at[GW_RFC3339_BYTES];
    gw_rfc3339(clock->wall_ms(clock), created_at);
    if (sqlite3_bind_text(stmt, 1, text.subject, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_text(stmt, 2, text.external_reference, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_text(stmt, 3, created_at, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_DONE)
        status = fail(tickets, "insert a ticket", err);
    else
        *ret_id = sqlite3_last_insert_rowid(tickets->db);
    /* It only repeats the error of the step. */
    (void)sqlite3_finalize(stmt);
    return status;
}

enum gw_status tickets_find(struct tickets *tickets, int64_t id, json_t **ret_ticket,
                            struct gw_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum gw_status status = begin(
        tickets, "SELECT id, subject, external_reference, created_at FROM tickets WHERE id = ?",
        &stmt, err);
    if (status != GW_OK)
        return status;

    json_t *ticket = NULL;
    int step = sqlite3_bind_int64(stmt, 1, id);
    if (step == SQLITE_OK)
        step = sqlite3_step(stmt);
    if (step == SQLITE_ROW)
        ticket = ticket_json(stmt);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        status = fail(tickets, "read a ticket", err);
    else if (step == SQLITE_ROW && ticket == NULL)
        status = gw_error_set(err, GW_NOMEM, "out of memory");
    else
        *ret_ticket = ticket;
    (void)sqlite3_finalize(stmt); /* it only repeats the error of the step */
    return status;
}

enum gw_status tickets_list(struct tickets *tickets, const char *reference, json_t **ret_items,
                            struct gw_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum gw_status status =
        begin(tickets,
              "SELECT id, subject, external_reference, created_at FROM tickets"
              " WHERE ?1 IS NULL OR external_reference = ?1 ORDER BY id LIMIT ?2",
              &stmt, err);
    if (status != GW_OK)
        return status;

    json_t *items = json_array();
    int step = SQLITE_ERROR;
    if (sqlite3_bind_text(stmt, 1, reference, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_int(stmt, 2, TICKETS_LISTED_MAX) == SQLITE_OK)
        step = sqlite3_step(stmt);
    while (step == SQLITE_ROW && json_array_append_new(items, item_json(stmt)) == 0)
        step = sqlite3_step(stmt);

    if (step == SQLITE_DONE && items != NULL) {
        *ret_items = items;
    } else {
        status = step == SQLITE_ROW || step == SQLITE_DONE
                     ? gw_error_set(err, GW_NOMEM, "out of memory")
                     : fail(tickets, "list the tickets", err);
        json_decref(items);
    }
    (void)sqlite3_finalize(stmt); /* it only repeats the error of the step */
    return status;
}

enum gw_status tickets_delete(struct tickets *tickets, int64_t id, bool *ret_found,
                              struct gw_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum gw_status status = begin(tickets, "DELETE FROM tickets WHERE id = ?", &stmt, err);
    if (status != GW_OK)
        return status;
    if (sqlite3_bind_int64(stmt, 1, id) != SQLITE_OK || sqlite3_step(stmt) != SQLITE_DONE)
        status = fail(tickets, "delete a ticket", err);
    else
        *ret_found = sqlite3_changes(tickets->db) > 0;
    (void)sqlite3_finalize(stmt); /* it only repeats the error of the step */
    return status;
}

enum gw_status tickets_count(struct tickets *tickets, int64_t *ret_count, struct gw_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum gw_status status = begin(tickets, "SELECT count(*) FROM tickets", &stmt, err);
    if (status != GW_OK)
        return status;
    if (sqlite3_step(stmt) != SQLITE_ROW)
        status = fail(tickets, "count the tickets", err);
    else
        *ret_count = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt); /* it only repeats the error of the step */
    return status;
}

static enum gw_status run_schema(struct tickets *tickets, struct gw_error *err)
{
    /* AUTOINCREMENT: a deleted ticket's number must not come back for another one. */
    static const char *const schema =
        "PRAGMA journal_mode = WAL;"
        "PRAGMA synchronous = NORMAL;"
        "CREATE TABLE IF NOT EXISTS tickets("
        " id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " subject TEXT NOT NULL, external_reference TEXT, created_at TEXT NOT NULL);"
        "CREATE INDEX IF NOT EXISTS tickets_by_reference ON tickets(external_reference);";

    if (sqlite3_busy_timeout(tickets->db, TICKETS_BUSY_MS) != SQLITE_OK ||
        sqlite3_exec(tickets->db, schema, NULL, NULL, NULL) != SQLITE_OK)
        return fail(tickets, "prepare the ticket table", err);
    return GW_OK;
}

static enum gw_status begin(struct tickets *tickets, const char *sql, sqlite3_stmt **ret_stmt,
                            struct gw_error *err)
{
    if (sqlite3_prepare_v2(tickets->db, sql, -1, ret_stmt, NULL) != SQLITE_OK)
        return fail(tickets, "prepare a statement", err);
    return GW_OK;
}

static enum gw_status fail(struct tickets *tickets, const char *what, struct gw_error *err)
{
    return gw_error_set(err, GW_IO, "%s: %s", what, sqlite3_errmsg(tickets->db));
}

/* The row as the API shows it; NULL: out of memory. */
static json_t *ticket_json(sqlite3_stmt *stmt)
{
    return json_pack("{s:I, s:s, s:s?, s:s}", "ticket_id",
                     (json_int_t)sqlite3_column_int64(stmt, 0), "subject",
                     (const char *)sqlite3_column_text(stmt, 1), "external_reference",
                     (const char *)sqlite3_column_text(stmt, 2), "created_at",
                     (const char *)sqlite3_column_text(stmt, 3));
}

/* A ticket of a list also bears the plain name `id`, as legacy lists do. */
static json_t *item_json(sqlite3_stmt *stmt)
{
    json_t *item = ticket_json(stmt);
    if (item == NULL || json_object_set(item, "id", json_object_get(item, "ticket_id")) == 0)
        return item;
    json_decref(item);
    return NULL;
}
