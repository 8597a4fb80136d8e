/* Waiters are listed on the board before the second look, so that an end between
 * look and list cannot be missed. A wait may take several rounds, since an end may be a
 * refusal, after which somebody else runs; all of them together end with its time. */
#include "gateway/rooms/waiting.h"
#include "gateway/prefer.h"
#include "gateway/worker.h"

struct waiting_state {
    struct board_waiter entry; /* first: flow->waiter points here */
    int64_t wait_ms, until_ticks;
    uint32_t rounds;
    bool parked;
    bool woken; /* by an end, and has not stood back since */
    bool over;
    bool polls; /* it looks again by itself, which is no new round */
};

/* `wait=N` seconds of a Prefer line shortens the route's wait (RFC 7240 4.3). */
static int64_t preferred_wait_ms(const struct http_head *head, int64_t wait_ms)
{
    struct prefer prefer;
    prefer_read(head, &prefer);
    if (prefer.has_wait && prefer.wait_s < (uint64_t)wait_ms / 1000)
        return (int64_t)prefer.wait_s * 1000;
    return wait_ms;
}

static void woken(struct store_op *op, void *ctx)
{
    struct flow *flow;
    (void)op;
    GW_CAST(flow, ctx, flow, FLOW_TAG);
    flow->waiter = NULL;
    flow->waiting->woken = true;
    worker_timer_stop(flow);
    /* Not parked: its second look is under way, and comes back to the room by itself. */
    if (flow->waiting->parked)
        flow_resume(flow);
}

static void time_is_over(struct flow *flow)
{
    struct waiting_state *state = flow->waiting;
    if (flow->waiter == NULL)
        return;
    state->over = flow_now_ticks(flow) >= state->until_ticks;
    state->polls = !state->over;
    if (!board_unwait(worker_ports(flow->worker)->board, &state->entry))
        return; /* the wake-up is faster: it resumes the flow */
    flow->waiter = NULL;
    flow_resume(flow);
}

static struct waiting_state *state_of(struct flow *flow)
{
    int64_t wait_ms = preferred_wait_ms(flow->head, flow->route->pending_wait_ms);
    if (flow->waiting != NULL || wait_ms <= 0)
        return flow->waiting;
    struct waiting_state *state = arena_take(flow->arena, sizeof(*state));
    if (state == NULL)
        return NULL;
    state->wait_ms = wait_ms;
    state->until_ticks = flow->started_ticks + wait_ms;
    flow->waiting = state;
    return state;
}

static bool list(struct flow *flow)
{
    struct waiting_state *state = state_of(flow);
    if (state == NULL || state->over || worker_is_draining(flow->worker) ||
        state->rounds >= WAITING_ROUNDS_MAX || flow_now_ticks(flow) >= state->until_ticks)
        return false;
    state->parked = state->woken = false;
    state->rounds += !state->polls;
    state->polls = false;
    state->entry.identity = flow->identity;
    state->entry.wake = (struct store_op){
        .arena = flow->arena, .inbox = worker_inbox(flow->worker), .done = woken, .ctx = flow};
    if (!board_wait(worker_ports(flow->worker)->board, &state->entry))
        return false;
    flow->waiter = &state->entry;
    return true;
}

/* Until the end of the wait; but the end of what another gateway runs wakes nobody here. */
static int64_t look_again_ms(const struct flow *flow)
{
    const struct waiting_state *state = flow->waiting;
    int64_t left_ms = state->until_ticks - flow_now_ticks(flow);
    int64_t poll_ms = state->wait_ms / WAITING_PAUSE_SHARE;
    poll_ms = poll_ms > WAITING_POLL_MS ? poll_ms : WAITING_POLL_MS;
    return flow->row.lease_is_foreign && poll_ms < left_ms ? poll_ms : left_ms;
}

enum waiting waiting_begin(struct flow *flow)
{
    if (flow->waiter == NULL)
        return list(flow) ? WAITING_LOOK : WAITING_NO;
    struct waiting_state *state = flow->waiting;
    state->parked = true;
    if (!worker_timer_start(flow, look_again_ms(flow), time_is_over)) {
        bool off = waiting_end(flow);
        return off ? WAITING_NO : WAITING_PARKED;
    }
    return WAITING_PARKED;
}

/* Doubled each round; half of it by chance, which is the flow's number here: those who wait
 * for one key have different ones. */
static int64_t pause_ms(const struct flow *flow)
{
    const struct waiting_state *state = flow->waiting;
    int64_t max_ms = state->wait_ms / WAITING_PAUSE_SHARE;
    max_ms = max_ms > WAITING_PAUSE_MAX_MS ? max_ms : WAITING_PAUSE_MAX_MS;
    uint32_t doublings = state->rounds < 16 ? state->rounds : 16;
    int64_t ms = (int64_t)WAITING_PAUSE_MIN_MS << doublings;
    ms = ms < max_ms ? ms : max_ms;
    uint64_t mixed = (flow->id ^ ((uint64_t)state->rounds << 32)) * 0x9e3779b97f4a7c15u;
    ms = ms / 2 + (int64_t)((mixed >> 33) % (uint64_t)(ms / 2 + 1));
    int64_t left_ms = state->until_ticks - flow_now_ticks(flow);
    return ms < left_ms ? ms : left_ms;
}

bool waiting_stands_back(struct flow *flow)
{
    struct waiting_state *state = flow->waiting;
    if (state == NULL || !state->woken || worker_is_draining(flow->worker))
        return false;
    gw_assert(flow->waiter == NULL);
    state->woken = false;
    int64_t ms = pause_ms(flow);
    return ms > 0 && worker_timer_start(flow, ms, flow_resume);
}

bool waiting_end(struct flow *flow)
{
    worker_timer_stop(flow);
    if (flow->waiter == NULL ||
        board_unwait(worker_ports(flow->worker)->board, &flow->waiting->entry)) {
        flow->waiter = NULL;
        return true;
    }
    flow->waiting->parked = true;
    return false;
}
