/* A file that a command writes: new, for the caller's eyes alone, whole or not there.
 * Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_OUTFILE_H
#define RECIBO_GATEWAY_COMMANDS_OUTFILE_H

#include "base/base.h"

#include <stdio.h>

struct outfile {
    const char *path; /* NULL: standard output */
    FILE *file;
    bool failed;
};

/* NULL or "-": standard output. -1: go on; else the exit code, and why was said. */
int outfile_open(struct outfile *out, const char *path);
/* For csv_write too. false: it could not be written; it stays so. */
bool outfile_put(void *outfile, struct span text);
/* Ends it; one that is not whole is removed. -1: it is whole. */
int outfile_close(struct outfile *out, bool is_whole);

/* ---- tar (POSIX ustar) ---- */

/* One file in it; path below 100 bytes. */
bool outfile_put_entry(struct outfile *out, const char *path, struct span content, int64_t wall_ms);
bool outfile_end_tar(struct outfile *out);

#endif
