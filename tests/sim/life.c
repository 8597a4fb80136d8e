/* One deferred operation on a store that several gateways share, told again and again: each
 * time another gateway dies after another step. Whatever was promised ends in exactly one of
 * three ways: completed after one run, in doubt, or cancelled without a run. */
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>

#define LIFE_STEPS_MAX 300 /* a longer life is looked at for so long */
#define LIFE_REST      20  /* steps after its last move, that a gateway may still die after */

static const char *const places[SIM_PROCESSES_MAX] = {"first", "second", "third", "fourth"};

static uint32_t count_runs(const struct identity *identity)
{
    uint32_t runs = 0;
    for (const struct attempt *a = identity->attempts; a != NULL; a = a->older)
        runs += a->ran;
    return runs;
}

/* A death before the promise is on record leaves nothing, and another caller makes it. */
void life_check_end(struct world *world)
{
    const struct identity *identity = &world->identities[0];
    const struct version *last = check_last(identity);
    enum receipt_state state = last->receipt.state;
    uint32_t runs = count_runs(identity);
    if (identity->version_count == 0)
        return; /* the death came before, and the next caller after the end of the story */
    if (identity->life > 0)
        world_fail(world, "there were two operations");
    else if (state == RECEIPT_COMPLETED ? runs != 1
                                        : !(state == RECEIPT_UNKNOWN && runs <= 1) &&
                                              !(state == RECEIPT_CANCELLED && runs == 0))
        world_fail(world, "what was promised is %s after %" PRIu32 " runs",
                   receipt_state_name(state), runs);
}

static bool tell(struct world *world, const struct world_options *options)
{
    struct world_options again = *options;
    bool ok = world_run(world, options);
    if (!ok) {
        char violation[sizeof(world->violation)];
        memcpy(violation, world->violation, sizeof(violation));
        world_fini(world);
        again.keeps_trail = true;
        (void)world_run(world, &again); /* it failed before, so it fails again */
        world_print_trail(world);
        (void)printf("\nseed %" PRIu64 ", the %s gateway dies after step %" PRIu64 ": %s\n",
                     options->seed, places[options->crash_place], options->crash_at, violation);
    }
    return ok;
}

bool life_is_safe(struct world *world, const struct world_options *options, uint64_t *ret_stories)
{
    struct world_options story = *options;
    story.steps = LIFE_STEPS_MAX;
    bool ok = tell(world, &story); /* once in peace */
    uint32_t gateways = world->plan.gateways;
    uint64_t steps = world->moved_step + LIFE_REST;
    world_fini(world);
    ++*ret_stories;
    story.steps = steps < LIFE_STEPS_MAX ? steps : LIFE_STEPS_MAX;
    for (; ok && story.crash_place < gateways; story.crash_place++) {
        for (story.crash_at = 1; ok && story.crash_at <= story.steps; story.crash_at++) {
            ok = tell(world, &story);
            world_fini(world);
            ++*ret_stories;
        }
    }
    return ok;
}
