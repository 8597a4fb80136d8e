/* The command line of the simulator: one seed, many, or those of a file. On a violation
 * it tells the seed's story again, with its trail, and how to see all of it. */
#include "tests/sim/bugs.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS_DEFAULT 3000
#define SEED_LINE     128

struct run {
    struct world_options options;
    uint64_t first, last;
    const char *file;
    uint64_t stories;
    uint64_t counts[COUNT_SIM];
};

static int usage(void)
{
    (void)fprintf(
        stderr,
        "usage: sim [--seed N | --seeds A-B | --file SEEDS] [--steps M] [--several | --one-life]\n"
        "           [--verbose] [--bug NAME [--expect-found]]\n"
        "bugs that can be planted:\n");
    for (uint32_t i = 0; i < BUG_COUNT; i++)
        (void)fprintf(stderr, "  %-16s %s\n", bug_word((enum sim_bug)i), bug_doc((enum sim_bug)i));
    return 2;
}

static bool read_number(const char *text, uint64_t *ret)
{
    return text != NULL && gw_parse_u64(span_str(text), ret);
}

static bool read_range(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    const char *dash = text == NULL ? NULL : strchr(text, '-');
    return dash != NULL && gw_parse_u64(span_of(text, (size_t)(dash - text)), ret_first) &&
           read_number(dash + 1, ret_last) && *ret_first <= *ret_last;
}

static bool read_option(struct run *run, const char *name, const char *value, int *ret_used)
{
    *ret_used = 2;
    if (strcmp(name, "--seed") == 0) {
        run->last = run->first;
        return read_number(value, &run->first) && read_number(value, &run->last);
    }
    if (strcmp(name, "--seeds") == 0)
        return read_range(value, &run->first, &run->last);
    if (strcmp(name, "--steps") == 0)
        return read_number(value, &run->options.steps);
    if (strcmp(name, "--file") == 0) {
        run->file = value;
        return value != NULL;
    }
    if (strcmp(name, "--bug") == 0) {
        run->options.bug = value == NULL ? BUG_COUNT : bug_by_word(value);
        return run->options.bug != BUG_COUNT;
    }
    *ret_used = 1;
    if (strcmp(name, "--one-life") == 0)
        run->options.is_one_life = run->options.is_several = true;
    else if (strcmp(name, "--several") == 0)
        run->options.is_several = true;
    else if (strcmp(name, "--verbose") == 0)
        run->options.is_verbose = true;
    else if (strcmp(name, "--expect-found") == 0)
        run->options.expects_bug = true;
    else
        return false;
    return true;
}

static void print_command(const struct run *run, uint64_t seed)
{
    (void)printf("sim --seed %llu --steps %llu%s%s%s --verbose\n", (unsigned long long)seed,
                 (unsigned long long)run->options.steps,
                 run->options.is_several ? " --several" : "",
                 run->options.bug == BUG_NONE ? "" : " --bug ",
                 run->options.bug == BUG_NONE ? "" : bug_word(run->options.bug));
}

/* The same story again, and this time it is told. */
static void tell_again(const struct run *run, struct world *world, uint64_t seed)
{
    struct world_options options = run->options;
    options.seed = seed;
    options.keeps_trail = true;
    (void)world_run(world, &options); /* it failed before, so it fails again */
    if (!run->options.is_verbose)
        world_print_trail(world);
    (void)printf("\nseed %llu: %s\n", (unsigned long long)seed, world->violation);
    world_fini(world);
}

/* false: the story ended badly. */
static bool tell_one(struct run *run, struct world *world, uint64_t seed)
{
    struct world_options options = run->options;
    options.seed = seed;
    if (options.is_one_life)
        return life_is_safe(world, &options, &run->stories);
    bool ok = world_run(world, &options);
    run->stories++;
    for (uint32_t i = 0; i < COUNT_SIM; i++)
        run->counts[i] += world->counts[i];
    bool is_expected = !ok && run->options.expects_bug;
    if (is_expected)
        (void)printf("found by seed %llu: %s\n", (unsigned long long)seed, world->violation);
    world_fini(world);
    if (ok || is_expected)
        return ok;
    if (!run->options.is_verbose)
        tell_again(run, world, seed);
    print_command(run, seed);
    return false;
}

static bool tell_range(struct run *run, struct world *world)
{
    for (uint64_t seed = run->first; seed <= run->last; seed++)
        if (!tell_one(run, world, seed))
            return false;
    return true;
}

/* A seed a line; "#" begins a remark. */
static bool tell_file(struct run *run, struct world *world)
{
    char line[SEED_LINE];
    bool ok = true;
    FILE *file = fopen(run->file, "re");
    if (file == NULL) {
        (void)fprintf(stderr, "%s: %s\n", run->file, strerror(errno));
        return false;
    }
    while (ok && fgets(line, sizeof(line), file) != NULL) {
        uint64_t seed;
        size_t digits = strspn(line, "0123456789");
        if (digits > 0 && gw_parse_u64(span_of(line, digits), &seed))
            ok = tell_one(run, world, seed);
    }
    (void)fclose(file); /* it was only read */
    return ok;
}

static void print_counts(const struct run *run)
{
    static const char *const names[COUNT_SIM] = {[COUNT_CALLS] = "calls",
                                                 [COUNT_RUNS] = "runs",
                                                 [COUNT_CRASHES] = "crashes",
                                                 [COUNT_DRAINS] = "drains",
                                                 [COUNT_REPLAYS] = "replays",
                                                 [COUNT_UNKNOWNS] = "unknowns",
                                                 [COUNT_RELEASES] = "releases",
                                                 [COUNT_LATE] = "late answers",
                                                 [COUNT_VERDICTS] = "verdicts",
                                                 [COUNT_RENEWALS] = "renewals",
                                                 [COUNT_FINDINGS] = "findings",
                                                 [COUNT_RETRIES] = "retries",
                                                 [COUNT_PROMISES] = "promises",
                                                 [COUNT_CANCELS] = "cancels",
                                                 [COUNT_UNDONE] = "taken back",
                                                 [COUNT_TAKEN_OVER] = "taken over",
                                                 [COUNT_ELSEWHERE] = "replayed elsewhere"};
    (void)printf("%llu stories:", (unsigned long long)run->stories);
    for (uint32_t i = 0; i < COUNT_SIM; i++)
        (void)printf(" %llu %s%s", (unsigned long long)run->counts[i], names[i],
                     i + 1 < COUNT_SIM ? "," : "\n");
}

int main(int argc, char **argv)
{
    struct run run = {.options = {.steps = STEPS_DEFAULT}, .first = 1, .last = 1};
    for (int i = 1, used = 1; i < argc; i += used)
        if (!read_option(&run, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used))
            return usage();
    struct world *world = calloc(1, sizeof(*world));
    if (world == NULL)
        return 1;
    bool ok = run.file != NULL ? tell_file(&run, world) : tell_range(&run, world);
    free(world);
    print_counts(&run);
    if (run.options.expects_bug && ok)
        (void)printf("the planted bug %s was not found\n", bug_word(run.options.bug));
    return ok != run.options.expects_bug ? 0 : 1;
}
