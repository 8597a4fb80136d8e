/* What else is read out of a request: single values, labels, and the evidence an
 * operator will see. Credentials never get in here. */
#include "gateway/media.h"
#include "gateway/owners/owners.h"
#include "gateway/print.h"
#include "gateway/worker.h"

#include "policy/headers.h"

#define REDACTED       "[redacted]"
#define REDACTIONS_MAX 64 /* as many as a route may list */

static void collect(void *ctx, struct span piece)
{
    struct gw_buf *buf = ctx;
    (void)gw_buf_add(buf, piece); /* bounded by the text it decodes; failure is seen at the end */
}

static bool decoded_json(struct flow *flow, struct span raw, bool has_escapes, struct span *ret)
{
    struct gw_buf text;
    gw_buf_init(&text, raw.len + 1);
    json_decode(raw, has_escapes, collect, &text);
    bool ok = !text.failed && arena_copy(flow->arena, gw_buf_span(&text), ret);
    gw_buf_fini(&text);
    return ok;
}

bool print_json_text(struct flow *flow, const struct parsed_body *body,
                     const struct json_pointer *pointer, struct span *ret_text, bool *ret_is_string)
{
    if (!body->is_json)
        return false;
    uint32_t at = json_find(&body->doc, pointer);
    if (at == JSON_NONE)
        return false;
    const struct json_node *node = &body->doc.nodes[at];
    struct span raw = span_of(body->doc.text.ptr + node->start, node->end - node->start);
    *ret_is_string = node->kind == JSON_KIND_STRING;
    if (node->kind == JSON_KIND_STRING)
        return decoded_json(flow, raw, node->has_escapes != 0, ret_text);
    if (node->kind == JSON_KIND_ARRAY || node->kind == JSON_KIND_OBJECT ||
        node->kind == JSON_KIND_NULL)
        return false;
    return arena_copy(flow->arena, raw, ret_text);
}

bool print_form_text(struct flow *flow, const struct parsed_body *body, struct span name,
                     struct span *ret_text)
{
    if (!body->is_form)
        return false;
    struct span content = gw_buf_span(&flow->body);
    uint32_t at = form_find(content, body->pairs, body->pair_count, name);
    if (at == JSON_NONE || !body->pairs[at].has_value)
        return false;
    const struct form_pair *pair = &body->pairs[at];
    struct gw_buf text;
    gw_buf_init(&text, content.len + 1);
    form_decode(span_of(content.ptr + pair->value, pair->value_end - pair->value), collect, &text);
    bool ok = !text.failed && arena_copy(flow->arena, gw_buf_span(&text), ret_text);
    gw_buf_fini(&text);
    return ok;
}

/* Escapes decoded once: /orders/%31 and /orders/1 name the same thing. */
bool print_path_text(const struct flow *flow, struct span name, struct span *ret_text)
{
    for (uint32_t i = 0; i < flow->match.param_count; i++) {
        if (!span_equal(flow->match.params[i].name, name))
            continue;
        struct span raw = flow->match.params[i].value;
        char *room = arena_take(flow->arena, raw.len);
        size_t len = 0;
        if (room == NULL)
            return false;
        for (size_t at = 0; at < raw.len; at++) {
            bool escaped = raw.ptr[at] == '%' && at + 2 < raw.len &&
                           gw_hex_value(raw.ptr[at + 1]) >= 0 && gw_hex_value(raw.ptr[at + 2]) >= 0;
            room[len++] = escaped ? (char)(unsigned char)(gw_hex_value(raw.ptr[at + 1]) * 16 +
                                                          gw_hex_value(raw.ptr[at + 2]))
                                  : raw.ptr[at];
            at += escaped ? 2 : 0;
        }
        *ret_text = span_of(room, len);
        return true;
    }
    return false;
}

bool print_label_text(struct flow *flow, const struct parsed_body *body,
                      const struct label_policy *label, struct span *ret_text)
{
    bool is_string = false;
    switch (label->from) {
    case LABEL_FROM_JSON:
        return print_json_text(flow, body, &label->pointer, ret_text, &is_string);
    case LABEL_FROM_FORM:
        return print_form_text(flow, body, label->source, ret_text);
    case LABEL_FROM_PATH:
        return print_path_text(flow, label->source, ret_text);
    case LABEL_FROM_HEADER:
        break;
    }
    const struct http_field *field = http_head_find(flow->head, label->source, 0);
    if (field == NULL)
        return false;
    *ret_text = field->value;
    return true;
}

