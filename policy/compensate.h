/* What asking to compensate an operation comes to (SPEC 3): may it be taken back, and
 * what becomes of asking once more. Pure. */
#ifndef RECIBO_POLICY_COMPENSATE_H
#define RECIBO_POLICY_COMPENSATE_H

#include "policy/receipt.h"
#include "policy/route.h"

enum compensate_says {
    COMPENSATE_MAY,         /* it was carried out, and can be taken back */
    COMPENSATE_NO_POLICY,   /* the route says nothing of it, or is gone */
    COMPENSATE_NOT_BY,      /* the route lets others ask, not this one */
    COMPENSATE_ITSELF,      /* it is a compensation */
    COMPENSATE_NOT_YET,     /* pending or deferred: it can still be cancelled */
    COMPENSATE_NEVER_RAN,   /* released or cancelled: there is nothing to take back */
    COMPENSATE_IN_DOUBT,    /* unknown, or abandoned: nobody knows if there is something */
    COMPENSATE_EXPIRED,     /* its answer is no longer kept */
    COMPENSATE_DECLINED,    /* the upstream answered that it did not do it */
    COMPENSATE_NO_RESPONSE, /* carried out, but its answer is not on record */
    COMPENSATE_SAYS_COUNT,
};
struct compensate_facts {
    const struct route_policy *route; /* of the operation; NULL: it is gone */
    const struct receipt *receipt;
    enum compensate_by by;
    uint16_t status;  /* of the recorded answer; 0: not known */
    bool answer_kept; /* it can be read */
    int64_t now_ms;
};
/* Of the operation that is to be taken back. */
GW_MUST_CHECK enum compensate_says compensate_judge(const struct compensate_facts *facts);
/* A sentence and what to do, without the names of things. */
const char *compensate_text(enum compensate_says says);

/* Of a compensation that is there already. */
enum compensate_again {
    COMPENSATE_ANEW,      /* nothing of it ran: it can be asked for again */
    COMPENSATE_UNDER_WAY, /* accepted, or being sent */
    COMPENSATE_DONE,
    COMPENSATE_UNKNOWN,
    COMPENSATE_CANCELLED, /* its key is spent */
    COMPENSATE_ABANDONED,
    COMPENSATE_OVER, /* its time is over: it was carried out, or cancelled */
};
GW_MUST_CHECK enum compensate_again compensate_again(const struct receipt *receipt, int64_t now_ms);

#endif
