/* The VFS of the fault tests. It must never change what a call does but where it was
 * asked to, and never tell the store more than a real disk would. */
#include "tests/fault/vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fault/shadow.h"

#define PATH_BYTES 512
#define FULL_CALLS 8 /* a full disk stays full for a while */

enum file_kind { FILE_MAIN, FILE_LOG, FILE_JOURNAL, FILE_KINDS };
static const char *const suffixes[FILE_KINDS] = {
    [FILE_MAIN] = "", [FILE_LOG] = "-wal", [FILE_JOURNAL] = "-journal"};
#define MAIN_NAME "receipts.db"

struct fault_vfs {
    sqlite3_vfs base; /* first: SQLite hands it back */
    sqlite3_vfs *real;
    pthread_mutex_t lock;
    /* Under the lock: */
    bool is_watching, is_off, has_struck;
    enum vfs_fault fault;
    uint32_t at, calls;
    char folder[PATH_BYTES];
    struct shadow shadows[FILE_KINDS];
    struct shadow_dice dice;
};

/* Behind it lies the system's own file. */
struct fault_file {
    sqlite3_file base; /* first: SQLite hands it back */
    struct fault_vfs *vfs;
    struct shadow *shadow; /* NULL: not watched */
};

enum call_kind { CALL_READ, CALL_WRITE, CALL_SYNC, CALL_OTHER };

static const struct sqlite3_io_methods file_methods;

const char *vfs_fault_name(enum vfs_fault fault)
{
    static const char *const names[VFS_FAULT_COUNT] = {
        [VFS_WATCH] = "watch",         [VFS_CUT] = "power cut",
        [VFS_WRITE_ERROR] = "write",   [VFS_WRITE_SHORT] = "short write",
        [VFS_DISK_FULL] = "disk full", [VFS_SYNC_ERROR] = "sync",
        [VFS_READ_ERROR] = "read"};
    gw_assert(fault < VFS_FAULT_COUNT);
    return names[fault];
}

static void lock(struct fault_vfs *vfs)
{
    int rc = pthread_mutex_lock(&vfs->lock);
    gw_assert(rc == 0);
}

static void unlock(struct fault_vfs *vfs)
{
    int rc = pthread_mutex_unlock(&vfs->lock);
    gw_assert(rc == 0);
}

static struct fault_file *file_of(sqlite3_file *file)
{
    return (struct fault_file *)(void *)file;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return (sqlite3_file *)(void *)(file_of(file) + 1);
}

static bool is_counted(enum vfs_fault fault, enum call_kind kind)
{
    switch (fault) {
    case VFS_CUT:
        return kind != CALL_READ;
    case VFS_WRITE_ERROR:
    case VFS_WRITE_SHORT:
    case VFS_DISK_FULL:
        return kind == CALL_WRITE;
    case VFS_SYNC_ERROR:
        return kind == CALL_SYNC;
    case VFS_READ_ERROR:
        return kind == CALL_READ;
    case VFS_WATCH:
    case VFS_FAULT_COUNT:
        break;
    }
    return false;
}

/* Under the lock. Does this call fail? */
static bool strikes(struct fault_vfs *vfs, enum call_kind kind)
{
    if (!vfs->is_watching)
        return false;
    if (vfs->is_off)
        return kind != CALL_READ;
    if (!is_counted(vfs->fault, kind))
        return false;
    vfs->calls++;
    uint32_t last = vfs->at + (vfs->fault == VFS_DISK_FULL ? FULL_CALLS : 0);
    bool is_hit = vfs->calls >= vfs->at && vfs->calls <= last;
    vfs->has_struck = vfs->has_struck || is_hit;
    vfs->is_off = is_hit && vfs->fault == VFS_CUT;
    return is_hit;
}

/* ---- files ---- */

static int file_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int file_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 at)
{
    struct fault_file *own = file_of(file);
    lock(own->vfs);
    bool fails = own->shadow != NULL && strikes(own->vfs, CALL_READ);
    unlock(own->vfs);
    return fails ? SQLITE_IOERR_READ
                 : real_of(file)->pMethods->xRead(real_of(file), bytes, len, at);
}

/* Under the lock: the system's file and its shadow change together. */
static int write_through(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
    struct fault_file *own = file_of(file);
    if (own->shadow != NULL && own->vfs->is_watching)
        shadow_write(own->shadow, (uint64_t)at, bytes, (size_t)len);
    return real_of(file)->pMethods->xWrite(real_of(file), bytes, len, at);
}

