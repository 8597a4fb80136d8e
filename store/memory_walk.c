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

/* 0: it has none of the walk's. */
static int64_t time_of(const struct memory_row *entry, const struct walk *walk)
{
    if (walk->by == WALK_EXPIRE)
        return entry->row.receipt.expire_ms;
    if (walk->by == WALK_EVIDENCE)
        return entry->request_kept ? entry->row.evidence_until_ms : 0;
    if (walk->by == WALK_DUE)
        return entry->row.receipt.due_ms;
    return entry->row.receipt.state == RECEIPT_UNKNOWN ? entry->row.probe_due_ms : 0;
}

static bool is_due(const struct walk *walk, int64_t at_ms, int64_t id)
{
    bool is_behind = at_ms > walk->after_ms || (at_ms == walk->after_ms && id > walk->after_id);
    return at_ms > 0 && at_ms <= walk->until_ms && is_behind;
}

static bool belongs(const struct memory_row *entry, const struct walk *walk)
{
    const struct store_row *row = &entry->row;
    bool is_unknown = row->receipt.state == RECEIPT_UNKNOWN;
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
    case WALK_EVIDENCE:
    case WALK_PROBES:
    case WALK_DUE:
        return is_due(walk, time_of(entry, walk), row->id);
    case WALK_GROUP:
        return is_unknown && span_equal(row->route, walk->route) && row->end == walk->end &&
               row->status == walk->status;
    case WALK_UNKNOWN_KEY:
        return is_unknown && span_equal(row->key, walk->key);
    case WALK_UNKNOWN_OWNER:
        return is_unknown && span_equal(row->owner, walk->owner);
    case WALK_UNKNOWN_ROUTE:
        return is_unknown && span_equal(row->route, walk->route);
    case WALK_CLAIMED:
        return is_unknown && row->claimed_ms > 0;
    case WALK_PROBED:
        return is_unknown && row->probe == walk->probe;
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
        struct store_row seen = entry->row;
        memory_view(m, &seen);
        if (!walk->visit(walk->ctx, seen.id, &seen))
            return;
    }
}

struct timed {
    int64_t at_ms;
    const struct store_row *row;
};

static int compare_timed(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;
    if (x->at_ms != y->at_ms)
        return x->at_ms > y->at_ms ? 1 : -1;
    return (x->row->id > y->row->id) - (x->row->id < y->row->id);
}

static enum gw_status walk_by_time(const struct memory_store *m, const struct walk *walk,
                                   struct gw_error *err)
{
    struct timed *rows = malloc((m->slot_count + 1) * sizeof(*rows));
    size_t count = 0;
    if (rows == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory for the store");
    for (size_t i = 0; i < m->slot_count; i++)
        if (m->slots[i] != NULL && belongs(m->slots[i], walk))
            rows[count++] = (struct timed){time_of(m->slots[i], walk), &m->slots[i]->row};
    if (count > 1)
        qsort(rows, count, sizeof(*rows), compare_timed);
    for (size_t i = 0; i < count && walk->visit(walk->ctx, rows[i].row->id, rows[i].row); i++)
        ;
    free(rows);
    return GW_OK;
}

enum gw_status memory_walk(struct store_backend *backend, const struct walk *walk,
                           struct gw_error *err)
{
    const struct memory_store *m = (const struct memory_store *)backend;
    if (walk->by == WALK_EXPIRE || walk->by == WALK_EVIDENCE || walk->by == WALK_PROBES ||
        walk->by == WALK_DUE)
        return walk_by_time(m, walk, err);
    walk_by_id(m, walk);
    return GW_OK;
}
