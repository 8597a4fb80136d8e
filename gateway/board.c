/* The board: counters, gates and waiters. It never starts a flow and never calls
 * out with its lock held. */
#include "gateway/board.h"

#include <pthread.h>
#include <stdlib.h>

#define OWNER_BUCKETS  256 /* powers of two */
#define WAITER_BUCKETS 256

const uint32_t board_bounds_ms[BOARD_BUCKETS] = {
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 60000, 300000};

/* How much one owner has in flight on one route. */
struct owner_load {
    struct owner_load *next;
    uint32_t route, in_flight;
    size_t owner_len;
    char owner[];
};

struct route_gate {
    struct breaker breaker;
    bool route_paused, upstream_paused;
};

struct board {
    const struct conf *conf;
    pthread_mutex_t lock;       /* last in the lock order: nothing else is taken inside */
    struct board_route *routes; /* one more than are configured: of those that no longer are */
    struct route_gate *gates;
    struct board_histogram *upstreams;
    atomic_ullong refused[PROBLEM_COUNT];
    struct owner_load *owners[OWNER_BUCKETS];
    struct board_waiter *waiters[WAITER_BUCKETS];
    uint32_t waiter_count;
    struct board_gauges gauges;
    atomic_ullong bytes_held;
};

struct board *board_new(const struct conf *conf)
{
    struct board *board = calloc(1, sizeof(*board));
    if (board == NULL)
        return NULL;
    board->conf = conf;
    board->routes = calloc((size_t)conf->routes.count + 1, sizeof(*board->routes));
    board->gates = calloc(conf->routes.count, sizeof(*board->gates));
    board->upstreams = calloc(conf->upstream_count + 1, sizeof(*board->upstreams));
    if (board->routes == NULL || board->gates == NULL || board->upstreams == NULL ||
        pthread_mutex_init(&board->lock, NULL) != 0) {
        free(board->routes);
        free(board->gates);
        free(board->upstreams);
        free(board);
        return NULL;
    }
    struct gw_clock *clock = gw_clock_system();
    for (uint32_t i = 0; i < conf->routes.count; i++)
        breaker_init(&board->gates[i].breaker, clock->ticks_ms(clock));
    return board;
}

void board_free(struct board *board)
{
    if (board == NULL)
        return;
    for (size_t i = 0; i < OWNER_BUCKETS; i++) {
        struct owner_load *load = board->owners[i];
        while (load != NULL) {
            struct owner_load *next = load->next;
            free(load);
            load = next;
        }
    }
    (void)pthread_mutex_destroy(&board->lock); /* nobody can hold it any more */
    free(board->routes);
    free(board->gates);
    free(board->upstreams);
    free(board);
}

static void lock(struct board *board)
{
    int rc = pthread_mutex_lock(&board->lock);
    gw_assert(rc == 0);
}

static void unlock(struct board *board)
{
    int rc = pthread_mutex_unlock(&board->lock);
    gw_assert(rc == 0);
}

struct board_route *board_route(struct board *board, const struct route_policy *route)
{
    uint32_t removed = board->conf->routes.count;
    if (route == NULL)
        return &board->routes[removed];
    gw_assert(route->index < removed);
    return &board->routes[route->index];
}

void board_count_settled(struct board *board, const struct route_policy *route, enum settled_by by,
                         enum settle_verdict verdict)
{
    gw_assert(by < SETTLED_BY_COUNT);
    gw_assert(verdict < VERDICT_COUNT);
    atomic_fetch_add_explicit(&board_route(board, route)->settled[by][verdict], 1,
                              memory_order_relaxed);
}

void board_count_compensated(struct board *board, const struct route_policy *route,
                             enum compensate_by by)
{
    atomic_fetch_add_explicit(
        &board_route(board, route)->compensations[by == COMPENSATE_BY_OWNER ? 1 : 0], 1,
        memory_order_relaxed);
}

struct board_histogram *board_upstream_seconds(struct board *board, uint32_t upstream_index)
{
    gw_assert(upstream_index < board->conf->upstream_count);
    return &board->upstreams[upstream_index];
}

void board_observe(struct board_histogram *histogram, int64_t elapsed_ms)
{
    uint64_t ms = elapsed_ms < 0 ? 0 : (uint64_t)elapsed_ms;
    size_t at = 0;
    while (at < BOARD_BUCKETS && ms > board_bounds_ms[at])
        at++;
    atomic_fetch_add_explicit(&histogram->buckets[at], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum_ms, ms, memory_order_relaxed);
}

void board_count_refused(struct board *board, enum problem problem)
{
    gw_assert(problem < PROBLEM_COUNT);
    atomic_fetch_add_explicit(&board->refused[problem], 1, memory_order_relaxed);
}

