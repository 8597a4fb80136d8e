/* Descriptors: raised to what is needed, or shared out. It must never leave all of
 * them to callers: whoever is accepted and cannot be served repeats his call, takes
 * the next free descriptor again, and nobody ever gets an answer. */
#include "gateway/descriptors.h"

#include "base/log.h"

#include <sys/resource.h>

#define OWN_MAX 100 /* store, loops, listeners, operators, spool files */

static uint64_t for_upstreams(const struct conf *conf)
{
    uint64_t count = conf->limits.late_max;
    for (uint32_t i = 0; i < conf->upstream_count; i++)
        count += conf->upstreams[i].connections_max;
    return count;
}

/* What the process has in the end. */
static uint64_t raise_to(uint64_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted; /* nobody knows better */
    if (limit.rlim_cur >= wanted)
        return limit.rlim_cur;
    struct rlimit raised = limit;
    raised.rlim_cur = wanted < limit.rlim_max ? (rlim_t)wanted : limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

/* Our own first, then at most half of the rest for the upstreams. */
static uint64_t left_for_callers(uint64_t has, uint64_t upstreams)
{
    uint64_t own = has / 2 < OWN_MAX ? has / 2 : OWN_MAX;
    uint64_t half = (has - own) / 2;
    uint64_t callers = has - own - (upstreams < half ? upstreams : half);
    return callers > 0 ? callers : 1;
}

void descriptors_reserve(struct conf *conf)
{
    uint64_t upstreams = for_upstreams(conf);
    uint64_t wanted = conf->limits.connections + upstreams + OWN_MAX;
    uint64_t has = raise_to(wanted);
    if (has >= wanted)
        return;
    uint64_t callers = left_for_callers(has, upstreams);
    if (callers >= conf->limits.connections)
        return;
    gw_log_text(GW_LOG_WARN, "limits.lowered",
                "limits.connections is %llu instead of %u: the process may have %llu descriptors "
                "and needs %llu; raise the limit (LimitNOFILE, ulimit -n)",
                (unsigned long long)callers, conf->limits.connections, (unsigned long long)has,
                (unsigned long long)wanted);
    conf->limits.connections = (uint32_t)callers;
}
