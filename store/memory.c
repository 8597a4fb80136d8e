/* The reference backend: everything in memory, nothing durable, the same answers
 * as a database. Rows are never changed in place: a new copy takes the slot, and
 * the journal keeps the old one until the batch is committed or undone. It must
 * never leave a trace of a batch that was rolled back. */
#include "store/memory.h"

#include <stdlib.h>

#include "base/digest.h"

struct span memory_row_bytes(char **at, struct span from)
{
    if (from.len == 0)
        return span_of("", 0);
    memcpy(*at, from.ptr, from.len);
    struct span copy = span_of(*at, from.len);
    *at += from.len;
    return copy;
}

struct memory_row *memory_row_new(const struct store_row *from)
{
    size_t bytes = 0;
    for (size_t i = 0; i < row_span_count; i++)
        bytes += row_span_at(from, i)->len;
    struct memory_row *row = malloc(sizeof(*row) + bytes);
    if (row == NULL)
        return NULL;
    char *at = row->bytes;
    row->row = *from;
    for (size_t i = 0; i < row_span_count; i++)
        *row_span_of(&row->row, i) = memory_row_bytes(&at, *row_span_at(from, i));
    return row;
}

/* The array with room for one more item; NULL: out of memory, the array stays as it is. */
void *memory_grow(void *array, size_t *cap, size_t count, size_t item_bytes)
{
    if (count < *cap)
        return array;
    size_t more = *cap == 0 ? 64 : *cap * 2;
    void *grown = realloc(array, more * item_bytes);
    if (grown != NULL)
        *cap = more;
    return grown;
}

bool memory_journal(struct memory_store *m, const struct memory_undo *undo)
{
    struct memory_undo *journal =
        memory_grow(m->journal, &m->journal_cap, m->journal_count, sizeof(*journal));
    if (journal == NULL)
        return false;
    m->journal = journal;
    m->journal[m->journal_count++] = *undo;
    return true;
}

static struct memory_store *memory_of(struct store_backend *backend)
{
    return (struct memory_store *)backend;
}

static struct span memory_secret(const struct store_backend *backend)
{
    const struct memory_store *m = (const struct memory_store *)backend;
    return span_of((const char *)m->secret, sizeof(m->secret));
}

static enum gw_status memory_open(const struct store_options *options, struct store_backend **ret,
                                  struct gw_error *err)
{
    if (options->effect_count > 0)
        return gw_error_set(err, GW_INVALID,
                            "local effects are rows of a database; use the store sqlite");
    struct memory_store *m = calloc(1, sizeof(*m));
    if (m == NULL || !memory_index_init(m)) {
        free(m);
        return gw_error_set(err, GW_NOMEM, "out of memory for the store");
    }
    m->base = (struct store_backend){.ops = &store_memory_ops, .table = &memory_table_ops};
    m->next_id = m->plan_next = m->observed_next = 1;
    gw_random(m->secret, sizeof(m->secret));
    *ret = &m->base;
    return GW_OK;
}

static void memory_close(struct store_backend *backend)
{
    struct memory_store *m = memory_of(backend);
    gw_assert(m->journal_count == 0);
    for (size_t i = 0; i < m->slot_count; i++)
        free(m->slots[i]);
    for (size_t i = 0; i < m->audit_count; i++)
        free(m->audits[i]);
    for (size_t i = 0; i < STORE_PAUSES_MAX; i++)
        free(m->pauses[i]);
    memory_more_fini(m);
    memory_index_fini(m);
    free(m->slots);
    free(m->audits);
    free(m->journal);
    free(m);
}

static enum gw_status memory_begin(struct store_backend *backend, bool writes, struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    gw_assert(m->journal_count == 0);
    enum gw_status status = writes ? memory_may_write(m, err) : GW_OK;
    if (status != GW_OK)
        return status;
    if (m->empty_slots > m->slot_count / 2)
        memory_index_compact(m);
    return GW_OK;
}

static enum gw_status memory_commit(struct store_backend *backend, struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    (void)err; /* cannot fail */
    for (size_t i = 0; i < m->journal_count; i++)
        free(m->journal[i].old);
    m->journal_count = 0;
    return GW_OK;
}

static void undo(struct memory_store *m, const struct memory_undo *change)
{
    switch (change->kind) {
    case MEMORY_UNDO_INSERT:
        gw_assert(change->index + 1 == m->slot_count);
        memory_index_pop(m);
        break;
    case MEMORY_UNDO_ROW:
        if (m->slots[change->index] == NULL)
            m->empty_slots--;
        free(m->slots[change->index]);
        m->slots[change->index] = change->old;
        break;
    case MEMORY_UNDO_AUDIT:
        gw_assert(change->index + 1 == m->audit_count);
        free(m->audits[--m->audit_count]);
        break;
    case MEMORY_UNDO_PAUSE:
        free(m->pauses[change->index]);
        m->pauses[change->index] = change->old;
        break;
    case MEMORY_UNDO_PLAN:
    case MEMORY_UNDO_OBSERVED:
        memory_more_undo(m, change);
        break;
    }
}

static void memory_rollback(struct store_backend *backend)
{
    struct memory_store *m = memory_of(backend);
    while (m->journal_count > 0)
        undo(m, &m->journal[--m->journal_count]);
}

static enum gw_status memory_probe(struct store_backend *backend, struct gw_error *err)
{
    (void)backend; /* memory can always be written */
    (void)err;
    return GW_OK;
}

static uint32_t memory_wal_frames(const struct store_backend *backend)
{
    (void)backend; /* there is no write-ahead log */
    return 0;
}

static enum gw_status memory_checkpoint_last(struct store_backend *backend, struct gw_error *err)
{
    (void)backend; /* there is nothing to write back */
    (void)err;
    return GW_OK;
}

const struct store_backend_ops store_memory_ops = {
    .name = "memory",
    .open = memory_open,
    .close = memory_close,
    .secret = memory_secret,
    .begin = memory_begin,
    .apply = apply_op,
    .commit = memory_commit,
    .rollback = memory_rollback,
    .probe = memory_probe,
    .wal_frames = memory_wal_frames,
    .checkpoint_last = memory_checkpoint_last,
    .checkpoint_pass = NULL,
    .beat = memory_beat,
    .leave = memory_leave,
};
