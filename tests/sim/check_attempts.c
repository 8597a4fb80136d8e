/* The checkers of attempts: what was claimed, begun and carried out, how often and how
 * soon. They must never change what the story does. */
#include "tests/sim/sim.h"

#include <stdlib.h>

struct attempt *check_attempt(struct world *world, uint64_t token)
{
    for (uint32_t i = 0; i < SIM_IDENTITIES; i++)
        for (struct attempt *a = world->identities[i].attempts; a != NULL; a = a->older)
            if (a->token == token)
                return a;
    return NULL;
}

void check_add_attempt(struct world *world, struct identity *identity,
                       const struct version *version)
{
    const struct receipt *receipt = &version->receipt;
    uint64_t token = receipt->token;
    if (check_attempt(world, token) != NULL)
        world_fail(world, "a token was used for two claims");
    struct attempt *attempt = calloc(1, sizeof(*attempt));
    gw_assert(attempt != NULL);
    attempt->identity = identity;
    attempt->token = token;
    attempt->life = identity->life;
    attempt->claimed_ticks = world->ticks;
    attempt->holder = version->holder;
    attempt->lease_until_ticks =
        world->ticks + receipt->lease_until_ms - process_wall(world->committing);
    attempt->older = identity->attempts;
    gw_buf_init(&attempt->body, 16384);
    identity->attempts = attempt;
}

/* As many attempts as two windows may have, and none before a refusal allows it. */
static void check_budget(struct world *world, const struct attempt *attempt)
{
    const struct identity *identity = attempt->identity;
    int64_t skew_ms = 2 * world->plan.skew_ms;
    uint32_t count = 0;
    for (const struct attempt *a = identity->attempts; a != NULL; a = a->older)
        count += a->life == attempt->life && a->was_started &&
                 a->started_ticks > world->ticks - SIM_WINDOW_MS + skew_ms;
    world->counts[COUNT_RETRIES] += count > 1;
    if (!world->plan.retries || world->plan.clock_steps)
        return;
    if (count > 2 * SIM_ATTEMPTS_MAX)
        world_fail(world, "key %.*s of %.*s has more attempts than its windows allow",
                   (int)identity->key.len, identity->key.ptr, (int)identity->owner.len,
                   identity->owner.ptr);
    if (world->ticks < identity->not_before_ticks - skew_ms)
        world_fail(world, "key %.*s of %.*s is sent before the upstream's Retry-After",
                   (int)identity->key.len, identity->key.ptr, (int)identity->owner.len,
                   identity->owner.ptr);
}

void check_start(struct world *world, const struct flow *flow)
{
    struct attempt *attempt = check_attempt(world, flow->attempt.token);
    if (attempt == NULL) {
        world_fail(world, "an attempt is sent whose claim is not committed");
        return;
    }
    /* Where the wall clock jumps, its lease cannot be told in ticks. */
    if (!world->plan.clock_steps && world->ticks > attempt->lease_until_ticks)
        world_fail(world, "an attempt is sent after its own lease");
    check_first_byte(world, attempt);
    attempt->was_started = true;
    attempt->started_ticks = world->ticks;
    check_budget(world, attempt);
}

const struct attempt *check_remembered(const struct attempt *attempt, int64_t since_ticks)
{
    for (const struct attempt *a = attempt->identity->attempts; a != NULL; a = a->older)
        if (a != attempt && a->life == attempt->life && a->run_id != 0 &&
            a->ran_ticks >= since_ticks)
            return a;
    return NULL;
}

/* Of two attempts of one operation that ran, the older one must have been called not
 * executed by an operator who was free to say so. */
void check_run(struct world *world, struct attempt *attempt)
{
    if (attempt->ran)
        world_fail(world, "one attempt ran twice");
    attempt->ran = true;
    attempt->will_run = false;
    const struct version *last = check_last(attempt->identity);
    if (last->life == attempt->life && last->receipt.state == RECEIPT_CANCELLED &&
        !attempt->excused)
        world_fail(world, "key %.*s of %.*s runs, and was called cancelled",
                   (int)attempt->identity->key.len, attempt->identity->key.ptr,
                   (int)attempt->identity->owner.len, attempt->identity->owner.ptr);
    bool is_newer = true; /* the list begins with the newest */
    for (const struct attempt *a = attempt->identity->attempts; a != NULL; a = a->older) {
        if (a == attempt) {
            is_newer = false;
            continue;
        }
        bool older_is_excused = is_newer ? attempt->excused : a->excused;
        if (a->life == attempt->life && a->ran && !older_is_excused)
            world_fail(world, "key %.*s of %.*s ran twice", (int)attempt->identity->key.len,
                       attempt->identity->key.ptr, (int)attempt->identity->owner.len,
                       attempt->identity->owner.ptr);
    }
}

uint64_t check_find_run(struct world *world, const char *operation_id)
{
    for (uint32_t i = 0; i < SIM_IDENTITIES; i++) {
        const struct identity *identity = &world->identities[i];
        if (strcmp(check_last(identity)->operation_id, operation_id) != 0)
            continue;
        for (const struct attempt *a = identity->attempts; a != NULL; a = a->older)
            if (a->life == identity->life && a->run_id != 0)
                return a->run_id;
    }
    return 0;
}
