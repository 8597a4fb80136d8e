/* The part of the promise that speaks of trying again and of accepting for later. It must
 * never call an attempt harmless that only the word of the API makes so.
 *
 * Ignored results: as in promise.c, a full buffer is looked at once, at the end. */
#include "conf/loader.h"
#include "conf/promise.h"
#include "policy/retry.h"

static void put(struct gw_buf *out, const char *text)
{
    (void)gw_buf_add(out, span_str(text));
}

static void put_span(struct gw_buf *out, struct span text)
{
    char shown[SHOWN_BYTES];
    value_shown(text, shown);
    put(out, shown);
}

static void put_duration(struct gw_buf *out, int64_t ms)
{
    char text[VALUE_TEXT_BYTES];
    value_print_duration(ms, text);
    put(out, text);
}

static void put_separator(struct gw_buf *out, bool *is_first)
{
    put(out, *is_first ? "" : ", ");
    *is_first = false;
}

void promise_tried(const struct route_policy *route, struct gw_buf *out)
{
    const struct retry_policy *policy = &route->retry;
    bool is_first = true;
    if (policy->when_not_sent) {
        put_separator(out, &is_first);
        put(out, "no byte of it left");
    }
    if (!status_set_is_empty(&policy->when)) {
        put_separator(out, &is_first);
        put(out, "HTTP ");
        value_print_statuses(&policy->when, out);
    }
    if (policy->when_rules) {
        put_separator(out, &is_first);
        put(out, "any rule that means refused");
    }
}

/* Whether a window is long enough for a single resend is said by the policy itself. */
bool promise_resends(const struct route_policy *route)
{
    return retry_may_resend(route, 1, 1);
}

static void put_resend(const struct route_policy *route, struct gw_buf *out)
{
    put(out, "    An outcome that is not known is tried again as well, with the same key, as long "
             "as ");
    put_span(out, route->upstream->name);
    put(out, "\n    remembers it: ");
    put_duration(out, route->dedup_window_ms);
    put(out, " from the first sending, by your word. After that it stays unknown.\n");
}

void promise_retry(const struct route_policy *route, struct gw_buf *out)
{
    const struct retry_policy *policy = &route->retry;
    if (!policy->is_on)
        return;
    put(out, "  Recibo tries again by itself after: ");
    promise_tried(route, out);
    if (policy->line > 0)
        (void)gw_buf_print(out, " (line %u)", policy->line);
    (void)gw_buf_print(out, ".\n    At most %u attempt%s in ", policy->attempts_max,
                       policy->attempts_max == 1 ? "" : "s");
    put_duration(out, policy->within_ms);
    put(out, ", those of the caller's repeats included; the next repeat after that\n    opens a "
             "new window. Between two of them lie 0 to ");
    put_duration(out, policy->backoff.base_ms);
    put(out, ", doubled each time up to ");
    put_duration(out, policy->backoff.max_ms);
    put(out, ",\n    by chance, and never less than a Retry-After says. A caller is kept waiting "
             "for it up to ");
    put_duration(out, policy->wait_at_most_ms);
    put(out, ".\n");
    if (promise_resends(route))
        put_resend(route, out);
}

void promise_defer(const struct route_policy *route, struct gw_buf *out)
{
    const struct defer_policy *policy = &route->defer;
    if (policy->when == DEFER_NEVER)
        return;
    put(out, policy->when == DEFER_ALWAYS
                 ? "  Each request is accepted (202)"
                 : "  A request with Prefer: respond-async is accepted (202)");
    (void)gw_buf_print(out, " once it is on the disk, and sent later, %u at a time,\n    without ",
                       policy->concurrency);
    put(out, "the caller's credentials. If it has not run within ");
    put_duration(out, policy->max_age_ms);
    put(out, ", or is refused for good, it is\n    cancelled, and its repeat is told so; it is "
             "never dropped in silence.\n");
}
