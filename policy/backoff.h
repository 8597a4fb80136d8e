/* When to try again: full jitter (SPEC 3). Pure: the random number is an argument. */
#ifndef RECIBO_POLICY_BACKOFF_H
#define RECIBO_POLICY_BACKOFF_H

#include "base/base.h"

struct backoff_policy {
    int64_t base_ms; /* > 0 */
    int64_t max_ms;  /* >= base_ms */
};
/* uniform(0, min(max, base * 2^attempt)), never below at_least_ms. attempt counts
 * from 0; no attempt number overflows. */
int64_t backoff_ms(const struct backoff_policy *policy, uint32_t attempt, uint64_t random,
                   int64_t at_least_ms);
/* Retry-After: seconds or any of the three HTTP dates (UP-13); false: garbage.
 * A date in the past is 0; large numbers saturate at `max_ms`. */
bool retry_after_ms(struct span value, int64_t now_ms, int64_t max_ms,
                    int64_t *ret_ms) GW_MUST_CHECK;

#endif
