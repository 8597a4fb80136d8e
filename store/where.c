/* Judges the place of a database file before anything is written there. */
#include "store/where.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static enum gw_status resolve(const char *path, struct where *where, struct gw_error *err);
static enum gw_status resolve_new(const char *path, struct where *where, struct gw_error *err);
static enum gw_status judge_file(const char *path, struct gw_error *err);
static enum gw_status judge_directory(const char *path, struct gw_error *err);
static enum gw_status judge_file_system(const char *path, struct gw_error *err);
static enum gw_status take_lock(struct where *where, struct gw_error *err);

enum gw_status where_take(const char *path, struct where *ret, struct gw_error *err)
{
    struct where where = {.lock_fd = -1};
    enum gw_status status = resolve(path, &where, err);
    if (status == GW_OK)
        status = judge_directory(where.path, err);
    if (status == GW_OK)
        status = judge_file(where.path, err);
    if (status == GW_OK)
        status = take_lock(&where, err);
    if (status != GW_OK) {
        where_release(&where);
        return status;
    }
    *ret = where;
    return GW_OK;
}

void where_release(struct where *where)
{
    if (where->lock_fd >= 0)
        (void)close(
            where->lock_fd); /* lets the lock go; the file stays, so that nobody races for it */
    free(where->path);
    free(where->lock_path);
    free(where->log_path);
    *where = (struct where){.lock_fd = -1};
}

static bool look_at(const char *path, struct where_file *ret)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return false;
    *ret = (struct where_file){.device = info.st_dev, .number = info.st_ino};
    return true;
}

static bool is_same(const char *path, const struct where_file *file)
{
    struct where_file now;
    return look_at(path, &now) && now.device == file->device && now.number == file->number;
}

static enum gw_status is_gone(const char *path, struct gw_error *err)
{
    return gw_error_set(err, GW_IO,
                        "'%s' was removed or replaced while it was in use; nothing more is taken "
                        "on: put the very file back, or stop Recibo and restore a backup",
                        path);
}

