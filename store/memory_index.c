/* Slots of the memory backend and how to find one: by id, since slots lie in the
 * order of ids, and by identity, through buckets of chains whose head is the
 * newest slot. So the newest slot can be taken back. It must never hold a slot
 * out of order. */
#include <stdlib.h>

#include "store/memory.h"

#define BUCKETS_FIRST 256

bool memory_index_init(struct memory_store *m)
{
    m->bucket_count = BUCKETS_FIRST;
    m->buckets = malloc(m->bucket_count * sizeof(*m->buckets));
    if (m->buckets == NULL)
        return false;
    for (size_t i = 0; i < m->bucket_count; i++)
        m->buckets[i] = MEMORY_NO_SLOT;
    return true;
}

void memory_index_fini(struct memory_store *m)
{
    free(m->buckets);
    free(m->chain);
}

static size_t bucket_of(const struct memory_store *m, const struct store_identity *identity)
{
    uint64_t bits;
    memcpy(&bits, identity->bytes, sizeof(bits));
    return (size_t)(bits % m->bucket_count);
}

/* A removed slot left its row's identity nowhere: its chain entry stays and is
 * skipped, until compaction. */
static void link_slot(struct memory_store *m, size_t slot)
{
    size_t bucket = bucket_of(m, &m->slots[slot]->row.identity);
    m->chain[slot] = m->buckets[bucket];
    m->buckets[bucket] = slot;
}

/* With twice the buckets every chain is made again. Removed slots drop out. */
static void link_all(struct memory_store *m)
{
    for (size_t i = 0; i < m->bucket_count; i++)
        m->buckets[i] = MEMORY_NO_SLOT;
    for (size_t slot = 0; slot < m->slot_count; slot++)
        if (m->slots[slot] != NULL)
            link_slot(m, slot);
}

/* Only between two batches, since an undo relies on the order of the chains. */
static void grow_buckets(struct memory_store *m)
{
    size_t count = m->bucket_count * 2;
    size_t *buckets = realloc(m->buckets, count * sizeof(*buckets));
    if (buckets == NULL)
        return; /* longer chains are slower, not wrong */
    m->buckets = buckets;
    m->bucket_count = count;
    link_all(m);
}

bool memory_index_push(struct memory_store *m, struct memory_row *row)
{
    gw_assert(m->slot_count == 0 || m->slots[m->slot_count - 1] == NULL ||
              m->slots[m->slot_count - 1]->row.id < row->row.id);
    if (m->journal_count == 0 && m->slot_count > m->bucket_count)
        grow_buckets(m);
    struct memory_row **slots =
        memory_grow(m->slots, &m->slot_cap, m->slot_count, sizeof(struct memory_row *));
    if (slots == NULL)
        return false;
    m->slots = slots;
    size_t *chain = memory_grow(m->chain, &m->chain_cap, m->slot_count, sizeof(*chain));
    if (chain == NULL)
        return false;
    m->chain = chain;
    m->slots[m->slot_count] = row;
    link_slot(m, m->slot_count);
    m->slot_count++;
    return true;
}

void memory_index_pop(struct memory_store *m)
{
    gw_assert(m->slot_count > 0);
    size_t slot = m->slot_count - 1;
    struct memory_row *row = m->slots[slot];
    gw_assert(row != NULL);
    size_t bucket = bucket_of(m, &row->row.identity);
    gw_assert(m->buckets[bucket] == slot);
    m->buckets[bucket] = m->chain[slot];
    m->slot_count--;
    free(row);
}

size_t memory_index_by_identity(const struct memory_store *m, const struct store_identity *identity)
{
    size_t slot = m->buckets[bucket_of(m, identity)];
    while (slot != MEMORY_NO_SLOT) {
        const struct memory_row *row = m->slots[slot];
        if (row != NULL &&
            memcmp(row->row.identity.bytes, identity->bytes, sizeof(identity->bytes)) == 0)
            return slot;
        slot = m->chain[slot];
    }
    return MEMORY_NO_SLOT;
}

/* Removed slots have no id to compare: step over them to the next older one. */
static size_t filled_before(const struct memory_store *m, size_t low, size_t slot)
{
    while (slot > low && m->slots[slot] == NULL)
        slot--;
    return slot;
}

size_t memory_index_by_id(const struct memory_store *m, int64_t id)
{
    size_t low = 0, high = m->slot_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        size_t filled = filled_before(m, low, middle);
        const struct memory_row *row = m->slots[filled];
        if (row == NULL || row->row.id < id)
            low = middle + 1;
        else if (row->row.id == id)
            return filled;
        else
            high = filled;
    }
    return MEMORY_NO_SLOT;
}

void memory_index_compact(struct memory_store *m)
{
    gw_assert(m->journal_count == 0);
    size_t kept = 0;
    for (size_t slot = 0; slot < m->slot_count; slot++)
        if (m->slots[slot] != NULL)
            m->slots[kept++] = m->slots[slot];
    m->slot_count = kept;
    m->empty_slots = 0;
    link_all(m);
}
