/* The SQLite backend: opening a file, transactions, closing it. Everything that
 * was committed is synced; nothing of a batch that failed is ever seen. */
#include <sqlite3.h>
#include <stdlib.h>

#include "store/sqlite.h"

#define BUSY_MS_MAX 600000
/* Ids are reserved in the file in steps, so that none is given out twice even if
 * its row is gone; a batch must never use more than the margin. */
#define RESERVE_STEP   100000
#define RESERVE_MARGIN 10000

/* WAL and a sync for every commit: what was answered survives a power cut. Free
 * pages are not overwritten: dropping receipts would cost as much as serving them. */
static const char connection_setup[] =
    "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = OFF;"
    "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = OFF;"
    "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536";

enum gw_status sqlite_script(const struct sqlite_store *s, struct sqlite3 *db, const char *text,
                             const char *doing, struct gw_error *err)
{
    int rc = sqlite3_exec(db, text, NULL, NULL, NULL);
    return rc == SQLITE_OK ? GW_OK : sqlite_fail(s, rc, doing, err);
}

/* Percent-encodes what a URI gives a meaning to. */
static void add_encoded(struct gw_buf *out, const char *path)
{
    for (const char *at = path; *at != '\0'; at++) {
        if (*at == '%' || *at == '?' || *at == '#' || *at == '&')
            (void)gw_buf_print(out, "%%%02x", (unsigned)(unsigned char)*at);
        else
            (void)gw_buf_byte(out, *at); /* the buffer remembers a failure */
    }
}

/* A new database gets the permissions of the lock file: receipts hold other
 * people's data and are for the owner's eyes only. */
static enum gw_status connection_name(const struct sqlite_store *s, struct gw_buf *out,
                                      struct gw_error *err)
{
    (void)gw_buf_add(out, SPAN("file:")); /* the buffer remembers a failure */
    add_encoded(out, s->where.path);
    (void)gw_buf_add(out, SPAN("?modeof=")); /* likewise */
    add_encoded(out, s->where.lock_path);
    (void)gw_buf_byte(out, '\0'); /* likewise */
    return out->failed ? gw_error_set(err, GW_NOMEM, "out of memory for the store") : GW_OK;
}

enum gw_status sqlite_connect(struct sqlite_store *s, struct sqlite3 **ret, struct gw_error *err)
{
    struct gw_buf name;
    gw_buf_init(&name, (size_t)64 << 10);
    enum gw_status status = connection_name(s, &name, err);
    int rc = SQLITE_OK;
    if (status == GW_OK)
        rc = sqlite3_open_v2(name.ptr, ret,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE,
                             NULL);
    gw_buf_fini(&name);
    if (rc != SQLITE_OK)
        status = sqlite_fail(s, rc, "opening", err);
    if (status != GW_OK)
        return status;
    (void)sqlite3_busy_timeout(*ret, (int)s->busy_ms);                 /* cannot fail */
    (void)sqlite3_db_config(*ret, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL); /* known verb */
    return sqlite_script(s, *ret, connection_setup, "opening", err);
}

static void close_store(struct sqlite_store *s)
{
    sqlite_effects_close(s);
    sqlite_finalize(s);
    sqlite_checkpoint_close(s);
    int rc = sqlite3_close(s->db);
    gw_assert(rc == SQLITE_OK);
    where_release(&s->where);
    free(s);
}

static enum gw_status sqlite_open(const struct store_options *options, struct store_backend **ret,
                                  struct gw_error *err)
{
    struct sqlite_store *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory for the store");
    s->base = (struct store_backend){.ops = &store_sqlite_ops, .table = &sqlite_table_ops};
    s->busy_ms = options->busy_ms < 0 ? 0 : options->busy_ms;
    s->busy_ms = s->busy_ms > BUSY_MS_MAX ? BUSY_MS_MAX : s->busy_ms;
    s->where.lock_fd = -1;
    s->clock = options->clock;
    enum gw_status status = where_take(options->path, &s->where, err);
    if (status == GW_OK)
        status = sqlite_connect(s, &s->db, err);
    if (status == GW_OK)
        status = sqlite_schema_open(s, err);
    if (status == GW_OK)
        status = sqlite_effects_open(s, options->effects, options->effect_count, err);
    if (status == GW_OK)
        status = sqlite_prepare(s, err);
    if (status == GW_OK)
        status = sqlite_checkpoint_open(s, err);
    if (status == GW_OK)
        status = where_remember(&s->where, err);
    if (status != GW_OK) {
        close_store(s);
        return status;
    }
    *ret = &s->base;
    return GW_OK;
}

