/* Rows, audit and pauses of the memory backend. Each change is
 * journalled before it is made. */
#include <stdlib.h>

#include "store/memory.h"

static struct memory_store *memory_of(struct store_backend *backend)
{
    return (struct memory_store *)backend;
}

static enum gw_status out_of_memory(struct gw_error *err)
{
    return gw_error_set(err, GW_NOMEM, "out of memory for the store");
}

static size_t find_slot(const struct memory_store *m, const struct row_key *key)
{
    switch (key->by) {
    case ROW_BY_ID:
        return memory_index_by_id(m, key->id);
    case ROW_BY_IDENTITY:
        return memory_index_by_identity(m, &key->identity);
    case ROW_BY_OPERATION:
        for (size_t i = 0; i < m->slot_count; i++)
            if (m->slots[i] != NULL &&
                span_equal(key->operation_id, span_str(m->slots[i]->row.operation_id)))
                return i;
        break;
    }
    return MEMORY_NO_SLOT;
}

static enum gw_status memory_get(struct store_backend *backend, const struct row_key *key,
                                 struct arena *arena, struct store_row *ret, bool *ret_found,
                                 struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    size_t slot = find_slot(m, key);
    if (slot != MEMORY_NO_SLOT && !row_copy(arena, &m->slots[slot]->row, ret))
        return op_no_memory(err);
    if (slot != MEMORY_NO_SLOT)
        memory_view(m, ret);
    *ret_found = slot != MEMORY_NO_SLOT;
    return GW_OK;
}

static enum gw_status memory_load(struct store_backend *backend, uint32_t load, struct arena *arena,
                                  struct store_row *row, struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    size_t slot = memory_index_by_id(m, row->id);
    gw_assert(slot != MEMORY_NO_SLOT);
    const struct store_row *from = &m->slots[slot]->row;
    if ((load & LOAD_REQUEST) != 0 && !arena_copy(arena, from->request, &row->request))
        return op_no_memory(err);
    if ((load & LOAD_ANSWER) != 0 && !arena_copy(arena, from->answer, &row->answer))
        return op_no_memory(err);
    if ((load & LOAD_KEPT) != 0 && !arena_copy(arena, from->kept, &row->kept))
        return op_no_memory(err);
    return GW_OK;
}

static enum gw_status memory_insert(struct store_backend *backend, const struct store_row *row,
                                    int64_t *ret_id, struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    if (memory_index_by_identity(m, &row->identity) != MEMORY_NO_SLOT) {
        *ret_id = 0;
        return GW_OK;
    }
    struct memory_row *copy = memory_row_new(row);
    if (copy == NULL)
        return out_of_memory(err);
    copy->row.id = m->next_id;
    copy->request_kept = row->request.len > 0;
    if (!memory_index_push(m, copy)) {
        free(copy);
        return out_of_memory(err);
    }
    if (!memory_journal(m, &(struct memory_undo){MEMORY_UNDO_INSERT, m->slot_count - 1, NULL})) {
        memory_index_pop(m);
        return out_of_memory(err);
    }
    *ret_id = m->next_id++;
    return GW_OK;
}

/* Puts `row` (NULL: nothing) in the place of what is in the slot. */
static enum gw_status replace(struct memory_store *m, size_t slot, struct memory_row *row,
                              struct gw_error *err)
{
    struct memory_undo change = {MEMORY_UNDO_ROW, slot, m->slots[slot]};
    if (!memory_journal(m, &change)) {
        free(row);
        return out_of_memory(err);
    }
    m->slots[slot] = row;
    m->empty_slots += row == NULL;
    return GW_OK;
}

