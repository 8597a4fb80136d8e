/* Where a route's key comes from. It must never leave a source without the name
 * or the pointer that it needs. */
#include "conf/loader.h"
#include "policy/headers.h"

static bool path_has_param(const struct route_policy *route, struct span name)
{
    for (uint32_t i = 0; i < route->segment_count; i++)
        if (route->segments[i].kind == SEGMENT_PARAM && span_equal(route->segments[i].text, name))
            return true;
    return false;
}

/* Request headers with a meaning of their own: clients, libraries and proxies set them
 * for another reason, so that different operations share a value, or a repeat has another
 * one. A name that ends in "*" stands for every name that begins so. */
static bool header_says_something_else(struct span name)
{
    static const char *const names[] = {
        /* what the content is, and which answer is wanted */
        "accept*", "content-*", "range", "prefer", "want-*", "digest", "repr-digest", "te", "etag",
        "last-modified", "link", "location", "allow", "vary", "mime-version", "soapaction",
        /* conditions and caches */
        "if", "if-*", "cache-control", "pragma", "age", "date", "expires", "warning", "retry-after",
        "early-data", "priority", "save-data", "dnt",
        /* who sends, and on which way */
        "user-agent", "from", "referer", "origin", "host", "via", "server", "max-forwards",
        "alt-used", "sec-*", "access-control-*", "x-requested-with", "x-client-ip",
        "true-client-ip", "cf-*", "cdn-loop", "client-cert*", "x-ssl-*", "x-forwarded*",
        "upgrade-insecure-requests", "device-memory", "dpr", "downlink", "ect", "rtt",
        "viewport-width", "width",
        /* made anew for each sending, so that a repeat has another one */
        "traceparent", "tracestate", "baggage", "b3", "x-b3-*", "x-amzn-trace-id",
        "x-cloud-trace-context", "uber-trace-id", "uberctx-*", "sentry-trace", "x-datadog-*",
        "x-ot-*", "grpc-*", "x-request-start", "x-queue-start", "x-envoy-*", "signature*",
        "x-signature*", "x-hub-signature*", "x-amz-date", "x-amz-content-*", "dpop", "x-timestamp",
        "x-stainless-*", "x-retry-*", "amz-sdk-*",
        /* file servers */
        "depth", "destination", "overwrite", "lock-token", "timeout"};
    for (size_t i = 0; i < GW_COUNT(names); i++) {
        struct span known = span_str(names[i]);
        bool is_stem = known.ptr[known.len - 1] == '*';
        known.len -= is_stem ? 1 : 0;
        if (is_stem
                ? name.len >= known.len && header_same_cgi_name(known, span_of(name.ptr, known.len))
                : header_same_cgi_name(known, name))
            return true;
    }
    return false;
}

static void load_header_name(struct loader *loader, const struct cursor *cursor,
                             struct key_source *source)
{
    const uint32_t unfit = HEADER_HOP | HEADER_FRAMING | HEADER_SECRET | HEADER_FORWARDED |
                           HEADER_OVERRIDE | HEADER_OWNED | HEADER_COOKIE | HEADER_FRESH |
                           HEADER_NO_STORE;
    if (source->name.len == 0)
        source->name = SPAN("Idempotency-Key");
    if (value_word(CONF_HEADER, source->name) != NULL)
        key_error(loader, cursor, "name", "%s: must be the name of a header", source->name.ptr);
    else if ((header_flags(source->name) & unfit) != 0 || header_says_something_else(source->name))
        key_error(loader, cursor, "name",
                  "%s: a header with a meaning of its own cannot be the key", source->name.ptr);
}

