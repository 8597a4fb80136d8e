/* The disk under one file. It must never know what the bytes mean. */
#include "tests/fault/shadow.h"

#include <stdlib.h>

#define OLD_BYTE 0xa5 /* what may lie where nobody has written */

uint32_t shadow_roll(struct shadow_dice *dice, uint32_t sides)
{
    gw_assert(sides > 0);
    dice->state = dice->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(dice->state >> 33) % sides;
}

void shadow_init(struct shadow *shadow)
{
    *shadow = (struct shadow){.is_there = false};
    gw_buf_init(&shadow->on_disk, SHADOW_BYTES_MAX);
    shadow->changes = calloc(SHADOW_CHANGES_MAX, sizeof(*shadow->changes));
    gw_assert(shadow->changes != NULL);
}

static void forget_changes(struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->change_count; i++)
        free(shadow->changes[i].bytes);
    shadow->change_count = 0;
}

void shadow_fini(struct shadow *shadow)
{
    forget_changes(shadow);
    free(shadow->changes);
    gw_buf_fini(&shadow->on_disk);
    *shadow = (struct shadow){.is_there = false};
}

static void add_change(struct shadow *shadow, struct shadow_change change)
{
    gw_assert(shadow->change_count < SHADOW_CHANGES_MAX);
    shadow->changes[shadow->change_count++] = change;
}

void shadow_write(struct shadow *shadow, uint64_t at, const void *bytes, size_t len)
{
    uint8_t *copy = malloc(len + 1);
    gw_assert(copy != NULL);
    memcpy(copy, bytes, len);
    add_change(shadow, (struct shadow_change){.at = at, .len = len, .bytes = copy});
}

void shadow_truncate(struct shadow *shadow, uint64_t len)
{
    add_change(shadow, (struct shadow_change){.at = len});
}

/* Fills up with what lay there before; zeros on most file systems. */
static void grow_to(struct gw_buf *file, size_t len, uint8_t fill)
{
    while (file->len < len) {
        bool fits = gw_buf_byte(file, (char)fill);
        gw_assert(fits);
    }
}

static void put(struct gw_buf *file, const struct shadow_change *change, size_t from, size_t to,
                uint8_t fill)
{
    grow_to(file, (size_t)change->at + to, fill);
    memcpy(file->ptr + change->at + from, change->bytes + from, to - from);
}

static void cut_to(struct gw_buf *file, size_t len)
{
    if (file->len > len)
        file->len = len;
}

static void apply(struct gw_buf *file, const struct shadow_change *change)
{
    if (change->bytes == NULL)
        cut_to(file, (size_t)change->at);
    else if (change->len > 0)
        put(file, change, 0, change->len, 0);
}

void shadow_sync(struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->change_count; i++)
        apply(&shadow->on_disk, &shadow->changes[i]);
    forget_changes(shadow);
}

/* Each sector of the change for itself: `kept` of four reach the disk. */
static void apply_sectors(struct gw_buf *file, const struct shadow_change *change, uint32_t kept,
                          uint8_t fill, struct shadow_dice *dice)
{
    if (change->bytes == NULL) {
        if (shadow_roll(dice, 4) < kept)
            cut_to(file, (size_t)change->at);
        return;
    }
    size_t from = 0;
    while (from < change->len) {
        size_t sector = ((size_t)change->at + from) / SHADOW_SECTOR_BYTES;
        size_t to = (sector + 1) * SHADOW_SECTOR_BYTES - (size_t)change->at;
        to = to < change->len ? to : change->len;
        if (shadow_roll(dice, 4) < kept)
            put(file, change, from, to, fill);
        from = to;
    }
}

void shadow_lose(struct shadow *shadow, struct shadow_dice *dice)
{
    uint32_t kept = shadow_roll(dice, 4);
    for (size_t i = 0; i < shadow->change_count; i++)
        apply_sectors(&shadow->on_disk, &shadow->changes[i], kept, 0, dice);
    forget_changes(shadow);
}

static void apply_prefix(const struct shadow *shadow, struct shadow_dice *dice, struct gw_buf *out)
{
    if (shadow->change_count == 0)
        return;
    uint32_t whole = shadow_roll(dice, (uint32_t)shadow->change_count);
    for (uint32_t i = 0; i < whole; i++)
        apply(out, &shadow->changes[i]);
    const struct shadow_change *last = &shadow->changes[whole];
    size_t sectors = last->len / SHADOW_SECTOR_BYTES;
    size_t len = shadow_roll(dice, (uint32_t)sectors + 1) * SHADOW_SECTOR_BYTES;
    if (last->bytes != NULL && len > 0)
        put(out, last, 0, len, 0);
}

void shadow_tear(const struct shadow *shadow, enum vfs_tear tear, struct shadow_dice *dice,
                 struct gw_buf *out)
{
    bool fits = gw_buf_add(out, gw_buf_span(&shadow->on_disk));
    gw_assert(fits);
    uint8_t fill = tear == VFS_TEAR_MOST ? OLD_BYTE : 0;
    uint32_t kept = 0;
    switch (tear) {
    case VFS_TEAR_NONE:
        break;
    case VFS_TEAR_ALL:
        kept = 4;
        break;
    case VFS_TEAR_PREFIX:
        apply_prefix(shadow, dice, out);
        return;
    case VFS_TEAR_FEW:
        kept = 1;
        break;
    case VFS_TEAR_HALF:
        kept = 2;
        break;
    case VFS_TEAR_MOST:
        kept = 3;
        break;
    case VFS_TEAR_COUNT:
        gw_assert(tear < VFS_TEAR_COUNT);
        break;
    }
    for (size_t i = 0; i < shadow->change_count; i++)
        apply_sectors(out, &shadow->changes[i], kept, fill, dice);
}
