/* The part of the promise that speaks of the probe and of the operation id on its way.
 * It must never call a hint a proof.
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

static void put_duration(struct gw_buf *out, int64_t ms)
{
    char text[VALUE_TEXT_BYTES];
    value_print_duration(ms, text);
    put(out, text);
}

static void promise_executed(const struct probe_policy *probe, struct gw_buf *out)
{
    put(out, "    It ran: ");
    promise_rule(&probe->executed, out);
    if (probe->answer_status == 0) {
        put(out, ". Callers are told so, without an answer (409 result-unavailable).\n");
        return;
    }
    (void)gw_buf_print(out, ". Callers then get %u", probe->answer_status);
    if (probe->answer_has_body) {
        put(out, " with what stands at ");
        put_span(out,
                 probe->answer_body.text.len == 0 ? SPAN("the root") : probe->answer_body.text);
        put(out, " of that answer");
    }
    put(out, ".\n");
}

static void promise_absent(const struct probe_policy *probe, struct gw_buf *out)
{
    put(out, "    It did not run: ");
    promise_rule(&probe->absent, out);
    put(out, probe->absent_is_proof
                 ? ". Taken for a proof, by your word: the key is free again.\n"
                 : ". A hint: it is shown to the operator, and settles nothing.\n");
}

void promise_probe(const struct route_policy *route, struct gw_buf *out)
{
    const struct probe_policy *probe = &route->probe;
    if (!probe->is_on)
        return;
    (void)gw_buf_print(out, "  The probe (line %u) sends GET ", probe->line);
    put_span(out, probe->target.text);
    put(out, " to ");
    put_span(out, route->upstream->name);
    put(out, ",\n    with nothing of the caller's, not before ");
    put_duration(out, route->quiet_ms);
    (void)gw_buf_print(out, " after the last sending, at most %u time%s by itself, first ",
                       probe->attempts_max, probe->attempts_max == 1 ? "" : "s");
    put_duration(out, probe->every_ms);
    put(out, " apart.\n");
    if (probe->has_executed)
        promise_executed(probe, out);
    if (probe->has_absent)
        promise_absent(probe, out);
    put(out, "    Any other answer, or none, leaves it unknown.\n");
}

void promise_operation_id(const struct route_policy *route, struct gw_buf *out)
{
    if (route->add_id.to == ADD_ID_NOWHERE)
        return;
    put(out, "  ");
    put_span(out, route->upstream->name);
    bool in_header = route->add_id.to == ADD_ID_HEADER;
    put(out, in_header ? " is told the operation id, in the header "
                       : " is told the operation id, as the member ");
    put_span(out, in_header ? route->add_id.header : route->add_id.pointer.text);
    put(out, in_header ? ".\n" : " of the body; a body that has it already is refused.\n");
}
