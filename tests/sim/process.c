/* A life of the gateway: it starts over what the store kept, serves, and ends in peace
 * or not. Nothing of one life is left to the next but the rows. */
#include "gateway/sources/sources.h"
#include "tests/sim/sim.h"

#include <stdlib.h>

#define RECOVER_ROWS_MAX 5000

static void serve(struct process *process)
{
    process->phase = PROCESS_SERVES;
    sources_start(process->workers[0].sources);
    world_say(process->world, "life %u serves", process->life);
}

int64_t process_wall(const struct process *process)
{
    return world_wall(process->world) + process->place->clock.skew_ms;
}

static void free_unborn(struct process *process)
{
    board_free(process->board);
    free(process);
}

void process_start(struct world *world, struct place *place)
{
    struct process *process = calloc(1, sizeof(*process));
    gw_assert(process != NULL);
    process->world = world;
    process->place = place;
    process->board = board_new(world->conf);
    gw_assert(process->board != NULL);
    process->store = (struct store){.world = world, .process = process};
    if (!shared_join(process)) {
        free_unborn(process);
        timer_set(world, &place->start_timer, draw_between(world, 100, 3000));
        return;
    }
    process->life = ++world->lives;
    world_say(world, "life %u begins at place %u", process->life, place->index);
    if (world->plan.gateways == 1)
        disk_new_life(world);
    disk_pauses(world, process->board);
    inbox_init(&process->operator_inbox, world, NULL);
    process->operator_inbox.timer.process = process;
    for (uint32_t i = 0; i < SIM_WORKERS; i++)
        worker_init(&process->workers[i], process, i);
    world->processes[place->index] = process;
    if (world->plan.recovers_late) {
        serve(process);
        return;
    }
    process->phase = PROCESS_RECOVERS;
    sources_recover(process->workers[0].sources, RECOVER_ROWS_MAX);
}

static bool is_done(const struct process *process)
{
    bool done = process->store.count == 0 && process->store.batch_count == 0 &&
                process->operator_inbox.first == NULL;
    for (uint32_t i = 0; i < SIM_WORKERS; i++)
        done = done && worker_is_done(&process->workers[i]);
    return done;
}

void process_look(struct world *world, struct process *process)
{
    if (process->phase == PROCESS_RECOVERS && is_done(process)) {
        serve(process);
    } else if (process->phase == PROCESS_DRAINS && is_done(process) &&
               !operator_is_busy(world, process)) {
        world_say(world, "life %u has ended in peace", process->life);
        check_process_quiet(world, process);
        shared_leave(process);
        process_free(process);
    }
}

void process_drain(struct process *process)
{
    world_say(process->world, "life %u drains", process->life);
    process->world->counts[COUNT_DRAINS]++;
    process->phase = PROCESS_DRAINS;
    atomic_store(&board_gauges(process->board)->draining, true);
    for (uint32_t i = 0; i < SIM_WORKERS; i++)
        worker_begin_drain(&process->workers[i], process->world->conf->drain_ms);
}

/* In an order in which nobody is told of the end of another. */
void process_free(struct process *process)
{
    struct world *world = process->world;
    struct place *place = process->place;
    world->processes[place->index] = NULL;
    disk_crash(&process->store);
    inbox_drop(&process->operator_inbox);
    operator_crash(world, process);
    for (uint32_t i = 0; i < SIM_WORKERS; i++) {
        struct worker *worker = &process->workers[i];
        for (uint32_t slot = 0; slot < SIM_CALLERS_MAX; slot++)
            if (world->callers[slot] != NULL && world->callers[slot]->worker == worker)
                caller_dies(world->callers[slot]);
        worker_crash(worker);
    }
    if (world->committing == process)
        world->committing = NULL;
    free_unborn(process);
    if (!world->is_winding_down)
        timer_set(world, &place->start_timer,
                  draw_chance(world, 800) ? draw_between(world, 0, 3000)
                                          : draw_between(world, 0, 300000));
    else
        timer_set(world, &place->start_timer, 1000);
}

void process_crash(struct world *world, struct process *process)
{
    world_say(world, "life %u CRASHES", process->life);
    world->counts[COUNT_CRASHES]++;
    process_free(process);
}
