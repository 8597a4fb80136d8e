/* Judges the wish to take an operation back. Must never let one be compensated that is
 * not known to have been carried out, nor one compensation become two. */
#include "policy/compensate.h"

static const char *const texts[COMPENSATE_SAYS_COUNT] = {
    [COMPENSATE_MAY] = "It can be compensated.",
    [COMPENSATE_NO_POLICY] = "Its route does not say how to take an operation back: it has no "
                             "compensate. Nothing was sent.",
    [COMPENSATE_NOT_BY] = "Its route does not let this caller ask for a compensation "
                          "(compensate.by). Nothing was sent.",
    [COMPENSATE_ITSELF] = "It is a compensation itself, and that is not taken back. Nothing was "
                          "sent.",
    [COMPENSATE_NOT_YET] = "It has no outcome yet, so there is nothing to take back. Nothing was "
                           "sent. It can be cancelled, or compensated once it was carried out.",
    [COMPENSATE_NEVER_RAN] = "It was not carried out, so there is nothing to take back. Nothing "
                             "was sent.",
    [COMPENSATE_IN_DOUBT] = "It is not known whether it was carried out, so it cannot be taken "
                            "back yet. Nothing was sent. Once somebody has found out that it was, "
                            "ask again.",
    [COMPENSATE_EXPIRED] = "Its time is over and its answer is no longer kept. Nothing was sent. "
                           "Take it back at the upstream itself.",
    [COMPENSATE_DECLINED] = "The upstream's recorded answer says that it did not carry it out, so "
                            "there is nothing to take back. Nothing was sent.",
    [COMPENSATE_NO_RESPONSE] = "It was carried out, but its answer is not on record, and the "
                               "compensation needs a value of it. Nothing was sent. Take it back "
                               "at the upstream itself.",
};

const char *compensate_text(enum compensate_says says)
{
    gw_assert(says < COMPENSATE_SAYS_COUNT);
    return texts[says];
}

/* Expiry is judged when it is read: a late sweep changes nothing. */
static bool is_over(const struct receipt *receipt, int64_t now_ms)
{
    return receipt->expire_ms > 0 && receipt->expire_ms <= now_ms;
}

static enum compensate_says judge_completed(const struct compensate_facts *facts)
{
    const struct compensate_policy *policy = &facts->route->compensate;
    if (is_over(facts->receipt, facts->now_ms))
        return COMPENSATE_EXPIRED;
    if (facts->status >= 400)
        return COMPENSATE_DECLINED;
    if (!facts->answer_kept && template_uses(&policy->target, TEMPLATE_RESPONSE))
        return COMPENSATE_NO_RESPONSE;
    return COMPENSATE_MAY;
}

enum compensate_says compensate_judge(const struct compensate_facts *facts)
{
    const struct route_policy *route = facts->route;
    gw_assert(facts->receipt->state < RECEIPT_STATE_COUNT);
    if (route != NULL && route->is_compensation)
        return COMPENSATE_ITSELF;
    if (route == NULL || route->compensate.route == NULL)
        return COMPENSATE_NO_POLICY;
    if ((route->compensate.by & (uint32_t)facts->by) == 0)
        return COMPENSATE_NOT_BY;
    switch (facts->receipt->state) {
    case RECEIPT_COMPLETED:
        return judge_completed(facts);
    case RECEIPT_DEFERRED:
    case RECEIPT_CLAIMED:
    case RECEIPT_SENT:
        return COMPENSATE_NOT_YET;
    case RECEIPT_UNKNOWN:
    case RECEIPT_ABANDONED:
        return COMPENSATE_IN_DOUBT;
    case RECEIPT_EXPIRED:
        return COMPENSATE_EXPIRED;
    case RECEIPT_RELEASED:
    case RECEIPT_CANCELLED:
    case RECEIPT_ABSENT:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return COMPENSATE_NEVER_RAN;
}

enum compensate_again compensate_again(const struct receipt *receipt, int64_t now_ms)
{
    gw_assert(receipt->state < RECEIPT_STATE_COUNT);
    switch (receipt->state) {
    case RECEIPT_RELEASED:
        /* Who was told that it is stopped must not see it begin. */
        return (receipt->marks & RECEIPT_CANCEL_REQUESTED) != 0 ? COMPENSATE_CANCELLED
                                                                : COMPENSATE_ANEW;
    case RECEIPT_DEFERRED:
    case RECEIPT_CLAIMED:
    case RECEIPT_SENT:
        return COMPENSATE_UNDER_WAY;
    case RECEIPT_COMPLETED:
        return is_over(receipt, now_ms) ? COMPENSATE_OVER : COMPENSATE_DONE;
    case RECEIPT_CANCELLED:
        return COMPENSATE_CANCELLED;
    case RECEIPT_ABANDONED:
        return COMPENSATE_ABANDONED;
    case RECEIPT_EXPIRED:
        return COMPENSATE_OVER;
    case RECEIPT_UNKNOWN:
    case RECEIPT_ABSENT:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return COMPENSATE_UNKNOWN;
}
