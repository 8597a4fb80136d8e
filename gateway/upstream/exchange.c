/* One request and its answer, whatever the user is: which connection it gets, how
 * long it may take, and how it ended. It never sends a request twice, and it is
 * the one place that says "not sent". */
#include "gateway/upstream/connection.h"

static enum attempt_end honest_end(const struct exchange *exchange, enum attempt_end end);
static bool leaves_clean(const struct exchange *exchange, enum attempt_end end);
static void detach(struct exchange *exchange, bool keeps_connection);
static void retire(struct exchange *exchange);
static int64_t earlier(int64_t a, int64_t b);

void exchange_init(struct exchange *exchange, struct upstream_port *port,
                   const struct exchange_ops *ops, const struct upstream_policy *policy)
{
    *exchange = (struct exchange){
        .tag_exchange = EXCHANGE_TAG,
        .port = port,
        .ops = ops,
        .stage = EXCHANGE_OPENING,
        .never_reuse = policy->reuse == REUSE_NEVER,
        .connect_ms = policy->connect_ms,
        .tls_ms = policy->tls_ms,
        .send_ms = policy->send_ms,
        .first_byte_ms = policy->first_byte_ms,
        .idle_ms = policy->idle_ms,
        .late_ms = policy->late_ms,
        .connection_idle_ms = policy->connection_idle_ms,
        .start_ms = port_now(port),
        .answer_until_ms = INT64_MAX,
    };
    exchange->open_until_ms = exchange->start_ms + policy->connect_ms;
    exchange->progress_ms = exchange->start_ms;
}

enum gw_status exchange_begin(struct exchange *exchange, const struct upstream_policy *policy)
{
    struct origin *origin = NULL;
    enum gw_status status = origin_get(exchange->port, policy, &origin);
    if (status != GW_OK)
        return status;
    exchange->origin = origin;
    exchange->open_until_ms = earlier(exchange->open_until_ms, exchange->answer_until_ms);
    /* Nobody overtakes those who wait already; they get what has become free first. */
    origin_serve(origin);
    bool begun = TAILQ_EMPTY(&origin->waiting) && exchange_connect(exchange);
    if (!begun && !origin_enqueue(origin, exchange, policy->connections_max))
        return GW_LIMIT;
    origin->exchanges++;
    exchange->port->calls++;
    return GW_OK;
}

bool exchange_connect(struct exchange *exchange)
{
    struct origin *origin = exchange->origin;
    struct connection *connection = NULL;
    if (exchange->never_reuse)
        origin_close_kept(origin, INT64_MAX); /* left by an earlier configuration */
    else
        connection = origin_take_kept(origin, exchange->connection_idle_ms);
    exchange->was_kept = connection != NULL;
    if (connection == NULL && origin->connections >= origin->slots)
        return false;
    if (exchange->stage == EXCHANGE_WAITING)
        origin_unqueue(exchange);
    exchange->stage = EXCHANGE_OPENING;
    if (connection == NULL)
        connection = connection_new(origin);
    if (connection == NULL) {
        exchange_end_later(exchange, END_queue_timeout);
        return true;
    }
    connection_attach(connection, exchange);
    if (exchange->was_kept) {
        exchange_opened(exchange);
        return true;
    }
    exchange->open_until_ms =
        earlier(port_now(exchange->port) + exchange->connect_ms, exchange->answer_until_ms);
    connection_open(connection);
    return true;
}

void exchange_opened(struct exchange *exchange)
{
    struct connection *connection = exchange->connection;
    /* The loop stood still until the time was over: by now somebody may have been told
     * that nothing is sent any more. */
    if (port_now(exchange->port) >= exchange->answer_until_ms) {
        exchange_end_later(exchange, END_connect_timeout);
        return;
    }
    exchange->stage = EXCHANGE_OPEN;
    exchange->progress_ms = port_now(exchange->port);
    memcpy(exchange->address, connection->address, sizeof(exchange->address));
    if (exchange->holds_back) {
        exchange_on_turn(exchange);
        connection_watch(connection);
    } else {
        connection_flush(connection);
    }
}

bool exchange_has_output(const struct exchange *exchange)
{
    return exchange->out[0].len > 0 || exchange->out[1].len > 0;
}

