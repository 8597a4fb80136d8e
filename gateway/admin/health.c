/* /healthz and /readyz: open to all, and they tell nothing but this. */
#include "gateway/admin/call.h"

#define STORE_PAUSE_MS 5000

void call_health(struct call *call)
{
    call_begin(call, 200);
    writer_text(&call->json, "status", SPAN("ok"));
    call_end(call);
}

/* A balancer that is told "not ready" sends nothing, so nothing would show that the store
 * works again: after a while without a failed commit the next requests may try. */
static bool store_fails(const struct call *call)
{
    struct store_stats stats;
    struct gw_clock *clock = call->options->clock;
    store_stats(call->options->store, &stats);
    return stats.is_failing && clock->ticks_ms(clock) - stats.failed_ticks < STORE_PAUSE_MS;
}

void call_ready(struct call *call)
{
    const char *why = NULL;
    if (!atomic_load(call->options->ready))
        why = "Recibo is starting: not everything listens, or recovery is not over.";
    else if (atomic_load(&board_gauges(call->options->board)->draining))
        why = "Recibo is shutting down: no new connections are taken.";
    else if (store_fails(call))
        why = "The store fails: the last commit was not made. The log says why.";
    if (why != NULL) {
        call_problem(call, ADMIN_NOT_READY, "%s", why);
        return;
    }
    call_begin(call, 200);
    writer_text(&call->json, "status", SPAN("ready"));
    call_end(call);
}