/* Which of name, pointer and of belong to the source. */
static void check_parts(struct loader *loader, const struct cursor *cursor, enum key_from from)
{
    static const char *const words[] = {"header", "json", "form", "path", "all", "content"};
    static const char *const wanted[] = {"name", "pointer", "name", "name", "of", "window"};
    static const char *const keys[] = {"name", "pointer", "of", "window"};
    for (size_t i = 0; i < GW_COUNT(keys); i++) {
        if (field_child(cursor->row, span_str(keys[i])) == FIELD_NONE)
            continue; /* a part of a composite has no `of` and no `window` */
        const struct yaml_node *node = yaml_member(cursor->node, span_str(keys[i]));
        bool is_wanted = strcmp(keys[i], wanted[from]) == 0;
        if (node != NULL && !is_wanted)
            key_error(loader, cursor, keys[i], "has no meaning for from: %s", words[from]);
        else if (node == NULL && is_wanted && from != KEY_FROM_HEADER)
            key_error(loader, cursor, keys[i], "required for from: %s, but missing", words[from]);
    }
}

static void load_source(struct loader *loader, const struct cursor *cursor,
                        const struct route_policy *route, struct key_source *source)
{
    struct setting from = setting_get(cursor, "from");
    struct setting name = setting_get(cursor, "name");
    source->from = (enum key_from)setting_word(&from, KEY_FROM_HEADER);
    source->name = name.text;
    if (from.is_bad)
        return;
    check_parts(loader, cursor, source->from);
    switch (source->from) {
    case KEY_FROM_HEADER:
        if (!name.is_bad)
            load_header_name(loader, cursor, source);
        break;
    case KEY_FROM_JSON:
        if (!load_pointer(loader, cursor_text(cursor, "pointer"), &source->pointer))
            loader->no_memory = true;
        break;
    case KEY_FROM_PATH:
        if (name.from == FROM_FILE && route->segment_count > 0 && !path_has_param(route, name.text))
            key_error(loader, cursor, "name", "%s: match.path has no {%s}", name.text.ptr,
                      name.text.ptr);
        break;
    case KEY_FROM_FORM:
    case KEY_FROM_ALL:
    case KEY_FROM_CONTENT:
        break;
    }
}

static void load_grammar(struct loader *loader, const struct cursor *key,
                         struct key_grammar *grammar)
{
    grammar->bytes_min = (uint32_t)cursor_number(key, "min");
    grammar->bytes_max = (uint32_t)cursor_number(key, "max");
    grammar->strict = cursor_bool(key, "strict");
    grammar->uuid = cursor_word(key, "format", 0) == 1;
    grammar->pattern = cursor_text(key, "pattern");
    grammar->extra = cursor_text(key, "extra");
    if (grammar->bytes_min > grammar->bytes_max && !setting_get(key, "min").is_bad &&
        !setting_get(key, "max").is_bad)
        key_error(loader, key, setting_get(key, "min").from == FROM_FILE ? "min" : "max",
                  "min %u is over max %u", grammar->bytes_min, grammar->bytes_max);
    if (grammar->strict && grammar->extra.len > 0)
        key_error(loader, key, "extra",
                  "has no meaning with strict: true, which takes quoted keys "
                  "only");
    if (grammar->uuid && grammar->bytes_max < 36)
        key_error(loader, key, "max", "%u: a uuid has 36 bytes", grammar->bytes_max);
}

static void load_parts(struct loader *loader, const struct cursor *key, struct route_policy *route)
{
    uint32_t count;
    const struct yaml_node *item = cursor_items(key, "of", &count);
    struct key_source *parts = loader_take(loader, count + 1, sizeof(*parts));
    if (parts == NULL)
        return;
    route->key.parts = parts;
    for (; item != NULL; item = items_next(item)) {
        struct cursor cursor = cursor_of(item, span_of(NULL, 0));
        struct key_source *part = &parts[route->key.part_count++];
        part->required = route->key.required;
        part->grammar = route->key.grammar;
        load_source(loader, &cursor, route, part);
    }
}