enum gw_status where_remember(struct where *where, struct gw_error *err)
{
    static const char suffix[] = "-wal";
    size_t len = strlen(where->path);
    gw_assert(where->log_path == NULL);
    where->log_path = malloc(len + sizeof(suffix));
    if (where->log_path == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory for the store");
    memcpy(where->log_path, where->path, len);
    memcpy(where->log_path + len, suffix, sizeof(suffix));
    if (!look_at(where->path, &where->file))
        return is_gone(where->path, err);
    return look_at(where->log_path, &where->log) ? GW_OK : is_gone(where->log_path, err);
}

enum gw_status where_check(const struct where *where, struct gw_error *err)
{
    gw_assert(where->log_path != NULL);
    if (!is_same(where->path, &where->file))
        return is_gone(where->path, err);
    return is_same(where->log_path, &where->log) ? GW_OK : is_gone(where->log_path, err);
}

/* Two names of one file must find one lock. */
static enum gw_status resolve(const char *path, struct where *where, struct gw_error *err)
{
    struct stat info;
    if (path == NULL || path[0] == '\0')
        return gw_error_set(err, GW_INVALID, "the store has no path; set store.path to a file");
    where->path = realpath(path, NULL);
    if (where->path != NULL)
        return GW_OK;
    if (errno == ENOENT && lstat(path, &info) == 0)
        return gw_error_set(err, GW_IO,
                            "'%s' is a symbolic link that leads nowhere; remove it or make its "
                            "target's directory",
                            path);
    if (errno == ENOENT)
        return resolve_new(path, where, err);
    return gw_error_set(err, GW_IO, "cannot look at '%s': %s", path, strerror(errno));
}

/* The file is not there yet: its directory must be. */
static enum gw_status resolve_new(const char *path, struct where *where, struct gw_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    if (folder == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory while opening '%s'", path);
    enum gw_status status = GW_OK;
    char *real = realpath(folder, NULL);
    if (real == NULL && errno == ENOENT)
        status = gw_error_set(err, GW_IO,
                              "the directory '%s' does not exist; create it for the user that runs "
                              "Recibo",
                              folder);
    else if (real == NULL)
        status =
            gw_error_set(err, GW_IO, "cannot use the directory '%s': %s", folder, strerror(errno));
    else if (name[0] == '\0')
        status = gw_error_set(err, GW_INVALID, "'%s' names a directory; add a file name", path);
    else if (asprintf(&where->path, "%s%s%s", real, real[1] == '\0' ? "" : "/", name) < 0)
        where->path = NULL, status = gw_error_set(err, GW_NOMEM, "out of memory: '%s'", path);
    free(real);
    free(folder);
    return status;
}

static enum gw_status judge_file(const char *path, struct gw_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        if (errno == ENOENT)
            return GW_OK;
        return gw_error_set(err, GW_IO, "cannot look at '%s': %s", path, strerror(errno));
    }
    if (S_ISDIR(info.st_mode))
        return gw_error_set(err, GW_INVALID, "'%s' is a directory; add a file name", path);
    if (!S_ISREG(info.st_mode))
        return gw_error_set(err, GW_INVALID, "'%s' is no regular file; a store needs one", path);
    if (info.st_nlink > 1)
        return gw_error_set(err, GW_INVALID,
                            "'%s' has %lu names (hard links); two programs could open it without "
                            "seeing each other: remove the other names",
                            path, (unsigned long)info.st_nlink);
    if (access(path, R_OK | W_OK) != 0)
        return gw_error_set(err, GW_IO,
                            "'%s' cannot be read and written by this user (%s); give it to the "
                            "user that runs Recibo",
                            path, strerror(errno));
    return judge_file_system(path, err);
}

static enum gw_status judge_directory(const char *path, struct gw_error *err)
{
    const char *slash = strrchr(path, '/');
    gw_assert(slash != NULL);
    char folder[PATH_MAX];
    size_t len = slash == path ? 1 : (size_t)(slash - path);
    if (len >= sizeof(folder))
        return gw_error_set(err, GW_INVALID, "the path '%.200s...' is too long", path);
    memcpy(folder, path, len);
    folder[len] = '\0';
    if (access(folder, W_OK | X_OK) != 0)
        return gw_error_set(err, GW_IO,
                            "the directory '%s' cannot be written (%s); the store needs to make "
                            "files beside '%s'",
                            folder, strerror(errno), slash + 1);
    return judge_file_system(folder, err);
}

struct file_system {
    uint32_t magic;
    enum where_kind kind;
    const char *name;
};

/* From linux/magic.h and the file systems' own sources. A FUSE mount may well be
 * local; nothing says so, and its locks and syncs are whatever its author made. */
static const struct file_system file_systems[] = {
    {0x00006969, WHERE_NETWORK, "nfs"},      {0x0000517b, WHERE_NETWORK, "smb"},
    {0xff534d42, WHERE_NETWORK, "cifs"},     {0xfe534d42, WHERE_NETWORK, "smb2"},
    {0x65735546, WHERE_NETWORK, "fuse"},     {0x01021997, WHERE_NETWORK, "9p"},
    {0x5346414f, WHERE_NETWORK, "afs"},      {0x6b414653, WHERE_NETWORK, "afs"},
    {0x00c36400, WHERE_NETWORK, "ceph"},     {0x73757245, WHERE_NETWORK, "coda"},
    {0x0000564c, WHERE_NETWORK, "ncp"},      {0x7461636f, WHERE_NETWORK, "ocfs2"},
    {0x01161970, WHERE_NETWORK, "gfs2"},     {0x0bd00bd0, WHERE_NETWORK, "lustre"},
    {0x47504653, WHERE_NETWORK, "gpfs"},     {0x19830326, WHERE_NETWORK, "beegfs"},
    {0xaad7aaea, WHERE_NETWORK, "panfs"},    {0x786f4256, WHERE_NETWORK, "vboxsf"},
    {0xbacbacbc, WHERE_NETWORK, "vmhgfs"},   {0x013111a8, WHERE_NETWORK, "ibrix"},
    {0x20030528, WHERE_NETWORK, "orangefs"}, {0x01021994, WHERE_MEMORY, "tmpfs"},
    {0x858458f6, WHERE_MEMORY, "ramfs"},     {0x958458f6, WHERE_MEMORY, "hugetlbfs"},
};

enum where_kind where_kind_of(uint32_t magic, const char **ret_name)
{
    for (size_t i = 0; i < GW_COUNT(file_systems); i++) {
        if (file_systems[i].magic == magic) {
            *ret_name = file_systems[i].name;
            return file_systems[i].kind;
        }
    }
    *ret_name = NULL;
    return WHERE_LOCAL;
}

static enum gw_status judge_file_system(const char *path, struct gw_error *err)
{
    struct statfs info;
    const char *name;
    if (statfs(path, &info) != 0)
        return gw_error_set(err, GW_IO, "cannot tell the file system of '%s': %s", path,
                            strerror(errno));
    switch (where_kind_of((uint32_t)info.f_type, &name)) {
    case WHERE_LOCAL:
        break;
    case WHERE_NETWORK:
        return gw_error_set(err, GW_INVALID,
                            "'%s' lies on %s, a network or user-space file system, whose locks and "
                            "syncs cannot be relied on; put the store on a local disk",
                            path, name);
    case WHERE_MEMORY:
        return gw_error_set(err, GW_INVALID,
                            "'%s' lies on %s, which is memory: receipts would be lost with the "
                            "machine's power; put the store on a disk",
                            path, name);
    }
    return GW_OK;
}

/* Who holds it, as far as that can be read. */
static enum gw_status refuse_second(const struct where *where, struct gw_error *err)
{
    char text[24] = "";
    ssize_t len = pread(where->lock_fd, text, sizeof(text) - 1, 0);
    size_t digits = strspn(text, "0123456789");
    text[len > 0 ? digits : 0] = '\0';
    return gw_error_set(err, GW_BUSY,
                        "another gateway%s%s has '%s' open (lock file '%s'); one gateway per "
                        "store file: stop the other one, or give this one a file of its own",
                        text[0] == '\0' ? "" : ", process ", text, where->path, where->lock_path);
}

/* A lock of the open file description: it lives until the descriptor is closed,
 * whatever else this process does with the file, and dies with the process. */
static enum gw_status take_lock(struct where *where, struct gw_error *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (asprintf(&where->lock_path, "%s.lock", where->path) < 0) {
        where->lock_path = NULL;
        return gw_error_set(err, GW_NOMEM, "out of memory while opening '%s'", where->path);
    }
    where->lock_fd = open(where->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (where->lock_fd < 0)
        return gw_error_set(err, GW_IO, "cannot open the lock file '%s': %s", where->lock_path,
                            strerror(errno));
    if (fcntl(where->lock_fd, F_OFD_SETLK, &whole) != 0) {
        if (errno == EAGAIN || errno == EACCES)
            return refuse_second(where, err);
        return gw_error_set(err, GW_IO, "cannot lock '%s': %s", where->lock_path, strerror(errno));
    }
    /* Only so that the next one can say who we are; the lock itself does not need it. */
    if (ftruncate(where->lock_fd, 0) == 0)
        (void)dprintf(where->lock_fd, "%ld\n", (long)getpid());
    return GW_OK;
}
