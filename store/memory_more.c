/* Plans and observations of the memory backend. Each change is journalled before it
 * is made; what gives way is kept until the batch is committed. */
#include <stdlib.h>

#include "store/memory.h"
#include "store/plan.h"

static struct memory_store *memory_of(struct store_backend *backend)
{
    return (struct memory_store *)backend;
}

static enum gw_status out_of_memory(struct gw_error *err)
{
    return gw_error_set(err, GW_NOMEM, "out of memory for the store");
}

void memory_more_fini(struct memory_store *m)
{
    for (size_t i = 0; i < STORE_PLANS_MAX; i++)
        free(m->plans[i]);
    for (size_t i = 0; m->observed != NULL && i < OBSERVED_ROWS_MAX; i++)
        free(m->observed[i]);
    free(m->observed);
}

void memory_more_undo(struct memory_store *m, const struct memory_undo *change)
{
    if (change->kind == MEMORY_UNDO_PLAN) {
        free(m->plans[change->index]);
        m->plans[change->index] = change->old;
        return;
    }
    gw_assert(change->kind == MEMORY_UNDO_OBSERVED);
    free(m->observed[change->index]);
    m->observed[change->index] = change->old;
    m->observed_next--;
}

static size_t find_plan(const struct memory_store *m, const char *plan_id)
{
    for (size_t i = 0; i < STORE_PLANS_MAX; i++)
        if (m->plans[i] != NULL && strcmp(m->plans[i]->entry.plan_id, plan_id) == 0)
            return i;
    return MEMORY_NO_SLOT;
}

/* Of the places `at` (none: MEMORY_NO_SLOT) and `other` that with the older plan. */
static size_t older_of(const struct memory_store *m, size_t at, size_t other)
{
    return at == MEMORY_NO_SLOT || m->plans[other]->number < m->plans[at]->number ? other : at;
}

/* A free place, else that of the oldest one that is over when the new one comes, else
 * that of the oldest draft of the same person, if it has stood for long enough. */
static size_t place_for_plan(const struct memory_store *m, const struct plan_entry *wanted)
{
    size_t over = MEMORY_NO_SLOT, draft = MEMORY_NO_SLOT;
    for (size_t i = 0; i < STORE_PLANS_MAX; i++) {
        if (m->plans[i] == NULL)
            return i;
        const struct plan_entry *entry = &m->plans[i]->entry;
        bool is_draft = entry->state == PLAN_DRAFT;
        if (plan_is_over(entry->state) || (is_draft && entry->expires_ms <= wanted->created_ms))
            over = older_of(m, over, i);
        else if (is_draft && span_equal(entry->actor, wanted->actor) &&
                 entry->created_ms <= wanted->created_ms - PLAN_DRAFT_STAYS_MS)
            draft = older_of(m, draft, i);
    }
    return over != MEMORY_NO_SLOT ? over : draft;
}

static struct memory_plan *plan_new(const struct plan_entry *from)
{
    struct memory_plan *plan =
        malloc(sizeof(*plan) + from->actor.len + from->applied_by.len + from->where.len +
               from->verdict.len + from->note.len + from->answer.len + from->items.len);
    if (plan == NULL)
        return NULL;
    char *at = plan->bytes;
    plan->entry = *from;
    plan->entry.actor = memory_row_bytes(&at, from->actor);
    plan->entry.applied_by = memory_row_bytes(&at, from->applied_by);
    plan->entry.where = memory_row_bytes(&at, from->where);
    plan->entry.verdict = memory_row_bytes(&at, from->verdict);
    plan->entry.note = memory_row_bytes(&at, from->note);
    plan->entry.answer = memory_row_bytes(&at, from->answer);
    plan->entry.items = memory_row_bytes(&at, from->items);
    return plan;
}

enum gw_status memory_plan_set(struct store_backend *backend, const struct plan_entry *entry,
                               struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    struct plan_entry wanted = *entry;
    size_t at = find_plan(m, entry->plan_id);
    bool is_new = at == MEMORY_NO_SLOT;
    if (is_new)
        at = place_for_plan(m, entry);
    if (at == MEMORY_NO_SLOT)
        return gw_error_set(err, GW_LIMIT, "there are %d plans already, and none is over",
                            STORE_PLANS_MAX);
    const struct memory_plan *old = m->plans[at];
    if (!is_new && wanted.answer.len == 0)
        wanted.answer = old->entry.answer;
    if (!is_new && wanted.items.len == 0)
        wanted.items = old->entry.items;
    struct memory_plan *plan = plan_new(&wanted);
    struct memory_undo change = {MEMORY_UNDO_PLAN, at, m->plans[at]};
    if (plan == NULL || !memory_journal(m, &change)) {
        free(plan);
        return out_of_memory(err);
    }
    plan->number = is_new ? m->plan_next++ : old->number;
    m->plans[at] = plan;
    return GW_OK;
}

