/* The planted bugs of several gateways on one store: what a wrong database or a wrong rule
 * of leases would do. Functions with odd names stand before functions of the product, as
 * in bugs.c. */
#include "tests/sim/bugs.h"

#include "store/memory.h"

static struct memory_store *memory_of(struct world *world)
{
    return (struct memory_store *)world->backend;
}

void bug_before_beat(struct world *world, const struct store *store)
{
    struct memory_store *memory = memory_of(world);
    int64_t now_ms = world_wall(world);
    if (!bug_is_planted(world, BUG_HASTY_JUDGE))
        return;
    for (size_t i = 0; i < memory->holder_count; i++)
        if (memory->holders[i].id == store->holder)
            memory->holders[i].until_ms = now_ms + 1;
    for (size_t i = 0; i < memory->holder_count; i++)
        if (memory->holders[i].until_ms <= now_ms)
            memory->holders[i--] = memory->holders[--memory->holder_count];
}

void bug_at_start(struct world *world)
{
    struct memory_store *memory = memory_of(world);
    if (bug_is_planted(world, BUG_START_SWEEPS) && memory->holder_count > 1) {
        memory->holders[0] = memory->holders[memory->holder_count - 1];
        memory->holder_count = 1;
    }
}

void bug_after_apply(struct store *store, const struct store_op *op)
{
    struct world *world = store->world;
    struct store_row *row;
    if (!bug_is_planted(world, BUG_LEASE_MOVES) || op->kind != STORE_ADVANCE ||
        op->out.found != STORE_WON)
        return;
    for (size_t i = 0; i < SIM_IDENTITIES && (row = disk_row(world, i)) != NULL; i++)
        if (row->id == op->in.advance.id && receipt_is_leased(row->receipt.state))
            row->holder = store->holder;
}

int64_t bug_waits_for_nobody(const struct flow *flow, int64_t ms)
{
    bool is_blind = bug_is_planted(flow->worker->world, BUG_NO_POLL);
    bool polls = flow->waiter != NULL && flow->row.lease_is_foreign;
    return is_blind && polls ? flow->route->pending_wait_ms : ms;
}

/* ---- around the product ---- */

void __real_memory_view(const struct memory_store *m, struct store_row *row);
void __wrap_memory_view(const struct memory_store *m, struct store_row *row);
enum gw_status __real_memory_may_write(const struct memory_store *m, struct gw_error *err);
enum gw_status __wrap_memory_may_write(const struct memory_store *m, struct gw_error *err);

void __wrap_memory_view(const struct memory_store *m, struct store_row *row)
{
    const struct world *world = world_now();
    __real_memory_view(m, row);
    if (!row->lease_is_foreign)
        return;
    if (bug_is_planted(world, BUG_HOLDER_IGNORED))
        row->lease_is_dead = true;
    if (bug_is_planted(world, BUG_HOLDER_IGNORED) || bug_is_planted(world, BUG_FOREIGN_CLOCK))
        row->lease_is_foreign = false;
}

enum gw_status __wrap_memory_may_write(const struct memory_store *m, struct gw_error *err)
{
    enum gw_status status = __real_memory_may_write(m, err);
    return bug_is_planted(world_now(), BUG_FORGOTTEN_LEASES) ? GW_OK : status;
}
