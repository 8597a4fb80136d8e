/* What to do with a request whose key was looked up. Pure and total: the golden
 * table lists every combination. SPEC 1 rules 4 and 6, SPEC 2 "Answers". */
#ifndef RECIBO_POLICY_ADMIT_H
#define RECIBO_POLICY_ADMIT_H

#include "policy/receipt.h"
#include "policy/retry.h"
#include "policy/route.h"

struct fingerprint {
    uint8_t bytes[32];
};

enum admit_verdict {
    ADMIT_RUN,         /* no row (any more): take the key and forward */
    ADMIT_RERUN,       /* the row is RELEASED: claim it again, same operation */
    ADMIT_RENEW,       /* the row's time is over: claim it as a new operation */
    ADMIT_NEXT,        /* the window of a content key is over: set the row aside, then RUN */
    ADMIT_DEFER,       /* as RUN or RERUN, but it is accepted for later: 202 */
    ADMIT_NEAR,        /* as RERUN, but only after a short wait */
    ADMIT_RESEND,      /* unknown, and the upstream deduplicates: send it again */
    ADMIT_LATER,       /* free, but not yet to be tried again: 503 */
    ADMIT_EXHAUSTED,   /* free, but the attempts of this window are used up: 503 */
    ADMIT_REPLAY,      /* the answer is on record */
    ADMIT_UNAVAILABLE, /* completed, but the answer was not kept: 409 result-unavailable */
    ADMIT_WAIT,        /* somebody runs it; wait or answer 409 */
    ADMIT_DEFERRED,    /* accepted for later: its state */
    ADMIT_LAPSED,      /* its holder is gone: step LAPSED first, then ask again */
    ADMIT_MISMATCH,    /* same key, other request: 422 */
    ADMIT_MODE,        /* the way of comparing was changed since: 422 of its own type (FPR-2) */
    ADMIT_UNKNOWN,     /* may have run; say so, never run again by itself */
    ADMIT_CANCELLED,
    ADMIT_ABANDONED,
    ADMIT_EXPIRED,
    ADMIT_PAUSED, /* would run, but the route is paused or its breaker open */
    ADMIT_FULL,   /* would run, but a limit of operations in flight is reached */
    ADMIT_VERDICT_COUNT,
};
const char *admit_verdict_name(enum admit_verdict verdict);

enum admit_gate { GATE_OPEN, GATE_PAUSED, GATE_FULL };

struct admit_facts {
    const struct receipt *seen;           /* NULL: no row */
    const struct fingerprint *print;      /* of this request */
    const struct fingerprint *seen_print; /* NULL when new */
    bool same_mode;         /* the row was fingerprinted in the way this route does now */
    bool lease_is_dead;     /* the row's holder is of an earlier life of this process */
    bool answer_kept;       /* the row has an answer that can be replayed */
    bool defers;            /* the route accepts for later, and this caller agrees */
    bool may_resend;        /* the upstream still remembers the key of the row */
    int64_t updated_ms;     /* when the row came to what it is; of content keys */
    enum retry_gate budget; /* may a free row be tried now? */
    enum admit_gate gate;
    int64_t now_ms;
};
GW_MUST_CHECK enum admit_verdict admit(const struct route_policy *route,
                                       const struct admit_facts *facts);

#endif
