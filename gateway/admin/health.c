/* /healthz and /readyz: open to all, and they tell nothing but this. */
#include "gateway/admin/call.h"

void call_health(struct call *call)
{
    call_begin(call, 200);
    writer_text(&call->json, "status", SPAN("ok"));
    call_end(call);
}

void call_ready(struct call *call)
{
    const char *why = NULL;
    struct store_stats stats;
    /* A balancer that is told "not ready" sends nothing: the store itself finds out when
     * it can be written again. */
    store_stats(call->options->store, &stats);
    if (!atomic_load(call->options->ready))
        why = "Recibo is starting: not everything listens, or recovery is not over.";
    else if (atomic_load(&board_gauges(call->options->board)->draining))
        why = "Recibo is shutting down: no new connections are taken.";
    else if (stats.is_failing)
        why = "The store fails: the last commit was not made. The log says why.";
    if (why != NULL) {
        call_problem(call, ADMIN_NOT_READY, "%s", why);
        return;
    }
    call_begin(call, 200);
    writer_text(&call->json, "status", SPAN("ready"));
    call_end(call);
}