static bool copy_plan(struct store_op *op, const struct memory_plan *plan, bool with_parts)
{
    struct plan_entry *entry = op_add_plan(op);
    struct plan_entry from = plan->entry;
    if (!with_parts)
        from.answer = from.items = span_of("", 0);
    return entry != NULL && plan_copy(op->arena, &from, entry);
}

/* The newest of those older than `number`. */
static size_t next_older(const struct memory_store *m, int64_t number)
{
    size_t newest = MEMORY_NO_SLOT;
    for (size_t i = 0; i < STORE_PLANS_MAX; i++)
        if (m->plans[i] != NULL && m->plans[i]->number < number &&
            (newest == MEMORY_NO_SLOT || m->plans[i]->number > m->plans[newest]->number))
            newest = i;
    return newest;
}

enum gw_status memory_plans_read(struct store_backend *backend, const struct plans_query *query,
                                 struct store_op *op, struct gw_error *err)
{
    const struct memory_store *m = memory_of(backend);
    if (query->plan_id != NULL) {
        size_t at = find_plan(m, query->plan_id);
        bool copied = at == MEMORY_NO_SLOT || copy_plan(op, m->plans[at], query->with_parts);
        return copied ? GW_OK : op_no_memory(err);
    }
    size_t at = next_older(m, INT64_MAX);
    for (size_t i = 0; i < STORE_PLANS_MAX && at != MEMORY_NO_SLOT; i++) {
        if (!copy_plan(op, m->plans[at], query->with_parts))
            return op_no_memory(err);
        at = next_older(m, m->plans[at]->number);
    }
    return GW_OK;
}

static struct memory_observed *observed_new(const struct observation *from)
{
    struct memory_observed *observed =
        malloc(sizeof(*observed) + from->route.len + from->members.len + from->method.len +
               from->target.len + from->fault.len);
    if (observed == NULL)
        return NULL;
    char *at = observed->bytes;
    observed->seen = *from;
    observed->seen.route = memory_row_bytes(&at, from->route);
    observed->seen.members = memory_row_bytes(&at, from->members);
    observed->seen.method = memory_row_bytes(&at, from->method);
    observed->seen.target = memory_row_bytes(&at, from->target);
    observed->seen.fault = memory_row_bytes(&at, from->fault);
    return observed;
}

enum gw_status memory_observe_add(struct store_backend *backend, const struct observation *seen,
                                  struct gw_error *err)
{
    struct memory_store *m = memory_of(backend);
    if (m->observed == NULL)
        m->observed = calloc(OBSERVED_ROWS_MAX, sizeof(struct memory_observed *));
    if (m->observed == NULL)
        return out_of_memory(err);
    size_t at = (size_t)(m->observed_next % OBSERVED_ROWS_MAX);
    struct memory_observed *observed = observed_new(seen);
    struct memory_undo change = {MEMORY_UNDO_OBSERVED, at, m->observed[at]};
    if (observed == NULL || !memory_journal(m, &change)) {
        free(observed);
        return out_of_memory(err);
    }
    observed->seen.id = m->observed_next++;
    m->observed[at] = observed;
    return GW_OK;
}

static int compare_observed(const void *a, const void *b)
{
    const struct observation *x = *(const struct observation *const *)a;
    const struct observation *y = *(const struct observation *const *)b;
    int order = memcmp(x->identity.bytes, y->identity.bytes, sizeof(x->identity.bytes));
    return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

/* Those that belong behind the page's start, in an array of the caller's. */
static const struct observation **fitting(const struct memory_store *m, const struct store_op *op,
                                          size_t *ret_count)
{
    size_t count = 0, used = (size_t)m->observed_next;
    used = used < OBSERVED_ROWS_MAX ? used : OBSERVED_ROWS_MAX;
    const struct observation **list = malloc((used + 1) * sizeof(*list));
    for (size_t i = 0; list != NULL && m->observed != NULL && i < used; i++) {
        const struct memory_observed *at = m->observed[i];
        if (at != NULL && observed_is_behind(op, &at->seen) && observed_fits(op, &at->seen))
            list[count++] = &at->seen;
    }
    if (count > 1)
        qsort(list, count, sizeof(*list), compare_observed);
    *ret_count = count;
    return list;
}

enum gw_status memory_observed_read(struct store_backend *backend, struct store_op *op,
                                    struct gw_error *err)
{
    size_t count = 0;
    const struct observation **list = fitting(memory_of(backend), op, &count);
    enum gw_status status = list == NULL ? out_of_memory(err) : GW_OK;
    for (size_t i = 0; i < count && i < observed_rows_max(op) && status == GW_OK; i++) {
        struct observation *entry = op_add_observation(op);
        if (entry == NULL || !observation_copy(op->arena, list[i], entry))
            status = op_no_memory(err);
    }
    free(list);
    return status;
}
