/* Result lists of an operation, grown in its arena. Each array doubles, so its
 * room can be told from its count. */
#include "store/table.h"

#define RESULTS_FIRST 16

/* The array with room for one more; NULL: the arena is full. */
static void *grow(struct arena *arena, void *array, uint32_t count, size_t item_bytes)
{
    bool is_power = (count & (count - 1)) == 0;
    if (count != 0 && (count < RESULTS_FIRST || !is_power))
        return array;
    size_t cap = count == 0 ? RESULTS_FIRST : 2 * (size_t)count;
    void *more = arena_take(arena, cap * item_bytes);
    if (more != NULL && count > 0)
        memcpy(more, array, count * item_bytes);
    return more;
}

struct store_row *op_add_row(struct store_op *op)
{
    struct store_row *rows = grow(op->arena, op->out.rows, op->out.row_count, sizeof(*rows));
    if (rows == NULL)
        return NULL;
    op->out.rows = rows;
    return &rows[op->out.row_count++];
}

struct audit_entry *op_add_audit(struct store_op *op)
{
    struct audit_entry *list = grow(op->arena, op->out.audit, op->out.audit_count, sizeof(*list));
    if (list == NULL)
        return NULL;
    op->out.audit = list;
    return &list[op->out.audit_count++];
}

struct pause_entry *op_add_pause(struct store_op *op)
{
    struct pause_entry *list = grow(op->arena, op->out.pauses, op->out.pause_count, sizeof(*list));
    if (list == NULL)
        return NULL;
    op->out.pauses = list;
    return &list[op->out.pause_count++];
}

struct tally_entry *op_add_tally(struct store_op *op)
{
    struct tally_entry *list = grow(op->arena, op->out.tally, op->out.tally_count, sizeof(*list));
    if (list == NULL)
        return NULL;
    op->out.tally = list;
    return &list[op->out.tally_count++];
}

struct group_entry *op_add_group(struct store_op *op)
{
    struct group_entry *list = grow(op->arena, op->out.groups, op->out.group_count, sizeof(*list));
    if (list == NULL)
        return NULL;
    op->out.groups = list;
    return &list[op->out.group_count++];
}

struct plan_entry *op_add_plan(struct store_op *op)
{
    struct plan_entry *list = grow(op->arena, op->out.plans, op->out.plan_count, sizeof(*list));
    if (list == NULL)
        return NULL;
    op->out.plans = list;
    return &list[op->out.plan_count++];
}

struct observation *op_add_observation(struct store_op *op)
{
    struct observation *list =
        grow(op->arena, op->out.observed, op->out.observed_count, sizeof(*list));
    if (list == NULL)
        return NULL;
    op->out.observed = list;
    return &list[op->out.observed_count++];
}

bool audit_copy(struct arena *arena, const struct audit_entry *from, struct audit_entry *ret)
{
    ret->at_ms = from->at_ms;
    return arena_copy(arena, from->actor, &ret->actor) &&
           arena_copy(arena, from->action, &ret->action) &&
           arena_copy(arena, from->subject, &ret->subject) &&
           arena_copy(arena, from->note, &ret->note) &&
           arena_copy(arena, from->detail, &ret->detail);
}

bool pause_copy(struct arena *arena, const struct pause_entry *from, struct pause_entry *ret)
{
    ret->subject = from->subject;
    ret->at_ms = from->at_ms;
    return arena_copy(arena, from->name, &ret->name) &&
           arena_copy(arena, from->actor, &ret->actor) && arena_copy(arena, from->note, &ret->note);
}

bool plan_copy(struct arena *arena, const struct plan_entry *from, struct plan_entry *ret)
{
    *ret = *from;
    return arena_copy(arena, from->actor, &ret->actor) &&
           arena_copy(arena, from->applied_by, &ret->applied_by) &&
           arena_copy(arena, from->where, &ret->where) &&
           arena_copy(arena, from->verdict, &ret->verdict) &&
           arena_copy(arena, from->note, &ret->note) &&
           arena_copy(arena, from->answer, &ret->answer) &&
           arena_copy(arena, from->items, &ret->items);
}

bool observation_copy(struct arena *arena, const struct observation *from, struct observation *ret)
{
    *ret = *from;
    return arena_copy(arena, from->route, &ret->route) &&
           arena_copy(arena, from->members, &ret->members) &&
           arena_copy(arena, from->method, &ret->method) &&
           arena_copy(arena, from->target, &ret->target) &&
           arena_copy(arena, from->fault, &ret->fault);
}
