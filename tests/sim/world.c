/* One story: made of its seed, told step by step, brought to an end. Chance decides
 * between two steps whether the process dies there. */
#include "base/log.h"
#include "tests/sim/bugs.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WALL_START    1796083200000 /* 2026-12-01 */
#define HOUR_MS       ((int64_t)3600 * 1000)
#define STAMP_BYTES   32
#define QUIET_STEPS   400000
#define QUIET_MS      (HOUR_MS / 2)
#define QUIET_LIFE_MS (HOUR_MS / 10) /* of one operation: who died is back by then */

/* The product's ports for time and chance have no context. Set while a story is told. */
static struct world *the_world;

struct world *world_now(void)
{
    gw_assert(the_world != NULL);
    return the_world;
}

/* ---- the story ---- */

static void tell(struct world *world, const char *text)
{
    char *line = world->trail[world->trail_count++ % SIM_TRAIL_LINES];
    (void)snprintf(line, SIM_LINE_BYTES, "%8" PRId64 ".%03d %s", world->ticks / 1000,
                   (int)(world->ticks % 1000), text); /* a longer line is cut */
    if (world->options.is_verbose)
        (void)puts(line); /* the story is for the eye */
}

void world_say(struct world *world, const char *fmt, ...)
{
    char text[SIM_LINE_BYTES - STAMP_BYTES];
    va_list args;
    if (!world->options.is_verbose && !world->options.keeps_trail)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args); /* a longer line is cut */
    va_end(args);
    tell(world, text);
}

void world_fail(struct world *world, const char *fmt, ...)
{
    char text[sizeof(world->violation)];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args); /* a longer line is cut */
    va_end(args);
    if (!world->has_failed)
        memcpy(world->violation, text, sizeof(text));
    world->has_failed = true;
    world_say(world, "VIOLATION: %s", text);
}

void world_print_trail(const struct world *world)
{
    uint64_t first =
        world->trail_count > SIM_TRAIL_LINES ? world->trail_count - SIM_TRAIL_LINES : 0;
    for (uint64_t i = first; i < world->trail_count; i++)
        (void)printf("%s\n", world->trail[i % SIM_TRAIL_LINES]);
}

_Noreturn void __real_gw_assert_fail(const char *expr, const char *file, int line);
_Noreturn void __wrap_gw_assert_fail(const char *expr, const char *file, int line);

/* An assertion of the product ends the process; the seed must be known then. */
_Noreturn void __wrap_gw_assert_fail(const char *expr, const char *file, int line)
{
    const struct world *world = the_world;
    if (world != NULL) {
        if (world->options.keeps_trail && !world->options.is_verbose)
            world_print_trail(world);
        (void)printf("seed %llu, step %llu: assertion %s of %s:%d\n"
                     "sim --seed %llu --steps %llu --bug %s --verbose\n",
                     (unsigned long long)world->options.seed, (unsigned long long)world->step, expr,
                     file, line, (unsigned long long)world->options.seed,
                     (unsigned long long)world->options.steps, bug_word(world->options.bug));
        (void)fflush(stdout); /* the process ends here */
        if (world->options.expects_bug)
            _exit(0);
    }
    __real_gw_assert_fail(expr, file, line);
}

/* The product's log becomes part of the story. */
void gw_log_setup(enum gw_log_level level, enum gw_log_format format)
{
    (void)level;
    (void)format;
}

bool gw_log_is_on(enum gw_log_level level)
{
    (void)level;
    return false;
}

void gw_log(enum gw_log_level level, const char *event, const struct gw_log_pair *pairs)
{
    (void)pairs;
    if (level >= GW_LOG_WARN)
        world_say(world_now(), "    log: %s", event);
}

void gw_log_text(enum gw_log_level level, const char *event, const char *fmt, ...)
{
    (void)level;
    (void)fmt;
    world_say(world_now(), "    log: %s", event);
}

/* ---- trouble ---- */

struct process *world_any_process(struct world *world)
{
    if (world->plan.gateways == 1)
        return world->processes[0];
    return world->processes[draw_below(world, world->plan.gateways)];
}

