/* The entries of upstreams. It must never look up a name or connect. */
#include "conf/loader.h"

#define FIRST_BYTE_MS 30000
#define LATE_MS       600000

static void load_timeouts(const struct cursor *entry, struct upstream_policy *upstream)
{
    struct cursor in = cursor_in(entry, "timeouts");
    upstream->connect_ms = cursor_number(&in, "connect");
    upstream->tls_ms = cursor_number(&in, "tls");
    upstream->send_ms = cursor_number(&in, "send");
    upstream->first_byte_ms = number_or(&in, "first_byte", FIRST_BYTE_MS);
    upstream->idle_ms = cursor_number(&in, "idle");
    upstream->answer_ms = cursor_number(&in, "answer");
    upstream->late_ms = number_or(&in, "late", LATE_MS);
    /* Only what the file says can contradict answer; a default gives way. */
    if (setting_get(&in, "first_byte").from != FROM_FILE &&
        upstream->first_byte_ms > upstream->answer_ms)
        upstream->first_byte_ms = upstream->answer_ms;
    if (setting_get(&in, "late").from != FROM_FILE && upstream->late_ms < upstream->answer_ms)
        upstream->late_ms = upstream->answer_ms;
}

static bool own_text(struct loader *loader, struct span *text)
{
    struct span copy = arena_print(loader->arena, "%.*s", (int)text->len, text->ptr);
    if (copy.ptr == NULL)
        return false;
    *text = copy;
    return true;
}

static void load_url(struct loader *loader, const struct cursor *entry,
                     struct upstream_policy *upstream)
{
    struct value_url url;
    struct setting text = setting_get(entry, "url");
    if (text.from != FROM_FILE || value_url(text.text, &url) != NULL)
        return; /* was reported */
    if (!own_text(loader, &url.host) || !own_text(loader, &url.authority) ||
        !own_text(loader, &url.path_prefix)) {
        loader->no_memory = true;
        return;
    }
    upstream->host = url.host;
    upstream->port = url.port;
    upstream->authority = url.authority;
    upstream->path_prefix = url.path_prefix;
    upstream->tls.is_on = url.is_tls;
}

/* Explicit values only: a bad one has its own finding. */
static void check_timeouts(struct loader *loader, const struct cursor *entry,
                           const struct upstream_policy *upstream)
{
    struct cursor in = cursor_in(entry, "timeouts");
    char small[VALUE_TEXT_BYTES], large[VALUE_TEXT_BYTES];
    bool answer_is_bad = setting_get(&in, "answer").is_bad;
    value_print(CONF_DURATION, upstream->answer_ms, large);
    if (!answer_is_bad && !setting_get(&in, "first_byte").is_bad &&
        upstream->answer_ms < upstream->first_byte_ms) {
        value_print(CONF_DURATION, upstream->first_byte_ms, small);
        const char *at = setting_get(&in, "answer").from == FROM_FILE ? "answer" : "first_byte";
        key_error(loader, &in, at,
                  "answer %s is shorter than first_byte %s; the whole answer cannot take less than "
                  "its first byte",
                  large, small);
    }
    if (!answer_is_bad && !setting_get(&in, "late").is_bad &&
        upstream->late_ms < upstream->answer_ms) {
        value_print(CONF_DURATION, upstream->late_ms, small);
        const char *at = setting_get(&in, "late").from == FROM_FILE ? "late" : "answer";
        key_error(loader, &in, at,
                  "late %s is shorter than answer %s; Recibo must listen at least as long again",
                  small, large);
    }
}

static void load_entry(struct loader *loader, const struct yaml_node *node,
                       struct upstream_policy *upstream)
{
    struct cursor entry = cursor_of(node, span_of(NULL, 0));
    struct cursor connections = cursor_in(&entry, "connections");
    upstream->name = node->name;
    load_url(loader, &entry, upstream);
    load_upstream_tls(loader, &entry, upstream);
    load_timeouts(&entry, upstream);
    check_timeouts(loader, &entry, upstream);
    struct span host = cursor_text(&entry, "host");
    upstream->host_preserve = span_equal(host, SPAN("preserve"));
    upstream->host_header = upstream->host_preserve ? span_of("", 0) : host;
    upstream->path_case = (enum path_case)cursor_word(&entry, "path_case", PATH_CASE_SENSITIVE);
    upstream->connections_max = (uint32_t)cursor_number(&connections, "max");
    upstream->reuse = (enum connection_reuse)cursor_word(&connections, "reuse", REUSE_CHECKED);
    upstream->connection_idle_ms = cursor_number(&connections, "idle");
}

static void load_drain(struct loader *loader)
{
    struct conf *conf = loader->conf;
    struct cursor root = cursor_root(loader->root);
    struct setting drain = setting_get(&root, "drain");
    int64_t longest = 0;
    char small[VALUE_TEXT_BYTES], large[VALUE_TEXT_BYTES];
    for (uint32_t i = 0; i < conf->upstream_count; i++)
        if (conf->upstreams[i].answer_ms > longest)
            longest = conf->upstreams[i].answer_ms;
    conf->drain_ms = drain.from == FROM_FILE ? setting_number(&drain) : longest + 5000;
    if (drain.from != FROM_FILE || conf->drain_ms >= longest)
        return;
    value_print(CONF_DURATION, conf->drain_ms, small);
    value_print(CONF_DURATION, longest, large);
    key_warning(loader, &root, "drain",
                "%s: shorter than the longest timeouts.answer %s; a stop can leave unknown "
                "outcomes that a longer drain would not",
                small, large);
}

void load_upstreams(struct loader *loader)
{
    struct cursor root = cursor_root(loader->root);
    uint32_t count;
    const struct yaml_node *item = cursor_items(&root, "upstreams", &count);
    struct upstream_policy *upstreams = loader_take(loader, count + 1, sizeof(*upstreams));
    if (upstreams == NULL)
        return;
    loader->conf->upstreams = upstreams;
    for (; item != NULL && !loader->no_memory; item = items_next(item)) {
        struct upstream_policy *upstream = &upstreams[loader->conf->upstream_count];
        load_entry(loader, item, upstream);
        upstream->index = loader->conf->upstream_count++;
    }
    load_drain(loader);
}