/* What a caller could have said in a key, nobody says here. */
static void check_content(struct loader *loader, const struct cursor *cursor,
                          const struct cursor *key, const struct route_policy *route)
{
    static const char *const none[] = {"min", "max", "strict", "format", "pattern", "extra"};
    char window[VALUE_TEXT_BYTES], retention[VALUE_TEXT_BYTES];
    bool is_given = setting_get(key, "window").from == FROM_FILE;
    for (size_t i = 0; i < GW_COUNT(none); i++)
        if (setting_get(key, none[i]).from == FROM_FILE)
            key_error(loader, key, none[i], "has no meaning for from: content");
    if (setting_get(cursor, "on_expiry").from == FROM_FILE)
        key_error(
            loader, cursor, "on_expiry",
            "has no meaning for key.from: content: after the window the same content is a new "
            "operation");
    if (route->scope_gateway)
        key_error(loader, cursor, "scope",
                  "gateway: a content key is of its route alone, since the target is a part of the "
                  "content");
    value_print(CONF_DURATION, route->key.window_ms, window);
    value_print(CONF_DURATION, route->retention_ms, retention);
    if (is_given && route->key.window_ms > route->retention_ms)
        key_error(loader, key, "window",
                  "%s: longer than retention %s, after which nothing is known of the content",
                  window, retention);
    if (is_given && !route->key.only_undelivered)
        key_warning(loader, key, "from",
                    "content: two requests of one owner that are alike are one operation for %s, "
                    "also when both are meant; with only: undelivered the second one is a new "
                    "operation once the answer to the first has arrived",
                    window);
}

void validate_key(struct loader *loader, const struct cursor *cursor,
                  const struct route_policy *route)
{
    struct cursor key = cursor_in(cursor, "key");
    if (route->key.from == KEY_FROM_CONTENT)
        check_content(loader, cursor, &key, route);
    else if (setting_get(&key, "only").from == FROM_FILE)
        key_error(loader, &key, "only", "needs from: content");
}

void load_key(struct loader *loader, const struct cursor *cursor, struct route_policy *route)
{
    struct cursor key = cursor_in(cursor, "key");
    route->key.required = cursor_bool(&key, "required");
    load_grammar(loader, &key, &route->key.grammar);
    load_source(loader, &key, route, &route->key);
    route->key.window_ms = cursor_number(&key, "window");
    route->key.only_undelivered = setting_get(&key, "only").from == FROM_FILE;
    if (route->key.from == KEY_FROM_ALL)
        load_parts(loader, &key, route);
    /* A key in the content is known when the body is read, and then nothing streams any more. */
    if (!route->key.required && route->key.from != KEY_FROM_HEADER)
        key_error(loader, &key, "required",
                  "false: only a key from a header may be left out; a request without this key is "
                  "refused");
}

/* ---- labels share the sources ---- */

static void load_label(struct loader *loader, const struct yaml_node *node,
                       const struct route_policy *route, struct label_policy *label)
{
    static const char *const keys[] = {"json", "header", "form", "path"};
    struct cursor cursor = cursor_of(node, span_of(NULL, 0));
    label->name = node->name;
    if (node->count != 1)
        key_error(loader, &cursor, NULL, "must have exactly one of json, header, form, path");
    for (size_t i = 0; i < GW_COUNT(keys); i++) {
        struct setting source = setting_get(&cursor, keys[i]);
        if (source.from != FROM_FILE)
            continue;
        label->from = (enum label_from)i;
        label->source = source.text;
        if (label->from == LABEL_FROM_JSON && !load_pointer(loader, source.text, &label->pointer))
            loader->no_memory = true;
        if (label->from == LABEL_FROM_HEADER && (header_flags(source.text) & HEADER_SECRET) != 0)
            key_error(loader, &cursor, "header", "%s: credentials are never kept", source.text.ptr);
        if (label->from == LABEL_FROM_PATH && route->segment_count > 0 &&
            !path_has_param(route, source.text))
            key_error(loader, &cursor, "path", "%s: match.path has no {%s}", source.text.ptr,
                      source.text.ptr);
    }
}

void load_labels(struct loader *loader, const struct cursor *cursor, struct route_policy *route)
{
    uint32_t count;
    for (const struct yaml_node *item = cursor_items(cursor, "labels", &count);
         item != NULL && route->label_count < ROUTE_LABELS_MAX; item = items_next(item))
        load_label(loader, item, route, &route->labels[route->label_count++]);
}