uint64_t board_refused(struct board *board, enum problem problem)
{
    return atomic_load_explicit(&board->refused[problem], memory_order_relaxed);
}

struct board_gauges *board_gauges(struct board *board)
{
    return &board->gauges;
}

static size_t owner_bucket(struct span owner, uint32_t route)
{
    uint64_t hash = 1469598103934665603u ^ route;
    for (size_t i = 0; i < owner.len; i++)
        hash = (hash ^ (unsigned char)owner.ptr[i]) * 1099511628211u;
    return (size_t)(hash >> 32) & (OWNER_BUCKETS - 1);
}

static struct owner_load **find_owner(struct board *board, uint32_t route, struct span owner)
{
    struct owner_load **at = &board->owners[owner_bucket(owner, route)];
    while (*at != NULL &&
           !((*at)->route == route && span_equal(span_of((*at)->owner, (*at)->owner_len), owner)))
        at = &(*at)->next;
    return at;
}

static bool owner_has_room(struct board *board, const struct route_policy *route, struct span owner)
{
    struct owner_load **at = find_owner(board, route->index, owner);
    if (*at == NULL) {
        struct owner_load *load = calloc(1, sizeof(*load) + owner.len);
        if (load == NULL)
            return false;
        load->route = route->index;
        load->owner_len = owner.len;
        memcpy(load->owner, owner.ptr, owner.len);
        *at = load;
    }
    if ((*at)->in_flight >= route->owner_in_flight_max)
        return false;
    (*at)->in_flight++;
    return true;
}

static void owner_gives_back(struct board *board, const struct route_policy *route,
                             struct span owner)
{
    struct owner_load **at = find_owner(board, route->index, owner);
    gw_assert(*at != NULL);
    gw_assert((*at)->in_flight > 0);
    struct owner_load *load = *at;
    if (--load->in_flight > 0)
        return;
    *at = load->next;
    free(load);
}

static enum admit_gate enter_locked(struct board *board, const struct route_policy *route,
                                    struct span owner, int64_t now_ticks,
                                    struct board_ticket *ret_ticket)
{
    struct route_gate *gate = &board->gates[route->index];
    struct board_route *counts = &board->routes[route->index];
    if (gate->route_paused || gate->upstream_paused)
        return GATE_PAUSED;
    if (atomic_load(&counts->in_flight) >= route->route_in_flight_max ||
        !owner_has_room(board, route, owner))
        return GATE_FULL;
    enum breaker_pass pass = BREAKER_PASS;
    if (route->breaker.is_on)
        pass =
            breaker_ask(&gate->breaker, &route->breaker, atomic_load(&counts->overdue), now_ticks);
    atomic_store(&counts->breaker, (int)gate->breaker.state);
    if (pass == BREAKER_STOP) {
        owner_gives_back(board, route, owner);
        return GATE_PAUSED;
    }
    atomic_fetch_add(&counts->in_flight, 1);
    *ret_ticket = (struct board_ticket){.held = true, .is_trial = pass == BREAKER_TRIAL};
    return GATE_OPEN;
}

enum admit_gate board_enter(struct board *board, const struct route_policy *route,
                            struct span owner, int64_t now_ticks, struct board_ticket *ret_ticket)
{
    lock(board);
    enum admit_gate gate = enter_locked(board, route, owner, now_ticks, ret_ticket);
    unlock(board);
    return gate;
}

void board_leave(struct board *board, const struct route_policy *route, struct span owner,
                 enum board_end end, int64_t now_ticks, struct board_ticket *ticket)
{
    if (!ticket->held)
        return;
    struct route_gate *gate = &board->gates[route->index];
    struct board_route *counts = &board->routes[route->index];
    lock(board);
    gw_assert(atomic_load(&counts->in_flight) > 0);
    atomic_fetch_sub(&counts->in_flight, 1);
    if (ticket->is_overdue)
        atomic_fetch_sub(&counts->overdue, 1);
    owner_gives_back(board, route, owner);
    /* A trial that never ran says nothing: the next one is let through in its place. */
    if (route->breaker.is_on && end != BOARD_NOT_RUN)
        breaker_ended(&gate->breaker, &route->breaker, end == BOARD_UNKNOWN, ticket->is_trial,
                      now_ticks);
    else if (ticket->is_trial)
        gate->breaker.trial_out = false;
    atomic_store(&counts->breaker, (int)gate->breaker.state);
    unlock(board);
    *ticket = (struct board_ticket){0};
}

void board_mark_overdue(struct board *board, const struct route_policy *route,
                        struct board_ticket *ticket)
{
    if (!ticket->held || ticket->is_overdue)
        return;
    ticket->is_overdue = true;
    atomic_fetch_add(&board->routes[route->index].overdue, 1);
}

