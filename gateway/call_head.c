/* Writes the upstream's request head anew. The received path, query and field
 * values pass byte for byte; framing, Host, Via and the forwarding fields are ours. */
#include "gateway/call_head.h"
#include "gateway/forwarded.h"
#include "gateway/owners/owners.h"
#include "gateway/trace.h"
#include "gateway/worker.h"

#include "base/text.h"
#include "policy/headers.h"

static bool is_key_field(const struct key_source *source, struct span name)
{
    if (source->from == KEY_FROM_HEADER)
        return header_same_cgi_name(source->name, name);
    for (uint32_t i = 0; i < source->part_count; i++)
        if (source->parts[i].from == KEY_FROM_HEADER &&
            header_same_cgi_name(source->parts[i].name, name))
            return true;
    return false;
}

/* Max-Forwards of an OPTIONS counts down (FWD-4). */
static bool is_counted_hop(const struct http_head *head, struct span name)
{
    return span_equal_nocase(name, SPAN("Max-Forwards")) &&
           route_method_bit(head->method) == METHOD_OPTIONS;
}

/* A new trace has no state yet: what came with an invalid traceparent belongs to none. */
static bool is_stray_tracestate(const struct http_head *head, struct span name)
{
    struct span id, flags;
    return span_equal_nocase(name, SPAN("tracestate")) &&
           (!trace_read_parent(head, &id, &flags) || !trace_state_is_sound(head));
}

/* What the route gives this field for is Recibo's to say; a digest of the body as it came
 * would be wrong of the body as it goes. */
static bool is_given_to_id(const struct flow *flow, struct span name)
{
    static const struct span of_body[] = {
        {"Content-Digest", 14}, {"Repr-Digest", 11}, {"Digest", 6}, {"Content-MD5", 11}};
    const struct add_id_policy *add_id = &flow->route->add_id;
    if (flow->route->mode != ROUTE_ENFORCE)
        return false; /* what passes names no operation: the field is the caller's own */
    if (add_id->to == ADD_ID_HEADER)
        return header_same_cgi_name(name, add_id->header);
    for (size_t i = 0; flow->splice.is_on && i < GW_COUNT(of_body); i++)
        if (span_equal_nocase(name, of_body[i]))
            return true;
    return false;
}

/* May this field of the caller's go upstream as it is? */
static bool passes(const struct flow *flow, const struct http_field *field)
{
    const struct route_policy *route = flow->route;
    const struct http_head *head = flow->head;
    uint32_t flags = header_flags(field->name);
    bool guarded = route->mode == ROUTE_ENFORCE;
    if ((flags & (HEADER_HOP | HEADER_FRAMING | HEADER_FORWARDED)) != 0)
        return false;
    if (is_counted_hop(head, field->name) || span_equal_nocase(field->name, SPAN("Host")) ||
        span_equal_nocase(field->name, SPAN("traceparent")) ||
        is_stray_tracestate(head, field->name) ||
        header_named_by_connection(head->fields, head->field_count, field->name) ||
        is_given_to_id(flow, field->name))
        return false;
    if (route->owner_index != ROUTE_NO_OWNER && route->mode != ROUTE_OBSERVE) {
        const struct conf_owner *entry = &flow->conf->owners[route->owner_index];
        /* What a CGI program would take for the owner's own field was never looked at (FWD-8). */
        if (entry->header.len > 0 && header_is_look_alike(field->name, entry->header))
            return false;
        if (route->credentials == CREDENTIALS_STRIP && owner_uses_field(entry, field->name))
            return false;
    }
    if (!guarded)
        return true;
    if ((flags & HEADER_OVERRIDE) != 0 || span_equal_nocase(field->name, SPAN("Accept-Encoding")) ||
        span_equal_nocase(field->name, SPAN("Range")))
        return false;
    /* The key stays here unless the upstream deduplicates by it (KEY-21); look-alikes always. */
    if (is_key_field(&route->key, field->name))
        return route->passes_key && route->key.from == KEY_FROM_HEADER &&
               span_equal_nocase(field->name, route->key.name);
    return true;
}

static bool add(struct flow *flow, struct span name, struct span value)
{
    return http1_write_field(&flow->call_head, name, value);
}

static bool add_host(struct flow *flow)
{
    const struct upstream_policy *upstream = flow->route->upstream;
    struct span host = upstream->host_header.len > 0 ? upstream->host_header : upstream->authority;
    if (upstream->host_preserve && flow->head->authority.len > 0)
        host = flow->head->authority;
    return add(flow, SPAN("Host"), host);
}

static void fresh_trace(struct flow *flow)
{
    uint8_t bytes[16];
    char text[33];
    worker_ports(flow->worker)->random(bytes, sizeof(bytes));
    gw_hex(bytes, sizeof(bytes), text);
    flow->trace_id = arena_print(flow->arena, "%s", text);
}

void call_head_trace(struct flow *flow)
{
    struct span id, flags;
    if (trace_read_parent(flow->head, &id, &flags))
        flow->trace_id = id;
    else
        fresh_trace(flow);
}

