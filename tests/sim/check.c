/* The checkers of moves. They know the truth, and rules of their own: what may follow what
 * is written here once more, not taken from the table of the product. They must never
 * change what the story does. */
#include "tests/sim/check.h"

#include <inttypes.h>

static const char *state_of(const struct version *version)
{
    return receipt_state_name(version->receipt.state);
}

/* ---- what may follow what ---- */

bool check_is_over(const struct world *world, const struct version *old)
{
    const struct receipt *receipt = &old->receipt;
    int64_t now = world->wall_high;
    bool is_over = receipt->expire_ms != 0 && now >= receipt->expire_ms;
    switch (receipt->state) {
    case RECEIPT_ABSENT:
        return true;
    case RECEIPT_RELEASED:
        return is_over;
    case RECEIPT_EXPIRED:
        return is_over || world->plan.rerun_on_expiry;
    case RECEIPT_COMPLETED:
    case RECEIPT_CANCELLED:
        return is_over && (world->plan.rerun_on_expiry ||
                           now - receipt->expire_ms >= world->plan.tombstone_ms);
    case RECEIPT_DEFERRED:
    case RECEIPT_CLAIMED:
    case RECEIPT_SENT:
    case RECEIPT_UNKNOWN:
    case RECEIPT_ABANDONED:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return false;
}

void check_fail_move(struct world *world, const struct identity *identity,
                     const struct version *old, const struct version *next, const char *why)
{
    world_fail(world, "key %.*s of %.*s goes from %s to %s: %s", (int)identity->key.len,
               identity->key.ptr, (int)identity->owner.len, identity->owner.ptr, state_of(old),
               state_of(next), why);
}

/* Another gateway has called it lost, and its own attempt knows that it was refused: claimed
 * ahead in the same commit. */
static bool is_late_refusal(const struct world *world, const struct version *old,
                            const struct version *next)
{
    return world->plan.gateways > 1 && world->plan.retries &&
           old->receipt.state == RECEIPT_UNKNOWN && next->receipt.state == RECEIPT_CLAIMED;
}

/* The same operation, and what it was left room for another attempt. */
static bool may_go_on(const struct world *world, const struct version *old,
                      const struct version *next)
{
    switch (old->receipt.state) {
    case RECEIPT_RELEASED:
        return true;
    case RECEIPT_DEFERRED:
        return next->receipt.state == RECEIPT_SENT;
    case RECEIPT_UNKNOWN:
        if (is_late_refusal(world, old, next))
            return true;
        return world->plan.dedups && world->plan.retries && next->receipt.state == RECEIPT_SENT &&
               (next->receipt.marks & RECEIPT_RESENT) != 0;
    case RECEIPT_SENT: /* refused, and claimed ahead in the same commit */
        return world->plan.retries && next->receipt.state == RECEIPT_CLAIMED;
    case RECEIPT_ABSENT:
    case RECEIPT_CLAIMED:
    case RECEIPT_COMPLETED:
    case RECEIPT_CANCELLED:
    case RECEIPT_ABANDONED:
    case RECEIPT_EXPIRED:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return false;
}

static bool is_same_operation(const struct version *old, const struct version *next)
{
    return old->receipt.state != RECEIPT_ABSENT &&
           strcmp(old->operation_id, next->operation_id) == 0;
}

static void check_first(struct world *world, struct identity *identity, const struct version *old,
                        const struct version *next)
{
    if (!check_is_over(world, old))
        check_fail_move(world, identity, old, next, "a new operation before the old one is over");
    world->counts[COUNT_RENEWALS] += identity->life > 0;
    identity->life += old->receipt.state != RECEIPT_ABSENT;
    identity->not_before_ticks = 0;
    if (is_same_operation(old, next))
        check_fail_move(world, identity, old, next, "a new operation has the id of the old one");
}

static void check_claim(struct world *world, struct identity *identity, const struct version *old,
                        struct version *next)
{
    enum receipt_state to = next->receipt.state;
    if (to != RECEIPT_SENT && !(to == RECEIPT_CLAIMED && world->plan.retries))
        check_fail_move(world, identity, old, next, "a claim that is not SENT");
    if (!is_same_operation(old, next)) {
        check_first(world, identity, old, next);
    } else if (!may_go_on(world, old, next)) {
        check_fail_move(world, identity, old, next, "claimed again, and was not free");
    } else {
        if ((old->receipt.marks & RECEIPT_CANCEL_REQUESTED) != 0)
            check_fail_move(world, identity, old, next, "claimed after somebody asked to cancel");
        if (old->receipt.state == RECEIPT_SENT || is_late_refusal(world, old, next)) {
            check_release(world, identity, old, next);
            check_note_wish(identity, check_attempt(world, old->receipt.token));
        }
    }
    next->life = identity->life;
    check_add_attempt(world, identity, next);
}

/* The key is taken for later: nothing is leased, and nothing sent. */
static void check_promise(struct world *world, struct identity *identity, const struct version *old,
                          struct version *next)
{
    world->counts[COUNT_PROMISES] += !identity->undoes;
    if (world->plan.defers == DEFER_NEVER && !identity->undoes)
        check_fail_move(world, identity, old, next, "no route defers");
    check_first(world, identity, old, next);
    next->life = identity->life;
}

/* ---- within one operation ---- */

static void renew_lease(struct world *world, const struct receipt *receipt)
{
    struct attempt *attempt = check_attempt(world, receipt->token);
    if (attempt != NULL)
        attempt->lease_until_ticks =
            world->ticks + receipt->lease_until_ms - process_wall(world->committing);
}

static void check_same_attempt(struct world *world, struct identity *identity,
                               const struct version *old, const struct version *next)
{
    enum receipt_state from = old->receipt.state, to = next->receipt.state;
    bool legal = false;
    if (from == to) {
        legal = true;
        if (from == RECEIPT_COMPLETED && !check_same_answer(old, next))
            check_replacement(world, identity, old, next);
        return;
    }
    bool is_spoken_against =
        check_is_known_to_have_run(identity) || check_is_found(old, next, PROBE_EXECUTED);
    bool would_be_free = check_says_not_run(from) || from == RECEIPT_CLAIMED;
    if (to == RECEIPT_UNKNOWN && would_be_free && is_spoken_against) {
        legal = (next->receipt.marks & RECEIPT_CONTRADICTED) != 0;
    } else if (to == RECEIPT_UNKNOWN && from != RECEIPT_SENT) {
        check_reopen(world, identity, old, next);
        legal = from == RECEIPT_COMPLETED || from == RECEIPT_RELEASED || from == RECEIPT_ABANDONED;
    } else if (to == RECEIPT_UNKNOWN) {
        legal = true;
    } else if (to == RECEIPT_COMPLETED) {
        check_completion(world, identity, old, next);
        legal = from == RECEIPT_SENT || from == RECEIPT_UNKNOWN || check_says_not_run(from) ||
                from == RECEIPT_ABANDONED;
    } else if (check_says_not_run(to)) {
        legal = check_not_run(world, identity, old, next);
    } else if (to == RECEIPT_SENT) {
        legal = from == RECEIPT_CLAIMED;
        renew_lease(world, &next->receipt);
    } else if (to == RECEIPT_ABANDONED) {
        legal = from == RECEIPT_UNKNOWN;
    } else if (to == RECEIPT_EXPIRED) {
        legal = (from == RECEIPT_COMPLETED || from == RECEIPT_CANCELLED) &&
                world->wall_high >= old->receipt.expire_ms;
        if (next->receipt.expire_ms != old->receipt.expire_ms + world->plan.tombstone_ms)
            check_fail_move(world, identity, old, next, "its tombstone has not the route's length");
    }
    if (!legal)
        check_fail_move(world, identity, old, next, "there is no such move");
}

static bool has_come_to_rest(const struct version *next)
{
    return next->receipt.state != RECEIPT_SENT && next->receipt.state != RECEIPT_CLAIMED;
}

void check_move(struct world *world, struct identity *identity, struct version *next)
{
    const struct version *old = check_last(identity);
    next->life = identity->life;
    if (next->receipt.state == RECEIPT_ABSENT) {
        if (!check_is_over(world, old))
            check_fail_move(world, identity, old, next, "it vanished before its time");
        identity->life++;
    } else if (next->receipt.state == RECEIPT_DEFERRED && !is_same_operation(old, next)) {
        check_promise(world, identity, old, next);
    } else if (old->receipt.state == RECEIPT_ABSENT || next->receipt.token != old->receipt.token) {
        check_claim(world, identity, old, next);
    } else {
        check_same_attempt(world, identity, old, next);
    }
    if (check_says_not_run(next->receipt.state) && check_is_known_to_have_run(identity))
        check_fail_move(world, identity, old, next,
                        "it is free, and an answer on record says it ran");
    check_lease(world, identity, old, next);
    bool moved = old->receipt.state != next->receipt.state;
    if (moved)
        world->moved_step = world->step;
    if (moved && has_come_to_rest(next))
        identity->moved_ticks = world->ticks;
    world->counts[COUNT_UNKNOWNS] += moved && next->receipt.state == RECEIPT_UNKNOWN;
    world_say(world, "  key %.*s of %.*s in %.*s: %s -> %s, version %" PRIu32 ", attempt %llx",
              (int)identity->key.len, identity->key.ptr, (int)identity->owner.len,
              identity->owner.ptr, (int)identity->scope.len, identity->scope.ptr, state_of(old),
              state_of(next), next->receipt.version, (unsigned long long)next->receipt.token >> 40);
}
