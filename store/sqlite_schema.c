/* The tables, version by version, and how a file is brought to the newest one. A
 * file of another program or of a newer Recibo must never be written to. */
#include <sqlite3.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/fault.h"
#include "base/text.h"
#include "store/sqlite.h"

#define APPLICATION_ID   1380272969 /* "RECI" */
#define SCHEMA_BYTES_MAX 16384

/* Version 1. Receipts have a 16-byte digest for the index and the identity's own
 * bytes beside it. Bodies lie apart, so that walks stay narrow. Unknowns are
 * counted as they come and go: counting a million on demand would hold the
 * committer. Partial indexes cost nothing while no row is in them. */
static const char *const version_1[] = {
    "CREATE TABLE receipts (id INTEGER PRIMARY KEY, operation_id TEXT NOT NULL,"
    " identity BLOB NOT NULL CHECK (length(identity) = 16),"
    " owner BLOB NOT NULL, scope BLOB NOT NULL, \"key\" BLOB NOT NULL, route BLOB NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " state INTEGER NOT NULL CHECK (state BETWEEN 1 AND {last_state}),"
    " attempt INTEGER NOT NULL, version INTEGER NOT NULL,"
    " marks INTEGER NOT NULL CHECK (marks BETWEEN 0 AND {marks}),"
    " token INTEGER NOT NULL, lease_until_ms INTEGER NOT NULL, due_ms INTEGER NOT NULL,"
    " expire_ms INTEGER NOT NULL, epoch INTEGER NOT NULL,"
    " print BLOB NOT NULL CHECK (length(print) = 32), print_mode BLOB NOT NULL,"
    " members BLOB NOT NULL, method BLOB NOT NULL, target BLOB NOT NULL, labels BLOB NOT NULL,"
    " updated_ms INTEGER NOT NULL, repeats INTEGER NOT NULL, last_repeat_ms INTEGER NOT NULL,"
    " \"end\" INTEGER NOT NULL, status INTEGER NOT NULL, attempts BLOB NOT NULL,"
    " evidence_until_ms INTEGER NOT NULL, answer_kept INTEGER NOT NULL,"
    " request_kept INTEGER NOT NULL) STRICT",
    "CREATE UNIQUE INDEX receipts_identity ON receipts (identity)",
    "CREATE UNIQUE INDEX receipts_operation ON receipts (operation_id)",
    "CREATE INDEX receipts_leased ON receipts (id) WHERE state IN ({CLAIMED}, {SENT})",
    "CREATE INDEX receipts_open ON receipts (state) WHERE state IN ({open})",
    "CREATE INDEX receipts_unknown ON receipts (route, created_ms) WHERE state = {UNKNOWN}",
    "CREATE INDEX receipts_contradicted ON receipts (id) WHERE marks & {contradicted}",
    "CREATE INDEX receipts_due ON receipts (due_ms) WHERE due_ms > 0",
    "CREATE INDEX receipts_expire ON receipts (expire_ms) WHERE expire_ms > 0",
    "CREATE INDEX receipts_evidence ON receipts (evidence_until_ms)"
    " WHERE request_kept = 1 AND evidence_until_ms > 0",
    "CREATE TABLE bodies (id INTEGER PRIMARY KEY, request BLOB, answer BLOB) STRICT",
    "CREATE TABLE labels (name BLOB NOT NULL, value BLOB NOT NULL, id INTEGER NOT NULL,"
    " PRIMARY KEY (name, value, id)) STRICT, WITHOUT ROWID",
    "CREATE TABLE audit (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, actor BLOB NOT NULL,"
    " action BLOB NOT NULL, subject BLOB NOT NULL, note BLOB NOT NULL, detail BLOB NOT NULL)"
    " STRICT",
    "CREATE INDEX audit_subject ON audit (subject)",
    "CREATE TABLE pauses (subject INTEGER NOT NULL, name BLOB NOT NULL, actor BLOB NOT NULL,"
    " note BLOB NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (subject, name))"
    " STRICT, WITHOUT ROWID",
    "CREATE TABLE unknowns (route BLOB NOT NULL PRIMARY KEY, count INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID",
    "CREATE TRIGGER unknown_inserted AFTER INSERT ON receipts WHEN new.state = {UNKNOWN} BEGIN"
    " INSERT INTO unknowns VALUES (new.route, 1)"
    " ON CONFLICT (route) DO UPDATE SET count = count + 1; END",
    "CREATE TRIGGER unknown_begun AFTER UPDATE OF state ON receipts"
    " WHEN new.state = {UNKNOWN} AND old.state <> {UNKNOWN} BEGIN"
    " INSERT INTO unknowns VALUES (new.route, 1)"
    " ON CONFLICT (route) DO UPDATE SET count = count + 1; END",
    "CREATE TRIGGER unknown_ended AFTER UPDATE OF state ON receipts"
    " WHEN old.state = {UNKNOWN} AND new.state <> {UNKNOWN} BEGIN"
    " UPDATE unknowns SET count = count - 1 WHERE route = new.route; END",
    "CREATE TRIGGER unknown_deleted AFTER DELETE ON receipts WHEN old.state = {UNKNOWN} BEGIN"
    " UPDATE unknowns SET count = count - 1 WHERE route = old.route; END",
    "CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1),"
    " schema_version INTEGER NOT NULL, epoch INTEGER NOT NULL, next_id INTEGER NOT NULL,"
    " secret BLOB NOT NULL CHECK (length(secret) = 32)) STRICT",
    "INSERT INTO meta VALUES (1, 1, 0, 1, zeroblob(32))",
    "PRAGMA application_id = 1380272969",
    NULL,
};

/* The steps from one version to the next; each is run once, all in one transaction. */
static const char *const *const migrations[] = {version_1};
#define SCHEMA_VERSION ((int64_t)GW_COUNT(migrations))

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
    if (status == GW_OK && version > SCHEMA_VERSION)
        return gw_error_set(err, GW_INVALID,
                            "'%s' was written by a newer Recibo (schema version %lld, this program "
                            "knows up to %lld); start the newer program, or restore a backup made "
                            "before it",
                            s->where.path, (long long)version, (long long)SCHEMA_VERSION);
    if (status == GW_OK && objects > 0 && version < 1)
        return gw_error_set(err, GW_CORRUPT, "'%s' has no valid schema version; restore a backup",
                            s->where.path);
    *ret_version = version;
    return status;
}

static enum gw_status run_migration(struct sqlite_store *s, const char *const *steps,
                                    struct gw_error *err)
{
    struct gw_buf text;
    gw_buf_init(&text, SCHEMA_BYTES_MAX);
    enum gw_status status = GW_OK;
    for (size_t i = 0; steps[i] != NULL && status == GW_OK; i++) {
        gw_buf_clear(&text);
        status = sqlite_expand(steps[i], &text, err);
        if (status == GW_OK)
            status = sqlite_script(s, s->db, text.ptr, "making the tables", err);
    }
    gw_buf_fini(&text);
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
    for (int64_t v = from; v < SCHEMA_VERSION && status == GW_OK; v++)
        status = run_migration(s, migrations[v], err);
    if (status == GW_OK && from == 0)
        status = set_secret(s, err);
    char text[80];
    (void)sqlite3_snprintf(sizeof(text), text, "UPDATE meta SET schema_version = %lld",
                           (long long)SCHEMA_VERSION);
    if (status == GW_OK && from < SCHEMA_VERSION)
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
