/* The authorizer: what a statement of the configuration may touch. Receipts are the
 * store's own; a statement that could write one could claim that something ran. It
 * must never let a name through because of how it is spelled. */
#include <sqlite3.h>

#include "store/sqlite.h"

#define OWN_NAMES_BYTES_MAX ((size_t)64 << 10)

static bool begins_with(struct span name, const char *prefix)
{
    size_t len = strlen(prefix);
    return name.len >= len && span_equal_nocase(span_of(name.ptr, len), span_str(prefix));
}

bool sqlite_guard_allows(const struct sqlite_store *s, struct span name)
{
    /* Names that a newer Recibo may need, SQLite's own, and tables that show the file. */
    static const char *const prefixes[] = {"recibo_", "sqlite_", "pragma_"};
    static const char *const words[] = {"dbstat", "bytecode", "tables_used"};
    for (size_t i = 0; i < GW_COUNT(prefixes); i++)
        if (begins_with(name, prefixes[i]))
            return false;
    for (size_t i = 0; i < GW_COUNT(words); i++)
        if (span_equal_nocase(name, span_str(words[i])))
            return false;
    for (size_t at = 0; at < s->own_names.len;) {
        struct span own = span_str(s->own_names.ptr + at);
        if (span_equal_nocase(name, own))
            return false;
        at += own.len + 1;
    }
    return name.len > 0;
}

static bool allows(const struct sqlite_store *s, const char *name)
{
    return name != NULL && sqlite_guard_allows(s, span_str(name));
}

/* CREATE TABLE and CREATE INDEX write their own line there; by hand nobody can. */
static bool is_schema(const char *name)
{
    return name != NULL &&
           (strcmp(name, "sqlite_master") == 0 || strcmp(name, "sqlite_sequence") == 0);
}

/* The index that SQLite makes for UNIQUE; nobody else can make one of that name. */
static bool is_automatic(const char *name)
{
    return name != NULL && begins_with(span_str(name), "sqlite_autoindex_");
}

static bool function_is_allowed(const char *name)
{
    return name != NULL && sqlite3_stricmp(name, "load_extension") != 0 &&
           sqlite3_stricmp(name, "fts3_tokenizer") != 0;
}

static bool setup_may(const struct sqlite_store *s, int action, const char *first,
                      const char *second)
{
    switch (action) {
    case SQLITE_CREATE_TABLE:
        return allows(s, first) || (first != NULL && strcmp(first, "sqlite_sequence") == 0);
    case SQLITE_CREATE_INDEX:
        return (allows(s, first) || is_automatic(first)) && allows(s, second);
    case SQLITE_REINDEX:
        return allows(s, first);
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
        return is_schema(first);
    case SQLITE_READ:
        return is_schema(first) || allows(s, first);
    }
    return action == SQLITE_SELECT;
}

static bool statement_may(const struct sqlite_store *s, int action, const char *first)
{
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
        return true;
    case SQLITE_READ:
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
        return allows(s, first);
    }
    return false;
}

static int authorize(void *ctx, int action, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    struct sqlite_store *s = ctx;
    bool may = false;
    (void)trigger; /* what a trigger does is judged as if the statement said it */
    if (s->guard == SQLITE_GUARD_OFF)
        return SQLITE_OK;
    if (database != NULL && strcmp(database, "main") != 0)
        return SQLITE_DENY;
    if (action == SQLITE_FUNCTION)
        may = function_is_allowed(second);
    else if (s->guard == SQLITE_GUARD_SETUP)
        may = setup_may(s, action, first, second);
    else
        may = statement_may(s, action, first);
    if (!may && s->denied[0] == '\0')
        (void)sqlite3_snprintf((int)sizeof(s->denied), s->denied, "%s",
                               first != NULL && first[0] != '\0' ? first : second);
    return may ? SQLITE_OK : SQLITE_DENY;
}

static enum gw_status read_names(struct sqlite_store *s, struct sqlite3 *db, struct gw_error *err)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema", -1, &statement, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(statement);
        if (rc == SQLITE_ROW) {
            (void)gw_buf_add(&s->own_names, sqlite_bytes(statement, 0));
            (void)gw_buf_byte(&s->own_names, '\0'); /* the buffer remembers a failure */
        }
    }
    (void)sqlite3_finalize(statement); /* repeats the error that is reported below */
    if (rc != SQLITE_DONE)
        return sqlite_fail(s, rc, "reading the names of the tables of", err);
    return s->own_names.failed ? gw_error_set(err, GW_NOMEM, "out of memory for the store") : GW_OK;
}

/* The file may hold tables of others beside them: the names come from an empty database. */
enum gw_status sqlite_guard_open(struct sqlite_store *s, struct gw_error *err)
{
    struct sqlite3 *db = NULL;
    gw_buf_init(&s->own_names, OWN_NAMES_BYTES_MAX);
    int rc = sqlite3_open_v2(
        ":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    enum gw_status status = rc == SQLITE_OK ? sqlite_schema_make(s, db, err)
                                            : sqlite_fail(s, rc, "reading the tables of", err);
    if (status == GW_OK)
        status = read_names(s, db, err);
    (void)sqlite3_close(db); /* nothing of it is kept */
    /* Made on first use, by a CREATE TABLE of their own that no statement may have. */
    if (status == GW_OK)
        status = sqlite_script(s, s->db, "SELECT 1 FROM json_each('[]'), json_tree('[]')",
                               "opening", err);
    if (status == GW_OK)
        (void)sqlite3_set_authorizer(s->db, authorize, s); /* cannot fail */
    return status;
}

void sqlite_guard_close(struct sqlite_store *s)
{
    if (s->db != NULL)
        (void)sqlite3_set_authorizer(s->db, NULL, NULL); /* cannot fail */
    gw_buf_fini(&s->own_names);
}
