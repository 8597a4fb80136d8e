/* What observe mode saw, summed up: what enforced routes would have done with it. The
 * observations come in the order of the store, all of one key together, so that the
 * sum needs little memory however many there are; what is counted by name has a
 * maximum, and a route says so when it was reached. Threads: one at a time. */
#ifndef RECIBO_GATEWAY_ADMIN_REPORT_H
#define RECIBO_GATEWAY_ADMIN_REPORT_H

#include "base/arena.h"
#include "conf/conf.h"
#include "store/store.h"

#define REPORT_BYTES_MAX    ((size_t)16 << 20)
#define REPORT_ROUTES_MAX   320 /* configured ones, and some that are gone */
#define REPORT_NAMES_MAX    48  /* of each list of a route */
#define REPORT_STATUSES_MAX 48
#define REPORT_TWICE_MAX    10 /* examples */
#define REPORT_LEVELS       512

struct report_name { /* a reason or a member, and how often */
    struct span name;
    uint64_t count;
};
struct report_names {
    struct report_name items[REPORT_NAMES_MAX];
    uint32_t count;
};
struct report_status { /* by end and status */
    uint8_t end;
    uint16_t status;
    uint64_t count;
};
struct report_statuses {
    struct report_status items[REPORT_STATUSES_MAX];
    uint32_t count;
};
struct report_twice { /* the same key and content, carried out again */
    int64_t first_ms, again_ms;
    struct span method, target;
    uint16_t first_status, again_status;
};

/* Durations by their first four bits: the 99th percentile within six per cent. */
struct report_levels {
    uint32_t counts[REPORT_LEVELS];
    uint64_t count;
};
void report_level_add(struct report_levels *levels, int64_t ms);
/* The upper end of the level that holds it; 0: nothing was counted. */
int64_t report_level_percentile(const struct report_levels *levels, uint32_t percent);

struct report_sample; /* of requests without a key: what could be one */

struct report_route {
    struct span name;
    const struct route_policy *route; /* NULL: no longer configured */
    uint64_t exchanges;
    int64_t first_ms, last_ms;
    uint64_t refused;     /* an enforced route would have refused the request itself */
    uint64_t unprotected; /* without a key, on a route that takes that */
    struct report_names reasons;
    /* Requests with a key, by what would have become of them. */
    uint64_t keys, repeated_keys;
    uint64_t sent; /* first ones, and repeats of what was refused */
    uint64_t replayed, pending, mismatched, held_unknown, unavailable, expired;
    uint64_t compared;              /* mismatches whose members could be compared ... */
    struct report_names members;    /* ... and which of them differed */
    uint64_t same;                  /* repeats in which nothing differed */
    struct report_statuses unknown; /* of those sent: the outcome would be unknown */
    uint64_t ran_twice;             /* answered again, neither of them refused */
    uint64_t may_have_run_twice;    /* at least one of them without a whole answer */
    struct report_twice twice[REPORT_TWICE_MAX];
    uint32_t twice_count;
    struct report_statuses answers; /* all */
    uint64_t callers_left;
    int64_t slowest_ms;
    struct report_levels levels;
    uint64_t largest_request, largest_answer;
    struct report_sample *sample; /* NULL: none */
    bool is_cut;                  /* a list or a key had more than is counted here */
};

struct report; /* opaque */

/* In the arena; NULL: out of memory. Borrows the configuration. */
struct report *report_new(struct arena *arena, const struct conf *conf);
/* Frees what is not in the arena; NULL is fine. */
void report_fini(struct report *report);
/* Its spans are copied where they are kept. */
void report_take(struct report *report, const struct observation *seen);
/* After the last one. */
void report_finish(struct report *report);
uint32_t report_count(const struct report *report);
/* Sorted by the order of the configuration; NULL: no more. */
const struct report_route *report_at(const struct report *report, uint32_t index);
bool report_is_cut(const struct report *report); /* there were more routes */

/* ---- shared with report_keys.c ---- */

struct report_group;                                        /* the exchanges of one key */
struct report_group *report_group_new(struct arena *arena); /* NULL: out of memory */
void report_group_fini(struct report_group *group);
bool report_group_holds(const struct report_group *group, const struct store_identity *identity);
void report_group_add(struct report_group *group, const struct observation *seen,
                      struct report_route *route);
/* Plays them against an enforced route, and empties the group. */
void report_group_close(struct report_group *group, struct arena *arena);

/* false: the list is full. */
bool report_names_count(struct report_names *names, struct arena *arena, struct span name);
bool report_statuses_count(struct report_statuses *statuses, uint8_t end, uint16_t status);

/* ---- report_sample.c ---- */
void report_sample_take(struct report_route *route, struct arena *arena,
                        const struct observation *seen);
#define REPORT_CANDIDATES_MAX 3
struct report_candidate {
    struct span pointer;
    uint32_t values; /* different ones */
    uint32_t of;     /* in so many requests without a key */
};
/* Members that are in every request and differ where the requests differ; the most
 * promising first. */
uint32_t report_sample_candidates(const struct report_route *route,
                                  struct report_candidate ret[REPORT_CANDIDATES_MAX]);

/* ---- report_suggest.c ---- */
/* Lines of configuration to put in place of what is there, each with its reason. */
void report_suggest(const struct report *report, const struct conf *conf, struct gw_buf *out);

#endif
