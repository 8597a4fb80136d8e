/* One database under several gateways: transactions one after the other, heart-beats, and
 * what befalls one of the gateways alone. The rules of who holds what are the product's
 * (store/holding.c, store/memory_shared.c); this file is the network and the database's
 * own timeouts between them. Where there is one gateway it does nothing. */
#include "store/memory.h"
#include "tests/sim/bugs.h"

#define TRANSACTION_MS    5000 /* then the database takes it back */
#define RETRY_MS          50
#define UNHEARD_PER_MILLE 10 /* of the commits: the process stands still before it hears of it */

static bool is_several(const struct store *store)
{
    return store->world->plan.gateways > 1;
}

bool shared_is_cut(const struct store *store)
{
    return store->cut_until > store->world->ticks;
}

/* ---- transactions ---- */

static void transaction_is_over(void *ctx)
{
    struct world *world = ctx;
    struct store *store = world->locked_by;
    gw_assert(store != NULL && store->batch_open);
    world_say(world, "the database takes back the transaction of life %u", store->process->life);
    world->backend->ops->rollback(world->backend);
    store->batch_open = false;
    store->batch_lost = true;
    shared_let_go(store);
}

bool shared_take_lock(struct store *store)
{
    struct world *world = store->world;
    if (!is_several(store))
        return true;
    store->waits = world->locked_by != NULL;
    if (store->waits)
        return false;
    world->locked_by = store;
    world->transaction_timer = (struct sim_timer){.fire = transaction_is_over, .ctx = world};
    timer_set(world, &world->transaction_timer, TRANSACTION_MS);
    return true;
}

void shared_let_go(struct store *store)
{
    struct world *world = store->world;
    if (world->locked_by != store)
        return;
    world->locked_by = NULL;
    timer_stop(world, &world->transaction_timer);
    for (uint32_t p = 0; p < world->plan.gateways; p++) {
        struct store *other = world->processes[p] == NULL ? NULL : &world->processes[p]->store;
        if (other == NULL || !other->waits)
            continue;
        other->waits = false;
        if (other->start_timer.place == 0)
            timer_set(world, &other->start_timer, draw_between(world, 0, 1));
    }
}

int64_t shared_delay(struct store *store)
{
    if (store->slow_until <= store->world->ticks)
        return 0;
    return draw_between(store->world, 0, 2 * TRANSACTION_MS);
}

/* ---- heart-beats ---- */

static bool beat(struct store *store, struct holding_news *news)
{
    struct world *world = store->world;
    bug_before_beat(world, store);
    *news =
        (struct holding_news){.asked_ticks = world->ticks, .wall_ms = process_wall(store->process)};
    world->backend->holder = store->holder;
    if (world->backend->ops->beat(world->backend, STORE_HOLD_MS, &news->beat, NULL) != GW_OK)
        return false;
    if (news->beat.holder != store->holder && store->holder != 0)
        world_say(world, "life %u was taken for gone, and joins again", store->process->life);
    return true;
}

static bool hears(struct store *store, const struct holding_news *news)
{
    store->holder = news->beat.holder;
    return holding_renew(&store->holding, news) == HOLDING_RENEWED;
}

static void beats(void *ctx)
{
    struct store *store = ctx;
    struct world *world = store->world;
    struct holding_news news;
    bool is_lost = shared_is_cut(store) || world->ticks < world->sick_until;
    if (!is_lost && world->locked_by != NULL) {
        timer_set(world, &store->beat_timer, draw_between(world, 1, RETRY_MS));
        return;
    }
    timer_set(world, &store->beat_timer, STORE_BEAT_MS);
    /* Its answer may be lost as well. */
    if (!is_lost && beat(store, &news) && !draw_chance(world, 20))
        (void)hears(store, &news); /* by the drawn skew no clock is too far */
}

bool shared_join(struct process *process)
{
    struct store *store = &process->store;
    struct world *world = process->world;
    struct holding_news news;
    if (!is_several(store))
        return true;
    if (world->locked_by != NULL || world->ticks < world->sick_until || !beat(store, &news))
        return false;
    bool ok = hears(store, &news);
    gw_assert(ok);
    store->beat_timer = (struct sim_timer){.process = process, .fire = beats, .ctx = store};
    timer_set(world, &store->beat_timer, STORE_BEAT_MS);
    bug_at_start(world);
    return true;
}

void shared_leave(struct process *process)
{
    struct world *world = process->world;
    if (!is_several(&process->store) || world->locked_by != NULL ||
        world->ticks < world->sick_until || shared_is_cut(&process->store))
        return;
    world->backend->holder = process->store.holder;
    world->backend->ops->leave(world->backend);
}

void shared_crash(struct store *store)
{
    timer_stop(store->world, &store->beat_timer);
    shared_let_go(store);
}

/* ---- what the product asks ---- */

bool store_holds(const struct store *store, int64_t holder, int64_t ticks)
{
    if (!is_several(store) || bug_is_planted(store->world, BUG_WAKES_AND_SENDS))
        return true;
    if (bug_is_planted(store->world, BUG_NEWEST_LEASE))
        holder = store->holder;
    return holding_holds(&store->holding, holder, ticks);
}

int64_t store_skew_ms(const struct store *store)
{
    bool ignores = bug_is_planted(store->world, BUG_SKEW_IGNORED);
    return is_several(store) && !ignores ? (int64_t)2 * STORE_SKEW_MS : 0;
}

/* ---- trouble ---- */

static void stand_still(struct world *world, struct process *process)
{
    int64_t ms = draw_chance(world, 300) ? draw_between(world, 100, STORE_HOLD_MS)
                                         : draw_between(world, STORE_HOLD_MS, 5 * STORE_HOLD_MS);
    process->stopped_until = world->ticks + ms;
    world_say(world, "life %u stands still for %lld ms", process->life, (long long)ms);
}

void shared_committed(struct store *store)
{
    struct world *world = store->world;
    if (world->plan.pauses && !world->is_winding_down && draw_chance(world, UNHEARD_PER_MILLE))
        stand_still(world, store->process);
}

void shared_trouble(struct world *world)
{
    const struct plan *plan = &world->plan;
    struct process *process = world_any_process(world);
    if (process == NULL)
        return;
    uint64_t kind = draw_below(world, 3);
    int64_t ms = draw_between(world, 100, 3 * STORE_HOLD_MS);
    if (kind == 0 && plan->pauses) {
        stand_still(world, process);
    } else if (kind == 1 && plan->cuts) {
        process->store.cut_until = world->ticks + ms;
        world_say(world, "life %u does not reach the store for %lld ms", process->life,
                  (long long)ms);
    } else if (kind == 2 && plan->slow_commits) {
        process->store.slow_until = world->ticks + ms;
        world_say(world, "life %u is slow to commit for %lld ms", process->life, (long long)ms);
    }
}