uint32_t board_retry_seconds(struct board *board, const struct route_policy *route,
                             int64_t now_ticks)
{
    lock(board);
    int64_t ms = breaker_retry_ms(&board->gates[route->index].breaker, &route->breaker, now_ticks);
    unlock(board);
    int64_t seconds = (ms + 999) / 1000;
    return seconds < 1 ? 1 : seconds > 3600 ? 3600 : (uint32_t)seconds;
}

uint32_t board_held_by(struct board *board, const struct route_policy *route)
{
    const struct route_gate *gate = &board->gates[route->index];
    lock(board);
    uint32_t why = (gate->route_paused ? HELD_BY_ROUTE : 0u) |
                   (gate->upstream_paused ? HELD_BY_UPSTREAM : 0u) |
                   (gate->breaker.state == BREAKER_OPEN ? HELD_BY_BREAKER : 0u);
    unlock(board);
    return why;
}

bool board_pause(struct board *board, enum pause_subject subject, struct span name, bool paused)
{
    bool found = false;
    lock(board);
    for (uint32_t i = 0; i < board->conf->routes.count; i++) {
        const struct route_policy *route = &board->conf->routes.routes[i];
        struct route_gate *gate = &board->gates[i];
        if (subject == PAUSE_ROUTE
                ? !span_equal(route->name, name)
                : route->upstream == NULL || !span_equal(route->upstream->name, name))
            continue;
        found = true;
        if (subject == PAUSE_ROUTE)
            gate->route_paused = paused;
        else
            gate->upstream_paused = paused;
        atomic_store(&board->routes[i].paused, gate->route_paused || gate->upstream_paused);
    }
    unlock(board);
    return found;
}

static struct board_waiter **waiter_bucket(struct board *board,
                                           const struct store_identity *identity)
{
    return &board->waiters[identity->bytes[0] & (WAITER_BUCKETS - 1)];
}

bool board_wait(struct board *board, struct board_waiter *waiter)
{
    bool room;
    lock(board);
    room = board->waiter_count < board->conf->limits.waiters;
    if (room) {
        struct board_waiter **bucket = waiter_bucket(board, &waiter->identity);
        waiter->next = *bucket;
        *bucket = waiter;
        board->waiter_count++;
    }
    unlock(board);
    return room;
}

bool board_unwait(struct board *board, struct board_waiter *waiter)
{
    bool taken = false;
    lock(board);
    struct board_waiter **at = waiter_bucket(board, &waiter->identity);
    while (*at != NULL && *at != waiter)
        at = &(*at)->next;
    if (*at == waiter) {
        *at = waiter->next;
        board->waiter_count--;
        taken = true;
    }
    unlock(board);
    return taken;
}

void board_wake(struct board *board, const struct store_identity *identity)
{
    struct board_waiter *woken = NULL;
    lock(board);
    struct board_waiter **at = waiter_bucket(board, identity);
    while (*at != NULL) {
        struct board_waiter *waiter = *at;
        if (memcmp(&waiter->identity, identity, sizeof(*identity)) != 0) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        board->waiter_count--;
        waiter->next = woken;
        woken = waiter;
    }
    unlock(board);
    while (woken != NULL) {
        /* After delivery the waiter belongs to its own loop again. */
        struct board_waiter *next = woken->next;
        store_inbox_deliver(&woken->wake);
        woken = next;
    }
}

bool board_hold(struct board *board, uint64_t bytes)
{
    if (atomic_fetch_add(&board->bytes_held, bytes) + bytes <= board->conf->limits.bodies)
        return true;
    atomic_fetch_sub(&board->bytes_held, bytes);
    return false;
}

void board_let_go(struct board *board, uint64_t bytes)
{
    uint64_t before = atomic_fetch_sub(&board->bytes_held, bytes);
    gw_assert(before >= bytes);
}

const char *settled_by_word(enum settled_by by)
{
    static const char *const words[SETTLED_BY_COUNT] = {[SETTLED_BY_OPERATOR] = "operator",
                                                        [SETTLED_BY_PLAN] = "plan",
                                                        [SETTLED_BY_PROBE] = "probe",
                                                        [SETTLED_BY_LATE] = "late"};
    gw_assert(by < SETTLED_BY_COUNT);
    return words[by];
}

const char *outcome_word(enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_NONE:
        return "none";
#define OUTCOME(name, word)                                                                        \
    case OUTCOME_##name:                                                                           \
        return word;
#include "gateway/outcomes.def"
#undef OUTCOME
    case OUTCOME_COUNT:
        break;
    }
    gw_assert(outcome < OUTCOME_COUNT);
    return "";
}
