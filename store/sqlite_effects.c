/* What is done for local effects once: their tables are made, their statements are
 * prepared behind the authorizer. It must never leave a statement to fail at the first
 * request that could be known to fail now. */
#include <sqlite3.h>
#include <stdlib.h>

#include "policy/sql_text.h"
#include "store/sqlite.h"

static enum gw_status fail(const struct sqlite_store *s, const struct store_effect *effect,
                           const char *key, struct gw_error *err)
{
    bool is_denied = s->denied[0] != '\0';
    return gw_error_set(err, GW_INVALID, "route %.*s: local.%s: %s%s%s%s", (int)effect->name.len,
                        effect->name.ptr, key, sqlite3_errmsg(s->db), is_denied ? " (" : "",
                        s->denied, is_denied ? ")" : "");
}

static enum gw_status refuse(const struct store_effect *effect, const char *why,
                             struct gw_error *err)
{
    return gw_error_set(err, GW_INVALID, "route %.*s: local.%s", (int)effect->name.len,
                        effect->name.ptr, why);
}

/* ---- setup ---- */

static enum gw_status run_setup(struct sqlite_store *s, const struct store_effect *effect,
                                struct gw_error *err)
{
    struct gw_buf text;
    enum gw_status status = GW_OK;
    gw_buf_init(&text, effect->setup.len + 1);
    (void)gw_buf_add(&text, effect->setup);
    (void)gw_buf_byte(&text, '\0'); /* the buffer remembers a failure */
    if (text.failed)
        status = gw_error_set(err, GW_NOMEM, "out of memory for the store");
    s->guard = SQLITE_GUARD_SETUP;
    if (status == GW_OK && sqlite3_exec(s->db, text.ptr, NULL, NULL, NULL) != SQLITE_OK)
        status = fail(s, effect, "setup", err);
    s->guard = SQLITE_GUARD_OFF;
    gw_buf_fini(&text);
    return status;
}

/* A rule that points to a table of Recibo's own would have a say in what is kept there. */
static enum gw_status check_references(struct sqlite_store *s, struct gw_error *err)
{
    static const char text[] = "SELECT m.name, f.\"table\" FROM sqlite_schema AS m,"
                               " pragma_foreign_key_list(m.name) AS f WHERE m.type = 'table'";
    sqlite3_stmt *statement = NULL;
    enum gw_status status = GW_OK;
    int rc = sqlite3_prepare_v2(s->db, text, -1, &statement, NULL);
    while (status == GW_OK && (rc == SQLITE_OK || rc == SQLITE_ROW)) {
        rc = sqlite3_step(statement);
        struct span name = sqlite_bytes(statement, 0), to = sqlite_bytes(statement, 1);
        if (rc == SQLITE_ROW && !sqlite_guard_allows(s, to))
            status = gw_error_set(err, GW_INVALID,
                                  "'%s': the table %.*s refers to %.*s, which is Recibo's own; "
                                  "take that out of it",
                                  s->where.path, (int)name.len, name.ptr, (int)to.len, to.ptr);
    }
    if (status == GW_OK && rc != SQLITE_DONE)
        status = sqlite_fail(s, rc, "reading the tables of", err);
    (void)sqlite3_finalize(statement); /* repeats the error that was just reported */
    return status;
}

/* ---- the statement ---- */

static bool has_more(struct span rest)
{
    struct sql_text sql = {.text = rest};
    struct span word;
    enum sql_token token = sql_text_next(&sql, &word);
    while (token == SQL_TOKEN_SEMICOLON)
        token = sql_text_next(&sql, &word);
    return token != SQL_TOKEN_END;
}

static enum gw_status find_values(struct sqlite_effect *ret, struct gw_error *err)
{
    const struct store_effect *effect = ret->effect;
    ret->parameter_count = sqlite3_bind_parameter_count(ret->statement);
    if (ret->parameter_count > STORE_EFFECT_PARAMETERS_MAX)
        return refuse(effect, "statement: names too many parameters", err);
    for (int i = 0; i < ret->parameter_count; i++) {
        const char *name = sqlite3_bind_parameter_name(ret->statement, i + 1);
        uint32_t at = 0;
        while (name != NULL && at < effect->parameter_count &&
               (name[0] != ':' || !span_equal(effect->parameters[at], span_str(name + 1))))
            at++;
        if (name == NULL || at == effect->parameter_count)
            return gw_error_set(err, GW_INVALID,
                                "route %.*s: local.statement: no value is given for the parameter "
                                "%s",
                                (int)effect->name.len, effect->name.ptr, name == NULL ? "?" : name);
        ret->value_of[i] = (uint8_t)at;
    }
    return GW_OK;
}

/* A JSON object has each name once. */
static enum gw_status check_columns(const struct sqlite_effect *effect, struct gw_error *err)
{
    int count = sqlite3_column_count(effect->statement);
    if (count == 0)
        return refuse(effect->effect, "statement: has no RETURNING", err);
    if (count > STORE_EFFECT_COLUMNS_MAX)
        return refuse(effect->effect, "statement: returns too many columns", err);
    for (int i = 1; i < count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(sqlite3_column_name(effect->statement, i),
                       sqlite3_column_name(effect->statement, j)) == 0)
                return refuse(effect->effect,
                              "statement: returns two columns of the same name; give one of them "
                              "another with AS",
                              err);
    return GW_OK;
}