static int file_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
    struct fault_file *own = file_of(file);
    struct fault_vfs *vfs = own->vfs;
    int rc = SQLITE_OK;
    lock(vfs);
    bool was_off = vfs->is_off;
    bool fails = own->shadow != NULL && strikes(vfs, CALL_WRITE);
    if (!fails) {
        rc = write_through(file, bytes, len, at);
    } else if (vfs->fault == VFS_CUT) {
        if (!was_off) /* the bytes were on their way: some of them may arrive */
            shadow_write(own->shadow, (uint64_t)at, bytes, (size_t)len);
        rc = SQLITE_IOERR_WRITE;
    } else {
        if (vfs->fault == VFS_WRITE_SHORT)
            (void)write_through(file, bytes, len / 2, at); /* it fails anyway */
        rc = vfs->fault == VFS_DISK_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }
    unlock(vfs);
    return rc;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 len)
{
    struct fault_file *own = file_of(file);
    lock(own->vfs);
    bool fails = own->shadow != NULL && strikes(own->vfs, CALL_OTHER);
    if (!fails && own->shadow != NULL && own->vfs->is_watching)
        shadow_truncate(own->shadow, (uint64_t)len);
    unlock(own->vfs);
    return fails ? SQLITE_IOERR_TRUNCATE : real_of(file)->pMethods->xTruncate(real_of(file), len);
}

/* The first sync of a log or a journal syncs their folder too, with all names in it. */
static void sync_names(struct fault_vfs *vfs)
{
    for (size_t i = 0; i < FILE_KINDS; i++) {
        struct shadow *shadow = &vfs->shadows[i];
        if (shadow->is_there && !shadow->is_made) { /* what was deleted is gone for good */
            shadow_fini(shadow);
            shadow_init(shadow);
        }
        shadow->is_there = shadow->is_made;
    }
}

/* The system's file is not synced: this process does not crash, and the disk that
 * counts is the shadow. */
static int file_sync(sqlite3_file *file, int flags)
{
    struct fault_file *own = file_of(file);
    struct fault_vfs *vfs = own->vfs;
    (void)flags;
    lock(vfs);
    bool was_off = vfs->is_off;
    bool fails = own->shadow != NULL && strikes(vfs, CALL_SYNC);
    if (own->shadow != NULL && vfs->is_watching && !fails) {
        shadow_sync(own->shadow);
        if (own->shadow != &vfs->shadows[FILE_MAIN] && !own->shadow->is_there)
            sync_names(vfs);
    }
    if (fails && vfs->fault == VFS_SYNC_ERROR && !was_off)
        shadow_lose(own->shadow, &vfs->dice);
    unlock(vfs);
    return fails ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), ret);
}

static int file_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_check_lock(sqlite3_file *file, int *ret)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), ret);
}

static int file_control(sqlite3_file *file, int verb, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), verb, argument);
}

static int file_sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_characteristics(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, ret);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int file_shm_unmap(sqlite3_file *file, int deletes)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), deletes);
}

