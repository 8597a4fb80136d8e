/* Memory of one flow: bounded, freed in one go. Nothing in an arena is freed
 * alone. Threads: one at a time; while a store operation is submitted its arena
 * belongs to the store. */
#ifndef RECIBO_BASE_ARENA_H
#define RECIBO_BASE_ARENA_H

#include "base/base.h"

struct arena;

struct arena *arena_new(size_t bytes_max); /* NULL: out of memory */
void arena_free(struct arena *a);          /* NULL is fine */
/* Zeroed, aligned for any type. NULL: over bytes_max or out of memory. */
void *arena_take(struct arena *a, size_t bytes) GW_MUST_CHECK;
/* A copy of the bytes; an empty span copies to an empty span. On failure
 * returns false and leaves *ret alone. */
bool arena_copy(struct arena *a, struct span from, struct span *ret) GW_MUST_CHECK;
/* Did anything asked of it ever fail? What was put together with it may then be cut short:
 * whoever is about to act on it asks first. */
bool arena_has_failed(const struct arena *a);
/* A NUL-terminated printf text; an empty span on failure. */
struct span arena_print(struct arena *a, const char *fmt, ...) GW_PRINTF(2, 3);
size_t arena_used(const struct arena *a);

#endif
