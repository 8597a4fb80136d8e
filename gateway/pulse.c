/* A question is put into each worker's inbox and comes back on its thread. It must never ask
 * one who has not answered yet: his inbox would fill up while he stands still. */
#include "gateway/pulse.h"
#include "gateway/notify.h"

#include <event2/event.h>
#include <stdlib.h>

#define PULSE_WORKERS_MAX 64

struct question {
    struct store_op op;
    atomic_bool is_open;
};

struct pulse {
    struct event *timer;
    struct worker *const *workers;
    uint32_t worker_count;
    bool asks;
    struct question questions[PULSE_WORKERS_MAX];
};

static void answered(struct store_op *op, void *ctx)
{
    struct question *question = ctx;
    (void)op;
    atomic_store(&question->is_open, false);
}

static void ask(struct pulse *pulse)
{
    for (uint32_t i = 0; i < pulse->worker_count; i++) {
        struct question *question = &pulse->questions[i];
        atomic_store(&question->is_open, true);
        question->op = (struct store_op){
            .inbox = worker_inbox(pulse->workers[i]), .done = answered, .ctx = question};
        store_inbox_deliver(&question->op);
    }
}

static void beat(evutil_socket_t fd, short what, void *ctx)
{
    struct pulse *pulse = ctx;
    (void)fd;
    (void)what;
    for (uint32_t i = 0; pulse->asks && i < pulse->worker_count; i++)
        if (atomic_load(&pulse->questions[i].is_open))
            return; /* silence is what the supervisor listens for */
    notify_alive();
    if (pulse->asks)
        ask(pulse);
}

enum gw_status pulse_start(struct event_base *base, struct worker *const *workers,
                           uint32_t worker_count, struct pulse **ret, struct gw_error *err)
{
    int64_t every_ms = notify_watchdog_ms() / 2;
    *ret = NULL;
    if (every_ms == 0)
        return GW_OK;
    gw_assert(worker_count <= PULSE_WORKERS_MAX);
    const struct timeval tv = {.tv_sec = (time_t)(every_ms / 1000),
                               .tv_usec = (suseconds_t)(every_ms % 1000 * 1000)};
    struct pulse *pulse = calloc(1, sizeof(*pulse));
    if (pulse != NULL)
        pulse->timer = event_new(base, -1, EV_PERSIST, beat, pulse);
    if (pulse == NULL || pulse->timer == NULL || event_add(pulse->timer, &tv) != 0) {
        pulse_free(pulse);
        return gw_error_set(err, GW_NOMEM, "out of memory");
    }
    pulse->workers = workers;
    pulse->worker_count = worker_count;
    pulse->asks = true;
    ask(pulse);
    *ret = pulse;
    return GW_OK;
}

void pulse_stop_asking(struct pulse *pulse)
{
    if (pulse != NULL)
        pulse->asks = false;
}

void pulse_free(struct pulse *pulse)
{
    if (pulse == NULL)
        return;
    if (pulse->timer != NULL)
        event_free(pulse->timer);
    free(pulse);
}
