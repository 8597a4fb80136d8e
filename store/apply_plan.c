/* Plans of many verdicts: kept, replaced, read. A plan that is over must never go on,
 * whoever writes it late: what a person has stopped stays stopped. Nor must a plan be
 * made again that has given way since somebody saw it. */
#include "store/apply.h"
#include "store/plan.h"

/* Of one plan; op->out.plans holds it if it is there. */
static enum gw_status read_plan(struct store_backend *backend, struct store_op *op,
                                const struct plans_query *query, struct gw_error *err)
{
    enum gw_status status = backend->table->plans_read(backend, query, op, err);
    gw_implies(status == GW_OK, op->out.plan_count <= 1);
    return status;
}

static bool is_as_seen(const struct plan_entry *cur, const struct plan_entry *seen)
{
    return cur->state == seen->state && cur->created_ms == seen->created_ms &&
           cur->expires_ms == seen->expires_ms && cur->apply_at_ms == seen->apply_at_ms &&
           cur->ended_ms == seen->ended_ms && cur->count == seen->count &&
           cur->settled == seen->settled && cur->changed == seen->changed &&
           cur->refused == seen->refused && span_equal(cur->actor, seen->actor) &&
           span_equal(cur->applied_by, seen->applied_by) && span_equal(cur->note, seen->note);
}

/* Two persons may say the very same in one moment: one of them alone may win, so that an
 * equal line of the audit proves nothing here. */
static enum store_found compare(const struct store_op *op)
{
    gw_assert(strcmp(op->in.plan.seen->plan_id, op->in.plan.entry->plan_id) == 0);
    if (op->out.plan_count == 0)
        return STORE_NONE;
    return is_as_seen(&op->out.plans[0], op->in.plan.seen) ? STORE_WON : STORE_STALE;
}

/* Not there yet, or over, or to be replaced? *ret_done: there is nothing to write. */
static enum gw_status judge(struct store_backend *backend, struct store_op *op, bool *ret_done,
                            struct gw_error *err)
{
    const struct plan_entry *entry = op->in.plan.entry;
    const struct plans_query query = {.plan_id = entry->plan_id};
    bool is_own = false;
    enum gw_status status = read_plan(backend, op, &query, err);
    if (status == GW_OK && op->in.plan.seen != NULL) {
        op->out.found = compare(op);
        *ret_done = op->out.found != STORE_WON;
        return GW_OK;
    }
    if (status == GW_OK && op->in.plan.audit != NULL && op->out.plan_count > 0)
        status = backend->table->audit_has(backend, op->in.plan.audit, &is_own, err);
    if (status != GW_OK)
        return status;
    bool was_over = op->out.plan_count > 0 && plan_is_over(op->out.plans[0].state);
    bool is_stale = !is_own && was_over && !plan_is_over(entry->state);
    *ret_done = is_own || is_stale;
    op->out.found = is_stale ? STORE_STALE : STORE_WON;
    return GW_OK;
}

enum gw_status apply_plan_set(struct store_backend *backend, struct store_op *op,
                              struct gw_error *err)
{
    bool is_done = false;
    enum gw_status status = plan_check(op->in.plan.entry, err);
    if (status == GW_OK)
        status = audit_check(op->in.plan.audit, err);
    if (status == GW_OK)
        status = judge(backend, op, &is_done, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    if (is_done)
        return GW_OK;
    status = backend->table->plan_set(backend, op->in.plan.entry, err);
    if (status == GW_LIMIT)
        return op_fail_alone(op, status);
    if (status == GW_OK)
        status = audit_write(backend, op->in.plan.audit, err);
    return status;
}

enum gw_status apply_plan_get(struct store_backend *backend, struct store_op *op,
                              struct gw_error *err)
{
    char plan_id[PLAN_ID_BYTES + 1] = {0};
    struct span wanted = op->in.find.operation_id;
    if (wanted.len != PLAN_ID_BYTES || memchr(wanted.ptr, 0, wanted.len) != NULL)
        return op_found(op, STORE_NONE);
    memcpy(plan_id, wanted.ptr, wanted.len);
    const struct plans_query query = {.plan_id = plan_id, .with_parts = true};
    enum gw_status status = read_plan(backend, op, &query, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    return op_found(op, op->out.plan_count > 0 ? STORE_HELD : STORE_NONE);
}
