/* Judges the wish to cancel. Must never call stopped what may have been sent. */
#include "policy/cancel.h"

static const char *const words[CANCEL_SAYS_COUNT] = {
    [CANCEL_STOPPED] = "stopped", [CANCEL_REQUESTED] = "requested", [CANCEL_EXECUTED] = "executed",
    [CANCEL_UNKNOWN] = "unknown", [CANCEL_ABANDONED] = "abandoned", [CANCEL_EXPIRED] = "expired",
};

const char *cancel_says_word(enum cancel_says says)
{
    gw_assert(says < CANCEL_SAYS_COUNT);
    return words[says];
}

/* Once is enough: asking again changes nothing. */
static struct cancel_verdict mark(const struct receipt *cur)
{
    struct cancel_verdict verdict = {.says = CANCEL_REQUESTED};
    verdict.changes = (cur->marks & RECEIPT_CANCEL_REQUESTED) == 0;
    if (verdict.changes)
        verdict.next = receipt_mark(cur, RECEIPT_CANCEL_REQUESTED);
    return verdict;
}

static struct cancel_verdict stop(const struct receipt *cur, int64_t now_ms, int64_t until_ms)
{
    const struct receipt_event event = {
        .kind = RECEIPT_EV_CANCEL, .now_ms = now_ms, .until_ms = until_ms};
    struct cancel_verdict verdict = {.says = CANCEL_STOPPED, .changes = true};
    enum receipt_verdict moved = receipt_step(cur, &event, &verdict.next);
    gw_assert(moved == RECEIPT_MOVED);
    /* There is evidence of an earlier sending: then it is a doubt, and no cancel ends that. */
    if (verdict.next.state != RECEIPT_CANCELLED)
        verdict.says = CANCEL_UNKNOWN;
    return verdict;
}

struct cancel_verdict cancel_judge(const struct receipt *cur, int64_t now_ms, int64_t until_ms)
{
    gw_assert(receipt_is_sound(cur));
    switch (cur->state) {
    case RECEIPT_DEFERRED:
    case RECEIPT_CLAIMED:
    case RECEIPT_RELEASED: /* nothing ran, and the key is spent from now on */
        return stop(cur, now_ms, until_ms);
    case RECEIPT_SENT:
        return mark(cur);
    case RECEIPT_CANCELLED:
    case RECEIPT_ABSENT:
        return (struct cancel_verdict){.says = CANCEL_STOPPED};
    case RECEIPT_COMPLETED:
        return (struct cancel_verdict){.says = CANCEL_EXECUTED};
    case RECEIPT_ABANDONED:
        return (struct cancel_verdict){.says = CANCEL_ABANDONED};
    case RECEIPT_EXPIRED:
        return (struct cancel_verdict){.says = CANCEL_EXPIRED};
    case RECEIPT_UNKNOWN:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return (struct cancel_verdict){.says = CANCEL_UNKNOWN};
}
