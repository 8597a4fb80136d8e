/* An SQLite VFS for tests. It passes everything on to the system's own, remembers
 * what was written and not yet synced, and makes the n-th call fail or the power go.
 * What the power left behind is written as files that a real store then opens.
 * Threads: any, under one lock; the functions below are the test's own. */
#ifndef RECIBO_TESTS_FAULT_VFS_H
#define RECIBO_TESTS_FAULT_VFS_H

#include "base/base.h"

enum vfs_fault {
    VFS_WATCH,       /* nothing fails */
    VFS_CUT,         /* at the n-th change the power goes: it and all after it fail */
    VFS_WRITE_ERROR, /* the n-th write fails and writes nothing */
    VFS_WRITE_SHORT, /* the n-th write fails in its middle */
    VFS_DISK_FULL,   /* the n-th write finds no room, nor do the few after it */
    VFS_SYNC_ERROR,  /* the n-th sync fails, and what it should have saved may be lost */
    VFS_READ_ERROR,  /* the n-th read fails */
    VFS_FAULT_COUNT,
};
const char *vfs_fault_name(enum vfs_fault fault);

struct fault_vfs;

/* Becomes the VFS of every store that is opened from here on. */
struct fault_vfs *vfs_new(void);
void vfs_free(struct fault_vfs *vfs); /* NULL is fine; no file may be open */

/* Watches the files of this folder, which has none of them yet. at: 1 is the first call. */
void vfs_watch(struct fault_vfs *vfs, const char *folder, enum vfs_fault fault, uint32_t at);
/* From here on calls are passed on and nothing more. */
void vfs_rest(struct fault_vfs *vfs);
bool vfs_has_struck(struct fault_vfs *vfs);

/* Which of the unsynced writes reached the disk. */
enum vfs_tear {
    VFS_TEAR_NONE,   /* not one */
    VFS_TEAR_ALL,    /* all, without having been synced */
    VFS_TEAR_PREFIX, /* the first few, the last of them in part */
    VFS_TEAR_FEW,    /* one sector in four, in any order */
    VFS_TEAR_HALF,
    VFS_TEAR_MOST, /* three sectors in four; where a file grew over a hole, old bytes show */
    VFS_TEAR_COUNT,
};
/* Writes the files into the folder as a power cut would have left them now. */
void vfs_leave(struct fault_vfs *vfs, const char *folder, enum vfs_tear tear, uint32_t seed);

#endif
