/* What is unknown, counted from the rows themselves, since there are few: the
 * reference for what a database keeps in counters. It must never change a row. */
#include <stdlib.h>

#include "store/memory.h"

/* The unknown rows, in an array of the caller's. NULL: out of memory. */
static const struct store_row **unknown_rows(const struct memory_store *m, size_t *ret_count)
{
    const struct store_row **rows = malloc((m->slot_count + 1) * sizeof(*rows));
    size_t count = 0;
    if (rows == NULL)
        return NULL;
    for (size_t i = 0; i < m->slot_count; i++)
        if (m->slots[i] != NULL && m->slots[i]->row.receipt.state == RECEIPT_UNKNOWN)
            rows[count++] = &m->slots[i]->row;
    *ret_count = count;
    return rows;
}

static int compare_group(const struct store_row *x, const struct store_row *y)
{
    int order = span_order(x->route, y->route);
    if (order == 0)
        order = (x->end > y->end) - (x->end < y->end);
    return order != 0 ? order : (x->status > y->status) - (x->status < y->status);
}

/* By group, then by id. */
static int compare_rows(const void *a, const void *b)
{
    const struct store_row *x = *(const struct store_row *const *)a;
    const struct store_row *y = *(const struct store_row *const *)b;
    int order = compare_group(x, y);
    return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

static bool add_tally(struct store_op *op, const struct store_row *first, uint64_t count)
{
    struct tally_entry *entry =
        op->out.tally_count == 0 ? NULL : &op->out.tally[op->out.tally_count - 1];
    if (entry == NULL || !span_equal(entry->route, first->route)) {
        if (op->out.tally_count == STORE_TALLY_ROUTES_MAX)
            return true; /* more routes than anybody reads */
        entry = op_add_tally(op);
        if (entry == NULL || !arena_copy(op->arena, first->route, &entry->route))
            return false;
        entry->oldest_ms = first->created_ms;
    }
    entry->unknown += count;
    if (first->created_ms < entry->oldest_ms)
        entry->oldest_ms = first->created_ms;
    return true;
}

static void count_row(struct group_entry *entry, const struct store_row *row)
{
    entry->count++;
    entry->asked += row->repeats > 0;
    entry->claimed += row->claimed_ms > 0;
    entry->probes[row->probe]++;
}

static bool add_group(struct store_op *op, const struct store_row *const *rows, size_t count)
{
    struct group_entry *entry = op_add_group(op);
    if (entry == NULL || !arena_copy(op->arena, rows[0]->route, &entry->route))
        return false;
    entry->end = rows[0]->end;
    entry->status = rows[0]->status;
    entry->first_ms = rows[0]->created_ms;
    entry->last_ms = rows[count - 1]->created_ms;
    for (size_t i = 0; i < count; i++)
        count_row(entry, rows[i]);
    int64_t since_ms = op->in.groups.since_ms;
    for (size_t i = count; i > 0 && rows[i - 1]->created_ms > since_ms; i--)
        entry->grown++;
    return true;
}

/* One run of equal groups after the other. */
static bool add_runs(struct store_op *op, const struct store_row *const *rows, size_t count)
{
    for (size_t from = 0; from < count;) {
        size_t to = from + 1;
        while (to < count && compare_group(rows[from], rows[to]) == 0)
            to++;
        bool added = op->kind == STORE_TALLY ? add_tally(op, rows[from], to - from)
                                             : add_group(op, &rows[from], to - from);
        if (!added)
            return false;
        from = to;
    }
    return true;
}

static enum gw_status read_runs(struct store_backend *backend, struct store_op *op,
                                struct gw_error *err)
{
    size_t count = 0;
    const struct store_row **rows =
        unknown_rows((const struct memory_store *)(const void *)backend, &count);
    if (rows == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory for the store");
    if (count > 1)
        qsort(rows, count, sizeof(*rows), compare_rows);
    bool added = add_runs(op, rows, count);
    free(rows);
    return added ? GW_OK : op_no_memory(err);
}

enum gw_status memory_tally_read(struct store_backend *backend, struct store_op *op,
                                 struct gw_error *err)
{
    return read_runs(backend, op, err);
}

/* The largest first; among equals by route, end and status, as a database sorts. */
static int compare_entries(const void *a, const void *b)
{
    const struct group_entry *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    int order = span_order(x->route, y->route);
    if (order == 0)
        order = (x->end > y->end) - (x->end < y->end);
    return order != 0 ? order : (x->status > y->status) - (x->status < y->status);
}

/* As far as a database would have counted. */
static void cut_growth(struct store_op *op)
{
    uint64_t counted = 0;
    for (uint32_t i = 0; i < op->out.group_count; i++) {
        struct group_entry *entry = &op->out.groups[i];
        uint64_t most = op_grown_max(op, i, counted);
        entry->grown_is_cut = entry->grown > most;
        entry->grown = entry->grown_is_cut ? most : entry->grown;
        counted += entry->grown;
    }
}

enum gw_status memory_groups_read(struct store_backend *backend, struct store_op *op,
                                  struct gw_error *err)
{
    enum gw_status status = read_runs(backend, op, err);
    if (status != GW_OK)
        return status;
    if (op->out.group_count > 1)
        qsort(op->out.groups, op->out.group_count, sizeof(*op->out.groups), compare_entries);
    if (op->out.group_count > STORE_GROUPS_MAX)
        op->out.group_count = STORE_GROUPS_MAX;
    cut_growth(op);
    return GW_OK;
}
