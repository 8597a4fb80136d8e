/* From the facts of one call to the event that its receipt takes. Must never guess:
 * what is neither proved nor declared not to have run is LOST. */
#include "policy/classify.h"

#include "policy/rules.h"

static struct classify_result proved(const char *reason);
static struct classify_result lost(const char *reason);
static struct classify_result by_answer(const struct outcome_policy *outcome,
                                        const struct answer_view *answer);
static struct classify_result by_rule(const struct answer_rule *rule, uint32_t index);

struct classify_result classify(const struct route_policy *route,
                                const struct upstream_facts *facts,
                                const struct answer_view *answer)
{
    gw_assert(facts->end < END_COUNT);

    /* The count died with the process that kept it: here 0 proves nothing. */
    if (facts->end == END_crashed)
        return lost("the process died; nobody knows how many bytes had left");
    switch (end_group(facts->end)) {
    case END_GROUP_NOT_SENT:
        if (facts->bytes_out > 0)
            return lost("bytes of the request had left before the call failed");
        return proved("no byte of the request left");
    case END_GROUP_UNCLEAR:
        if (facts->bytes_out == 0)
            return proved("the call ended before a byte of the request left");
        return lost("bytes of the request left and no whole answer came");
    case END_GROUP_ANSWERED:
        if (facts->bytes_out == 0)
            return proved("the upstream spoke before a byte of the request left");
        break;
    }
    gw_assert(answer != NULL);
    return by_answer(&route->outcome, answer);
}

static struct classify_result proved(const char *reason)
{
    return (struct classify_result){.event = RECEIPT_EV_REFUSED,
                                    .basis = BASIS_PROVED,
                                    .rule = CLASSIFY_NO_RULE,
                                    .reason = reason};
}

static struct classify_result lost(const char *reason)
{
    return (struct classify_result){
        .event = RECEIPT_EV_LOST, .rule = CLASSIFY_NO_RULE, .reason = reason};
}

static struct classify_result by_answer(const struct outcome_policy *outcome,
                                        const struct answer_view *answer)
{
    for (uint32_t i = 0; i < outcome->rule_count; i++)
        if (rule_fits(&outcome->rules[i], answer))
            return by_rule(&outcome->rules[i], i);

    struct classify_result result = {.event = RECEIPT_EV_ANSWERED,
                                     .rule = CLASSIFY_NO_RULE,
                                     .reason = "a whole answer that no rule or list names"};
    if (status_set_has(&outcome->refused, answer->status)) {
        result.event = RECEIPT_EV_REFUSED;
        result.basis = BASIS_DECLARED;
        result.line = outcome->refused_line;
        result.reason = "the status is in the route's list of refused answers";
    } else if (status_set_has(&outcome->unknown, answer->status)) {
        result.event = RECEIPT_EV_LOST;
        result.line = outcome->unknown_line;
        result.reason = "the status is in the route's list of uncertain answers";
    }
    return result;
}

static struct classify_result by_rule(const struct answer_rule *rule, uint32_t index)
{
    struct classify_result result = {
        .event = RECEIPT_EV_LOST, .rule = index, .line = rule->line, .reason = ""};
    switch (rule->means) {
    case MEANS_REFUSED:
        result.event = RECEIPT_EV_REFUSED;
        result.basis = BASIS_DECLARED;
        result.reason = "a rule of the route says that it did not run";
        break;
    case MEANS_UNKNOWN:
        result.reason = "a rule of the route says that the outcome is uncertain";
        break;
    case MEANS_COMPLETED:
        result.event = RECEIPT_EV_ANSWERED;
        result.reason = "a rule of the route says that it ran";
        break;
    }
    return result;
}
