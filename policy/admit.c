/* What to do with a request whose key was looked up. Must never let a request run
 * that may have run before: only a free key, or one whose time is over, runs. */
#include "policy/admit.h"

static const char *const verdict_names[ADMIT_VERDICT_COUNT] = {
    [ADMIT_RUN] = "run",
    [ADMIT_RERUN] = "rerun",
    [ADMIT_RENEW] = "renew",
    [ADMIT_NEXT] = "next",
    [ADMIT_DEFER] = "defer",
    [ADMIT_NEAR] = "near",
    [ADMIT_RESEND] = "resend",
    [ADMIT_LATER] = "later",
    [ADMIT_EXHAUSTED] = "exhausted",
    [ADMIT_REPLAY] = "replay",
    [ADMIT_UNAVAILABLE] = "unavailable",
    [ADMIT_WAIT] = "wait",
    [ADMIT_DEFERRED] = "deferred",
    [ADMIT_LAPSED] = "lapsed",
    [ADMIT_MISMATCH] = "mismatch",
    [ADMIT_MODE] = "mode",
    [ADMIT_UNKNOWN] = "unknown",
    [ADMIT_CANCELLED] = "cancelled",
    [ADMIT_ABANDONED] = "abandoned",
    [ADMIT_EXPIRED] = "expired",
    [ADMIT_PAUSED] = "paused",
    [ADMIT_FULL] = "full",
};

/* Time looks at the row before anybody has swept it. */
enum row_age { ROW_LIVE, ROW_EXPIRED, ROW_GONE };

static enum row_age row_age(const struct receipt *seen, int64_t tombstone_ms, int64_t now_ms);
static enum admit_verdict by_gate(enum admit_verdict would_run, enum admit_gate gate);
static enum admit_verdict start(enum admit_verdict would_run, const struct admit_facts *facts);
static enum admit_verdict by_budget(const struct admit_facts *facts);
static bool is_past_window(const struct route_policy *route, const struct admit_facts *facts);
static enum admit_verdict compare(const struct route_policy *route,
                                  const struct admit_facts *facts);
static enum admit_verdict by_state(const struct admit_facts *facts);

enum admit_verdict admit(const struct route_policy *route, const struct admit_facts *facts)
{
    const struct receipt *seen = facts->seen;
    if (seen == NULL || seen->state == RECEIPT_ABSENT)
        return start(ADMIT_RUN, facts);
    gw_assert(receipt_is_sound(seen));
    gw_assert(facts->print != NULL && facts->seen_print != NULL);

    const enum row_age age = row_age(seen, route->tombstone_ms, facts->now_ms);
    const bool is_by_content = route->key.from == KEY_FROM_CONTENT;
    if (age == ROW_GONE || (age == ROW_EXPIRED && (route->rerun_on_expiry || is_by_content)))
        return by_gate(ADMIT_RENEW, facts->gate);
    if (is_by_content && is_past_window(route, facts))
        return by_gate(ADMIT_NEXT, facts->gate);
    if (facts->lease_is_dead && receipt_is_leased(seen->state))
        return ADMIT_LAPSED;
    const enum admit_verdict difference = compare(route, facts);
    if (difference != ADMIT_RUN)
        return difference;
    if (age == ROW_EXPIRED)
        return ADMIT_EXPIRED;
    return by_state(facts);
}

const char *admit_verdict_name(enum admit_verdict verdict)
{
    gw_assert(verdict < ADMIT_VERDICT_COUNT);
    return verdict_names[verdict];
}

