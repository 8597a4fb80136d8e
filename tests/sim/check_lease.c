/* The checkers of leases on a shared store: whose they are, who may take them, and that no
 * byte leaves after they are lost. What a gateway holds is known here from its own count,
 * which ends before the database's. They must never change what the story does. */
#include "store/memory.h"
#include "tests/sim/check.h"

/* The gateway that this number is of, if it is up. */
static const struct process *find_holder(const struct world *world, int64_t holder)
{
    for (uint32_t p = 0; p < world->plan.gateways; p++)
        if (world->processes[p] != NULL && world->processes[p]->store.holder == holder)
            return world->processes[p];
    return NULL;
}

static void check_taken(struct world *world, const struct identity *identity,
                        const struct version *old, const struct version *next)
{
    const struct memory_store *memory = (const struct memory_store *)world->backend;
    if (next->holder != world->committing->store.holder)
        check_fail_move(world, identity, old, next, "leased by another one than who asked");
    if (!memory_holder_lives(memory, next->holder))
        check_fail_move(world, identity, old, next, "leased under a number that is forgotten");
}

/* Put on record as lapsed, as far as the row shows it. */
static bool has_lapsed(const struct version *old, const struct version *next)
{
    enum receipt_state from = old->receipt.state, to = next->receipt.state;
    if (next->end != END_crashed)
        return false;
    return (from == RECEIPT_SENT && to == RECEIPT_UNKNOWN) ||
           (from == RECEIPT_CLAIMED && (to == RECEIPT_RELEASED || to == RECEIPT_DEFERRED));
}

void check_lease(struct world *world, const struct identity *identity, const struct version *old,
                 const struct version *next)
{
    bool was_leased = receipt_is_leased(old->receipt.state);
    bool is_leased = receipt_is_leased(next->receipt.state);
    bool is_same = was_leased && next->receipt.token == old->receipt.token;
    if (world->plan.gateways == 1)
        return;
    if (is_leased && !is_same) {
        check_taken(world, identity, old, next);
    } else if (is_leased && next->holder != old->holder) {
        check_fail_move(world, identity, old, next, "its lease has gone to another gateway");
    } else if (is_same && has_lapsed(old, next) && old->holder != world->committing->store.holder) {
        const struct process *holder = find_holder(world, old->holder);
        world->counts[COUNT_TAKEN_OVER]++;
        if (holder != NULL && holding_holds(&holder->store.holding, old->holder, world->ticks))
            check_fail_move(world, identity, old, next, "its holder lives");
    }
}

void check_first_byte(struct world *world, const struct attempt *attempt)
{
    const struct version *last = check_last(attempt->identity);
    /* Where clocks jump a gateway may take its own lease for over. */
    if (world->plan.gateways == 1 || world->plan.clock_steps)
        return;
    /* Where the upstream knows its keys, an earlier sending may have brought the answer. */
    bool is_answered = world->plan.dedups && last->receipt.state == RECEIPT_COMPLETED;
    if (last->receipt.token != attempt->token ||
        !(last->receipt.state == RECEIPT_SENT || is_answered))
        world_fail(world, "key %.*s of %.*s is sent by a gateway that has lost its lease",
                   (int)attempt->identity->key.len, attempt->identity->key.ptr,
                   (int)attempt->identity->owner.len, attempt->identity->owner.ptr);
}
