/* Walks of the memory backend: by id through the slots, by time through a sorted
 * list of the rows whose time has come. */
#include <stdlib.h>

#include "store/memory.h"
#include "store/row_pack.h"

static bool bears_label(const struct store_row *row, const struct walk *walk)
{
    struct label_step step = {0};
    struct label label;
    while (labels_next(row->labels, &step, &label))
        if (span_equal(label.name, walk->label_name) && span_equal(label.value, walk->label_value))
            return true;
    return false;
}

static bool belongs(const struct memory_row *entry, const struct walk *walk)
{
    const struct store_row *row = &entry->row;
    switch (walk->by) {
    case WALK_ID:
        return true;
    case WALK_STATE:
        return row->receipt.state == walk->state;
    case WALK_CONTRADICTED:
        return (row->receipt.marks & RECEIPT_CONTRADICTED) != 0;
    case WALK_LABEL:
        return bears_label(row, walk);
    case WALK_LEASED:
        return receipt_is_leased(row->receipt.state);
    case WALK_EXPIRE:
        return row->receipt.expire_ms > 0 && row->receipt.expire_ms <= walk->until_ms;
    case WALK_EVIDENCE:
        return entry->request_kept && row->evidence_until_ms > 0 &&
               row->evidence_until_ms <= walk->until_ms;
    }
    return false;
}

static bool is_past(const struct store_row *row, const struct walk *walk)
{
    if (walk->after_id == 0)
        return true;
    return walk->oldest_first ? row->id > walk->after_id : row->id < walk->after_id;
}

static void walk_by_id(const struct memory_store *m, const struct walk *walk)
{
    for (size_t i = 0; i < m->slot_count; i++) {
        size_t slot = walk->oldest_first ? i : m->slot_count - 1 - i;
        const struct memory_row *entry = m->slots[slot];
        if (entry == NULL || !is_past(&entry->row, walk) || !belongs(entry, walk))
            continue;
        if (!walk->visit(walk->ctx, entry->row.id, &entry->row))
            return;
    }
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_expire(const void *a, const void *b)
{
    const struct store_row *x = *(const struct store_row *const *)a;
    const struct store_row *y = *(const struct store_row *const *)b;
    int order = compare(x->receipt.expire_ms, y->receipt.expire_ms);
    return order != 0 ? order : compare(x->id, y->id);
}

static int compare_evidence(const void *a, const void *b)
{
    const struct store_row *x = *(const struct store_row *const *)a;
    const struct store_row *y = *(const struct store_row *const *)b;
    int order = compare(x->evidence_until_ms, y->evidence_until_ms);
    return order != 0 ? order : compare(x->id, y->id);
}

static enum gw_status walk_by_time(const struct memory_store *m, const struct walk *walk,
                                   struct gw_error *err)
{
    const struct store_row **rows = malloc((m->slot_count + 1) * sizeof(*rows));
    size_t count = 0;
    if (rows == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory for the store");
    for (size_t i = 0; i < m->slot_count; i++)
        if (m->slots[i] != NULL && belongs(m->slots[i], walk))
            rows[count++] = &m->slots[i]->row;
    if (count > 1)
        qsort(rows, count, sizeof(*rows),
              walk->by == WALK_EXPIRE ? compare_expire : compare_evidence);
    for (size_t i = 0; i < count && walk->visit(walk->ctx, rows[i]->id, rows[i]); i++)
        ;
    free(rows);
    return GW_OK;
}

enum gw_status memory_walk(struct store_backend *backend, const struct walk *walk,
                           struct gw_error *err)
{
    const struct memory_store *m = (const struct memory_store *)backend;
    if (walk->by == WALK_EXPIRE || walk->by == WALK_EVIDENCE)
        return walk_by_time(m, walk, err);
    walk_by_id(m, walk);
    return GW_OK;
}
