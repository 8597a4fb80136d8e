/* Where a database file lies, whether it may lie there, and who owns it. Threads: any,
 * one at a time. Never opens the database file itself: closing such a descriptor
 * would drop the locks that the database holds on it. */
#ifndef RECIBO_STORE_WHERE_H
#define RECIBO_STORE_WHERE_H

#include <sys/types.h>

#include "base/base.h"

struct where_file {
    dev_t device;
    ino_t number;
};

struct where {
    char *path;                  /* owned; absolute, without symbolic links */
    char *lock_path;             /* owned; the file that carries the lock and our process id */
    char *log_path;              /* owned; the write-ahead log; NULL before where_remember() */
    int lock_fd;                 /* -1: not locked */
    struct where_file file, log; /* as where_remember() found them */
};

/* Resolves and judges the place and takes the lock, which lives as long as `ret`.
 * Errors are texts for an operator. */
GW_MUST_CHECK enum gw_status where_take(const char *path, struct where *ret, struct gw_error *err);
void where_release(struct where *where);
/* Notes which database and which log stand there; both must. */
GW_MUST_CHECK enum gw_status where_remember(struct where *where, struct gw_error *err);
/* Do they still? What is written to files that were removed or replaced is lost with
 * the last descriptor of them. */
GW_MUST_CHECK enum gw_status where_check(const struct where *where, struct gw_error *err);

enum where_kind { WHERE_LOCAL, WHERE_NETWORK, WHERE_MEMORY };
/* By the number that statfs(2) calls f_type. *ret_name: what people call it, or NULL. */
enum where_kind where_kind_of(uint32_t magic, const char **ret_name);

#endif
