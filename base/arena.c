/* A list of blocks, newest first. It never gives a block back before the end. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ARENA_BLOCK_BYTES 4096
#define ARENA_ALIGN       16

struct arena_block {
    struct arena_block *next;
    size_t cap, used;
};

struct arena {
    struct arena_block *blocks;
    size_t bytes_max, bytes_used;
    bool failed;
};

static size_t round_up(size_t n)
{
    return (n + (ARENA_ALIGN - 1)) & ~(size_t)(ARENA_ALIGN - 1);
}

static const size_t header_bytes =
    (sizeof(struct arena_block) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;

struct arena *arena_new(size_t bytes_max)
{
    gw_assert(bytes_max > 0);
    struct arena *a = calloc(1, sizeof(*a));
    if (a != NULL)
        a->bytes_max = bytes_max;
    return a;
}

void arena_free(struct arena *a)
{
    if (a == NULL)
        return;
    struct arena_block *block = a->blocks;
    while (block != NULL) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    free(a);
}

static struct arena_block *add_block(struct arena *a, size_t need)
{
    size_t cap = need > ARENA_BLOCK_BYTES - header_bytes ? need : ARENA_BLOCK_BYTES - header_bytes;
    struct arena_block *block = malloc(header_bytes + cap);
    if (block == NULL)
        return NULL;
    block->cap = cap;
    block->used = 0;
    block->next = a->blocks;
    a->blocks = block;
    return block;
}

void *arena_take(struct arena *a, size_t bytes)
{
    gw_assert(a != NULL);
    if (bytes > a->bytes_max - a->bytes_used) {
        a->failed = true;
        return NULL;
    }
    size_t need = round_up(bytes == 0 ? 1 : bytes);
    struct arena_block *block = a->blocks;
    if (block == NULL || block->cap - block->used < need)
        block = add_block(a, need);
    if (block == NULL) {
        a->failed = true;
        return NULL;
    }
    char *ptr = (char *)block + header_bytes + block->used;
    block->used += need;
    a->bytes_used += bytes;
    memset(ptr, 0, bytes);
    return ptr;
}

bool arena_copy(struct arena *a, struct span from, struct span *ret)
{
    if (from.len == 0) {
        *ret = span_of("", 0);
        return true;
    }
    char *ptr = arena_take(a, from.len);
    if (ptr == NULL)
        return false;
    memcpy(ptr, from.ptr, from.len);
    *ret = span_of(ptr, from.len);
    return true;
}

struct span arena_print(struct arena *a, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    struct span text = {"", 0};
    char *ptr = len < 0 ? NULL : arena_take(a, (size_t)len + 1);
    if (ptr != NULL) {
        (void)vsnprintf(ptr, (size_t)len + 1, fmt, again); /* same length as just measured */
        text = span_of(ptr, (size_t)len);
    }
    va_end(again);
    return text;
}

bool arena_has_failed(const struct arena *a)
{
    return a->failed;
}

size_t arena_used(const struct arena *a)
{
    return a->bytes_used;
}
