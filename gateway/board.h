/* What the workers of one process share besides the store's queue: how much is in
 * flight, which routes are paused, the breakers, who waits for whose answer, and
 * the counters of /metrics (ADR 0006). Counters are atomics; the rest stands
 * behind one lock that is held for a few instructions and never while calling
 * anybody. Threads: any. */
#ifndef RECIBO_GATEWAY_BOARD_H
#define RECIBO_GATEWAY_BOARD_H

#include "conf/conf.h"
#include "policy/admit.h"
#include "policy/breaker.h"
#include "policy/classify.h"
#include "store/store.h"

#include <stdatomic.h>

enum problem {
    PROBLEM_NONE,
#define PROBLEM(name, code, status, retry, title) PROBLEM_##name,
#include "gateway/problems.def"
#undef PROBLEM
    PROBLEM_COUNT,
};
enum outcome {
    OUTCOME_NONE,
#define OUTCOME(name, word) OUTCOME_##name,
#include "gateway/outcomes.def"
#undef OUTCOME
    OUTCOME_COUNT,
};

#define BOARD_BUCKETS 16
extern const uint32_t board_bounds_ms[BOARD_BUCKETS];
struct board_histogram {
    atomic_ullong buckets[BOARD_BUCKETS + 1]; /* the last one: over every bound */
    atomic_ullong sum_ms;
};

enum settle_verdict {
    VERDICT_EXECUTED,
    VERDICT_NOT_EXECUTED,
    VERDICT_ABANDONED,
    VERDICT_REOPEN,
    VERDICT_COUNT
};
enum settled_by {
    SETTLED_BY_OPERATOR, /* one operation, by hand */
    SETTLED_BY_PLAN,     /* many at once */
    SETTLED_BY_PROBE,    /* the upstream was asked */
    SETTLED_BY_LATE,     /* its answer came late */
    SETTLED_BY_COUNT
};

/* The counters of one route; read by /metrics without a lock. */
struct board_route {
    atomic_ullong outcomes[OUTCOME_COUNT];
    atomic_ullong ends[END_COUNT];
    atomic_ullong settled[SETTLED_BY_COUNT][VERDICT_COUNT];
    atomic_ullong contradictions;
    atomic_ullong compensations[2]; /* begun; by operators, by owners */
    atomic_ullong observed;         /* exchanges that were put on record by observe mode */
    atomic_ullong observed_lost;    /* exchanges that were not: no room, or the store failed */
    struct board_histogram request_seconds;
    atomic_uint in_flight;
    atomic_uint overdue; /* in flight, no answer byte after breaker.overdue */
    atomic_bool paused;  /* by hand */
    atomic_int breaker;  /* enum breaker_state as last seen */
};

struct board;
/* So many names of routes and of upstreams a process can have seen, over all reloads. */
#define BOARD_ROUTES_MAX    4096
#define BOARD_UPSTREAMS_MAX 1024
/* Borrows it until board_adopt(); its indices are the places on the board. NULL: out of memory. */
struct board *board_new(const struct conf *conf);
void board_free(struct board *board);
/* What goes by the name of a route or an upstream stays over a reload: counters, what is in
 * flight, the breaker, a pause. Sets the indices of `conf`, which nobody else may have yet,
 * and what is paused; from then on borrows it. Flows of earlier snapshots go on with their
 * own. false: out of memory or of names; nothing was changed. Thread: the main one alone. */
bool board_adopt(struct board *board, struct conf *conf, const struct pause_entry *pauses,
                 uint32_t pause_count) GW_MUST_CHECK;

/* Lives as long as the board. NULL: of all routes that are no longer configured, together. */
struct board_route *board_route(struct board *board, const struct route_policy *route);
/* An operation in doubt got this verdict. route: likewise. */
void board_count_settled(struct board *board, const struct route_policy *route, enum settled_by by,
                         enum settle_verdict verdict);
/* A compensation was begun, by whom. route: of the operation that it takes back. */
void board_count_compensated(struct board *board, const struct route_policy *route,
                             enum compensate_by by);
struct board_histogram *board_upstream_seconds(struct board *board,
                                               const struct upstream_policy *upstream);
void board_observe(struct board_histogram *histogram, int64_t elapsed_ms);
void board_count_refused(struct board *board, enum problem problem);
uint64_t board_refused(struct board *board, enum problem problem);

/* ---- in flight, pause, breaker ---- */
struct board_ticket { /* held by a flow from claim to the end of its attempt */
    bool held, is_trial, is_overdue;
};
/* May a new operation of this owner run? GATE_OPEN: the ticket is held and must be
 * given back. */
enum admit_gate board_enter(struct board *board, const struct route_policy *route,
                            struct span owner, int64_t now_ticks, struct board_ticket *ret_ticket);
enum board_end { BOARD_NOT_RUN, BOARD_KNOWN, BOARD_UNKNOWN };
void board_leave(struct board *board, const struct route_policy *route, struct span owner,
                 enum board_end end, int64_t now_ticks, struct board_ticket *ticket);
/* The attempt of this ticket has no answer byte after breaker.overdue. */
void board_mark_overdue(struct board *board, const struct route_policy *route,
                        struct board_ticket *ticket);
/* Seconds for Retry-After of a paused route. */
uint32_t board_retry_seconds(struct board *board, const struct route_policy *route,
                             int64_t now_ticks);
/* Why new operations of a route are held back now. */
enum board_hold_why {
    HELD_BY_ROUTE = 1 << 0,    /* paused by hand */
    HELD_BY_UPSTREAM = 1 << 1, /* its upstream is, by hand */
    HELD_BY_BREAKER = 1 << 2,
};
uint32_t board_held_by(struct board *board, const struct route_policy *route);
/* What the store says is paused, by hand; false: no such route or upstream. Main thread. */
bool board_pause(struct board *board, enum pause_subject subject, struct span name, bool paused);

/* ---- repeats that wait for a first call ---- */
struct board_waiter {
    struct store_identity identity;
    struct store_op wake; /* inbox, done and ctx set by the waiter */
    struct board_waiter *next;
};
/* false: limits.waiters are waiting already. */
bool board_wait(struct board *board, struct board_waiter *waiter);
/* true: it was taken off and will not be woken. false: its wake-up is under way. */
bool board_unwait(struct board *board, struct board_waiter *waiter);
/* The receipt of this identity moved: delivers the wake op of everybody who waits for it. */
void board_wake(struct board *board, const struct store_identity *identity);

/* ---- bodies of guarded routes in memory (limits.bodies) ---- */
/* false: there is no room for as many bytes now. */
bool board_hold(struct board *board, uint64_t bytes);
void board_let_go(struct board *board, uint64_t bytes);

/* ---- process gauges ---- */
struct board_gauges {
    atomic_uint connections, flows, late_listening;
    atomic_bool draining;
};
struct board_gauges *board_gauges(struct board *board);

const char *outcome_word(enum outcome outcome);
const char *settled_by_word(enum settled_by by);

#endif