bool print_labels(struct flow *flow, const struct parsed_body *body)
{
    struct label labels[ROUTE_LABELS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < flow->route->label_count; i++) {
        struct span text;
        if (!print_label_text(flow, body, &flow->route->labels[i], &text) || text.len == 0)
            continue;
        if (text.len > LABEL_VALUE_BYTES)
            text.len = LABEL_VALUE_BYTES;
        labels[count++] = (struct label){flow->route->labels[i].name, text};
    }
    struct gw_buf packed;
    gw_buf_init(&packed, worker_flow_bytes_max(flow->worker));
    bool ok = labels_encode(&packed, labels, count) &&
              arena_copy(flow->arena, gw_buf_span(&packed), &flow->labels);
    gw_buf_fini(&packed);
    return ok;
}

/* ---- evidence ---- */

struct cut {
    size_t from, to;
    bool quoted;
};

static void insert_cut(struct cut *cuts, uint32_t *count, struct cut cut)
{
    uint32_t at = *count;
    for (; at > 0 && cuts[at - 1].from > cut.from; at--)
        cuts[at] = cuts[at - 1];
    cuts[at] = cut;
    (*count)++;
}

/* false: the body cannot be redacted as the route asks, so it is not kept at all. */
static bool find_cuts(struct flow *flow, const struct parsed_body *body, struct cut *cuts,
                      uint32_t *ret_count)
{
    const struct route_policy *route = flow->route;
    *ret_count = 0;
    if (route->redact_count == 0)
        return true;
    if (route->redact_count > REDACTIONS_MAX || !(body->is_json || body->is_form))
        return false;
    for (uint32_t i = 0; i < route->redact_count; i++) {
        const struct json_pointer *pointer = &route->redact[i];
        uint32_t at = body->is_json ? json_find(&body->doc, pointer) : JSON_NONE;
        if (at != JSON_NONE) {
            const struct json_node *node = &body->doc.nodes[at];
            uint32_t quote = node->kind == JSON_KIND_STRING ? 1 : 0;
            insert_cut(cuts, ret_count, (struct cut){node->start - quote, node->end + quote, true});
        }
        for (uint32_t j = 0; body->is_form && pointer->step_count == 1 && j < body->pair_count &&
                             *ret_count < REDACTIONS_MAX;
             j++) {
            const struct form_pair *pair = &body->pairs[j];
            if (form_find(gw_buf_span(&flow->body), pair, 1, pointer->steps[0]) == 0)
                insert_cut(cuts, ret_count, (struct cut){pair->value, pair->value_end, false});
        }
    }
    return *ret_count < REDACTIONS_MAX || !body->is_form;
}

static bool redacted_body(struct flow *flow, const struct parsed_body *body, struct span *ret)
{
    struct cut cuts[REDACTIONS_MAX + 1];
    uint32_t count = 0;
    struct span text = gw_buf_span(&flow->body);
    if (!find_cuts(flow, body, cuts, &count))
        return false;
    struct gw_buf out;
    gw_buf_init(&out, text.len + count * sizeof(REDACTED) + count * 2 + 1);
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (cuts[i].from < at) /* lies inside what is cut already */
            continue;
        (void)gw_buf_add(&out, span_of(text.ptr + at, cuts[i].from - at)); /* room was counted */
        (void)gw_buf_add(&out, cuts[i].quoted ? SPAN("\"" REDACTED "\"") : SPAN(REDACTED));
        at = cuts[i].to;
    }
    (void)gw_buf_add(&out, span_of(text.ptr + at, text.len - at));
    bool ok = !out.failed && arena_copy(flow->arena, gw_buf_span(&out), ret);
    gw_buf_fini(&out);
    return ok;
}

bool print_may_be_kept(const struct flow *flow, struct span name)
{
    const struct conf_owner *entry = &flow->conf->owners[flow->route->owner_index];
    return !header_is_secret(name) && !owner_uses_field(entry, name);
}

bool print_evidence(struct flow *flow, const struct parsed_body *body)
{
    const struct route_policy *route = flow->route;
    gw_buf_clear(&flow->packed_request);
    if (!route->evidence_headers && !route->evidence_body)
        return true;
    struct stored_message message = {.body_bytes = flow->body.len};
    message.fields =
        arena_take(flow->arena, (flow->head->field_count + 1) * sizeof(*message.fields));
    if (message.fields == NULL)
        return false;
    for (uint32_t i = 0; route->evidence_headers && i < flow->head->field_count; i++)
        if (print_may_be_kept(flow, flow->head->fields[i].name))
            message.fields[message.field_count++] = flow->head->fields[i];
    struct span kept;
    if (route->evidence_body && redacted_body(flow, body, &kept)) {
        message.body = kept;
        message.body_kept = true;
    }
    return message_encode(&flow->packed_request, &message);
}