static void stop_worker(struct world *world)
{
    struct process *process = world_any_process(world);
    if (process == NULL)
        return;
    struct worker *worker = &process->workers[draw_below(world, SIM_WORKERS)];
    int64_t ms = draw_chance(world, 500) ? draw_between(world, 100, 20000)
                                         : draw_between(world, 20000, 300000);
    worker->stopped_until = world->ticks + ms;
    world_say(world, "worker %u stands still for %lld ms", worker->index, (long long)ms);
}

static void trouble(void *ctx)
{
    struct world *world = ctx;
    const struct plan *plan = &world->plan;
    if (world->is_winding_down)
        return;
    struct process *process = world_any_process(world);
    uint64_t kind = draw_below(world, 100);
    if (kind < 55) {
        operator_acts(world);
    } else if (kind < 65 && plan->clock_steps) {
        int64_t by = draw_between(world, -HOUR_MS, HOUR_MS);
        world_step_clock(world, by);
        world_say(world, "the wall clock jumps by %lld ms", (long long)by);
    } else if (kind < 75 && plan->worker_stops) {
        stop_worker(world);
    } else if (kind < 85 && plan->store_sick) {
        world->sick_until = world->ticks + draw_delay(world, 120000);
        world_say(world, "the store is sick for %lld ms",
                  (long long)(world->sick_until - world->ticks));
    } else if (kind < 87 && plan->drains && process != NULL && process->phase == PROCESS_SERVES) {
        process_drain(process);
    } else if (kind >= 87 && plan->gateways > 1) {
        shared_trouble(world);
    }
    timer_set(world, &world->chaos_timer, draw_between(world, 0, plan->chaos_gap_ms));
}

static void starts(void *ctx)
{
    struct place *place = ctx;
    process_start(place->world, place);
}

/* ---- from the seed to the end ---- */

static void plant_seed(struct world *world)
{
    uint64_t x = world->options.seed;
    for (size_t i = 0; i < GW_COUNT(world->random); i++) {
        x += 0x9e3779b97f4a7c15u;
        uint64_t z = x;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        world->random[i] = z ^ (z >> 31);
    }
}

static int64_t clock_wall(struct gw_clock *clock)
{
    (void)clock;
    return world_wall(world_now());
}

static int64_t clock_wall_here(struct gw_clock *clock)
{
    return world_wall(world_now()) + ((const struct process_clock *)clock)->skew_ms;
}

static int64_t clock_ticks(struct gw_clock *clock)
{
    (void)clock;
    return world_ticks(world_now());
}

static void name_identities(struct world *world)
{
    static const struct span keys[SIM_KEYS_MAX] = {{"k0", 2}, {"k1", 2}, {"k2", 2}, {"k3", 2}};
    static const struct span owners[SIM_SPACES] = {{"acme", 4}, {"bolt", 4}, {"acme", 4}};
    static const struct span scopes[SIM_SPACES] = {{"gateway", 7}, {"gateway", 7}, {"solo", 4}};
    for (size_t space = 0; space < SIM_SPACES; space++)
        for (size_t key = 0; key < SIM_KEYS_MAX; key++)
            world->identities[space * SIM_KEYS_MAX + key] =
                (struct identity){.owner = owners[space], .scope = scopes[space], .key = keys[key]};
}

static void make_places(struct world *world)
{
    for (uint32_t i = 0; i < world->plan.gateways; i++) {
        struct place *place = &world->places[i];
        *place = (struct place){
            .world = world,
            .index = i,
            .clock = {.clock = {.wall_ms = clock_wall_here, .ticks_ms = clock_ticks}},
            .start_timer = {.fire = starts, .ctx = place}};
        if (world->plan.skew_ms > 0)
            place->clock.skew_ms =
                draw_chance(world, 500) ? world->plan.skew_ms : -world->plan.skew_ms;
    }
}

