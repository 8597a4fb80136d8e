/* What the answer to a probe says about the operation it asked for, and when to ask
 * next (SPEC 4). Pure: time and the random number are arguments. */
#ifndef RECIBO_POLICY_PROBE_H
#define RECIBO_POLICY_PROBE_H

#include "policy/classify.h"

enum probe_says {
    PROBE_SAYS_EXECUTED, /* executed_when fits, and the response to replay can be built */
    PROBE_SAYS_ABSENT,   /* absent_when fits; whether that is a proof says the route */
    PROBE_SAYS_UNCLEAR,  /* neither fits, or both, or the response cannot be built */
    PROBE_SAYS_NOTHING,  /* no whole answer came */
};
struct probe_verdict {
    enum probe_says says;
    const char *reason; /* static text */
    uint32_t body_node; /* EXECUTED with a body: its node in answer->json; else JSON_NONE */
};
/* answer: NULL unless facts->end is END_answered. */
struct probe_verdict probe_judge(const struct probe_policy *policy,
                                 const struct upstream_facts *facts,
                                 const struct answer_view *answer);
/* Must the answer be parsed as JSON for that? */
bool probe_wants_json(const struct probe_policy *policy);

/* When an operation that became unknown is asked for first; 0: not by itself. Bytes of
 * its last attempt may land until the quiet time is over. */
int64_t probe_first_ms(const struct route_policy *route, int64_t last_end_ms);
/* When to ask after the count-th answer that ended nothing; 0: not by itself any more.
 * The wait doubles from `every`, up to PROBE_WAIT_MAX_MS or `every`, plus up to a quarter;
 * never before the quiet time is over. */
int64_t probe_next_ms(const struct route_policy *route, uint32_t count, int64_t now_ms,
                      int64_t last_end_ms, uint64_t random);
#define PROBE_WAIT_MAX_MS ((int64_t)3600 * 1000)

/* Questions under way at one upstream, and so at most as many a second: a backlog of a
 * million never becomes a storm. */
#define PROBES_AT_ONCE 20
/* Of an answer as much can be looked into as can be replayed, and at least this. */
#define PROBE_BODY_BYTES_MIN ((size_t)65536)

#endif
