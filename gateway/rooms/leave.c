/* Room `leave`: give everything back. The only way out of a walk. */
#include "gateway/access_log.h"
#include "gateway/worker.h"

enum flow_next room_leave(struct flow *flow)
{
    struct board *board = worker_ports(flow->worker)->board;
    gw_assert(flow->call == NULL);
    gw_assert(flow->waiter == NULL);
    if (flow->source == FLOW_FROM_CLIENT && flow->conf->log_access)
        access_log(flow);
    worker_timer_stop(flow);
    if (flow->ticket.held)
        board_leave(board, flow->route, flow->owner, BOARD_NOT_RUN, flow_now_ticks(flow),
                    &flow->ticket);
    board_let_go(board, flow->bytes_held);
    flow->bytes_held = 0;
    http_head_free(flow->answer.head);
    flow->answer.head = NULL;
    body_fini(&flow->answer.body);
    gw_buf_fini(&flow->body);
    gw_buf_fini(&flow->packed);
    gw_buf_fini(&flow->packed_request);
    gw_buf_fini(&flow->call_head);
    gw_buf_fini(&flow->reply.head);
    if (flow->client != NULL && !flow->client_gone)
        flow->client_ops->left(flow->client);
    flow->client = NULL;
    if (flow->on_leave != NULL)
        flow->on_leave(flow, flow->on_leave_ctx);
    worker_bury(flow->worker, flow);
    return FLOW_PARK; /* for good */
}