static enum row_age row_age(const struct receipt *seen, int64_t tombstone_ms, int64_t now_ms)
{
    gw_assert(tombstone_ms >= 0);
    const bool is_over = seen->expire_ms != 0 && now_ms >= seen->expire_ms;
    switch (seen->state) {
    case RECEIPT_EXPIRED: /* expire_ms is the end of the tombstone already */
        return is_over ? ROW_GONE : ROW_EXPIRED;
    case RECEIPT_RELEASED: /* nothing ran, so nothing is left to remember */
        return is_over ? ROW_GONE : ROW_LIVE;
    case RECEIPT_COMPLETED:
    case RECEIPT_CANCELLED:
        if (!is_over)
            return ROW_LIVE;
        return now_ms - seen->expire_ms >= tombstone_ms ? ROW_GONE : ROW_EXPIRED;
    case RECEIPT_ABSENT:
    case RECEIPT_DEFERRED:
    case RECEIPT_CLAIMED:
    case RECEIPT_SENT:
    case RECEIPT_UNKNOWN:
    case RECEIPT_ABANDONED:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return ROW_LIVE; /* a doubt, a lease and a promise outlive every window */
}

/* Of what is over alone: a doubt, a lease and a promise outlive every window. A caller who
 * was left in doubt asks until he is told, however long that takes: what nobody was told
 * has begun no window. */
static bool is_past_window(const struct route_policy *route, const struct admit_facts *facts)
{
    const struct receipt *seen = facts->seen;
    const bool is_told = seen->state == RECEIPT_COMPLETED && (seen->marks & RECEIPT_CONSUMED) != 0;
    if (!is_told && seen->state != RECEIPT_CANCELLED)
        return false;
    return facts->now_ms - facts->updated_ms >= route->key.window_ms;
}

/* What is accepted for later waits in no place in flight. */
static enum admit_verdict start(enum admit_verdict would_run, const struct admit_facts *facts)
{
    if (!facts->defers)
        return by_gate(would_run, facts->gate);
    return facts->gate == GATE_PAUSED ? ADMIT_PAUSED : ADMIT_DEFER;
}

/* A free row that was tried before. */
static enum admit_verdict by_budget(const struct admit_facts *facts)
{
    if (facts->defers)
        return start(ADMIT_RERUN, facts);
    switch (facts->budget) {
    case RETRY_NEAR:
        return by_gate(ADMIT_NEAR, facts->gate);
    case RETRY_LATER:
        return ADMIT_LATER;
    case RETRY_SPENT:
        return ADMIT_EXHAUSTED;
    case RETRY_OPEN:
    case RETRY_GATE_COUNT:
        break;
    }
    return by_gate(ADMIT_RERUN, facts->gate);
}

/* Only what would run is stopped by a pause or a limit; repeats and replays go on. */
static enum admit_verdict by_gate(enum admit_verdict would_run, enum admit_gate gate)
{
    switch (gate) {
    case GATE_PAUSED:
        return ADMIT_PAUSED;
    case GATE_FULL:
        return ADMIT_FULL;
    case GATE_OPEN:
        break;
    }
    return would_run;
}

/* ADMIT_RUN here says: nothing speaks against this request. Prints made in two ways
 * say nothing about each other, so the way is looked at first. */
static enum admit_verdict compare(const struct route_policy *route, const struct admit_facts *facts)
{
    if (facts->seen->state == RECEIPT_RELEASED && route->replace_on_change)
        return ADMIT_RUN;
    if (!facts->same_mode)
        return ADMIT_MODE;
    const bool is_same =
        memcmp(facts->print->bytes, facts->seen_print->bytes, sizeof(facts->print->bytes)) == 0;
    return is_same ? ADMIT_RUN : ADMIT_MISMATCH;
}

static enum admit_verdict by_state(const struct admit_facts *facts)
{
    switch (facts->seen->state) {
    case RECEIPT_DEFERRED:
        return ADMIT_DEFERRED;
    case RECEIPT_CLAIMED:
    case RECEIPT_SENT:
        return ADMIT_WAIT;
    case RECEIPT_COMPLETED:
        return facts->answer_kept ? ADMIT_REPLAY : ADMIT_UNAVAILABLE;
    case RECEIPT_RELEASED:
        if ((facts->seen->marks & RECEIPT_CANCEL_REQUESTED) != 0)
            return ADMIT_CANCELLED; /* receipt_step() would not start it either */
        return by_budget(facts);
    case RECEIPT_CANCELLED:
        return ADMIT_CANCELLED;
    case RECEIPT_ABANDONED:
        return ADMIT_ABANDONED;
    case RECEIPT_UNKNOWN:
        /* A gate that is closed leaves it what it is. */
        return facts->may_resend && facts->gate == GATE_OPEN ? ADMIT_RESEND : ADMIT_UNKNOWN;
    case RECEIPT_ABSENT: /* these three were answered before */
    case RECEIPT_EXPIRED:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return ADMIT_UNKNOWN;
}
