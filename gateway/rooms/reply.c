/* Room `reply`: answer the client. Whatever the answer says is durable when this
 * room is entered. A client that has left hears nothing; that changes nothing. */
#include "gateway/problem.h"
#include "gateway/reply_head.h"
#include "gateway/rooms/heard.h"
#include "gateway/worker.h"

enum reply_stage {
    REPLY_WRITE,
    REPLY_SENT,  /* all of it is written, or the caller is gone */
    REPLY_FREED, /* its content is free for the next operation */
};

/* A head that cannot be sent, for example since a stored answer is broken: our fault,
 * and said so. */
static bool write_fallback(struct flow *flow)
{
    flow->problem = PROBLEM_INTERNAL;
    flow->no_new_key = flow->row.id != 0; /* an attempt of the row may have run */
    flow->problem_detail = SPAN("");
    flow->replays = false;
    flow->reply.file_body = NULL;
    return reply_problem(flow);
}

static bool write_reply(struct flow *flow)
{
    if (flow->replays)
        return reply_stored(flow) || write_fallback(flow);
    if (flow->problem == PROBLEM_NONE && flow->accepts)
        return flow->reply.head.len > 0; /* written by accepted() */
    if (flow->problem != PROBLEM_NONE)
        return reply_problem(flow) || write_fallback(flow);
    if (flow->answer.head != NULL)
        return reply_answer(flow) || write_fallback(flow);
    return flow->reply.head.len > 0; /* written by the room `own` */
}

static void count(struct flow *flow)
{
    struct board *board = worker_ports(flow->worker)->board;
    if (flow->problem != PROBLEM_NONE)
        board_count_refused(board, flow->problem);
    if (flow->route == NULL)
        return;
    struct board_route *counts = board_route(board, flow->route);
    atomic_fetch_add_explicit(&counts->outcomes[flow->outcome], 1, memory_order_relaxed);
    board_observe(&counts->request_seconds, flow_now_ticks(flow) - flow->started_ticks);
}

static enum flow_next is_sent(struct flow *flow)
{
    if (!flow->may_reach)
        return flow_go(flow, FLOW_ROOM_leave);
    if (heard_waits(flow))
        return FLOW_PARK;
    flow->stage = REPLY_FREED;
    return heard_frees(flow) ? FLOW_PARK : flow_go(flow, FLOW_ROOM_leave);
}

enum flow_next room_reply(struct flow *flow)
{
    if (flow->stage == REPLY_SENT)
        return is_sent(flow);
    if (flow->stage == REPLY_FREED || flow->client == NULL || flow->client_gone)
        return flow_go(flow, FLOW_ROOM_leave);
    bool written = write_reply(flow);
    count(flow);
    flow->stage = REPLY_SENT;
    if (!written) {
        flow->client_ops->end_stream(flow->client, false, true);
        return flow_go(flow, FLOW_ROOM_leave);
    }
    flow->may_reach = heard_matters(flow);
    return flow->client_ops->send(flow->client, &flow->reply) ? is_sent(flow) : FLOW_PARK;
}
