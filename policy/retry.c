/* When an operation is tried again. Must never send again what may have run, but to an
 * upstream that is known to remember its key, nor free silently what was promised. */
#include "policy/retry.h"

static const char *const next_names[RETRY_NEXT_COUNT] = {
    [RETRY_NO] = "no",           [RETRY_WAIT] = "wait",       [RETRY_RESEND] = "resend",
    [RETRY_DEFER] = "defer",     [RETRY_RELEASE] = "release", [RETRY_EXHAUSTED] = "exhausted",
    [RETRY_GIVE_UP] = "give-up",
};

static struct retry_verdict verdict(enum retry_next next, const char *reason);
static struct retry_verdict after_refusal(const struct route_policy *route,
                                          const struct retry_facts *facts);
static struct retry_verdict for_promise(const struct route_policy *route,
                                        const struct retry_facts *facts);
static struct retry_verdict after_loss(const struct route_policy *route,
                                       const struct retry_facts *facts);

const char *retry_next_name(enum retry_next next)
{
    gw_assert(next < RETRY_NEXT_COUNT);
    return next_names[next];
}

/* ---- the budget ---- */

static bool is_window_open(const struct retry_policy *policy, const struct retry_budget *budget,
                           int64_t now_ms)
{
    /* A start ahead of now was written by a clock that has been set back since. */
    return budget->window_ms > 0 && now_ms >= budget->window_ms &&
           now_ms - budget->window_ms < policy->within_ms;
}

void retry_count(const struct retry_policy *policy, struct retry_budget *budget, int64_t now_ms)
{
    bool is_open = is_window_open(policy, budget, now_ms);
    budget->window_ms = is_open ? budget->window_ms : now_ms;
    budget->attempts = is_open ? budget->attempts : 0;
    budget->attempts +=
        budget->attempts < UINT32_MAX; /* a number read from a disk may be the last */
    budget->not_before_ms = 0;
    budget->written_ms = now_ms;
}

/* How long an earlier refusal still keeps the key; 0: it does not. */
static int64_t held_ms(const struct retry_budget *budget, int64_t now_ms)
{
    bool was_set_back = now_ms < budget->written_ms - RETRY_CLOCK_SLACK_MS;
    if (budget->not_before_ms <= now_ms || was_set_back)
        return 0;
    int64_t left_ms = budget->not_before_ms - now_ms;
    return left_ms < RETRY_AFTER_MAX_MS ? left_ms : RETRY_AFTER_MAX_MS;
}

struct retry_pass retry_ask(const struct retry_policy *policy, const struct retry_budget *budget,
                            int64_t now_ms)
{
    struct retry_pass pass = {.gate = RETRY_OPEN};
    if (!policy->is_on)
        return pass;
    gw_assert(policy->attempts_max > 0);
    int64_t left_ms = held_ms(budget, now_ms);
    if (is_window_open(policy, budget, now_ms) && budget->attempts >= policy->attempts_max) {
        int64_t window_ms = budget->window_ms + policy->within_ms - now_ms;
        pass.gate = RETRY_SPENT;
        pass.wait_ms = window_ms > left_ms ? window_ms : left_ms;
    } else if (left_ms > 0) {
        pass.gate = left_ms <= policy->wait_at_most_ms ? RETRY_NEAR : RETRY_LATER;
        pass.wait_ms = left_ms;
    }
    return pass;
}

/* ---- after an attempt ---- */

struct retry_verdict retry_judge(const struct route_policy *route, const struct retry_facts *facts)
{
    gw_assert(facts->budget->attempts > 0);
    if (facts->event == RECEIPT_EV_LOST)
        return after_loss(route, facts);
    if (facts->event != RECEIPT_EV_REFUSED)
        return verdict(RETRY_NO, "it has an outcome");
    return facts->promised_ms > 0 ? for_promise(route, facts) : after_refusal(route, facts);
}

static struct retry_verdict verdict(enum retry_next next, const char *reason)
{
    return (struct retry_verdict){.next = next, .reason = reason};
}

static bool is_listed(const struct retry_policy *policy, const struct retry_facts *facts)
{
    if (!policy->is_on)
        return false;
    if (facts->basis == BASIS_PROVED)
        return policy->when_not_sent;
    return facts->basis == BASIS_DECLARED &&
           ((facts->by_rule && policy->when_rules) || status_set_has(&policy->when, facts->status));
}

static int64_t wished_ms(const struct retry_facts *facts)
{
    gw_assert(facts->retry_after_ms >= 0);
    return facts->retry_after_ms < RETRY_AFTER_MAX_MS ? facts->retry_after_ms : RETRY_AFTER_MAX_MS;
}