static enum gw_status prepare(struct sqlite_store *s, struct sqlite_effect *ret,
                              struct gw_error *err)
{
    const struct store_effect *effect = ret->effect;
    const char *tail = effect->statement.ptr;
    s->guard = SQLITE_GUARD_STATEMENT;
    int rc = sqlite3_prepare_v3(s->db, effect->statement.ptr, (int)effect->statement.len,
                                SQLITE_PREPARE_PERSISTENT, &ret->statement, &tail);
    s->guard = SQLITE_GUARD_OFF;
    if (rc != SQLITE_OK)
        return fail(s, effect, "statement", err);
    size_t used = (size_t)(tail - effect->statement.ptr);
    if (has_more(span_of(tail, effect->statement.len - used)))
        return refuse(effect, "statement: holds more than one statement", err);
    if (ret->statement == NULL || sqlite3_stmt_readonly(ret->statement) != 0 ||
        sqlite3_stmt_isexplain(ret->statement) != 0)
        return refuse(effect, "statement: must be one INSERT, UPDATE or DELETE", err);
    enum gw_status status = find_values(ret, err);
    return status == GW_OK ? check_columns(ret, err) : status;
}

/* ---- all of them ---- */

/* All in one transaction: a start makes all the tables and can use them, or makes none. */
static enum gw_status set_up(struct sqlite_store *s, const struct store_effect *effects,
                             uint32_t count, struct gw_error *err)
{
    enum gw_status status = sqlite_script(s, s->db, "BEGIN IMMEDIATE", "taking the file", err);
    if (status != GW_OK)
        return status;
    for (uint32_t i = 0; i < count && status == GW_OK; i++)
        status = run_setup(s, &effects[i], err);
    for (uint32_t i = 0; i < count && status == GW_OK; i++) {
        struct sqlite_effect *effect = &s->effects[i];
        (void)sqlite3_finalize(effect->statement); /* of the start before, when it is checked */
        *effect = (struct sqlite_effect){.effect = &effects[i]};
        status = prepare(s, effect, err);
    }
    if (status == GW_OK)
        status = check_references(s, err);
    if (status == GW_OK)
        status = sqlite_script(s, s->db, "COMMIT", "writing the tables", err);
    /* A failed commit may have ended the transaction by itself. */
    if (status != GW_OK && sqlite3_get_autocommit(s->db) == 0)
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* Foreign keys are off otherwise, and a rule that is written down would not hold. */
static const char foreign_keys_on[] = "PRAGMA foreign_keys = ON";

enum gw_status sqlite_effects_open(struct sqlite_store *s, const struct store_effect *effects,
                                   uint32_t count, struct gw_error *err)
{
    if (count == 0)
        return GW_OK;
    if (count > STORE_EFFECTS_MAX)
        return gw_error_set(err, GW_LIMIT, "more than %d local effects", STORE_EFFECTS_MAX);
    s->effects = calloc(count, sizeof(*s->effects));
    if (s->effects == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory for the store");
    s->effect_count = count;
    enum gw_status status = sqlite_guard_open(s, err);
    if (status == GW_OK)
        status = sqlite_script(s, s->db, foreign_keys_on, "opening", err);
    return status == GW_OK ? set_up(s, effects, count, err) : status;
}

void sqlite_effects_close(struct sqlite_store *s)
{
    for (uint32_t i = 0; i < s->effect_count; i++)
        (void)sqlite3_finalize(s->effects[i].statement); /* repeats its last error */
    free(s->effects);
    s->effects = NULL;
    s->effect_count = 0;
    sqlite_guard_close(s);
}

/* One more start on what the first has left behind. */
static enum gw_status check_in(struct sqlite_store *s, const struct store_effect *effects,
                               uint32_t count, struct gw_error *err)
{
    enum gw_status status = sqlite_schema_make(s, s->db, err);
    if (status == GW_OK)
        status = sqlite_effects_open(s, effects, count, err);
    return status == GW_OK ? set_up(s, effects, count, err) : status;
}

enum gw_status store_effects_check(const struct store_effect *effects, uint32_t count,
                                   struct gw_error *err)
{
    if (count == 0)
        return GW_OK;
    char place[] = "a database in memory";
    struct sqlite_store *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory for the store");
    s->where.path = place;
    s->base = (struct store_backend){.ops = &store_sqlite_ops, .table = &sqlite_table_ops};
    int rc = sqlite3_open_v2(":memory:", &s->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_EXRESCODE,
                             NULL);
    enum gw_status status =
        rc == SQLITE_OK ? check_in(s, effects, count, err) : sqlite_fail(s, rc, "opening", err);
    sqlite_effects_close(s);
    (void)sqlite3_close(s->db); /* nothing of it is kept */
    free(s);
    return status;
}
