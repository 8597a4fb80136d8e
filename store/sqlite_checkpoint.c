/* Writing the write-ahead log back. Passes beside commits come from a connection
 * of their own; the last one is held between two commits, finds little to do, and
 * lets the log begin anew. It must never truncate the log in service, and never
 * go on after a failed sync of the database file: pages that were written and
 * lost are then only in the log. */
#include <sqlite3.h>

#include "base/fault.h"
#include "store/sqlite.h"

#include <limits.h>

#define PASSES_MAX      6
#define FRAMES_LEFT_MAX 64

static int on_commit(void *ctx, sqlite3 *db, const char *name, int frames)
{
    struct sqlite_store *s = ctx;
    (void)db;
    (void)name;
    atomic_store(&s->wal_frames, frames < 0 ? 0u : (unsigned)frames);
    return SQLITE_OK;
}

enum gw_status sqlite_checkpoint_open(struct sqlite_store *s, struct gw_error *err)
{
    (void)sqlite3_wal_hook(s->db, on_commit, s); /* returns the hook before: there was none */
    return sqlite_connect(s, &s->checkpoint_db, err);
}

void sqlite_checkpoint_close(struct sqlite_store *s)
{
    /* SQLite writes the log back when the last connection closes. */
    if (atomic_load(&s->is_checkpoint_stopped))
        (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* known verb */
    if (s->checkpoint_db != NULL && atomic_load(&s->is_checkpoint_stopped))
        (void)sqlite3_db_config(s->checkpoint_db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                                NULL); /* known verb */
    int rc = sqlite3_close(s->checkpoint_db);
    gw_assert(rc == SQLITE_OK);
    s->checkpoint_db = NULL;
}

uint32_t sqlite_wal_frames(const struct store_backend *backend)
{
    const struct sqlite_store *s = (const struct sqlite_store *)(const void *)backend;
    return atomic_load(&s->wal_frames);
}

static enum gw_status stop_for_good(struct sqlite_store *s, struct gw_error *err)
{
    atomic_store(&s->is_checkpoint_stopped, true);
    return gw_error_set(err, GW_IO,
                        "'%s' could not be synced; its write-ahead log holds everything and is no "
                        "longer written back: check the disk, then restart Recibo",
                        s->where.path);
}

/* One pass. *ret_left: frames that are still only in the log. */
static enum gw_status pass(struct sqlite_store *s, sqlite3 *db, int *ret_left, struct gw_error *err)
{
    int frames = 0, written = 0;
    if (atomic_load(&s->is_checkpoint_stopped))
        return stop_for_good(s, err);
    int rc = sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_PASSIVE, &frames, &written);
    if (rc == SQLITE_IOERR_FSYNC)
        return stop_for_good(s, err);
    if (rc == SQLITE_BUSY) { /* somebody who only reads was in the way: the next round will do */
        *ret_left = INT_MAX;
        return GW_OK;
    }
    if (rc != SQLITE_OK)
        return sqlite_fail(s, rc, "writing back the log of", err);
    *ret_left = frames > written ? frames - written : 0;
    return GW_OK;
}

/* SQLite syncs the file only in the pass that reaches the end of the log; without
 * this the held pass would pay for all pages at once. Through SQLite's own handle:
 * a descriptor of ours would drop its locks when it is closed. */
static enum gw_status sync_database(struct sqlite_store *s, struct gw_error *err)
{
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(s->checkpoint_db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    gw_assert(rc == SQLITE_OK);
    gw_assert(file != NULL);
    rc = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    return rc == SQLITE_OK ? GW_OK : stop_for_good(s, err);
}

enum gw_status sqlite_checkpoint_pass(struct store_backend *backend, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    enum gw_status status = GW_OK;
    int left = FRAMES_LEFT_MAX + 1;
    if (GW_FAULT(checkpoint_pass))
        return gw_error_set(err, GW_IO, "a test broke the write-back");
    for (int i = 0; i < PASSES_MAX && left > FRAMES_LEFT_MAX && status == GW_OK; i++) {
        status = pass(s, s->checkpoint_db, &left, err);
        if (status == GW_OK && left > 0)
            status = sync_database(s, err);
    }
    return status;
}

enum gw_status sqlite_checkpoint_last(struct store_backend *backend, struct gw_error *err)
{
    struct sqlite_store *s = sqlite_of(backend);
    int left = 0;
    if (GW_FAULT(checkpoint_last))
        return gw_error_set(err, GW_IO, "a test broke the write-back");
    enum gw_status status = pass(s, s->db, &left, err);
    /* Nothing is left: the next commit starts the log from its beginning. */
    if (status == GW_OK && left == 0)
        atomic_store(&s->wal_frames, 0u);
    return status;
}
