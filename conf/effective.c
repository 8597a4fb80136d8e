/* Values that came out of others while loading, printed again for people. It must
 * never compute them a second time: it prints what the snapshot holds. */
#include "conf/loader.h"

/* A buffer that is full is marked as failed; whoever began the printing looks at the end. */
static void print_span(struct gw_buf *out, struct span text)
{
    (void)gw_buf_add(out, text);
}

static void print_duration(struct gw_buf *out, int64_t ms)
{
    char text[VALUE_TEXT_BYTES];
    value_print(CONF_DURATION, ms, text);
    print_span(out, span_str(text));
}

void print_methods(uint32_t methods, struct gw_buf *out)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    bool is_first = true;
    for (size_t i = 0; i < GW_COUNT(names); i++) {
        if ((methods & route_method_bit(span_str(names[i]))) == 0)
            continue;
        (void)gw_buf_print(out, "%s%s", is_first ? "" : " ", names[i]); /* as in print_span */
        is_first = false;
    }
}

static bool print_route(const struct effective_of *of, const char *path, struct gw_buf *out)
{
    const struct route_policy *route = of->route;
    if (strcmp(path, "routes[].match.methods") == 0) {
        print_methods(route->methods, out);
    } else if (strcmp(path, "routes[].upstream") == 0) {
        if (route->upstream == NULL)
            return false;
        print_span(out, route->upstream->name);
    } else if (strcmp(path, "routes[].owner") == 0) {
        print_span(out, route->owner_index == ROUTE_NO_OWNER
                            ? SPAN("none")
                            : of->conf->owners[route->owner_index].name);
    } else if (strcmp(path, "routes[].key.name") == 0) {
        if (route->key.from != KEY_FROM_HEADER)
            return false;
        print_span(out, route->key.name);
    } else if (strcmp(path, "routes[].upstream_idempotency.header") == 0) {
        print_span(out, route->key.name);
    } else if (strcmp(path, "routes[].fingerprint.headers") == 0) {
        for (uint32_t i = 0; i < route->fingerprint.header_count; i++) {
            print_span(out, span_str(i == 0 ? "" : ", "));
            print_span(out, route->fingerprint.headers[i]);
        }
    } else if (strcmp(path, "routes[].reconcile.quiet_time") == 0) {
        print_duration(out, route->quiet_ms);
    } else if (strcmp(path, "routes[].tombstone") == 0) {
        print_duration(out, route->tombstone_ms);
    } else if (strcmp(path, "routes[].on_changed_after_release") == 0) {
        print_span(out, route->replace_on_change ? SPAN("replace") : SPAN("refuse"));
    } else {
        return false;
    }
    return true;
}

static bool print_owner(const struct conf_owner *owner, const char *path, struct gw_buf *out)
{
    struct span text = {NULL, 0};
    if (strcmp(path, "owners.*.header") == 0)
        text = owner->header;
    else if (strcmp(path, "owners.*.realm") == 0)
        text = owner->realm;
    else if (strcmp(path, "owners.*.owner") == 0)
        text = owner->owner;
    else if (strcmp(path, "owners.*.trusted") == 0 && owner->kind == OWNER_HEADER)
        text = SPAN("trusted_proxies");
    if (text.len > 0)
        print_span(out, text);
    return text.len > 0;
}

bool effective_print(const struct effective_of *of, uint32_t row, struct gw_buf *out)
{
    const char *path = field_at(row)->path;
    if (of->route != NULL)
        return print_route(of, path, out);
    if (of->owner != NULL)
        return print_owner(of->owner, path, out);
    if (strcmp(path, "upstreams.*.timeouts.first_byte") == 0)
        print_duration(out, of->upstream->first_byte_ms);
    else if (strcmp(path, "upstreams.*.tls.name") == 0 && of->upstream->tls.is_on)
        print_span(out, of->upstream->tls.name);
    else if (strcmp(path, "upstreams.*.timeouts.late") == 0)
        print_duration(out, of->upstream->late_ms);
    else if (strcmp(path, "listen") == 0)
        print_span(out, of->conf->listen[0].text);
    else if (strcmp(path, "admin.actor_header.from") == 0 && of->conf->actor_header.len > 0)
        print_span(out, SPAN("trusted_proxies"));
    else if (strcmp(path, "drain") == 0)
        print_duration(out, of->conf->drain_ms);
    else
        return false;
    return true;
}
