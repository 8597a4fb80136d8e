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

/* What goes by the name of a route. */
struct route_slot {
    struct board_route counts;
    struct route_gate gate;
    size_t name_len;
    char name[];
};

struct upstream_slot {
    struct board_histogram seconds;
    size_t name_len;
    char name[];
};

struct board {
    const struct conf *conf; /* the newest; of the main thread alone */
    uint32_t waiters_max;    /* both as the process began */
    uint64_t bodies_max;
    pthread_mutex_t lock; /* last in the lock order: nothing else is taken inside */
    /* Written before a snapshot that names them is handed to anybody; never taken back. */
    struct route_slot *routes[BOARD_ROUTES_MAX];
    struct upstream_slot *upstreams[BOARD_UPSTREAMS_MAX];
    uint32_t route_count, upstream_count; /* of the main thread alone */
    struct board_route removed;           /* of all routes that are no longer configured */
    atomic_ullong refused[PROBLEM_COUNT];
    struct owner_load *owners[OWNER_BUCKETS];
    struct board_waiter *waiters[WAITER_BUCKETS];
    uint32_t waiter_count;
    struct board_gauges gauges;
    atomic_ullong bytes_held;
};

static bool add_route(struct board *board, struct span name)
{
    if (board->route_count == BOARD_ROUTES_MAX)
        return false;
    struct route_slot *slot = calloc(1, sizeof(*slot) + name.len + 1);
    if (slot == NULL)
        return false;
    struct gw_clock *clock = gw_clock_system();
    breaker_init(&slot->gate.breaker, clock->ticks_ms(clock));
    slot->name_len = name.len;
    if (name.len > 0)
        memcpy(slot->name, name.ptr, name.len);
    board->routes[board->route_count++] = slot;
    return true;
}

static bool add_upstream(struct board *board, struct span name)
{
    if (board->upstream_count == BOARD_UPSTREAMS_MAX)
        return false;
    struct upstream_slot *slot = calloc(1, sizeof(*slot) + name.len + 1);
    if (slot == NULL)
        return false;
    slot->name_len = name.len;
    if (name.len > 0)
        memcpy(slot->name, name.ptr, name.len);
    board->upstreams[board->upstream_count++] = slot;
    return true;
}

struct board *board_new(const struct conf *conf)
{
    struct board *board = calloc(1, sizeof(*board));
    if (board == NULL)
        return NULL;
    if (pthread_mutex_init(&board->lock, NULL) != 0) {
        free(board);
        return NULL;
    }
    board->conf = conf;
    board->waiters_max = conf->limits.waiters;
    board->bodies_max = conf->limits.bodies;
    bool ok = true;
    for (uint32_t i = 0; ok && i < conf->routes.count; i++)
        ok = add_route(board, conf->routes.routes[i].name);
    for (uint32_t i = 0; ok && i < conf->upstream_count; i++)
        ok = add_upstream(board, conf->upstreams[i].name);
    if (ok)
        return board;
    board_free(board);
    return NULL;
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
    for (uint32_t i = 0; i < board->route_count; i++)
        free(board->routes[i]);
    for (uint32_t i = 0; i < board->upstream_count; i++)
        free(board->upstreams[i]);
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
    if (route == NULL)
        return &board->removed;
    gw_assert(route->index < BOARD_ROUTES_MAX);
    gw_assert(board->routes[route->index] != NULL);
    return &board->routes[route->index]->counts;
}

