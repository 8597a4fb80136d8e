/* What follows an attempt that did not bring an outcome, and whether a free key may be
 * tried at all now (SPEC 3). Pure: time, chance and what the row says are arguments. */
#ifndef RECIBO_POLICY_RETRY_H
#define RECIBO_POLICY_RETRY_H

#include "policy/classify.h"

/* No upstream keeps a key from being tried for longer than this. */
#define RETRY_AFTER_MAX_MS ((int64_t)24 * 3600 * 1000)
/* A clock that was set back by more than this since a row was written is taken for one. */
#define RETRY_CLOCK_SLACK_MS 60000

/* What a row says of its attempts so far. */
struct retry_budget {
    int64_t window_ms;     /* when the window opened; 0: none is open */
    uint32_t attempts;     /* in it */
    int64_t not_before_ms; /* no attempt before; 0: no such bound */
    int64_t written_ms;    /* when the row was written */
};
/* An attempt begins: it opens the window, or is one more in it. */
void retry_count(const struct retry_policy *policy, struct retry_budget *budget, int64_t now_ms);

/* May an attempt of a free key begin now? */
enum retry_gate {
    RETRY_OPEN,
    RETRY_NEAR,  /* not before wait_ms are over, and that is near enough to wait for */
    RETRY_LATER, /* not before wait_ms are over */
    RETRY_SPENT, /* the attempts of this window are used up, for wait_ms more */
    RETRY_GATE_COUNT,
};
struct retry_pass {
    enum retry_gate gate;
    int64_t wait_ms; /* > 0 unless OPEN */
};
struct retry_pass retry_ask(const struct retry_policy *policy, const struct retry_budget *budget,
                            int64_t now_ms);

/* What follows the end of an attempt. */
enum retry_next {
    RETRY_NO,        /* nothing: the end stands as it is */
    RETRY_WAIT,      /* once more after wait_ms, for a caller who waits */
    RETRY_RESEND,    /* in doubt, and sent again after wait_ms: the upstream deduplicates */
    RETRY_DEFER,     /* once more at at_ms, whoever waits then; 202 */
    RETRY_RELEASE,   /* the key is free, but not before at_ms */
    RETRY_EXHAUSTED, /* the key is free, but no attempt is left before at_ms */
    RETRY_GIVE_UP,   /* promised, and never tried again: it says so */
    RETRY_NEXT_COUNT,
};
const char *retry_next_name(enum retry_next next);

struct retry_facts {
    enum receipt_event_kind event;     /* REFUSED or LOST, as classify() said; else nothing */
    enum attempt_basis basis;          /* likewise */
    uint16_t status;                   /* of the answer; 0: none */
    bool by_rule;                      /* a rule of the route refused it */
    const struct retry_budget *budget; /* with this attempt counted */
    int64_t promised_ms;               /* when a caller was told 202; 0: never */
    int64_t first_sent_ms;             /* LOST: of the first sending that is in doubt */
    bool may_defer;                    /* the route defers, and this caller agreed */
    int64_t retry_after_ms;            /* the upstream's wish; 0: none */
    int64_t now_ms;
    uint64_t random;
};
struct retry_verdict {
    enum retry_next next;
    int64_t wait_ms;    /* WAIT, RESEND; may be 0 */
    int64_t at_ms;      /* DEFER, RELEASE, EXHAUSTED: wall clock, > now_ms but for DEFER */
    const char *reason; /* static text */
};
struct retry_verdict retry_judge(const struct route_policy *route, const struct retry_facts *facts);

/* Does the upstream still remember a key that was first sent then, for as long as a
 * sending at `at_ms` may take to land? */
bool retry_may_resend(const struct route_policy *route, int64_t first_sent_ms, int64_t at_ms);
/* Is a promise of then too old to be kept? */
bool retry_is_too_old(const struct defer_policy *policy, int64_t promised_ms, int64_t now_ms);

#endif
