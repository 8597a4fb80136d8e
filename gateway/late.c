/* Flows that outlive their caller. They own what the upstream port still borrows. */
#include "gateway/late.h"
#include "gateway/worker.h"

#include "base/fault.h"

static bool copy_spans(struct flow *late, const struct flow *flow)
{
    struct arena *arena = late->arena;
    return arena_copy(arena, flow->owner, &late->owner) &&
           arena_copy(arena, flow->scope, &late->scope) &&
           arena_copy(arena, flow->key, &late->key) &&
           arena_copy(arena, flow->attempt.upstream, &late->attempt.upstream) &&
           arena_copy(arena, flow->attempt.reason, &late->attempt.reason) &&
           arena_copy(arena, flow->attempt.trace_id, &late->attempt.trace_id) &&
           arena_copy(arena, flow->attempt.conf_hash, &late->attempt.conf_hash);
}

static struct flow *make(struct flow *flow)
{
    struct flow *late = flow_new(flow->worker, FLOW_FROM_LATE);
    if (late == NULL)
        return NULL;
    /* It stays with the configuration that the call was made under. */
    conf_unref((struct conf *)(uintptr_t)late->conf);
    late->conf = conf_ref((struct conf *)(uintptr_t)flow->conf);
    late->route = flow->route;
    late->identity = flow->identity;
    late->attempt = flow->attempt;
    late->lease_ticks = flow->lease_ticks;
    /* Whose answer it will be: the key may belong to another operation by then. */
    memcpy(late->row.operation_id, flow->row.operation_id, sizeof(late->row.operation_id));
    if (!copy_spans(late, flow)) {
        flow_run(late, FLOW_ROOM_leave);
        return NULL;
    }
    return late;
}

void late_begin(struct flow *flow)
{
    const struct upstream_ops *upstream = worker_ports(flow->worker)->upstream;
    /* A stopping process listens no longer: it would not end before the time is over. */
    struct flow *late = worker_is_draining(flow->worker) ? NULL : make(flow);
    upstream->set_context(flow->call, late);
    if (late == NULL) {
        upstream->cancel(flow->call);
        return;
    }
    /* The port may still be writing from these. */
    struct gw_buf head = late->call_head, body = late->body;
    late->call_head = flow->call_head;
    late->body = flow->body;
    late->bytes_held = flow->bytes_held;
    flow->bytes_held = 0;
    flow->call_head = head;
    flow->body = body;
    /* Where it may be sent again, the flow needs a copy. */
    bool may_resend = flow->route->retry.is_on && flow->route->passes_key;
    if (!may_resend || !flow_hold(flow, late->body.len) ||
        !gw_buf_add(&flow->body, gw_buf_span(&late->body)))
        flow->body_state = BODY_GONE;
    late->call = flow->call;
    atomic_fetch_add(&board_gauges(worker_ports(flow->worker)->board)->late_listening, 1);
}

static void drop_answer(struct upstream_answer *answer)
{
    if (answer == NULL)
        return;
    http_head_free(answer->head);
    answer->head = NULL;
    body_fini(&answer->body);
}

void late_arrives(const struct upstream_facts *facts, struct upstream_answer *answer, void *ctx)
{
    if (ctx == NULL) {
        drop_answer(answer);
        return;
    }
    struct flow *late;
    GW_CAST(late, ctx, flow, FLOW_TAG);
    late->call = NULL;
    atomic_fetch_sub(&board_gauges(worker_ports(late->worker)->board)->late_listening, 1);
    late->facts = *facts;
    if (answer != NULL) {
        (void)GW_FAULT(late_answer); /* what has come cannot fail any more */
        late->answer = *answer;
        *answer = (struct upstream_answer){0};
        body_init(&answer->body, 0);
    }
    late->attempt.ended_ms = flow_now_ms(late);
    late->attempt.bytes_out = facts->bytes_out;
    late->attempt.bytes_in = facts->bytes_in;
    late->attempt.status = facts->status;
    /* An end without an answer says nothing new: the receipt is unknown already. */
    flow_run(late, facts->end == END_answered ? FLOW_ROOM_classify : FLOW_ROOM_leave);
}

struct flow *late_take_over(struct flow *flow)
{
    struct flow *late = make(flow);
    if (late == NULL)
        return NULL;
    late->facts = flow->facts;
    late->result = flow->result;
    late->event = flow->event;
    late->answer = flow->answer;
    flow->answer = (struct upstream_answer){0};
    body_init(&flow->answer.body, 0);
    return late;
}

void late_cancel(struct flow *late)
{
    gw_assert(late->source == FLOW_FROM_LATE);
    if (late->call != NULL)
        worker_ports(late->worker)->upstream->cancel(late->call);
}
