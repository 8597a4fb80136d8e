/* What makes two requests the same. It must never let a header take part that a
 * faithful repeat changes. */
#include "conf/loader.h"
#include "policy/headers.h"

static const struct span default_headers[] = {
    {"content-type", 12},  {"content-encoding", 16},    {"if-match", 8},
    {"if-none-match", 13}, {"if-unmodified-since", 19},
};

/* Names that differ from one honest repeat to the next, or say who asks. */
static bool changes_by_itself(struct span name)
{
    static const struct span names[] = {
        {"date", 4},        {"traceparent", 11}, {"tracestate", 10},
        {"user-agent", 10}, {"prefer", 6},       {"x-request-id", 12},
        {"via", 3},         {"connection", 10},  {"expect", 6},
    };
    for (size_t i = 0; i < GW_COUNT(names); i++)
        if (span_equal(name, names[i]))
            return true;
    if (name.len >= 6 && memcmp(name.ptr, "accept", 6) == 0)
        return true;
    return (header_flags(name) &
            (HEADER_HOP | HEADER_SECRET | HEADER_FORWARDED | HEADER_FRAMING)) != 0;
}

static bool lower_copy(struct loader *loader, struct span from, struct span *ret)
{
    char *to = loader_take(loader, 1, from.len + 1);
    if (to == NULL)
        return false;
    for (size_t i = 0; i < from.len; i++)
        to[i] = gw_lower(from.ptr[i]);
    *ret = span_of(to, from.len);
    return true;
}

static void load_headers(struct loader *loader, const struct cursor *in,
                         struct fingerprint_policy *fingerprint)
{
    uint32_t count;
    const struct yaml_node *item = cursor_items(in, "headers", &count);
    const struct yaml_node *list = yaml_member(in->node, SPAN("headers"));
    if (list == NULL) {
        fingerprint->headers = default_headers;
        fingerprint->header_count = (uint32_t)GW_COUNT(default_headers);
        return;
    }
    struct span *names = loader_take(loader, count + 1, sizeof(*names));
    fingerprint->headers = names;
    for (; item != NULL && names != NULL; item = items_next(item)) {
        struct span *name = &names[fingerprint->header_count];
        if (!lower_copy(loader, item->text, name))
            return;
        if (changes_by_itself(*name))
            node_error(loader, item, "%s: cannot take part; an honest repeat may change it",
                       item->text.ptr);
        for (uint32_t i = 0; i < fingerprint->header_count; i++)
            if (span_equal(names[i], *name))
                node_error(loader, item, "%s: given twice", item->text.ptr);
        fingerprint->header_count++;
    }
}

/* Spaces and % are encoded, so that two different policies never have one text. */
static void add_word(struct gw_buf *out, const char *before, struct span word)
{
    /* A buffer that is full is marked as failed; the caller looks at the end. */
    (void)gw_buf_add(out, span_str(before));
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.ptr[i];
        if (c <= 0x20 || c == '%' || c == 0x7f)
            (void)gw_buf_print(out, "%%%02X", c);
        else
            (void)gw_buf_byte(out, (char)c);
    }
}

static void load_mode_text(struct loader *loader, struct fingerprint_policy *fingerprint)
{
    struct gw_buf text;
    gw_buf_init(&text, CONF_SCALAR_BYTES * 4);
    /* The version stands in the text: a receipt that was compared in another way is told
     * apart from a request that changed (FPR-2). */
    (void)gw_buf_print(&text, "%s/%d", fingerprint_mode_name(fingerprint->mode),
                       CANONICAL_VERSION); /* a full buffer is seen at the end */
    for (uint32_t i = 0; i < fingerprint->body.ignore_count; i++)
        add_word(&text, " ignore=", fingerprint->body.ignore[i].text);
    for (uint32_t i = 0; i < fingerprint->body.only_count; i++)
        add_word(&text, " only=", fingerprint->body.only[i].text);
    if (fingerprint->headers != default_headers && fingerprint->header_count == 0)
        add_word(&text, " header=", span_of("", 0));
    for (uint32_t i = 0; i < fingerprint->header_count; i++)
        if (fingerprint->headers != default_headers)
            add_word(&text, " header=", fingerprint->headers[i]);
    fingerprint->mode_text =
        arena_print(loader->arena, "%.*s", (int)text.len, gw_buf_span(&text).ptr);
    if (text.failed || fingerprint->mode_text.len == 0)
        loader->no_memory = true;
    gw_buf_fini(&text);
}

void load_fingerprint(struct loader *loader, const struct cursor *cursor,
                      struct route_policy *route)
{
    struct cursor in = cursor_in(cursor, "fingerprint");
    struct fingerprint_policy *fingerprint = &route->fingerprint;
    struct canonical_options *body = &fingerprint->body;
    struct setting mode = setting_get(&in, "mode");
    fingerprint->mode = (enum fingerprint_mode)setting_word(&mode, FINGERPRINT_JSON);
    body->ignore = load_pointers(loader, &in, "ignore", &body->ignore_count);
    body->only = load_pointers(loader, &in, "only", &body->only_count);
    const char *list = body->only_count > 0 ? "only" : "ignore";
    if (body->ignore_count > 0 && body->only_count > 0)
        key_error(loader, &in, "only",
                  "ignore and only together; say what counts, or what does not");
    else if (body->ignore_count + body->only_count > 0 && !mode.is_bad &&
             fingerprint->mode != FINGERPRINT_JSON)
        key_error(loader, &in, list, "JSON pointers need mode: json, not %s", mode.text.ptr);
    load_headers(loader, &in, fingerprint);
    load_mode_text(loader, fingerprint);
}
