/* Waiters are listed on the board before the second look, so that an end between
 * look and list cannot be missed. */
#include "gateway/rooms/waiting.h"
#include "gateway/worker.h"

#include "base/text.h"

struct waiting_state {
    struct board_waiter entry; /* first: flow->waiter points here */
    int64_t until_ticks;
    bool parked;
    bool over;
};

/* `wait=N` seconds of a Prefer line shortens the route's wait (RFC 7240 4.3); the
 * first one counts, nonsense does not. */
static int64_t preferred_wait_ms(const struct http_head *head, int64_t wait_ms)
{
    const struct http_field *field = NULL;
    for (uint32_t from = 0; (field = http_head_find(head, SPAN("Prefer"), from)) != NULL;
         from = (uint32_t)(field - head->fields) + 1) {
        struct span rest = field->value;
        while (rest.len > 0) {
            size_t len = 0;
            while (len < rest.len && rest.ptr[len] != ',' && rest.ptr[len] != ';')
                len++;
            struct span item = span_of(rest.ptr, len);
            while (item.len > 0 && item.ptr[0] == ' ')
                item = span_of(item.ptr + 1, item.len - 1);
            uint64_t seconds = 0;
            if (item.len > 5 && span_equal_nocase(span_of(item.ptr, 5), SPAN("wait=")) &&
                gw_parse_u64(span_of(item.ptr + 5, item.len - 5), &seconds))
                return seconds < (uint64_t)wait_ms / 1000 ? (int64_t)seconds * 1000 : wait_ms;
            len = len < rest.len ? len + 1 : len;
            rest = span_of(rest.ptr + len, rest.len - len);
        }
    }
    return wait_ms;
}

static void woken(struct store_op *op, void *ctx)
{
    struct flow *flow;
    (void)op;
    GW_CAST(flow, ctx, flow, FLOW_TAG);
    struct waiting_state *state = (struct waiting_state *)flow->waiter;
    flow->waiter = NULL;
    worker_timer_stop(flow);
    /* Not parked: its second look is under way, and comes back to the room by itself. */
    if (state->parked)
        flow_resume(flow);
}

static void time_is_over(struct flow *flow)
{
    struct waiting_state *state = (struct waiting_state *)flow->waiter;
    if (state == NULL)
        return;
    state->over = true;
    state->parked = false;
    if (!board_unwait(worker_ports(flow->worker)->board, &state->entry)) {
        state->parked = true; /* the wake-up is faster: it resumes the flow */
        return;
    }
    flow_resume(flow);
}

static struct waiting_state *list(struct flow *flow)
{
    int64_t wait_ms = preferred_wait_ms(flow->head, flow->route->pending_wait_ms);
    if (wait_ms <= 0 || worker_is_draining(flow->worker))
        return NULL;
    struct waiting_state *state = arena_take(flow->arena, sizeof(*state));
    if (state == NULL)
        return NULL;
    state->until_ticks = flow->started_ticks + wait_ms;
    state->entry.identity = flow->identity;
    state->entry.wake = (struct store_op){
        .arena = flow->arena, .inbox = worker_inbox(flow->worker), .done = woken, .ctx = flow};
    if (flow_now_ticks(flow) >= state->until_ticks ||
        !board_wait(worker_ports(flow->worker)->board, &state->entry))
        return NULL;
    return state;
}

enum waiting waiting_begin(struct flow *flow)
{
    struct waiting_state *state = (struct waiting_state *)flow->waiter;
    if (state == NULL) {
        state = list(flow);
        flow->waiter = state == NULL ? NULL : &state->entry;
        return state == NULL ? WAITING_NO : WAITING_LOOK;
    }
    if (state->over) {
        flow->waiter = NULL;
        return WAITING_NO;
    }
    state->parked = true;
    if (!worker_timer_start(flow, state->until_ticks - flow_now_ticks(flow), time_is_over)) {
        bool off = waiting_end(flow);
        return off ? WAITING_NO : WAITING_PARKED;
    }
    return WAITING_PARKED;
}

bool waiting_end(struct flow *flow)
{
    struct waiting_state *state = (struct waiting_state *)flow->waiter;
    worker_timer_stop(flow);
    if (state == NULL || state->over ||
        board_unwait(worker_ports(flow->worker)->board, &state->entry)) {
        flow->waiter = NULL;
        return true;
    }
    state->parked = true;
    return false;
}