static struct route_gate *gate_of(struct board *board, const struct route_policy *route)
{
    gw_assert(route->index < BOARD_ROUTES_MAX);
    gw_assert(board->routes[route->index] != NULL);
    return &board->routes[route->index]->gate;
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

struct board_histogram *board_upstream_seconds(struct board *board,
                                               const struct upstream_policy *upstream)
{
    gw_assert(upstream->index < BOARD_UPSTREAMS_MAX);
    gw_assert(board->upstreams[upstream->index] != NULL);
    return &board->upstreams[upstream->index]->seconds;
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
    struct route_gate *gate = gate_of(board, route);
    struct board_route *counts = board_route(board, route);
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
    struct route_gate *gate = gate_of(board, route);
    struct board_route *counts = board_route(board, route);
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
    atomic_fetch_add(&board_route(board, route)->overdue, 1);
}

uint32_t board_retry_seconds(struct board *board, const struct route_policy *route,
                             int64_t now_ticks)
{
    lock(board);
    int64_t ms = breaker_retry_ms(&gate_of(board, route)->breaker, &route->breaker, now_ticks);
    unlock(board);
    int64_t seconds = (ms + 999) / 1000;
    return seconds < 1 ? 1 : seconds > 3600 ? 3600 : (uint32_t)seconds;
}

uint32_t board_held_by(struct board *board, const struct route_policy *route)
{
    const struct route_gate *gate = gate_of(board, route);
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
        struct route_gate *gate = gate_of(board, route);
        if (subject == PAUSE_ROUTE
                ? !span_equal(route->name, name)
                : route->upstream == NULL || !span_equal(route->upstream->name, name))
            continue;
        found = true;
        if (subject == PAUSE_ROUTE)
            gate->route_paused = paused;
        else
            gate->upstream_paused = paused;
        atomic_store(&board_route(board, route)->paused,
                     gate->route_paused || gate->upstream_paused);
    }
    unlock(board);
    return found;
}

/* ---- over a reload ---- */

static bool place_route(struct board *board, const struct route_policy *route)
{
    uint32_t at = 0;
    while (at < board->route_count &&
           !span_equal(span_of(board->routes[at]->name, board->routes[at]->name_len), route->name))
        at++;
    if (at == board->route_count && !add_route(board, route->name))
        return false;
    /* Nobody else has this snapshot yet. */
    ((struct route_policy *)(uintptr_t)route)->index = at;
    if (route->compensate.route != NULL)
        ((struct route_policy *)(uintptr_t)route->compensate.route)->index = at;
    return true;
}

static bool place_upstream(struct board *board, const struct upstream_policy *upstream)
{
    uint32_t at = 0;
    while (at < board->upstream_count &&
           !span_equal(span_of(board->upstreams[at]->name, board->upstreams[at]->name_len),
                       upstream->name))
        at++;
    if (at == board->upstream_count && !add_upstream(board, upstream->name))
        return false;
    ((struct upstream_policy *)(uintptr_t)upstream)->index = at;
    return true;
}

static bool is_paused(const struct pause_entry *pauses, uint32_t count, enum pause_subject subject,
                      struct span name)
{
    for (uint32_t i = 0; i < count; i++)
        if (pauses[i].subject == subject && span_equal(pauses[i].name, name))
            return true;
    return false;
}

bool board_adopt(struct board *board, struct conf *conf, const struct pause_entry *pauses,
                 uint32_t pause_count)
{
    for (uint32_t i = 0; i < conf->routes.count; i++)
        if (!place_route(board, &conf->routes.routes[i]))
            return false;
    for (uint32_t i = 0; i < conf->upstream_count; i++)
        if (!place_upstream(board, &conf->upstreams[i]))
            return false;
    board->conf = conf;
    lock(board);
    for (uint32_t i = 0; i < conf->routes.count; i++) {
        const struct route_policy *route = &conf->routes.routes[i];
        struct route_gate *gate = gate_of(board, route);
        gate->route_paused = is_paused(pauses, pause_count, PAUSE_ROUTE, route->name);
        gate->upstream_paused =
            route->upstream != NULL &&
            is_paused(pauses, pause_count, PAUSE_UPSTREAM, route->upstream->name);
        atomic_store(&board_route(board, route)->paused,
                     gate->route_paused || gate->upstream_paused);
    }
    unlock(board);
    return true;
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
    room = board->waiter_count < board->waiters_max;
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
    if (atomic_fetch_add(&board->bytes_held, bytes) + bytes <= board->bodies_max)
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
