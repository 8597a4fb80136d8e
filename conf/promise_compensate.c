/* The part of the promise that speaks of taking back. It must never call a thing taken
 * back that was only asked for.
 *
 * Ignored results: as in promise.c, a full buffer is looked at once, at the end. */
#include "conf/loader.h"
#include "conf/promise.h"

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

const char *promise_compensate_by(const struct route_policy *route)
{
    bool operator_may = (route->compensate.by & COMPENSATE_BY_OPERATOR) != 0;
    bool owner_may = (route->compensate.by & COMPENSATE_BY_OWNER) != 0;
    return operator_may && owner_may ? "an operator or its owner"
           : owner_may               ? "its owner"
                                     : "an operator";
}

void promise_compensate(const struct route_policy *route, struct gw_buf *out)
{
    const struct compensate_policy *policy = &route->compensate;
    if (policy->route == NULL)
        return;
    put(out, "  What was carried out can be taken back while its receipt is kept, if ");
    put(out, promise_compensate_by(route));
    (void)gw_buf_print(out, " asks\n    (line %u): ", policy->line);
    put_span(out, policy->method);
    put(out, " ");
    put_span(out, policy->target.text);
    put(out, " to ");
    put_span(out, route->upstream->name);
    put(out, ", at most once, however often it is asked for. It is an\n    operation of its own, "
             "without the caller's credentials: answers mean what they mean here, and one\n"
             "    without an outcome waits for a person; no probe asks about it.\n");
}
