/* What a route tries again, and what it accepts for later: rows of the table of the
 * situations. It must never promise what the rooms do not do.
 *
 * Ignored results: as in explain_table.c, the end of the command looks at a full buffer. */
#include "conf/promise.h"
#include "gateway/commands/explain.h"

static void accepting(const struct route_policy *route, struct gw_buf *out)
{
    const struct defer_policy *policy = &route->defer;
    if (policy->when == DEFER_NEVER)
        return;
    explain_begin(out, policy->when == DEFER_ALWAYS ? "each first use"
                                                    : "first use with Prefer: respond-async");
    (void)gw_buf_print(out, "202 deferred, once it is on the disk; sent later, %u at a time\n",
                       policy->concurrency);
    explain_row(out, "repeat while it is deferred", "202 deferred, with its state");
    explain_row(out, "repeat while it runs", "202 pending with that preference, else as under way");
    explain_row(out, "accepted, and no byte of it left", "tried again until it is too old");
    explain_begin(out, "accepted, and refused");
    if (route->retry.is_on && (route->retry.when_rules || !status_set_is_empty(&route->retry.when)))
        (void)gw_buf_print(out, "cancelled, unless retry.when names it (line %u)\n",
                           route->retry.line);
    else
        (void)gw_buf_print(out, "cancelled; nothing ran\n");
    explain_begin(out, "accepted, and too old");
    (void)gw_buf_print(out, "cancelled after ");
    explain_duration(policy->max_age_ms, out);
    (void)gw_buf_print(out, "; the repeat gets 409 operation-cancelled\n");
}

static void trying(const struct route_policy *route, struct gw_buf *out)
{
    const struct retry_policy *policy = &route->retry;
    bool may_defer = route->defer.when == DEFER_PREFER;
    if (!policy->is_on)
        return;
    explain_begin(out, "tried again by Recibo");
    promise_tried(route, out);
    (void)gw_buf_print(out, "\n");
    explain_begin(out, "... the next attempt is near");
    (void)gw_buf_print(out, "the caller waits for it, up to ");
    explain_duration(policy->wait_at_most_ms, out);
    (void)gw_buf_print(out, "\n");
    explain_row(out, "... it is far",
                may_defer ? "503 retry-later; 202 deferred if the caller said respond-async"
                          : "503 retry-later with Retry-After; the key is free");
    explain_begin(out, "... all attempts are used up");
    (void)gw_buf_print(out, "503 attempts-exhausted: %u in ", policy->attempts_max);
    explain_duration(policy->within_ms, out);
    (void)gw_buf_print(out, "; the key is free\n");
    explain_row(out, "repeat before the next attempt is due",
                "the same three, and nothing is sent");
    if (promise_resends(route)) {
        explain_begin(out, "unknown, and the API still knows the key");
        (void)gw_buf_print(out, "sent again with it, within ");
        explain_duration(route->dedup_window_ms, out);
        (void)gw_buf_print(out, " of the first sending\n");
    }
}

/* In the order of a compensation's life. */
static void taking_back(const struct route_policy *route, struct gw_buf *out)
{
    const struct compensate_policy *policy = &route->compensate;
    if (policy->route == NULL)
        return;
    explain_begin(out, "completed, and to be taken back");
    (void)gw_buf_print(out, "%.*s %.*s, once; asked for by %s (line %u)\n", (int)policy->method.len,
                       policy->method.ptr, (int)policy->target.text.len, policy->target.text.ptr,
                       promise_compensate_by(route), policy->line);
    explain_row(out, "... asked for again", "the same one: 202, or 200 once it is done");
    explain_row(out, "... the answer lacks what it needs", "409 not-compensable, nothing is sent");
    explain_row(out, "... not one byte of it left, or refused",
                route->retry.is_on ? "tried again as retry says; else free to be asked for again"
                                   : "nothing ran; it can be asked for again");
    explain_row(out, "... no whole answer", "unknown: an operator settles it, no probe");
    explain_row(out, "to be taken back, not completed", "409 with the reason, nothing is sent");
}

void explain_again(const struct route_policy *route, struct gw_buf *out)
{
    trying(route, out);
    accepting(route, out);
    explain_row(out, "cancelled before it ran",
                "409 operation-cancelled; nothing is sent any more");
    explain_row(out, "cancel while it is sent", "asked for only; the answer still counts");
    taking_back(route, out);
}
