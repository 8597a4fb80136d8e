/* What a disk holds of one file, and what was written since the last sync. For the
 * VFS of the tests alone. Not thread-safe. */
#ifndef RECIBO_TESTS_FAULT_SHADOW_H
#define RECIBO_TESTS_FAULT_SHADOW_H

#include "base/buf.h"
#include "tests/fault/vfs.h"

#define SHADOW_SECTOR_BYTES 512
#define SHADOW_BYTES_MAX    ((size_t)32 << 20)
#define SHADOW_CHANGES_MAX  20000

struct shadow_change {
    uint64_t at;
    size_t len;
    uint8_t *bytes; /* NULL: the file is cut to `at` */
};

struct shadow {
    bool is_there; /* its name is on the disk */
    bool is_made;  /* it has a name, synced or not */
    struct gw_buf on_disk;
    struct shadow_change *changes;
    size_t change_count;
};

/* The disk's arbitrary choices; the same seed makes the same. */
struct shadow_dice {
    uint64_t state;
};
uint32_t shadow_roll(struct shadow_dice *dice, uint32_t sides);

void shadow_init(struct shadow *shadow);
void shadow_fini(struct shadow *shadow);
void shadow_write(struct shadow *shadow, uint64_t at, const void *bytes, size_t len);
void shadow_truncate(struct shadow *shadow, uint64_t len);
void shadow_sync(struct shadow *shadow);
/* A sync failed: the kernel holds the pages for clean, and some of them are lost. */
void shadow_lose(struct shadow *shadow, struct shadow_dice *dice);
/* Appends the file as a power cut leaves it. */
void shadow_tear(const struct shadow *shadow, enum vfs_tear tear, struct shadow_dice *dice,
                 struct gw_buf *out);

#endif
