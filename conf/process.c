/* The settings of the process: listeners, the operator's plane, the store, limits
 * and the log. It must never open any of them. */
#include "conf/loader.h"

static void load_listen(struct loader *loader, const struct cursor *root)
{
    struct conf *conf = loader->conf;
    uint32_t count;
    const struct yaml_node *item = cursor_items(root, "listen", &count);
    bool is_given = yaml_member(root->node, SPAN("listen")) != NULL;
    struct conf_address *addresses = loader_take(loader, count + 1, sizeof(*addresses));
    if (addresses == NULL)
        return;
    conf->listen = addresses;
    if (!is_given) {
        const char *fault = value_address(SPAN("127.0.0.1:8080"), false, &addresses[0]);
        gw_assert(fault == NULL);
        conf->listen_count = 1;
        return;
    }
    for (; item != NULL; item = items_next(item)) {
        struct cursor cursor = cursor_of(item, span_of(NULL, 0));
        struct setting address = setting_get(&cursor, "address");
        if (address.from != FROM_FILE ||
            value_address(address.text, false, &addresses[conf->listen_count]) != NULL)
            continue;
        addresses[conf->listen_count].tls = load_tls(loader, &cursor);
        addresses[conf->listen_count++].line = address.node->line;
    }
}

static void load_store(struct loader *loader, const struct cursor *root)
{
    struct conf *conf = loader->conf;
    struct cursor store = cursor_in(root, "store");
    struct span path = cursor_text(&store, "path");
    conf->store_kind = cursor_text(&store, "kind");
    conf->store_path = path;
    if (path.len > 0 && path.ptr[0] != '/' && loader->folder.len > 0)
        conf->store_path = arena_print(loader->arena, "%s/%s", loader->folder.ptr, path.ptr);
}

static void load_limits(struct loader *loader, const struct cursor *root)
{
    struct conf_limits *limits = &loader->conf->limits;
    struct cursor in = cursor_in(root, "limits");
    limits->connections = (uint32_t)cursor_number(&in, "connections");
    limits->head_bytes = (uint32_t)cursor_number(&in, "head_bytes");
    limits->headers = (uint32_t)cursor_number(&in, "headers");
    limits->target_bytes = (uint32_t)cursor_number(&in, "target_bytes");
    limits->head_time_ms = cursor_number(&in, "head_time");
    limits->body_time_ms = cursor_number(&in, "body_time");
    limits->idle_time_ms = cursor_number(&in, "idle_time");
    limits->body_rate_min = (uint64_t)cursor_number(&in, "body_rate_min");
    limits->bodies = (uint64_t)cursor_number(&in, "bodies");
    limits->memory_max = (uint64_t)cursor_number(&in, "memory_max");
    limits->answer_body_max = (uint64_t)cursor_number(&in, "answer_body_max");
    limits->late_max = (uint32_t)cursor_number(&in, "late_max");
    limits->waiters = (uint32_t)cursor_number(&in, "waiters");
    limits->store_queue = (uint32_t)cursor_number(&in, "store_queue");
}

static struct span problem_base(struct loader *loader, struct span text)
{
    char last = text.ptr[text.len - 1];
    if (last == '/' || last == ':' || last == '#' || last == '=')
        return text;
    return arena_print(loader->arena, "%s/", text.ptr);
}

void load_process(struct loader *loader)
{
    struct conf *conf = loader->conf;
    struct cursor root = cursor_root(loader->root);
    struct cursor log = cursor_in(&root, "log");
    load_listen(loader, &root);
    load_store(loader, &root);
    load_limits(loader, &root);
    conf->log_format = (enum conf_log_format)cursor_word(&log, "format", CONF_LOG_TEXT);
    conf->log_level = cursor_word(&log, "level", 1);
    conf->log_access = cursor_bool(&log, "access");
    conf->workers = (uint32_t)cursor_number(&root, "workers");
    conf->trusted_proxies =
        load_networks(loader, &root, "trusted_proxies", &conf->trusted_proxy_count);
    conf->problem_base = problem_base(loader, cursor_text(&root, "problem_base"));
    conf->own_prefix = cursor_text(&root, "own_prefix");
    if (span_equal(conf->own_prefix, SPAN("off")))
        conf->own_prefix = span_of("", 0);
    conf->via_name = cursor_text(&root, "via");
    conf->settle_delay_ms = cursor_number(&root, "settle_delay");
}

