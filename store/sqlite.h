/* The SQLite backend's own structures, shared by its files alone. Threads: the
 * committer's, but for sqlite_checkpoint_pass(). */
#ifndef RECIBO_STORE_SQLITE_H
#define RECIBO_STORE_SQLITE_H

#include <stdatomic.h>

#include "base/buf.h"
#include "store/table.h"
#include "store/where.h"

struct sqlite3;
struct sqlite3_stmt;

/* Prepared once, when the store is opened. */
enum sqlite_sql {
#define SQL(name, text) SQL_##name,
#include "store/sqlite_sql.def"
#undef SQL
    SQL_COUNT,
};

/* What the authorizer lets pass: everything while Recibo's own statements are prepared. */
enum sqlite_guard { SQLITE_GUARD_OFF, SQLITE_GUARD_SETUP, SQLITE_GUARD_STATEMENT };

/* A local effect, prepared. */
struct sqlite_effect {
    const struct store_effect *effect; /* borrowed */
    struct sqlite3_stmt *statement;
    int parameter_count;
    uint8_t value_of[STORE_EFFECT_PARAMETERS_MAX]; /* by parameter: index of its value */
};

/* Columns of a receipt, in the order of every SELECT of one. */
enum sqlite_column {
#define COLUMN(name) COLUMN_##name,
#include "store/sqlite_columns.def"
#undef COLUMN
    COLUMN_COUNT,
};

struct sqlite_store {
    struct store_backend base;
    struct where where;
    struct sqlite3 *db;            /* the committer's */
    struct sqlite3 *checkpoint_db; /* the checkpointer's */
    struct sqlite3_stmt *statements[SQL_COUNT];
    int64_t busy_ms;
    int64_t epoch;       /* of this opening; leases of earlier ones are dead */
    int64_t next_id;     /* of the next row; never used twice, not even after a restart */
    int64_t reserved_id; /* the file says that ids below it may be in use */
    int64_t wanted_id;   /* what the open transaction reserves; 0: nothing */
    uint8_t secret[32];
    atomic_uint wal_frames;
    struct gw_clock *clock; /* borrowed */
    struct sqlite_effect *effects;
    uint32_t effect_count;
    struct gw_buf own_names; /* of the schema of Recibo, each with its NUL */
    enum sqlite_guard guard;
    char denied[64];                   /* what the guard has kept a statement off; empty: nothing */
    int64_t effect_until_ticks;        /* the running effect is stopped then */
    atomic_bool is_checkpoint_stopped; /* a sync of the file failed: never again in this life */
};

static inline struct sqlite_store *sqlite_of(struct store_backend *backend)
{
    return (struct sqlite_store *)(void *)backend;
}

extern const struct table_ops sqlite_table_ops;

/* sqlite_schema.c */
enum gw_status sqlite_schema_open(struct sqlite_store *s, struct gw_error *err);
/* All tables of the newest version, in an empty database. */
enum gw_status sqlite_schema_make(const struct sqlite_store *s, struct sqlite3 *db,
                                  struct gw_error *err);

/* sqlite_versions.c: the steps from one version of the tables to the next, each list
 * ended by NULL; each is run once, all in one transaction. */
#define SQLITE_VERSION_COUNT 3
extern const char *const *const sqlite_versions[SQLITE_VERSION_COUNT];

/* sqlite_sql.c */
/* Appends the text with its words in braces filled in, and a NUL. */
enum gw_status sqlite_expand(const char *text, struct gw_buf *out, struct gw_error *err);
enum gw_status sqlite_prepare(struct sqlite_store *s, struct gw_error *err);
void sqlite_finalize(struct sqlite_store *s);

/* sqlite_value.c */
enum gw_status sqlite_fail(const struct sqlite_store *s, int rc, const char *doing,
                           struct gw_error *err);
void sqlite_bind_int(struct sqlite3_stmt *statement, int at, int64_t value);
void sqlite_bind_bytes(struct sqlite3_stmt *statement, int at, struct span bytes);
void sqlite_bind_text(struct sqlite3_stmt *statement, int at, struct span text);
int64_t sqlite_int(struct sqlite3_stmt *statement, int at);
/* Until the next step or reset of the statement. */
struct span sqlite_bytes(struct sqlite3_stmt *statement, int at);
/* A number that fits, or a mark that one did not. */
uint32_t sqlite_u32(struct sqlite3_stmt *statement, int at, uint32_t max, bool *damaged);
/* Exactly so many bytes, likewise. */
void sqlite_exact(struct sqlite3_stmt *statement, int at, void *to, size_t len, bool *damaged);
/* false: the columns hold what no row can; the spans live like sqlite_bytes(). */
GW_MUST_CHECK bool sqlite_row(const struct sqlite_store *s, struct sqlite3_stmt *statement,
                              struct store_row *ret);
