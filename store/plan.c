/* The entries of a plan, packed, and what a sound plan is: what a plan was made of
 * must come back exactly, or not at all. */
#include "store/plan.h"

#include "store/pack.h"
#include "store/row_pack.h"

#define TEXT_BYTES_MAX   ((size_t)64 << 10)
#define ANSWER_BYTES_MAX ((size_t)1 << 28)

bool plan_items_encode(struct gw_buf *out, const struct plan_item *items, uint32_t count)
{
    if (count > PLAN_ENTRIES_MAX)
        return false;
    pack_put_start(out, count);
    for (uint32_t i = 0; i < count && !out->failed; i++) {
        gw_assert(items[i].id > 0);
        gw_assert(items[i].outcome <= PLAN_REFUSED);
        pack_put_number(out, (uint64_t)items[i].id);
        pack_put_number(out, items[i].version);
        pack_put_number(out, items[i].outcome);
    }
    return !out->failed;
}

static void take_item(struct pack_reader *r, struct plan_item *ret)
{
    ret->id = (int64_t)pack_take_number(r, INT64_MAX);
    ret->version = (uint32_t)pack_take_number(r, UINT32_MAX);
    ret->outcome = (uint8_t)pack_take_number(r, PLAN_REFUSED);
    if (ret->id == 0)
        r->failed = true;
}

enum gw_status plan_items_decode(struct arena *arena, struct span from, struct plan_item **ret,
                                 uint32_t *ret_count)
{
    struct pack_reader r = {.from = from};
    uint32_t count = from.len == 0 ? 0 : pack_take_start(&r, PLAN_ENTRIES_MAX);
    struct plan_item *list = arena_take(arena, count * sizeof(*list));
    if (list == NULL)
        return GW_NOMEM;
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_item(&r, &list[i]);
    if (!pack_is_at_end(&r))
        return GW_CORRUPT;
    *ret = list;
    *ret_count = count;
    return GW_OK;
}

bool plan_items_are_sound(struct span packed)
{
    struct pack_reader r = {.from = packed};
    struct plan_item item;
    uint32_t count = packed.len == 0 ? 0 : pack_take_start(&r, PLAN_ENTRIES_MAX);
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_item(&r, &item);
    return pack_is_at_end(&r);
}

bool plan_is_over(enum plan_state state)
{
    switch (state) {
    case PLAN_DRAFT:
    case PLAN_WAITING:
    case PLAN_APPLYING:
        return false;
    case PLAN_DONE:
    case PLAN_STOPPED:
    case PLAN_STATE_COUNT:
        break;
    }
    return true;
}

static bool plan_id_is_sound(const char id[PLAN_ID_BYTES + 1])
{
    if (memcmp(id, "plan_", 5) != 0 || id[PLAN_ID_BYTES] != '\0')
        return false;
    for (size_t i = 5; i < PLAN_ID_BYTES; i++) {
        bool is_digit = id[i] >= '0' && id[i] <= '9';
        bool is_lower = id[i] >= 'a' && id[i] <= 'z';
        if (!is_digit && !is_lower)
            return false;
    }
    return true;
}

/* NULL: nothing is wrong. */
static const char *find_fault(const struct plan_entry *entry)
{
    if ((unsigned)entry->state >= PLAN_STATE_COUNT)
        return "its state is no known one";
    if (entry->created_ms < 0 || entry->expires_ms < 0 || entry->apply_at_ms < 0 ||
        entry->ended_ms < 0)
        return "a time is negative";
    if (entry->count > PLAN_ENTRIES_MAX || entry->settled > entry->count ||
        entry->changed > entry->count || entry->refused > entry->count)
        return "its counts do not fit together";
    if (!message_is_sound(entry->answer))
        return "its answer is damaged";
    if (!plan_items_are_sound(entry->items))
        return "its entries are damaged";
    return NULL;
}

enum gw_status plan_check(const struct plan_entry *entry, struct gw_error *err)
{
    const struct span texts[] = {entry->actor, entry->applied_by, entry->where, entry->verdict,
                                 entry->note};
    if (!plan_id_is_sound(entry->plan_id))
        return gw_error_set(err, GW_CORRUPT, "the id of a plan is damaged");
    for (size_t i = 0; i < GW_COUNT(texts); i++)
        if (texts[i].len > TEXT_BYTES_MAX)
            return gw_error_set(err, GW_LIMIT, "%s: a text is larger than %zu bytes",
                                entry->plan_id, TEXT_BYTES_MAX);
    if (entry->answer.len > ANSWER_BYTES_MAX || entry->items.len > PLAN_ITEMS_BYTES_MAX)
        return gw_error_set(err, GW_LIMIT, "%s: its answer or its entries are too large",
                            entry->plan_id);
    const char *fault = find_fault(entry);
    if (fault != NULL)
        return gw_error_set(err, GW_CORRUPT, "%s: %s", entry->plan_id, fault);
    return GW_OK;
}