static enum gw_status memory_update(struct store_backend *backend, const struct row_change *change,
                                    struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    size_t slot = memory_index_by_id(m, change->row->id);
    gw_assert(slot != MEMORY_NO_SLOT);
    const struct memory_row *old = m->slots[slot];
    struct store_row next = *change->row; /* with set_identity its chain is left by itself: nobody
                                           * looks for what was set aside by its identity */
    if (!change->set_answer)
        next.answer = old->row.answer;
    if (!change->set_request)
        next.request = old->row.request;
    if (!change->set_kept)
        next.kept = old->row.kept;
    struct memory_row *copy = memory_row_new(&next);
    if (copy == NULL)
        return out_of_memory(err);
    copy->request_kept = next.request.len > 0;
    return replace(m, slot, copy, err);
}

static enum gw_status memory_remove(struct store_backend *backend, const struct store_row *old,
                                    struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    size_t slot = memory_index_by_id(m, old->id);
    gw_assert(slot != MEMORY_NO_SLOT);
    return replace(m, slot, NULL, err);
}

static enum gw_status memory_touch(struct store_backend *backend, int64_t id, int64_t now_ms,
                                   bool *ret_found, struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    size_t slot = memory_index_by_id(m, id);
    *ret_found = slot != MEMORY_NO_SLOT;
    if (slot == MEMORY_NO_SLOT)
        return GW_OK;
    struct memory_row *copy = memory_row_new(&m->slots[slot]->row);
    if (copy == NULL)
        return out_of_memory(err);
    copy->request_kept = m->slots[slot]->request_kept;
    copy->row.repeats += copy->row.repeats < UINT32_MAX;
    copy->row.last_repeat_ms = now_ms;
    return replace(m, slot, copy, err);
}

static struct memory_audit *audit_new(const struct audit_entry *from)
{
    size_t bytes =
        from->actor.len + from->action.len + from->subject.len + from->note.len + from->detail.len;
    struct memory_audit *audit = malloc(sizeof(*audit) + bytes);
    if (audit == NULL)
        return NULL;
    char *at = audit->bytes;
    audit->entry = (struct audit_entry){.at_ms = from->at_ms,
                                        .actor = memory_row_bytes(&at, from->actor),
                                        .action = memory_row_bytes(&at, from->action),
                                        .subject = memory_row_bytes(&at, from->subject),
                                        .note = memory_row_bytes(&at, from->note),
                                        .detail = memory_row_bytes(&at, from->detail)};
    return audit;
}

static enum gw_status memory_audit_add(struct store_backend *backend,
                                       const struct audit_entry *entry, struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    struct memory_audit **audits =
        memory_grow(m->audits, &m->audit_cap, m->audit_count, sizeof(struct memory_audit *));
    if (audits == NULL)
        return out_of_memory(err);
    m->audits = audits;
    struct memory_audit *audit = audit_new(entry);
    struct memory_undo change = {MEMORY_UNDO_AUDIT, m->audit_count, NULL};
    if (audit == NULL || !memory_journal(m, &change)) {
        free(audit);
        return out_of_memory(err);
    }
    m->audits[m->audit_count++] = audit;
    return GW_OK;
}

static enum gw_status memory_audit_has(struct store_backend *backend,
                                       const struct audit_entry *entry, bool *ret_has,
                                       struct gw_error *err)
{
    const struct memory_store *m = memory_of(backend);
    (void)err; /* cannot fail */
    *ret_has = false;
    for (size_t i = m->audit_count; i > 0 && !*ret_has; i--) {
        const struct audit_entry *there = &m->audits[i - 1]->entry;
        *ret_has = there->at_ms == entry->at_ms && span_equal(there->subject, entry->subject) &&
                   span_equal(there->actor, entry->actor) &&
                   span_equal(there->action, entry->action) && span_equal(there->note, entry->note);
    }
    return GW_OK;
}