static bool add_trace(struct flow *flow)
{
    struct span id, flags = SPAN("00");
    uint8_t bytes[8];
    char parent[17];
    if (flow->head != NULL)
        (void)trace_read_parent(flow->head, &id, &flags); /* the id is in flow->trace_id already */
    worker_ports(flow->worker)->random(bytes, sizeof(bytes));
    bytes[0] |= 1; /* a parent id of zeros would be no id */
    gw_hex(bytes, sizeof(bytes), parent);
    struct span value = arena_print(flow->arena, "00-%.*s-%s-%.*s", (int)flow->trace_id.len,
                                    flow->trace_id.ptr, parent, (int)flags.len, flags.ptr);
    return value.len > 0 && add(flow, SPAN("traceparent"), value);
}

static bool add_operation_id(struct flow *flow)
{
    const struct add_id_policy *add_id = &flow->route->add_id;
    bool has_operation = flow->row.operation_id[0] != '\0'; /* what passes unprotected has none */
    return add_id->to != ADD_ID_HEADER || !has_operation ||
           add(flow, add_id->header, span_str(flow->row.operation_id));
}

static bool add_hops_left(struct flow *flow)
{
    const struct http_field *left = http_head_find(flow->head, SPAN("Max-Forwards"), 0);
    uint64_t hops = 0;
    if (left == NULL || !is_counted_hop(flow->head, left->name) ||
        !gw_parse_u64(left->value, &hops) || hops == 0)
        return true;
    return http1_write_number_field(&flow->call_head, SPAN("Max-Forwards"), hops - 1);
}

static bool add_via(struct flow *flow)
{
    /* What nobody asked for comes from here, as HTTP/1.1. */
    unsigned minor = flow->head == NULL ? 1 : flow->head->minor % 10u;
    struct span value = arena_print(flow->arena, "1.%u %.*s", minor, (int)flow->conf->via_name.len,
                                    flow->conf->via_name.ptr);
    return add(flow, SPAN("Via"), value);
}

static bool add_framing(struct flow *flow, enum call_framing framing, uint64_t length)
{
    bool never = flow->route->upstream->reuse == REUSE_NEVER;
    if (never && !add(flow, SPAN("Connection"), SPAN("close")))
        return false;
    switch (framing) {
    case CALL_LENGTH:
        return http1_write_number_field(&flow->call_head, SPAN("Content-Length"), length);
    case CALL_CHUNKED:
        return add(flow, SPAN("Transfer-Encoding"), SPAN("chunked"));
    case CALL_NO_BODY:
        break;
    }
    return true;
}

/* What was put together without memory may be cut short: such a head must not leave. */
static bool end_head(struct flow *flow)
{
    return http1_write_end_of_head(&flow->call_head) && !arena_has_failed(flow->arena);
}

/* A compensation is Recibo's own request: it is sent on behalf of nobody's connection. */
bool call_head_write(struct flow *flow, enum call_framing framing, uint64_t length)
{
    const struct http_head *head = flow->head;
    struct span prefix = flow->route->upstream->path_prefix;
    struct span target = head->path;
    if (prefix.len > 0)
        target = arena_print(flow->arena, "%.*s%.*s", (int)prefix.len, prefix.ptr,
                             (int)head->path.len, head->path.ptr);
    if (flow->trace_id.len == 0)
        call_head_trace(flow);
    gw_buf_clear(&flow->call_head);
    if (!http1_write_request_line(&flow->call_head, head->method, target) || !add_host(flow))
        return false;
    for (uint32_t i = 0; i < head->field_count; i++)
        if (passes(flow, &head->fields[i]) &&
            !add(flow, head->fields[i].name, head->fields[i].value))
            return false;
    if (flow->route->mode == ROUTE_ENFORCE && !add(flow, SPAN("Accept-Encoding"), SPAN("identity")))
        return false;
    return add_operation_id(flow) && add_via(flow) && add_hops_left(flow) &&
           (flow->route->is_compensation || forwarded_write(flow)) && add_trace(flow) &&
           add_framing(flow, framing, length) && end_head(flow);
}

bool call_head_write_probe(struct flow *flow, struct span target)
{
    const struct upstream_policy *upstream = flow->route->upstream;
    struct span prefix = upstream->path_prefix;
    struct span host = upstream->host_header.len > 0 ? upstream->host_header : upstream->authority;
    struct span whole = arena_print(flow->arena, "%.*s%.*s", (int)prefix.len, prefix.ptr,
                                    (int)target.len, target.ptr);
    gw_buf_clear(&flow->call_head);
    fresh_trace(flow);
    return whole.len > 0 && flow->trace_id.len > 0 &&
           http1_write_request_line(&flow->call_head, SPAN("GET"), whole) &&
           add(flow, SPAN("Host"), host) && add(flow, SPAN("Accept"), SPAN("*/*")) &&
           add(flow, SPAN("Accept-Encoding"), SPAN("identity")) && add_via(flow) &&
           add_trace(flow) && add_framing(flow, CALL_NO_BODY, 0) && end_head(flow);
}