static const struct sqlite3_io_methods file_methods = {
    .iVersion = 2, /* no memory-mapped reads: each goes through here */
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

/* ---- names ---- */

static struct fault_vfs *vfs_of(sqlite3_vfs *base)
{
    return (struct fault_vfs *)(void *)base;
}

/* Under the lock. NULL: a file that is not watched. */
static struct shadow *shadow_named(struct fault_vfs *vfs, const char *path)
{
    char wanted[PATH_BYTES + 32];
    for (size_t i = 0; i < FILE_KINDS && vfs->is_watching && path != NULL; i++) {
        (void)snprintf(wanted, sizeof(wanted), "%s/" MAIN_NAME "%s", vfs->folder,
                       suffixes[i]); /* fits */
        if (strcmp(wanted, path) == 0)
            return &vfs->shadows[i];
    }
    return NULL;
}

static int vfs_open(sqlite3_vfs *base, const char *path, sqlite3_file *file, int flags, int *ret)
{
    struct fault_vfs *vfs = vfs_of(base);
    struct fault_file *own = file_of(file);
    own->base.pMethods = NULL;
    lock(vfs);
    struct shadow *shadow = shadow_named(vfs, path);
    bool is_new = shadow != NULL && !shadow->is_made && (flags & SQLITE_OPEN_CREATE) != 0;
    bool fails = is_new && vfs->is_off;
    if (is_new && !fails) {
        if (shadow->is_there) { /* the old one was deleted: this is another file */
            shadow_fini(shadow);
            shadow_init(shadow);
        }
        shadow->is_made = true;
    }
    own->vfs = vfs;
    own->shadow = shadow;
    unlock(vfs);
    int rc = fails ? SQLITE_CANTOPEN : vfs->real->xOpen(vfs->real, path, real_of(file), flags, ret);
    if (rc == SQLITE_OK)
        own->base.pMethods = &file_methods;
    return rc;
}

static int vfs_delete(sqlite3_vfs *base, const char *path, int syncs)
{
    struct fault_vfs *vfs = vfs_of(base);
    lock(vfs);
    struct shadow *shadow = shadow_named(vfs, path);
    bool fails = shadow != NULL && strikes(vfs, CALL_OTHER);
    if (shadow != NULL && !fails) {
        shadow->is_made = false;
        if (syncs != 0)
            sync_names(vfs);
    }
    unlock(vfs);
    return fails ? SQLITE_IOERR_DELETE : vfs->real->xDelete(vfs->real, path, syncs);
}

static int vfs_access(sqlite3_vfs *base, const char *path, int flags, int *ret)
{
    return vfs_of(base)->real->xAccess(vfs_of(base)->real, path, flags, ret);
}

static int vfs_full_path(sqlite3_vfs *base, const char *path, int len, char *ret)
{
    return vfs_of(base)->real->xFullPathname(vfs_of(base)->real, path, len, ret);
}

static int vfs_randomness(sqlite3_vfs *base, int len, char *ret)
{
    return vfs_of(base)->real->xRandomness(vfs_of(base)->real, len, ret);
}

static int vfs_sleep(sqlite3_vfs *base, int us)
{
    return vfs_of(base)->real->xSleep(vfs_of(base)->real, us);
}

static int vfs_time(sqlite3_vfs *base, sqlite3_int64 *ret)
{
    return vfs_of(base)->real->xCurrentTimeInt64(vfs_of(base)->real, ret);
}

static int vfs_last_error(sqlite3_vfs *base, int len, char *ret)
{
    return vfs_of(base)->real->xGetLastError(vfs_of(base)->real, len, ret);
}

/* ---- for the tests ---- */

struct fault_vfs *vfs_new(void)
{
    struct fault_vfs *vfs = calloc(1, sizeof(*vfs));
    gw_assert(vfs != NULL);
    vfs->real = sqlite3_vfs_find(NULL);
    gw_assert(vfs->real != NULL);
    int rc = pthread_mutex_init(&vfs->lock, NULL);
    gw_assert(rc == 0);
    vfs->base = (sqlite3_vfs){.iVersion = 2,
                              .szOsFile = (int)sizeof(struct fault_file) + vfs->real->szOsFile,
                              .mxPathname = vfs->real->mxPathname,
                              .zName = "fault",
                              .xOpen = vfs_open,
                              .xDelete = vfs_delete,
                              .xAccess = vfs_access,
                              .xFullPathname = vfs_full_path,
                              .xRandomness = vfs_randomness,
                              .xSleep = vfs_sleep,
                              .xGetLastError = vfs_last_error,
                              .xCurrentTimeInt64 = vfs_time};
    for (size_t i = 0; i < FILE_KINDS; i++)
        shadow_init(&vfs->shadows[i]);
    rc = sqlite3_vfs_register(&vfs->base, 1);
    gw_assert(rc == SQLITE_OK);
    return vfs;
}

void vfs_free(struct fault_vfs *vfs)
{
    if (vfs == NULL)
        return;
    int rc = sqlite3_vfs_unregister(&vfs->base);
    gw_assert(rc == SQLITE_OK);
    for (size_t i = 0; i < FILE_KINDS; i++)
        shadow_fini(&vfs->shadows[i]);
    (void)pthread_mutex_destroy(&vfs->lock); /* nobody holds it */
    free(vfs);
}

void vfs_watch(struct fault_vfs *vfs, const char *folder, enum vfs_fault fault, uint32_t at)
{
    lock(vfs);
    for (size_t i = 0; i < FILE_KINDS; i++) {
        shadow_fini(&vfs->shadows[i]);
        shadow_init(&vfs->shadows[i]);
    }
    (void)snprintf(vfs->folder, sizeof(vfs->folder), "%s", folder); /* fits */
    vfs->fault = fault;
    vfs->at = at;
    vfs->calls = 0;
    vfs->is_watching = true;
    vfs->is_off = vfs->has_struck = false;
    vfs->dice.state = at;
    unlock(vfs);
}

void vfs_rest(struct fault_vfs *vfs)
{
    lock(vfs);
    vfs->is_watching = vfs->is_off = false;
    unlock(vfs);
}

bool vfs_has_struck(struct fault_vfs *vfs)
{
    lock(vfs);
    bool has_struck = vfs->has_struck;
    unlock(vfs);
    return has_struck;
}

/* A name that was made or deleted without a sync of the folder may be there or not. */
static bool name_is_left(const struct shadow *shadow, enum vfs_tear tear, struct shadow_dice *dice)
{
    if (shadow->is_there == shadow->is_made || tear == VFS_TEAR_NONE)
        return shadow->is_there;
    return tear == VFS_TEAR_ALL || shadow_roll(dice, 2) == 0 ? shadow->is_made : shadow->is_there;
}

void vfs_leave(struct fault_vfs *vfs, const char *folder, enum vfs_tear tear, uint32_t seed)
{
    struct shadow_dice dice = {.state = seed};
    char path[PATH_BYTES + 32];
    lock(vfs);
    for (size_t i = 0; i < FILE_KINDS; i++) {
        struct gw_buf left;
        gw_buf_init(&left, SHADOW_BYTES_MAX);
        (void)snprintf(path, sizeof(path), "%s/" MAIN_NAME "%s", folder, suffixes[i]); /* fits */
        if (name_is_left(&vfs->shadows[i], tear, &dice)) {
            FILE *file = fopen(path, "wb");
            gw_assert(file != NULL);
            shadow_tear(&vfs->shadows[i], tear, &dice, &left);
            size_t written = left.len == 0 ? 0 : fwrite(left.ptr, 1, left.len, file);
            gw_assert(written == left.len);
            int rc = fclose(file);
            gw_assert(rc == 0);
        }
        gw_buf_fini(&left);
    }
    unlock(vfs);
}