static enum gw_status memory_audit_read(struct store_backend *backend, struct span subject,
                                        struct store_op *op, struct gw_error *err)
{
    const struct memory_store *m = memory_of(backend);
    size_t from = m->audit_count, fitting = 0;
    while (from > 0 && fitting < STORE_PAGE_ROWS_MAX) {
        from--;
        fitting += subject.len == 0 || span_equal(m->audits[from]->entry.subject, subject);
    }
    for (size_t i = from; i < m->audit_count; i++) {
        if (subject.len > 0 && !span_equal(m->audits[i]->entry.subject, subject))
            continue;
        struct audit_entry *entry = op_add_audit(op);
        if (entry == NULL || !audit_copy(op->arena, &m->audits[i]->entry, entry))
            return op_no_memory(err);
    }
    return GW_OK;
}

/* The place of the pause; with `or_free` else the first free one. */
static size_t find_pause(const struct memory_store *m, const struct pause_entry *entry,
                         bool or_free)
{
    size_t free_at = MEMORY_NO_SLOT;
    for (size_t i = 0; i < STORE_PAUSES_MAX; i++) {
        if (m->pauses[i] == NULL) {
            free_at = free_at == MEMORY_NO_SLOT ? i : free_at;
            continue;
        }
        if (m->pauses[i]->entry.subject == entry->subject &&
            span_equal(m->pauses[i]->entry.name, entry->name))
            return i;
    }
    return or_free ? free_at : MEMORY_NO_SLOT;
}

static enum gw_status put_pause(struct memory_store *m, size_t at, struct memory_pause *pause,
                                struct gw_error *err)
{
    struct memory_undo change = {MEMORY_UNDO_PAUSE, at, m->pauses[at]};
    if (!memory_journal(m, &change)) {
        free(pause);
        return out_of_memory(err);
    }
    m->pauses[at] = pause;
    return GW_OK;
}

static enum gw_status memory_pause_set(struct store_backend *backend,
                                       const struct pause_entry *entry, struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    size_t at = find_pause(m, entry, true);
    gw_assert(at != MEMORY_NO_SLOT);
    struct memory_pause *pause =
        malloc(sizeof(*pause) + entry->name.len + entry->actor.len + entry->note.len);
    if (pause == NULL)
        return out_of_memory(err);
    char *to = pause->bytes;
    pause->entry = (struct pause_entry){.subject = entry->subject,
                                        .at_ms = entry->at_ms,
                                        .name = memory_row_bytes(&to, entry->name),
                                        .actor = memory_row_bytes(&to, entry->actor),
                                        .note = memory_row_bytes(&to, entry->note)};
    return put_pause(m, at, pause, err);
}

static enum gw_status memory_pause_clear(struct store_backend *backend,
                                         const struct pause_entry *entry, struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    size_t at = find_pause(m, entry, false);
    return at == MEMORY_NO_SLOT ? GW_OK : put_pause(m, at, NULL, err);
}

static enum gw_status memory_pauses_read(struct store_backend *backend, struct store_op *op,
                                         struct gw_error *err)
{
    const struct memory_store *m = memory_of(backend);
    for (size_t i = 0; i < STORE_PAUSES_MAX; i++) {
        if (m->pauses[i] == NULL)
            continue;
        struct pause_entry *entry = op_add_pause(op);
        if (entry == NULL || !pause_copy(op->arena, &m->pauses[i]->entry, entry))
            return op_no_memory(err);
    }
    return GW_OK;
}

const struct table_ops memory_table_ops = {
    .get = memory_get,
    .load = memory_load,
    .insert = memory_insert,
    .update = memory_update,
    .remove = memory_remove,
    .touch = memory_touch,
    .walk = memory_walk,
    .audit_add = memory_audit_add,
    .audit_has = memory_audit_has,
    .audit_read = memory_audit_read,
    .pause_set = memory_pause_set,
    .pause_clear = memory_pause_clear,
    .pauses_read = memory_pauses_read,
    .tally_read = memory_tally_read,
    .groups_read = memory_groups_read,
    .plan_set = memory_plan_set,
    .plans_read = memory_plans_read,
    .observe_add = memory_observe_add,
    .observed_read = memory_observed_read,
};
