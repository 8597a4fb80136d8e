/* Judges the answers to probes. Must never take silence, an error page or half an
 * answer for a finding: what fits neither condition says nothing. */
#include "policy/probe.h"

#include "policy/rules.h"

static struct probe_verdict verdict(enum probe_says says, const char *reason)
{
    return (struct probe_verdict){.says = says, .reason = reason, .body_node = JSON_NONE};
}

static struct probe_verdict executed(const struct probe_policy *policy,
                                     const struct answer_view *answer)
{
    struct probe_verdict found = verdict(PROBE_SAYS_EXECUTED, "executed_when fits");
    if (policy->answer_status == 0 || !policy->answer_has_body)
        return found;
    if (answer->json != NULL)
        found.body_node = json_find(answer->json, &policy->answer_body);
    /* Completed is for good: a person can still find out what the caller is to be told. */
    if (found.body_node == JSON_NONE)
        return verdict(PROBE_SAYS_UNCLEAR,
                       "executed_when fits, but the response cannot be built from the answer");
    return found;
}

struct probe_verdict probe_judge(const struct probe_policy *policy,
                                 const struct upstream_facts *facts,
                                 const struct answer_view *answer)
{
    gw_assert(policy->is_on);
    gw_assert(policy->has_executed || policy->has_absent);
    if (facts->end != END_answered)
        return verdict(PROBE_SAYS_NOTHING, "no whole answer came");
    gw_assert(answer != NULL);
    bool ran = policy->has_executed && rule_fits(&policy->executed, answer);
    bool did_not = policy->has_absent && rule_fits(&policy->absent, answer);
    if (ran && did_not)
        return verdict(PROBE_SAYS_UNCLEAR, "executed_when and absent_when both fit");
    if (ran)
        return executed(policy, answer);
    if (did_not)
        return verdict(PROBE_SAYS_ABSENT, "absent_when fits");
    return verdict(PROBE_SAYS_UNCLEAR, answer->body_is_whole
                                           ? "neither executed_when nor absent_when fits"
                                           : "the answer is too large to be looked into");
}

bool probe_wants_json(const struct probe_policy *policy)
{
    return (policy->has_executed && policy->executed.json_count > 0) ||
           (policy->has_absent && policy->absent.json_count > 0) || policy->answer_has_body;
}

int64_t probe_first_ms(const struct route_policy *route, int64_t last_end_ms)
{
    if (!route->probe.is_on)
        return 0;
    int64_t first_ms = last_end_ms + route->quiet_ms;
    return first_ms > 0 ? first_ms : 1; /* 0 would mean never */
}

int64_t probe_next_ms(const struct route_policy *route, uint32_t count, int64_t now_ms,
                      int64_t last_end_ms, uint64_t random)
{
    const struct probe_policy *policy = &route->probe;
    int64_t quiet_until_ms = probe_first_ms(route, last_end_ms);
    if (!policy->is_on || count >= policy->attempts_max)
        return 0;
    gw_assert(policy->every_ms > 0);
    int64_t most_ms = policy->every_ms > PROBE_WAIT_MAX_MS ? policy->every_ms : PROBE_WAIT_MAX_MS;
    int64_t wait_ms = policy->every_ms;
    for (uint32_t i = 1; i < count && wait_ms < most_ms; i++)
        wait_ms *= 2;
    if (wait_ms > most_ms)
        wait_ms = most_ms;
    /* What an outage made unknown at once is not asked for at once for ever. */
    wait_ms += (int64_t)(random % ((uint64_t)wait_ms / 4 + 1));
    return now_ms + wait_ms > quiet_until_ms ? now_ms + wait_ms : quiet_until_ms;
}
