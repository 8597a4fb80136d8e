/* Writes files for people to take away. It must never write over one that is there,
 * and never leave half of one behind. */
#include "gateway/commands/outfile.h"

#include "gateway/commands/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define TAR_BLOCK      512
#define TAR_NAME_BYTES 100

int outfile_open(struct outfile *out, const char *path)
{
    *out = (struct outfile){.file = stdout};
    if (path == NULL || strcmp(path, "-") == 0)
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (file == NULL) {
        (void)fprintf(stderr, "recibo: %s: %s%s\n", path, strerror(errno),
                      errno == EEXIST ? "; it is not written over: give another name"
                                      : ""); /* nowhere else to tell it */
        if (fd >= 0)
            (void)close(fd); /* nothing was written */
        return EXIT_USAGE;
    }
    out->path = path;
    out->file = file;
    return -1;
}

bool outfile_put(void *outfile, struct span text)
{
    struct outfile *out = outfile;
    if (!out->failed && fwrite(text.ptr, 1, text.len, out->file) != text.len)
        out->failed = true;
    return !out->failed;
}

int outfile_close(struct outfile *out, bool is_whole)
{
    bool ok = fflush(out->file) == 0 && !out->failed;
    if (out->path != NULL)
        ok = fclose(out->file) == 0 && ok;
    if (!ok)
        (void)fprintf(stderr, "recibo: %s could not be written\n",
                      out->path == NULL ? "the output" : out->path); /* nowhere else to tell it */
    if (out->path != NULL && !(ok && is_whole))
        (void)unlink(out->path); /* half of it would be taken for the whole */
    return ok ? -1 : EXIT_FAILED;
}

/* ---- tar ---- */

static void put_octal(char *field, size_t size, uint64_t number)
{
    for (size_t i = size - 1; i > 0; i--) { /* the last byte stays NUL */
        field[i - 1] = (char)('0' + (number & 7));
        number >>= 3;
    }
}

bool outfile_put_entry(struct outfile *out, const char *path, struct span content, int64_t wall_ms)
{
    char block[TAR_BLOCK] = {0};
    const struct {
        size_t at, size;
        uint64_t number;
    } numbers[] = {{100, 8, 0600},
                   {108, 8, 0},
                   {116, 8, 0},
                   {124, 12, content.len},
                   {136, 12, (uint64_t)(wall_ms / 1000)}};
    gw_assert(strlen(path) < TAR_NAME_BYTES);
    memcpy(block, path, strlen(path));
    for (size_t i = 0; i < GW_COUNT(numbers); i++)
        put_octal(block + numbers[i].at, numbers[i].size, numbers[i].number);
    block[156] = '0';                      /* a plain file */
    memcpy(block + 257, "ustar\00000", 8); /* the format, and its version */
    memset(block + 148, ' ', 8);           /* the sum is over blanks in its own place */
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(block); i++)
        sum += (uint8_t)block[i];
    put_octal(block + 148, 7, sum);
    static const char zeros[TAR_BLOCK] = {0};
    size_t rest = content.len % TAR_BLOCK;
    return outfile_put(out, span_of(block, sizeof(block))) && outfile_put(out, content) &&
           outfile_put(out, span_of(zeros, rest == 0 ? 0 : TAR_BLOCK - rest));
}

bool outfile_end_tar(struct outfile *out)
{
    static const char zeros[2 * TAR_BLOCK] = {0};
    return outfile_put(out, span_of(zeros, sizeof(zeros)));
}
