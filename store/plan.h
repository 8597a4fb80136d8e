/* The packed entries of a plan. Decoding trusts nothing: a broken blob is
 * GW_CORRUPT, never an assertion. Threads: pure. */
#ifndef RECIBO_STORE_PLAN_H
#define RECIBO_STORE_PLAN_H

#include "store/store.h"

/* Appends to `out`; false: more than PLAN_ENTRIES_MAX, or out of its maximum. */
bool plan_items_encode(struct gw_buf *out, const struct plan_item *items, uint32_t count);
/* Puts the array into the arena. */
GW_MUST_CHECK enum gw_status plan_items_decode(struct arena *arena, struct span from,
                                               struct plan_item **ret, uint32_t *ret_count);
/* An empty span is sound: there is nothing in it. */
bool plan_items_are_sound(struct span packed);
/* May this plan come from a disk, or go to one? GW_LIMIT: a text is too large;
 * GW_CORRUPT: what no plan can be. */
GW_MUST_CHECK enum gw_status plan_check(const struct plan_entry *entry, struct gw_error *err);
/* Has the plan come to its end? Such a one never goes on. */
bool plan_is_over(enum plan_state state);

/* A packed item never takes more: what a buffer for all of a plan must hold. */
#define PLAN_ITEM_BYTES_MAX  16
#define PLAN_ITEMS_BYTES_MAX ((size_t)PLAN_ENTRIES_MAX * PLAN_ITEM_BYTES_MAX + 16)

#endif
