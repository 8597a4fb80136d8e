/* What asking to cancel an operation comes to (SPEC 3). Pure. "Requested" and "stopped"
 * are two words, everywhere. */
#ifndef RECIBO_POLICY_CANCEL_H
#define RECIBO_POLICY_CANCEL_H

#include "policy/receipt.h"

enum cancel_says {
    CANCEL_STOPPED,   /* nothing was sent, and nothing will be */
    CANCEL_REQUESTED, /* a sending is under way: no further one is begun */
    CANCEL_EXECUTED,  /* too late: it was carried out */
    CANCEL_UNKNOWN,   /* too late: it may have been carried out */
    CANCEL_ABANDONED, /* likewise, and nobody looks for it any more */
    CANCEL_EXPIRED,   /* its time is over */
    CANCEL_SAYS_COUNT,
};
const char *cancel_says_word(enum cancel_says says); /* "stopped" */

struct cancel_verdict {
    enum cancel_says says;
    bool changes;        /* next is to be written */
    struct receipt next; /* valid if it changes */
};
/* until_ms: the end of retention of what is cancelled. */
struct cancel_verdict cancel_judge(const struct receipt *cur, int64_t now_ms, int64_t until_ms);

#endif
