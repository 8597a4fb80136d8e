/* A body that outgrows memory goes to a file without a name, which vanishes with
 * the process. It never keeps bytes in both places, and a failed addition leaves
 * what was there readable. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/upstream/upstream.h"

#define BODY_PATH_BYTES 4096

static bool write_whole(int file, struct span bytes);
static int open_nameless(const char *dir);
static int open_and_unlink(const char *dir);
static enum gw_status move_to_file(struct body *body, const char *spool_dir);

void body_init(struct body *body, size_t memory_max)
{
    *body = (struct body){.file = -1};
    gw_buf_init(&body->memory, memory_max);
}

void body_fini(struct body *body)
{
    gw_buf_fini(&body->memory);
    if (body->file >= 0)
        (void)close(body->file); /* the file has no name; nobody can miss what it held */
    body->file = -1;
    body->bytes = 0;
}

enum gw_status body_add(struct body *body, struct span bytes, const char *spool_dir)
{
    if (bytes.len == 0)
        return GW_OK;
    if (bytes.len > UINT64_MAX - body->bytes)
        return GW_LIMIT;
    if (body->file < 0) {
        size_t room = body->memory.bytes_max - body->memory.len;
        if (bytes.len <= room) {
            if (!gw_buf_add(&body->memory, bytes))
                return GW_NOMEM;
            body->bytes += bytes.len;
            return GW_OK;
        }
        enum gw_status status = move_to_file(body, spool_dir);
        if (status != GW_OK)
            return status;
    }
    if (!write_whole(body->file, bytes))
        return GW_IO;
    body->bytes += bytes.len;
    return GW_OK;
}

static enum gw_status move_to_file(struct body *body, const char *spool_dir)
{
    gw_assert(body->file < 0);
    int file = open_nameless(spool_dir);
    if (file < 0)
        return GW_IO;
    if (!write_whole(file, gw_buf_span(&body->memory))) {
        (void)close(file); /* given up; nothing of it is needed */
        return GW_IO;
    }
    gw_buf_fini(&body->memory);
    body->file = file;
    return GW_OK;
}

/* Each turn writes at least one byte or ends. */
static bool write_whole(int file, struct span bytes)
{
    while (bytes.len > 0) {
        ssize_t count = write(file, bytes.ptr, bytes.len);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        bytes = span_of(bytes.ptr + count, bytes.len - (size_t)count);
    }
    return true;
}

static int open_nameless(const char *dir)
{
    if (dir == NULL)
        return -1;
    int file = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    /* Not every file system can do it; old kernels take it for a directory. */
    if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        file = open_and_unlink(dir);
    return file;
}

static int open_and_unlink(const char *dir)
{
    char path[BODY_PATH_BYTES];
    int len = snprintf(path, sizeof(path), "%s/recibo-XXXXXX", dir);
    if (len < 0 || (size_t)len >= sizeof(path))
        return -1;
    int file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        (void)unlink(path); /* a name left behind costs a file, not an answer */
    return file;
}