bool exchange_is_written(const struct exchange *exchange)
{
    return exchange->out_whole && !exchange->out_stopped && !exchange_has_output(exchange);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Of an open exchange only; waiting and opening have clocks of their own. */
struct exchange_times exchange_deadline(const struct exchange *exchange)
{
    if (exchange->stage == EXCHANGE_LATE)
        return (struct exchange_times){exchange->late_until_ms, END_answer_timeout};
    struct exchange_times whole = {exchange->answer_until_ms, END_answer_timeout};
    if (exchange->stage != EXCHANGE_OPEN || exchange->is_paused)
        return whole;
    struct exchange_times step;
    if (!exchange->out_stopped && exchange_has_output(exchange))
        step = (struct exchange_times){exchange->send_ms, END_send_stalled};
    else if (!exchange->out_stopped && !exchange->out_whole)
        return whole; /* the upstream waits for us */
    else if (!exchange->answer_begun)
        step = (struct exchange_times){exchange->first_byte_ms, END_answer_timeout};
    else
        step = (struct exchange_times){exchange->idle_ms, END_idle_timeout};
    step.at_ms += exchange->progress_ms;
    return step.at_ms < whole.at_ms ? step : whole;
}

void exchange_on_turn(struct exchange *exchange)
{
    if (exchange->is_on_turn)
        return;
    exchange->is_on_turn = true;
    TAILQ_INSERT_TAIL(&exchange->port->turn_list, exchange, turn_link);
    port_schedule_turn(exchange->port);
}

void exchange_take_turn(struct exchange *exchange)
{
    gw_assert(exchange->tag_exchange == EXCHANGE_TAG);
    if (exchange->is_dead) {
        exchange->origin->exchanges--;
        exchange->tag_exchange = 0;
        exchange->ops->free(exchange);
    } else if (exchange->has_end) {
        exchange->has_end = false;
        exchange->ops->ended(exchange, exchange->end);
        retire(exchange);
    } else if (exchange->ops->turn != NULL) {
        exchange->ops->turn(exchange);
    }
}

void exchange_finish(struct exchange *exchange, enum attempt_end end)
{
    gw_assert(exchange->stage != EXCHANGE_OVER);
    end = honest_end(exchange, end);
    detach(exchange, leaves_clean(exchange, end));
    exchange->ops->ended(exchange, end);
    retire(exchange);
}

void exchange_end_later(struct exchange *exchange, enum attempt_end end)
{
    gw_assert(exchange->stage != EXCHANGE_OVER);
    exchange->end = honest_end(exchange, end);
    exchange->has_end = true;
    detach(exchange, false);
    exchange_on_turn(exchange);
}

void exchange_abandon(struct exchange *exchange)
{
    if (exchange->stage == EXCHANGE_OVER) {
        if (!exchange->has_end)
            return; /* inside its own end, or abandoned before */
        exchange->has_end = false;
    } else {
        detach(exchange, false);
    }
    retire(exchange);
}

/* Whatever was seen of a connection that took no byte, the request was not sent,
 * and the end must not look as if it had been. */
static enum attempt_end honest_end(const struct exchange *exchange, enum attempt_end end)
{
    if (exchange->bytes_out > 0)
        return end;
    switch (end) {
    case END_none:
    case END_dns_failed:
    case END_connect_refused:
    case END_connect_timeout:
    case END_tls_failed:
    case END_stale_connection:
    case END_queue_timeout:
    case END_drained:
    case END_crashed:
        return end;
    case END_answered:
    case END_send_stalled:
    case END_answer_timeout:
    case END_idle_timeout:
    case END_closed_no_answer:
    case END_reset_no_answer:
    case END_cut_answer:
    case END_bad_answer:
    case END_answer_too_large:
        if (exchange->was_kept)
            return END_stale_connection;
        /* A handshake that the peer takes back after our side had ended it (TLS 1.3). */
        return exchange->origin->is_tls ? END_tls_failed : END_connect_refused;
    case END_COUNT:
        break;
    }
    gw_assert(false); /* every end is above */
    return END_none;
}

static bool leaves_clean(const struct exchange *exchange, enum attempt_end end)
{
    const struct connection *connection = exchange->connection;
    return end == END_answered && exchange->stage == EXCHANGE_OPEN && !exchange->never_reuse &&
           exchange_is_written(exchange) && connection->may_be_kept && !connection->was_reset &&
           !transport_is_over(&connection->transport);
}

static void detach(struct exchange *exchange, bool keeps_connection)
{
    struct connection *connection = exchange->connection;
    if (exchange->stage == EXCHANGE_WAITING)
        origin_unqueue(exchange);
    if (exchange->stage == EXCHANGE_LATE)
        exchange->port->late_listening--;
    exchange->stage = EXCHANGE_OVER;
    exchange->connection = NULL;
    exchange->out[0] = exchange->out[1] = span_of("", 0);
    if (connection == NULL)
        return;
    connection->exchange = NULL;
    if (keeps_connection)
        connection_keep(connection, exchange->connection_idle_ms);
    else
        connection_close(connection);
}

static void retire(struct exchange *exchange)
{
    gw_assert(!exchange->is_dead);
    gw_assert(exchange->stage == EXCHANGE_OVER);
    exchange->is_dead = true;
    exchange->port->calls--;
    exchange_on_turn(exchange);
}

void exchange_facts(const struct exchange *exchange, enum attempt_end end,
                    struct upstream_facts *ret)
{
    *ret = (struct upstream_facts){.end = end,
                                   .bytes_out = exchange->bytes_out,
                                   .bytes_in = exchange->bytes_in,
                                   .status = exchange->status,
                                   .elapsed_ms = port_now(exchange->port) - exchange->start_ms};
}
