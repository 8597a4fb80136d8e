/* When to stop sending to an upstream that loses answers (SPEC 3). Pure: time is
 * an argument; the caller keeps the struct and its lock. */
#ifndef RECIBO_POLICY_BREAKER_H
#define RECIBO_POLICY_BREAKER_H

#include "policy/route.h"

#define BREAKER_SLOTS 16 /* the window is counted in this many steps */

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN };
const char *breaker_state_name(enum breaker_state state);

struct breaker {
    enum breaker_state state;
    int64_t slot_start_ticks; /* of the current slot */
    uint32_t slot;
    uint32_t unknowns[BREAKER_SLOTS];
    uint32_t ended[BREAKER_SLOTS];
    int64_t opened_ticks;
    bool trial_out; /* half-open: the one that was let through has not ended */
};

void breaker_init(struct breaker *breaker, int64_t now_ticks);
enum breaker_pass {
    BREAKER_PASS,
    BREAKER_TRIAL, /* half-open: this one is let through; report its end with was_trial */
    BREAKER_STOP,
};
/* May a new operation run? `overdue`: attempts in flight without an answer byte
 * for longer than policy->overdue_ms; they count as unknowns. Open: after in_ms
 * one trial is let through, the others wait for its end. */
GW_MUST_CHECK enum breaker_pass breaker_ask(struct breaker *breaker,
                                            const struct breaker_policy *policy, uint32_t overdue,
                                            int64_t now_ticks);
/* An attempt ended: as an unknown, or known. A known end of the trial closes; an
 * unknown one opens again. */
void breaker_ended(struct breaker *breaker, const struct breaker_policy *policy, bool unknown,
                   bool was_trial, int64_t now_ticks);
/* For Retry-After: ms until the next trial may be let through; 0 when closed. */
int64_t breaker_retry_ms(const struct breaker *breaker, const struct breaker_policy *policy,
                         int64_t now_ticks);

#endif
