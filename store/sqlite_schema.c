/* How a file is looked at and brought to the newest version of the tables. A file of
 * another program or of a newer Recibo must never be written to. */
#include <sqlite3.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/fault.h"
#include "base/text.h"
#include "store/sqlite.h"

#define APPLICATION_ID   1380272969 /* "RECI" */
#define SCHEMA_BYTES_MAX 16384

/* The first number of the first row. */
static enum gw_status ask_number(struct sqlite_store *s, const char *text, int64_t *ret,
                                 struct gw_error *err)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(s->db, text, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(statement, 0);
    enum gw_status status = GW_OK;
    if (rc == SQLITE_DONE)
        status = gw_error_set(err, GW_CORRUPT, "'%s' has lost its row of meta; restore a backup",
                              s->where.path);
    else if (rc != SQLITE_ROW)
        status = sqlite_fail(s, rc, "reading the version", err);
    (void)sqlite3_finalize(statement); /* repeats the error that was just reported */
    return status;
}

/* What is in the file, before anything is written: 0 for a new one. */
static enum gw_status inspect(struct sqlite_store *s, int64_t *ret_version, struct gw_error *err)
{
    int64_t application = 0, objects = 0, version = 0;
    enum gw_status status = ask_number(s, "SELECT count(*) FROM sqlite_schema", &objects, err);
    if (status == GW_OK)
        status = ask_number(s, "PRAGMA application_id", &application, err);
    if (status != GW_OK)
        return status;
    if (objects > 0 && application != APPLICATION_ID)
        return gw_error_set(err, GW_INVALID,
                            "'%s' is the database of another program; give the store a file of "
                            "its own",
                            s->where.path);
    if (objects > 0)
        status = ask_number(s, "SELECT schema_version FROM meta", &version, err);
    if (status == GW_OK && version > SQLITE_VERSION_COUNT)
        return gw_error_set(err, GW_INVALID,
                            "'%s' was written by a newer Recibo (schema version %lld, this program "
                            "knows up to %lld); start the newer program, or restore a backup made "
                            "before it",
                            s->where.path, (long long)version, (long long)SQLITE_VERSION_COUNT);
    if (status == GW_OK && objects > 0 && version < 1)
        return gw_error_set(err, GW_CORRUPT, "'%s' has no valid schema version; restore a backup",
                            s->where.path);
    *ret_version = version;
    return status;
}

static enum gw_status run_migration(const struct sqlite_store *s, struct sqlite3 *db,
                                    const char *const *steps, struct gw_error *err)
{
    struct gw_buf text;
    gw_buf_init(&text, SCHEMA_BYTES_MAX);
    enum gw_status status = GW_OK;
    for (size_t i = 0; steps[i] != NULL && status == GW_OK; i++) {
        gw_buf_clear(&text);
        status = sqlite_expand(steps[i], &text, err);
        if (status == GW_OK)
            status = sqlite_script(s, db, text.ptr, "making the tables", err);
    }
    gw_buf_fini(&text);
    return status;
}

enum gw_status sqlite_schema_make(const struct sqlite_store *s, struct sqlite3 *db,
                                  struct gw_error *err)
{
    enum gw_status status = GW_OK;
    for (size_t v = 0; v < SQLITE_VERSION_COUNT && status == GW_OK; v++)
        status = run_migration(s, db, sqlite_versions[v], err);
    return status;
}

static enum gw_status set_secret(struct sqlite_store *s, struct gw_error *err)
{
    char hex[2 * sizeof(s->secret) + 1];
    gw_random(s->secret, sizeof(s->secret));
    gw_hex(s->secret, sizeof(s->secret), hex);
    char text[160];
    (void)sqlite3_snprintf(sizeof(text), text, "UPDATE meta SET secret = x'%s'", hex);
    return sqlite_script(s, s->db, text, "making the secret", err);
}

static enum gw_status migrate(struct sqlite_store *s, int64_t from, struct gw_error *err)
{
    enum gw_status status = GW_OK;
    for (int64_t v = from; v < SQLITE_VERSION_COUNT && status == GW_OK; v++)
        status = run_migration(s, s->db, sqlite_versions[v], err);
    if (status == GW_OK && from == 0)
        status = set_secret(s, err);
    char text[80];
    (void)sqlite3_snprintf(sizeof(text), text, "UPDATE meta SET schema_version = %lld",
                           (long long)SQLITE_VERSION_COUNT);
    if (status == GW_OK && from < SQLITE_VERSION_COUNT)
        status = sqlite_script(s, s->db, text, "writing the version", err);
    return status;
}

/* A new life: leases of earlier ones are dead from here on, and ids go on behind
 * all that were ever given out. */
static enum gw_status begin_life(struct sqlite_store *s, struct gw_error *err)
{
    return sqlite_script(s, s->db,
                         "UPDATE meta SET epoch = epoch + 1, next_id ="
                         " max(next_id, 1 + ifnull((SELECT max(id) FROM receipts), 0))",
                         "beginning to serve", err);
}

static enum gw_status read_meta(struct sqlite_store *s, struct gw_error *err)
{
    sqlite3_stmt *statement = NULL;
    enum gw_status status = GW_OK;
    int rc =
        sqlite3_prepare_v2(s->db, "SELECT epoch, next_id, secret FROM meta", -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW) {
        status = sqlite_fail(s, rc, "reading meta", err);
    } else {
        struct span secret = sqlite_bytes(statement, 2);
        s->epoch = sqlite3_column_int64(statement, 0);
        s->next_id = s->reserved_id = sqlite3_column_int64(statement, 1);
        if (secret.len != sizeof(s->secret) || s->epoch < 1 || s->next_id < 1)
            status = gw_error_set(err, GW_CORRUPT, "meta of '%s' is damaged; restore a backup",
                                  s->where.path);
        else
            memcpy(s->secret, secret.ptr, sizeof(s->secret));
    }
    (void)sqlite3_finalize(statement); /* repeats the error that was just reported */
    return status;
}

static enum gw_status enter_wal(struct sqlite_store *s, struct gw_error *err)
{
    int64_t is_wal = 0;
    /* The size counts only while the file is empty; both are the defaults' names. */
    enum gw_status status = sqlite_script(
        s, s->db, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = NONE; PRAGMA journal_mode = WAL",
        "switching to a write-ahead log", err);
    if (status == GW_OK)
        status =
            ask_number(s, "SELECT journal_mode = 'wal' FROM pragma_journal_mode", &is_wal, err);
    if (status == GW_OK && is_wal == 0)
        return gw_error_set(err, GW_IO, "'%s' cannot have a write-ahead log here", s->where.path);
    return status;
}

enum gw_status sqlite_schema_open(struct sqlite_store *s, struct gw_error *err)
{
    int64_t version = 0;
    enum gw_status status = inspect(s, &version, err);
    if (status == GW_OK)
        status = enter_wal(s, err);
    if (status == GW_OK)
        status = sqlite_script(s, s->db, "BEGIN IMMEDIATE", "taking the file", err);
    if (status != GW_OK)
        return status;
    status = migrate(s, version, err);
    if (status == GW_OK)
        status = begin_life(s, err);
    if (status == GW_OK && GW_FAULT(schema_commit))
        status = gw_error_set(err, GW_IO, "a test broke the commit");
    if (status == GW_OK)
        status = sqlite_script(s, s->db, "COMMIT", "writing the tables", err);
    /* A failed commit may have ended the transaction by itself. */
    if (status != GW_OK && sqlite3_get_autocommit(s->db) == 0)
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return status == GW_OK ? read_meta(s, err) : status;
}