static int64_t backoff(const struct route_policy *route, const struct retry_facts *facts)
{
    return backoff_ms(&route->retry.backoff, facts->budget->attempts - 1, facts->random,
                      wished_ms(facts));
}

static struct retry_verdict after_refusal(const struct route_policy *route,
                                          const struct retry_facts *facts)
{
    const struct retry_policy *policy = &route->retry;
    if (!is_listed(policy, facts))
        return verdict(RETRY_NO, "retry.when does not name it");
    const int64_t wait_ms = backoff(route, facts), at_ms = facts->now_ms + wait_ms;
    const int64_t end_ms = facts->budget->window_ms + policy->within_ms;
    const bool is_spent = facts->budget->attempts >= policy->attempts_max || at_ms >= end_ms;
    struct retry_verdict found = {.wait_ms = wait_ms, .at_ms = at_ms};
    if (is_spent && at_ms < end_ms)
        found.at_ms = end_ms;
    if (!is_spent && wait_ms <= policy->wait_at_most_ms) {
        found.next = RETRY_WAIT;
        found.reason = "the next attempt is near";
    } else if (facts->may_defer && found.at_ms - facts->now_ms <= route->defer.max_age_ms) {
        found.next = RETRY_DEFER;
        found.reason = "the next attempt is far, and the caller need not wait";
        /* The next window opens for many at once: each comes somewhere after it. */
        found.at_ms += is_spent ? wait_ms : 0;
    } else if (is_spent) {
        found.next = RETRY_EXHAUSTED;
        found.reason = "the attempts of this window are used up";
    } else {
        found.next = RETRY_RELEASE;
        found.reason = "the next attempt is far";
    }
    if (found.at_ms <= facts->now_ms)
        found.at_ms = facts->now_ms + 1;
    return found;
}

/* What was promised is tried until it is too old, whatever the route says of waiting
 * callers; only an upstream that refuses it ends it at once. */
static struct retry_verdict for_promise(const struct route_policy *route,
                                        const struct retry_facts *facts)
{
    const struct retry_policy *policy = &route->retry;
    if (facts->basis != BASIS_PROVED && !is_listed(policy, facts))
        return verdict(RETRY_GIVE_UP, "the upstream refused it, and retry.when does not name that");
    struct retry_verdict found = {.next = RETRY_DEFER, .reason = "it is promised"};
    found.wait_ms = backoff(route, facts);
    found.at_ms = facts->now_ms + found.wait_ms;
    const int64_t end_ms = facts->budget->window_ms + policy->within_ms;
    if (facts->budget->attempts >= policy->attempts_max && found.at_ms < end_ms)
        found.at_ms = end_ms + found.wait_ms;
    if (found.at_ms - facts->promised_ms > route->defer.max_age_ms)
        return verdict(RETRY_GIVE_UP, "the next attempt would come after defer.max_age");
    return found;
}

static struct retry_verdict after_loss(const struct route_policy *route,
                                       const struct retry_facts *facts)
{
    const struct retry_policy *policy = &route->retry;
    if (!policy->is_on || !route->passes_key)
        return verdict(RETRY_NO, "it may have run");
    const int64_t wait_ms = backoff(route, facts), at_ms = facts->now_ms + wait_ms;
    if (!retry_may_resend(route, facts->first_sent_ms, at_ms))
        return verdict(RETRY_NO, "it may have run, and the upstream's window is over");
    const int64_t end_ms = facts->budget->window_ms + policy->within_ms;
    if (facts->budget->attempts >= policy->attempts_max || at_ms >= end_ms)
        return verdict(RETRY_NO, "it may have run, and the attempts of this window are used up");
    if (wait_ms > policy->wait_at_most_ms)
        return verdict(RETRY_NO, "it may have run, and the next attempt is far");
    return (struct retry_verdict){.next = RETRY_RESEND,
                                  .wait_ms = wait_ms,
                                  .reason = "it may have run, and the upstream deduplicates"};
}

bool retry_may_resend(const struct route_policy *route, int64_t first_sent_ms, int64_t at_ms)
{
    if (!route->retry.is_on || !route->passes_key || first_sent_ms <= 0 || at_ms < first_sent_ms)
        return false;
    /* Until its bytes leave, and as long as they may take effect. */
    int64_t needs_ms = route->quiet_ms;
    if (route->upstream != NULL)
        needs_ms += route->upstream->connect_ms + route->upstream->tls_ms;
    return at_ms - first_sent_ms + needs_ms < route->dedup_window_ms;
}

bool retry_is_too_old(const struct defer_policy *policy, int64_t promised_ms, int64_t now_ms)
{
    gw_assert(promised_ms > 0);
    return now_ms - promised_ms > policy->max_age_ms;
}