/* A statement that returns nothing, run and reset. */
enum gw_status sqlite_run(struct sqlite_store *s, enum sqlite_sql which, const char *doing,
                          struct gw_error *err);

/* sqlite_rows.c: one row */
enum gw_status sqlite_get(struct store_backend *backend, const struct row_key *key,
                          struct arena *arena, struct store_row *ret, bool *ret_found,
                          struct gw_error *err);
enum gw_status sqlite_load(struct store_backend *backend, uint32_t load, struct arena *arena,
                           struct store_row *row, struct gw_error *err);
enum gw_status sqlite_insert(struct store_backend *backend, const struct store_row *row,
                             int64_t *ret_id, struct gw_error *err);
enum gw_status sqlite_update(struct store_backend *backend, const struct row_change *change,
                             struct gw_error *err);
enum gw_status sqlite_remove(struct store_backend *backend, const struct store_row *old,
                             struct gw_error *err);
enum gw_status sqlite_touch(struct store_backend *backend, int64_t id, int64_t now_ms,
                            bool *ret_found, struct gw_error *err);

/* The answer of a row that says that it has one. */
enum gw_status sqlite_set_answer(struct sqlite_store *s, int64_t id, struct span answer,
                                 struct gw_error *err);

/* sqlite_effects.c: what is done once, when the store is opened */
enum gw_status sqlite_effects_open(struct sqlite_store *s, const struct store_effect *effects,
                                   uint32_t count, struct gw_error *err);
void sqlite_effects_close(struct sqlite_store *s);

/* sqlite_guard.c: local statements and the tables of Recibo */
/* Reads the names that are taken, and asks sqlite_guard_allows() for everything that is
 * prepared from now on while s->guard is not OFF. */
enum gw_status sqlite_guard_open(struct sqlite_store *s, struct gw_error *err);
void sqlite_guard_close(struct sqlite_store *s);
/* Is this the name of a table that local statements may touch? */
bool sqlite_guard_allows(const struct sqlite_store *s, struct span name);

/* sqlite_local.c */
enum gw_status sqlite_local(struct store_backend *backend, struct store_op *op,
                            const struct store_row *old, struct gw_error *err);

/* sqlite_answer.c: a row as JSON */
/* Appends the current row; EFFECT_DONE, or EFFECT_UNFIT. */
enum effect_refusal sqlite_answer_row(struct sqlite3_stmt *statement, struct gw_buf *out);

/* sqlite_walk.c */
enum gw_status sqlite_walk(struct store_backend *backend, const struct walk *walk,
                           struct gw_error *err);

/* sqlite_lists.c */
/* Reads every row of a statement with `take`, which returns false when the arena is full. */
enum gw_status sqlite_read_all(struct sqlite_store *s, struct sqlite3_stmt *statement,
                               struct store_op *op,
                               bool (*take)(struct sqlite3_stmt *, struct store_op *),
                               struct gw_error *err);

/* sqlite_groups.c */
enum gw_status sqlite_tally_read(struct store_backend *backend, struct store_op *op,
                                 struct gw_error *err);
enum gw_status sqlite_groups_read(struct store_backend *backend, struct store_op *op,
                                  struct gw_error *err);

/* sqlite_plans.c */
enum gw_status sqlite_plan_set(struct store_backend *backend, const struct plan_entry *entry,
                               struct gw_error *err);
enum gw_status sqlite_plans_read(struct store_backend *backend, const struct plans_query *query,
                                 struct store_op *op, struct gw_error *err);

/* sqlite_observed.c */
enum gw_status sqlite_observe_add(struct store_backend *backend, const struct observation *seen,
                                  struct gw_error *err);
enum gw_status sqlite_observed_read(struct store_backend *backend, struct store_op *op,
                                    struct gw_error *err);

/* sqlite_checkpoint.c */
enum gw_status sqlite_checkpoint_open(struct sqlite_store *s, struct gw_error *err);
void sqlite_checkpoint_close(struct sqlite_store *s);
uint32_t sqlite_wal_frames(const struct store_backend *backend);
enum gw_status sqlite_checkpoint_last(struct store_backend *backend, struct gw_error *err);
enum gw_status sqlite_checkpoint_pass(struct store_backend *backend, struct gw_error *err);

/* sqlite.c */
enum gw_status sqlite_connect(struct sqlite_store *s, struct sqlite3 **ret, struct gw_error *err);
/* Simple statements without results, one after the other. */
enum gw_status sqlite_script(const struct sqlite_store *s, struct sqlite3 *db, const char *text,
                             const char *doing, struct gw_error *err);

#endif
