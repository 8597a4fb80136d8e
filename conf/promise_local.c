/* The part of the promise that speaks of local effects: the one place where once means
 * once, and what it costs. It must never promise that for anything outside of the file.
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

/* "string or null" */
static void put_types(struct gw_buf *out, uint32_t types)
{
    static const struct {
        uint32_t type;
        const char *word;
    } words[] = {{ACCEPT_STRING, "string"},
                 {ACCEPT_INTEGER, "integer"},
                 {ACCEPT_NUMBER, "number"},
                 {ACCEPT_BOOLEAN, "boolean"},
                 {ACCEPT_NULL, "null, or left out"}};
    bool is_first = true;
    for (size_t i = 0; i < GW_COUNT(words); i++) {
        if ((types & words[i].type) == 0)
            continue;
        put(out, is_first ? "" : " or ");
        put(out, words[i].word);
        is_first = false;
    }
}

void promise_taken(const struct route_policy *route, struct gw_buf *out)
{
    const struct local_policy *local = route->local;
    if (!local->takes_json) {
        put(out, local->uses_body ? "the body as it is, as text" : "nothing of the body");
        return;
    }
    put(out, "a JSON object with nothing but ");
    for (uint32_t i = 0; i < local->accept.member_count; i++) {
        put(out, i == 0 ? "" : ", ");
        put_span(out, local->accept.members[i].name);
        put(out, " (");
        put_types(out, local->accept.members[i].types);
        put(out, ")");
    }
    put(out, local->accept.member_count == 0 ? "no member at all" : "");
}

void promise_local(const struct route_policy *route, struct gw_buf *out)
{
    const struct local_policy *local = route->local;
    put(out, "\n  One key of one owner");
    put(out, route->scope_gateway ? ", over all routes with scope: gateway," : "");
    put(out, " has one effect: the receipt, the row and the answer are one commit\n"
             "    in the file of the store, proved by Recibo. Nothing is sent, and nothing can "
             "become unknown.\n  Only ");
    put_duration(out, route->retention_ms + (route->rerun_on_expiry ? 0 : route->tombstone_ms));
    put(out,
        route->rerun_on_expiry ? " later (on_expiry: rerun)" : " later, when it is forgotten,");
    put(out, " the same key has another one.\n  The effect: ");
    (void)gw_buf_print(out, "line %u, answered with %u; a statement that takes longer than ",
                       local->line, local->status);
    put_duration(out, local->time_max_ms);
    put(out, " is taken back: 503.\n  What breaks a rule of its tables gets 422: nothing is kept, "
             "and the key is not used up.\n  Taken: ");
    promise_taken(route, out);
    put(out, ".\n");
}
