/* The few functions of the event loop that the scans use, on virtual time: so the
 * product's own source of recovery and retention runs here as it is. */
#include "tests/sim/sim.h"

#include <event2/event.h>
#include <stdlib.h>

struct event {
    struct sim_timer timer;
    struct world *world;
    event_callback_fn fire;
    void *ctx;
};

static void fires(void *ctx)
{
    struct event *event = ctx;
    event->fire(-1, EV_TIMEOUT, event->ctx);
}

struct event *event_new(struct event_base *base, evutil_socket_t fd, short what,
                        event_callback_fn fire, void *ctx)
{
    struct worker *worker = (struct worker *)base;
    gw_assert(fd == -1 && what == 0);
    struct event *event = calloc(1, sizeof(*event));
    if (event == NULL)
        return NULL;
    event->world = worker->world;
    event->fire = fire;
    event->ctx = ctx;
    event->timer = (struct sim_timer){.worker = worker, .fire = fires, .ctx = event};
    return event;
}

int event_add(struct event *event, const struct timeval *timeout)
{
    timer_set(event->world, &event->timer,
              (int64_t)timeout->tv_sec * 1000 + timeout->tv_usec / 1000);
    return 0;
}

int event_del(struct event *event)
{
    timer_stop(event->world, &event->timer);
    return 0;
}

void event_free(struct event *event)
{
    timer_stop(event->world, &event->timer);
    free(event);
}