static void sqlite_close(struct store_backend *backend)
{
    close_store(sqlite_of(backend));
}

static struct span sqlite_secret(const struct store_backend *backend)
{
    const struct sqlite_store *s = (const struct sqlite_store *)(const void *)backend;
    return span_of((const char *)s->secret, sizeof(s->secret));
}

static void sqlite_rollback(struct store_backend *backend)
{
    struct sqlite_store *s = sqlite_of(backend);
    s->wanted_id = 0;
    if (sqlite3_get_autocommit(s->db) != 0)
        return; /* SQLite has undone it by itself */
    /* It cannot fail in a way that keeps the transaction: what is not committed is
     * not in the log's published part. */
    (void)sqlite3_step(s->statements[SQL_ROLLBACK]);
    (void)sqlite3_reset(s->statements[SQL_ROLLBACK]);
}

static enum gw_status reserve_ids(struct sqlite_store *s, struct gw_error *err)
{
    if (s->next_id + RESERVE_MARGIN < s->reserved_id)
        return GW_OK;
    s->wanted_id = s->next_id + RESERVE_STEP;
    sqlite_bind_int(s->statements[SQL_RESERVE], 1, s->wanted_id);
    return sqlite_run(s, SQL_RESERVE, "reserving row numbers in", err);
}

static enum gw_status sqlite_begin(struct store_backend *backend, bool writes, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    gw_assert(sqlite3_get_autocommit(s->db) != 0);
    enum gw_status status = writes ? where_check(&s->where, err) : GW_OK;
    if (status != GW_OK)
        return status;
    status = sqlite_run(s, writes ? SQL_BEGIN_WRITE : SQL_BEGIN_READ, "beginning a batch in", err);
    if (status == GW_OK && writes)
        status = reserve_ids(s, err);
    if (status != GW_OK)
        sqlite_rollback(backend);
    return status;
}

/* Some errors make SQLite undo the whole transaction: then what follows would be
 * outside of any. */
static enum gw_status sqlite_apply(struct store_backend *backend, struct store_op *op,
                                   struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    enum gw_status status = apply_op(backend, op, err);
    if (status == GW_OK && sqlite3_get_autocommit(s->db) != 0)
        return op->out.status != GW_OK
                   ? op->out.status
                   : gw_error_set(err, GW_IO, "'%s' lost its transaction", s->where.path);
    return status;
}

static enum gw_status sqlite_commit(struct store_backend *backend, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    enum gw_status status = sqlite_run(s, SQL_COMMIT, "committing to", err);
    if (status != GW_OK) {
        sqlite_rollback(backend);
        return status;
    }
    if (s->wanted_id != 0)
        s->reserved_id = s->wanted_id;
    s->wanted_id = 0;
    return GW_OK;
}

/* Taking one more row number writes a page for sure; the gap does no harm. */
static enum gw_status sqlite_probe(struct store_backend *backend, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    (void)sqlite3_busy_timeout(s->db, 0); /* cannot fail: readers would wait behind it */
    enum gw_status status = sqlite_begin(backend, true, err);
    if (status == GW_OK) {
        s->wanted_id = (s->wanted_id != 0 ? s->wanted_id : s->reserved_id) + 1;
        sqlite_bind_int(s->statements[SQL_RESERVE], 1, s->wanted_id);
        status = sqlite_run(s, SQL_RESERVE, "trying to write to", err);
        if (status == GW_OK)
            status = sqlite_commit(backend, err);
        else
            sqlite_rollback(backend);
    }
    (void)sqlite3_busy_timeout(s->db, (int)s->busy_ms); /* likewise */
    return status;
}

const struct store_backend_ops store_sqlite_ops = {
    .name = "sqlite",
    .open = sqlite_open,
    .close = sqlite_close,
    .secret = sqlite_secret,
    .begin = sqlite_begin,
    .apply = sqlite_apply,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .probe = sqlite_probe,
    .wal_frames = sqlite_wal_frames,
    .checkpoint_last = sqlite_checkpoint_last,
    .checkpoint_pass = sqlite_checkpoint_pass,
};