static bool world_init(struct world *world, const struct world_options *options)
{
    struct gw_error err = {0};
    *world = (struct world){.options = *options,
                            .clock = {.wall_ms = clock_wall, .ticks_ms = clock_ticks},
                            .ticks = 1000,
                            .wall_offset = WALL_START};
    the_world = world;
    plant_seed(world);
    plan_draw(world);
    name_identities(world);
    world->wall_high = world_wall(world) + world->plan.skew_ms;
    world->conf = plan_conf(&world->plan, &err);
    if (world->conf == NULL) {
        world_fail(world, "the configuration is refused: %s", err.text);
        return false;
    }
    bug_spoils_conf(world);
    if (!disk_open(world))
        return false;
    world->arrival_timer = (struct sim_timer){.fire = caller_arrives, .ctx = world};
    world->chaos_timer = (struct sim_timer){.fire = trouble, .ctx = world};
    make_places(world);
    timer_set(world, &world->places[0].start_timer, 0);
    timer_set(world, &world->arrival_timer, 10);
    if (!options->is_one_life)
        timer_set(world, &world->chaos_timer, 1000);
    for (uint32_t i = 1; i < world->plan.gateways; i++)
        timer_set(world, &world->places[i].start_timer, draw_delay(world, 10000));
    return true;
}

/* What follows every step: nothing of the dead is left, and a crash may come. */
static void after_step(struct world *world)
{
    world->step++;
    for (uint32_t p = 0; p < world->plan.gateways; p++)
        for (uint32_t i = 0; world->processes[p] != NULL && i < SIM_WORKERS; i++)
            worker_bury_the_dead(&world->processes[p]->workers[i]);
    operator_bury(world);
    for (uint32_t p = 0; p < world->plan.gateways; p++)
        if (world->processes[p] != NULL)
            process_look(world, world->processes[p]);
    for (uint32_t p = 0; p < world->plan.gateways; p++)
        if (world->processes[p] != NULL && !world->is_winding_down &&
            draw_below(world, 10000) < world->plan.crash_per_10000)
            process_crash(world, world->processes[p]);
    struct process *doomed = world->processes[world->options.crash_place];
    if (world->step == world->options.crash_at && doomed != NULL)
        process_crash(world, doomed);
}

static bool process_asks(const struct process *process)
{
    for (uint32_t i = 0; process != NULL && i < SIM_WORKERS; i++)
        for (const struct flow *f = process->workers[i].flows; f != NULL; f = f->older)
            if (f->source == FLOW_FROM_PROBE || f->source == FLOW_FROM_DEFERRED)
                return true;
    return false;
}

/* A question of the gateway's own is under way: they end, but not at a given moment. */
static bool is_asking(const struct world *world)
{
    for (uint32_t p = 0; p < world->plan.gateways; p++)
        if (process_asks(world->processes[p]))
            return true;
    return false;
}

static bool all_serve(const struct world *world)
{
    for (uint32_t p = 0; p < world->plan.gateways; p++)
        if (world->processes[p] == NULL || world->processes[p]->phase != PROCESS_SERVES)
            return false;
    return true;
}

/* No new trouble and no new callers: everything must come to its end by itself. */
static void wind_down(struct world *world)
{
    int64_t until = world->ticks + (world->options.is_one_life ? QUIET_LIFE_MS : QUIET_MS);
    world->is_winding_down = true;
    world->sick_until = 0;
    /* A clock that was set back would keep a lease alive for hours. */
    world_step_clock(world, world->wall_high - world->plan.skew_ms - world_wall(world));
    world_say(world, "the story comes to its end");
    for (uint32_t i = 0; i < QUIET_STEPS && !world->has_failed; i++) {
        if (world->ticks >= until && !is_asking(world))
            break;
        if (!timer_run_next(world))
            break;
        after_step(world);
    }
    if (!world->has_failed && !all_serve(world))
        world_fail(world, "the gateway does not come back");
    if (!world->has_failed)
        check_quiet(world);
    if (!world->has_failed && world->options.is_one_life)
        life_check_end(world);
}

bool world_run(struct world *world, const struct world_options *options)
{
    if (world_init(world, options)) {
        while (world->step < options->steps && !world->has_failed && timer_run_next(world))
            after_step(world);
        if (!world->has_failed)
            wind_down(world);
    }
    return !world->has_failed;
}

void world_fini(struct world *world)
{
    world->is_winding_down = true;
    for (uint32_t p = 0; p < world->plan.gateways; p++)
        if (world->processes[p] != NULL)
            process_free(world->processes[p]);
    upstream_free_all(world);
    check_free(world);
    disk_close(world);
    conf_unref(world->conf);
    free(world->heap);
    the_world = NULL;
}
