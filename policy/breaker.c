/* When to stop sending to an upstream that loses answers. Must never count repeats
 * or replays: only attempts reach it. */
#include "policy/breaker.h"

static int64_t slot_ms(const struct breaker_policy *policy);
static void advance(struct breaker *breaker, const struct breaker_policy *policy,
                    int64_t now_ticks);
static bool is_too_much(const struct breaker *breaker, const struct breaker_policy *policy,
                        uint32_t overdue);
static void forget_counts(struct breaker *breaker);

const char *breaker_state_name(enum breaker_state state)
{
    switch (state) {
    case BREAKER_OPEN:
        return "open";
    case BREAKER_HALF_OPEN:
        return "half_open";
    case BREAKER_CLOSED:
        break;
    }
    return "closed";
}

void breaker_init(struct breaker *breaker, int64_t now_ticks)
{
    *breaker = (struct breaker){.state = BREAKER_CLOSED, .slot_start_ticks = now_ticks};
}

static void open_now(struct breaker *breaker, int64_t now_ticks)
{
    breaker->state = BREAKER_OPEN;
    breaker->opened_ticks = now_ticks;
    breaker->trial_out = false;
}

static enum breaker_pass let_one_try(struct breaker *breaker)
{
    breaker->state = BREAKER_HALF_OPEN;
    breaker->trial_out = true;
    return BREAKER_TRIAL;
}

enum breaker_pass breaker_ask(struct breaker *breaker, const struct breaker_policy *policy,
                              uint32_t overdue, int64_t now_ticks)
{
    if (!policy->is_on)
        return BREAKER_PASS;
    advance(breaker, policy, now_ticks);
    switch (breaker->state) {
    case BREAKER_OPEN:
        if (now_ticks - breaker->opened_ticks < policy->in_ms)
            return BREAKER_STOP;
        return let_one_try(breaker);
    case BREAKER_HALF_OPEN:
        return breaker->trial_out ? BREAKER_STOP : let_one_try(breaker);
    case BREAKER_CLOSED:
        break;
    }
    if (!is_too_much(breaker, policy, overdue))
        return BREAKER_PASS;
    open_now(breaker, now_ticks);
    return BREAKER_STOP;
}

void breaker_ended(struct breaker *breaker, const struct breaker_policy *policy, bool unknown,
                   bool was_trial, int64_t now_ticks)
{
    if (!policy->is_on) { /* a trial that was out when it was switched off is out no more */
        if (was_trial)
            breaker->trial_out = false;
        return;
    }
    advance(breaker, policy, now_ticks);
    breaker->ended[breaker->slot]++;
    if (unknown)
        breaker->unknowns[breaker->slot]++;
    if (was_trial && breaker->state == BREAKER_HALF_OPEN) {
        if (unknown) {
            open_now(breaker, now_ticks);
        } else { /* what was counted before belongs to the outage that is over */
            breaker_init(breaker, now_ticks);
        }
    } else if (breaker->state == BREAKER_CLOSED && is_too_much(breaker, policy, 0)) {
        open_now(breaker, now_ticks);
    }
}

int64_t breaker_retry_ms(const struct breaker *breaker, const struct breaker_policy *policy,
                         int64_t now_ticks)
{
    if (!policy->is_on)
        return 0;
    switch (breaker->state) {
    case BREAKER_OPEN: {
        const int64_t passed_ms = now_ticks - breaker->opened_ticks;
        return passed_ms < policy->in_ms ? policy->in_ms - passed_ms : 0;
    }
    case BREAKER_HALF_OPEN: /* nobody knows when the trial ends: ask again soon */
        return breaker->trial_out ? slot_ms(policy) : 0;
    case BREAKER_CLOSED:
        break;
    }
    return 0;
}

/* Rounded up: the window is never shorter than 15 slots of in_ms / 16. */
static int64_t slot_ms(const struct breaker_policy *policy)
{
    gw_assert(policy->in_ms > 0);
    return (policy->in_ms - 1) / BREAKER_SLOTS + 1;
}

/* Moves the window on. Two threads may bring their ticks in the wrong order by a
 * little: then the current slot takes both. */
static void advance(struct breaker *breaker, const struct breaker_policy *policy, int64_t now_ticks)
{
    gw_assert(breaker->slot < BREAKER_SLOTS);
    const int64_t steps = (now_ticks - breaker->slot_start_ticks) / slot_ms(policy);
    if (steps >= BREAKER_SLOTS) {
        forget_counts(breaker);
        breaker->slot_start_ticks = now_ticks;
        return;
    }
    for (int64_t i = 0; i < steps; i++) {
        breaker->slot = (breaker->slot + 1) % BREAKER_SLOTS;
        breaker->unknowns[breaker->slot] = 0;
        breaker->ended[breaker->slot] = 0;
        breaker->slot_start_ticks += slot_ms(policy);
    }
}

static bool is_too_much(const struct breaker *breaker, const struct breaker_policy *policy,
                        uint32_t overdue)
{
    uint64_t unknowns = overdue, total = overdue;
    for (uint32_t i = 0; i < BREAKER_SLOTS; i++) {
        unknowns += breaker->unknowns[i];
        total += breaker->ended[i];
    }
    return unknowns > 0 && unknowns >= policy->unknowns &&
           unknowns * 100 >= total * policy->share_percent;
}

static void forget_counts(struct breaker *breaker)
{
    memset(breaker->unknowns, 0, sizeof(breaker->unknowns));
    memset(breaker->ended, 0, sizeof(breaker->ended));
}