/* ---- the operator's plane ---- */

static void check_token(struct loader *loader, const struct cursor *cursor,
                        const struct conf_token *token)
{
    const struct conf *conf = loader->conf;
    for (uint32_t i = 0; i < conf->token_count; i++) {
        if (token->name.len > 0 && span_equal(conf->tokens[i].name, token->name))
            key_error(loader, cursor, "name", "%s: given to two tokens", token->name.ptr);
        if (memcmp(conf->tokens[i].sha256, token->sha256, sizeof(token->sha256)) == 0)
            key_error(loader, cursor, NULL, "the same token as %s's; a token is one actor's",
                      conf->tokens[i].name.ptr);
    }
}

static uint32_t load_rights(const struct cursor *token)
{
    uint32_t count, rights = 0;
    for (const struct yaml_node *item = cursor_items(token, "rights", &count); item != NULL;
         item = items_next(item)) {
        bool later;
        uint32_t index = field_word_find(field_at(item->row)->words, item->text, &later);
        gw_assert(index <
                  4); /* the schema has checked it; the words are in the order of the bits */
        rights |= (uint32_t)1 << index;
    }
    return rights;
}

/* Without addresses everybody could say that he is somebody else. */
static void load_actor_header(struct loader *loader, const struct cursor *admin)
{
    struct conf *conf = loader->conf;
    struct cursor header = cursor_in(admin, "actor_header");
    if (header.node == NULL)
        return;
    conf->actor_header = cursor_text(&header, "name");
    conf->actor_from = load_networks(loader, &header, "from", &conf->actor_from_count);
    const struct yaml_node *from = yaml_member(header.node, SPAN("from"));
    if (from == NULL) {
        conf->actor_from = conf->trusted_proxies;
        conf->actor_from_count = conf->trusted_proxy_count;
    }
    /* A range that is none was told already. */
    if (conf->actor_from_count == 0 && (from == NULL || (!from->is_bad && from->count == 0)))
        key_error(loader, &header, "from",
                  "anybody could say that he is somebody else; list the addresses of the proxies "
                  "that set this header");
    if (conf->admin.is_unix)
        key_error(loader, admin, "actor_header",
                  "peers of a Unix socket have no address that could be listed; let the proxy "
                  "reach admin.address over loopback");
}

void load_admin(struct loader *loader)
{
    struct conf *conf = loader->conf;
    struct cursor root = cursor_root(loader->root);
    struct cursor admin = cursor_in(&root, "admin");
    uint32_t count;
    conf->has_admin = admin.node != NULL;
    struct setting address = setting_get(&admin, "address");
    const char *fault = value_address(address.text, true, &conf->admin);
    gw_assert(fault == NULL); /* the file's was checked, the default is right */
    conf->admin.tls = load_tls(loader, &admin);
    conf->admin.line = address.node != NULL ? address.node->line : cursor_line(&admin);
    const struct yaml_node *item = cursor_items(&admin, "tokens", &count);
    struct conf_token *tokens = loader_take(loader, count + 1, sizeof(*tokens));
    if (tokens == NULL)
        return;
    conf->tokens = tokens;
    load_actor_header(loader, &admin);
    for (; item != NULL; item = items_next(item)) {
        struct cursor cursor = cursor_of(item, span_of(NULL, 0));
        struct conf_token *token = &tokens[conf->token_count];
        token->name = cursor_text(&cursor, "name");
        token->rights = load_rights(&cursor);
        if (!load_digest(loader, &cursor, token->sha256))
            continue;
        check_token(loader, &cursor, token);
        conf->token_count++;
    }
}
