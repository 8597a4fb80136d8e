/* Virtual time: one heap of timers. Whatever is due at the same millisecond comes in an
 * order that the seed draws. It must never look at a real clock, and nothing may run
 * from inside the call that sets a timer. */
#include "tests/sim/sim.h"

#include <stdlib.h>

#define TIMER_DELAY_MAX ((int64_t)100 * 24 * 3600 * 1000)

static bool is_before(const struct sim_timer *a, const struct sim_timer *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void put(struct world *world, struct sim_timer *timer, size_t at)
{
    world->heap[at] = timer;
    timer->place = at + 1;
}

static void sift_up(struct world *world, size_t at)
{
    struct sim_timer *timer = world->heap[at];
    while (at > 0 && is_before(timer, world->heap[(at - 1) / 2])) {
        put(world, world->heap[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    put(world, timer, at);
}

static void sift_down(struct world *world, size_t at)
{
    struct sim_timer *timer = world->heap[at];
    for (size_t child = 2 * at + 1; child < world->heap_count; child = 2 * at + 1) {
        if (child + 1 < world->heap_count && is_before(world->heap[child + 1], world->heap[child]))
            child++;
        if (!is_before(world->heap[child], timer))
            break;
        put(world, world->heap[child], at);
        at = child;
    }
    put(world, timer, at);
}

static void insert(struct world *world, struct sim_timer *timer)
{
    if (world->heap_count == world->heap_cap) {
        size_t cap = world->heap_cap == 0 ? 64 : 2 * world->heap_cap;
        struct sim_timer **heap = realloc(world->heap, cap * sizeof(struct sim_timer *));
        gw_assert(heap != NULL);
        world->heap = heap;
        world->heap_cap = cap;
    }
    world->heap[world->heap_count] = timer;
    sift_up(world, world->heap_count++);
}

void timer_set(struct world *world, struct sim_timer *timer, int64_t delay_ms)
{
    gw_assert(timer->fire != NULL);
    if (delay_ms < 0)
        delay_ms = 0;
    timer_stop(world, timer);
    timer->at = world->ticks + (delay_ms < TIMER_DELAY_MAX ? delay_ms : TIMER_DELAY_MAX);
    /* The drawn part first: two things of one millisecond come in either order. */
    timer->order = (draw(world) << 40) | (++world->timer_order & 0xffffffffffu);
    insert(world, timer);
}

void timer_stop(struct world *world, struct sim_timer *timer)
{
    if (timer->place == 0)
        return;
    size_t at = timer->place - 1;
    gw_assert(world->heap[at] == timer);
    timer->place = 0;
    struct sim_timer *last = world->heap[--world->heap_count];
    if (last == timer)
        return;
    put(world, last, at);
    sift_down(world, at);
    sift_up(world, last->place - 1);
}

static int64_t stands_still_until(const struct sim_timer *timer)
{
    const struct process *process = timer->worker != NULL ? timer->worker->process : timer->process;
    int64_t until = timer->worker != NULL ? timer->worker->stopped_until : 0;
    return process != NULL && process->stopped_until > until ? process->stopped_until : until;
}

static void raise_wall(struct world *world)
{
    int64_t wall = world_wall(world) + world->plan.skew_ms;
    if (wall > world->wall_high)
        world->wall_high = wall;
}

bool timer_run_next(struct world *world)
{
    if (world->heap_count == 0)
        return false;
    struct sim_timer *timer = world->heap[0];
    gw_assert(timer->at >= world->ticks);
    world->ticks = timer->at;
    raise_wall(world);
    timer_stop(world, timer);
    /* A loop that stands still does everything of its own later, in the order it came. */
    int64_t stopped_until = stands_still_until(timer);
    if (stopped_until > world->ticks) {
        timer->at = stopped_until;
        insert(world, timer);
        return true;
    }
    timer->fire(timer->ctx);
    return true;
}

int64_t world_ticks(const struct world *world)
{
    return world->ticks;
}

int64_t world_wall(const struct world *world)
{
    return world->ticks + world->wall_offset;
}

void world_step_clock(struct world *world, int64_t by_ms)
{
    world->wall_offset += by_ms;
    raise_wall(world);
}

/* The product's own door to the time: here it opens on the world. */
struct gw_clock *gw_clock_system(void)
{
    return &world_now()->clock;
}
