/* The contract document. It tells nothing of upstreams or credentials. */
#include "gateway/rooms/contract.h"
#include "gateway/worker.h"

#include <inttypes.h>

static void write_key(struct gw_buf *out, const struct key_source *key)
{
    static const char *const from[] = {"header", "json", "form", "path", "all", "content"};
    /* A full buffer is seen at the end. */
    (void)gw_buf_print(out, ",\"key\":{\"from\":\"%s\",\"required\":%s", from[key->from],
                       key->required ? "true" : "false");
    if (key->from == KEY_FROM_JSON) {
        (void)gw_buf_print(out, ",\"pointer\":");
        gw_json_string(out, key->pointer.text);
    } else if (key->from == KEY_FROM_CONTENT) {
        (void)gw_buf_print(out, ",\"window_seconds\":%" PRId64 ",\"only_undelivered\":%s}",
                           key->window_ms / 1000, key->only_undelivered ? "true" : "false");
        return;
    } else if (key->from != KEY_FROM_ALL) {
        (void)gw_buf_print(out, ",\"name\":");
        gw_json_string(out, key->name);
    }
    (void)gw_buf_print(out, ",\"min_bytes\":%u,\"max_bytes\":%u,\"format\":\"%s\"}",
                       key->grammar.bytes_min, key->grammar.bytes_max,
                       key->grammar.uuid ? "uuid" : "any");
}

/* May what was carried out be taken back, and where does its owner ask? */
static void write_compensation(struct gw_buf *out, struct span own_prefix,
                               const struct route_policy *route)
{
    bool by_operator = (route->compensate.by & COMPENSATE_BY_OPERATOR) != 0;
    bool by_owner = (route->compensate.by & COMPENSATE_BY_OWNER) != 0;
    /* A full buffer is seen at the end. */
    (void)gw_buf_print(out, ",\"compensation\":");
    if (route->compensate.route == NULL) {
        (void)gw_buf_print(out, "null");
        return;
    }
    (void)gw_buf_print(out, "{\"by\":[%s%s%s],\"ask\":", by_operator ? "\"operator\"" : "",
                       by_operator && by_owner ? "," : "", by_owner ? "\"owner\"" : "");
    if (by_owner)
        (void)gw_buf_print(out, "\"%.*soperations/{operation_id}/compensate\"}",
                           (int)own_prefix.len, own_prefix.ptr);
    else
        (void)gw_buf_print(out, "null}");
}

static void write_route(struct gw_buf *out, struct span own_prefix,
                        const struct route_policy *route)
{
    (void)gw_buf_print(out, "{\"route\":");
    gw_json_string(out, route->name);
    (void)gw_buf_print(out, ",\"path\":");
    gw_json_string(out, route->path);
    write_key(out, &route->key);
    (void)gw_buf_print(
        out, ",\"scope\":\"%s\",\"compared\":", route->scope_gateway ? "gateway" : "route");
    gw_json_string(out, route->fingerprint.mode_text);
    write_compensation(out, own_prefix, route);
    (void)gw_buf_print(
        out,
        ",\"request_body_max\":%" PRIu64 ",\"retention_seconds\":%" PRId64
        ",\"after_retention\":\"%s\",\"refused_until_seconds\":%" PRId64
        ",\"state\":\"%.*soperations/{operation_id}\"}",
        route->request_body_max, route->retention_ms / 1000,
        route->rerun_on_expiry ? "a repeat is a new operation" : "a repeat is refused",
        (route->retention_ms + route->tombstone_ms) / 1000, (int)own_prefix.len, own_prefix.ptr);
}

struct span contract_document(struct flow *flow)
{
    struct gw_buf out;
    struct span body = SPAN("");
    uint32_t count = 0;
    gw_buf_init(&out, worker_flow_bytes_max(flow->worker));
    (void)gw_buf_print(&out, "{\"routes\":[");
    for (uint32_t i = 0; i < flow->conf->routes.count; i++) {
        const struct route_policy *route = &flow->conf->routes.routes[i];
        if (route->mode != ROUTE_ENFORCE)
            continue;
        if (count++ > 0)
            (void)gw_buf_byte(&out, ',');
        write_route(&out, flow->conf->own_prefix, route);
    }
    (void)gw_buf_print(&out, "]}\n");
    if (out.failed || !arena_copy(flow->arena, gw_buf_span(&out), &body))
        body = SPAN("");
    gw_buf_fini(&out);
    return body;
}
