/* The engine: it moves a flow from room to room and knows nothing of what a room
 * does. */
#include "gateway/flow.h"
#include "gateway/worker.h"

#include "base/log.h"

#include <stdlib.h>

struct room_entry {
    const char *name;
    flow_room_fn *enter;
};
static const struct room_entry rooms[] = {
#define ROOM(name, doc) {#name, room_##name},
#include "gateway/rooms.def"
#undef ROOM
};

const char *flow_room_name(enum flow_room room)
{
    gw_assert(room < FLOW_ROOM_COUNT);
    return rooms[room].name;
}

struct flow *flow_new(struct worker *worker, enum flow_source source)
{
    struct flow *flow = calloc(1, sizeof(*flow));
    if (flow == NULL)
        return NULL;
    flow->arena = arena_new(worker_flow_bytes_max(worker));
    if (flow->arena == NULL || !worker_adopt_flow(worker, flow)) {
        arena_free(flow->arena);
        free(flow);
        return NULL;
    }
    flow->tag_flow = FLOW_TAG;
    flow->source = source;
    flow->started_ms = flow_now_ms(flow);
    flow->started_ticks = flow_now_ticks(flow);
    gw_buf_init(&flow->body, SIZE_MAX / 2);
    gw_buf_init(&flow->packed, worker_flow_bytes_max(worker));
    gw_buf_init(&flow->packed_request, worker_flow_bytes_max(worker));
    gw_buf_init(&flow->call_head, worker_flow_bytes_max(worker));
    gw_buf_init(&flow->reply.head, worker_flow_bytes_max(worker));
    body_init(&flow->answer.body, 0);
    flow->op.arena = flow->arena;
    return flow;
}

/* The only place that changes flow->room. */
static void flow_enter(struct flow *flow, enum flow_room room)
{
    gw_assert(room < FLOW_ROOM_COUNT);
    flow->room = room;
    flow->stage = 0;
    flow->turns = 0;
    flow->trail[flow->trail_count++ % FLOW_TRAIL_LENGTH] = (uint8_t)room;
    if (gw_log_is_on(GW_LOG_DEBUG)) {
        const struct gw_log_pair pairs[] = {{"flow", {NULL, 0}, (int64_t)flow->id},
                                            {"room", span_str(rooms[room].name), 0},
                                            GW_LOG_END};
        gw_log(GW_LOG_DEBUG, "flow.enters", pairs);
    }
}

static void run(struct flow *flow)
{
    /* Every room is entered at most once in a walk, so the loop is bounded by their number;
     * `leave` hands the flow to the graveyard and parks it for good. */
    for (unsigned steps = 0; rooms[flow->room].enter(flow) == FLOW_GO; steps++) {
        gw_assert(steps < FLOW_ROOM_COUNT);
        gw_assert(flow->next > flow->room);
        flow_enter(flow, flow->next);
    }
}

void flow_run(struct flow *flow, enum flow_room entry)
{
    gw_assert(flow->tag_flow == FLOW_TAG);
    flow_enter(flow, entry);
    run(flow);
}

void flow_resume(struct flow *flow)
{
    gw_assert(flow->tag_flow == FLOW_TAG);
    run(flow);
}

enum flow_next flow_go(struct flow *flow, enum flow_room next)
{
    flow->next = next;
    return FLOW_GO;
}

enum flow_next flow_refuse(struct flow *flow, enum problem problem, struct span detail)
{
    gw_assert(problem != PROBLEM_NONE);
    /* Before anything is known of the key, what was read without memory is no fault of the
     * caller's. Later the receipt speaks, whatever is missing. */
    bool is_misread = flow->room <= FLOW_ROOM_key && arena_has_failed(flow->arena);
    flow->problem = is_misread ? PROBLEM_OVERLOADED : problem;
    flow->problem_detail = is_misread ? SPAN("") : detail;
    return flow_go(flow, FLOW_ROOM_reply);
}

static void store_done(struct store_op *op, void *ctx)
{
    struct flow *flow;
    GW_CAST(flow, ctx, flow, FLOW_TAG);
    gw_assert(op == &flow->op);
    flow_resume(flow);
}

bool flow_submit(struct flow *flow)
{
    flow->op.arena = flow->arena;
    flow->op.inbox = worker_inbox(flow->worker);
    flow->op.done = store_done;
    flow->op.ctx = flow;
    return store_submit(worker_ports(flow->worker)->store, &flow->op) == GW_OK;
}

bool flow_hold(struct flow *flow, uint64_t bytes)
{
    if (!board_hold(worker_ports(flow->worker)->board, bytes))
        return false;
    flow->bytes_held += bytes;
    return true;
}

int64_t flow_now_ms(const struct flow *flow)
{
    struct gw_clock *clock = worker_ports(flow->worker)->clock;
    return clock->wall_ms(clock);
}

int64_t flow_now_ticks(const struct flow *flow)
{
    struct gw_clock *clock = worker_ports(flow->worker)->clock;
    return clock->ticks_ms(clock);
}
