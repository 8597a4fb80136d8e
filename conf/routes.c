/* The routes. It must never fill in a promise that the file does not make: what is
 * not said is the default of the table. */
#include "conf/loader.h"
#include "policy/headers.h"

bool load_pointer(struct loader *loader, struct span text, struct json_pointer *ret)
{
    if (value_pointer(loader->arena, text, ret))
        return true;
    loader->no_memory = true;
    return false;
}

const struct json_pointer *load_pointers(struct loader *loader, const struct cursor *cursor,
                                         const char *name, uint32_t *ret_count)
{
    uint32_t count;
    const struct yaml_node *item = cursor_items(cursor, name, &count);
    struct json_pointer *pointers = loader_take(loader, count + 1, sizeof(*pointers));
    *ret_count = 0;
    if (pointers == NULL)
        return NULL;
    for (; item != NULL; item = items_next(item))
        if (load_pointer(loader, item->text, &pointers[*ret_count]))
            (*ret_count)++;
    return pointers;
}

/* ---- match ---- */

static void load_match(struct loader *loader, const struct cursor *cursor,
                       struct route_policy *route)
{
    struct cursor match = cursor_in(cursor, "match");
    uint32_t count;
    const struct yaml_node *item = cursor_items(&match, "methods", &count);
    for (; item != NULL; item = items_next(item))
        route->methods |= route_method_bit(item->text);
    if (yaml_member(match.node, SPAN("methods")) == NULL)
        route->methods = route->mode == ROUTE_PASS ? METHOD_GET | METHOD_HEAD | METHOD_OPTIONS
                                                   : METHOD_POST | METHOD_PATCH;
    route->trailing_slash_same = cursor_word(&match, "trailing_slash", 0) == 0;
    struct setting path = setting_get(&match, "path");
    if (path.from != FROM_FILE)
        return;
    uint32_t most = 2;
    for (size_t i = 0; i < path.text.len; i++)
        most += path.text.ptr[i] == '/';
    struct route_segment *segments = loader_take(loader, most, sizeof(*segments));
    const char *fault;
    route->path = path.text;
    route->segments = segments;
    if (segments != NULL &&
        !route_pattern_parse(path.text, segments, most, &route->segment_count, &fault))
        route->segment_count = 0; /* was reported */
}

/* ---- references ---- */

/* The name a route uses, from its own key or from defaults; empty: neither says one. */
static struct setting reference(struct loader *loader, const struct cursor *cursor,
                                const char *name, struct cursor *ret_where)
{
    struct cursor root = cursor_root(loader->root);
    struct setting own = setting_get(cursor, name);
    *ret_where = *cursor;
    if (own.from == FROM_FILE || own.is_bad)
        return own;
    *ret_where = cursor_in(&root, "defaults");
    return setting_get(ret_where, name);
}

static void unknown_reference(struct loader *loader, const struct cursor *where, const char *name,
                              struct span text)
{
    const char *group = strcmp(name, "upstream") == 0 ? "upstreams" : "owners";
    struct cursor root = cursor_root(loader->root);
    uint32_t count, most = near_limit(text.len);
    struct span near = {NULL, 0};
    for (const struct yaml_node *item = cursor_items(&root, group, &count); item != NULL;
         item = items_next(item)) {
        uint32_t distance = near_distance(text, item->name, most);
        if (distance <= most && (near.ptr == NULL || distance < most)) {
            near = item->name;
            most = distance;
        }
    }
    if (near.ptr != NULL)
        key_error(loader, where, name, "%s: no such entry of %s; did you mean \"%s\"?", text.ptr,
                  group, near.ptr);
    else
        key_error(loader, where, name, "%s: no such entry of %s", text.ptr, group);
}

static void load_upstream(struct loader *loader, const struct cursor *cursor,
                          struct route_policy *route)
{
    const struct conf *conf = loader->conf;
    struct cursor where;
    struct setting name = reference(loader, cursor, "upstream", &where);
    struct cursor root = cursor_root(loader->root);
    if (name.is_bad || setting_get(&root, "upstreams").is_bad || conf->upstream_count == 0)
        return;
    if (name.from != FROM_FILE) {
        if (conf->upstream_count == 1)
            route->upstream = &conf->upstreams[0];
        else
            key_error(loader, cursor, "upstream",
                      "required, for there are several upstreams and defaults.upstream is not set");
        return;
    }
    for (uint32_t i = 0; i < conf->upstream_count; i++)
        if (span_equal(conf->upstreams[i].name, name.text))
            route->upstream = &conf->upstreams[i];
    if (route->upstream == NULL)
        unknown_reference(loader, &where, "upstream", name.text);
}

static void owner_is_missing(struct loader *loader, const struct cursor *cursor)
{
    if (loader->conf->owner_count == 0)
        key_error(loader, cursor, "owner",
                  "required on an enforce route, for a key belongs to somebody. If all callers are "
                  "one, write at the top \"owners: {everyone: {kind: static}}\"");
    else
        key_error(loader, cursor, "owner",
                  "required, for there are several owners and defaults.owner is not set");
}

static void load_owner(struct loader *loader, const struct cursor *cursor,
                       struct route_policy *route)
{
    const struct conf *conf = loader->conf;
    struct cursor where, root = cursor_root(loader->root);
    struct setting name = setting_get(cursor, "owner");
    route->owner_index = ROUTE_NO_OWNER;
    bool may_do_without = route->mode != ROUTE_ENFORCE || setting_get(cursor, "mode").is_bad;
    if (may_do_without && route->mode != ROUTE_OBSERVE && name.from != FROM_FILE)
        return;
    name = reference(loader, cursor, "owner", &where);
    if (name.is_bad || setting_get(&root, "owners").is_bad)
        return;
    if (name.from != FROM_FILE) {
        if (conf->owner_count == 1)
            route->owner_index = 0;
        else if (!may_do_without)
            owner_is_missing(loader, cursor);
        return;
    }
    for (uint32_t i = 0; i < conf->owner_count; i++)
        if (span_equal(conf->owners[i].name, name.text))
            route->owner_index = i;
    if (route->owner_index == ROUTE_NO_OWNER)
        unknown_reference(loader, &where, "owner", name.text);
}

/* ---- times, sizes, words ---- */

static void load_breaker(const struct cursor *cursor, struct breaker_policy *breaker)
{
    struct cursor in = cursor_in(cursor, "breaker");
    struct setting word = setting_get(cursor, "breaker");
    breaker->is_on = !span_equal(word.text, SPAN("none"));
    breaker->unknowns = (uint32_t)cursor_number(&in, "unknowns");
    breaker->share_percent = (uint32_t)cursor_number(&in, "share");
    breaker->overdue_ms = cursor_number(&in, "overdue");
    breaker->in_ms = cursor_number(&in, "in");
}

static void load_evidence(struct loader *loader, const struct cursor *cursor,
                          struct route_policy *route)
{
    struct cursor in = cursor_in(cursor, "evidence");
    route->evidence_headers = cursor_bool(&in, "headers");
    route->evidence_body = cursor_bool(&in, "body");
    route->redact = load_pointers(loader, &in, "redact", &route->redact_count);
    route->evidence_keep_ms = cursor_number(&in, "keep");
    if (!route->evidence_body && route->redact_count > 0 && !setting_get(&in, "body").is_bad)
        key_error(loader, &in, "redact", "has no meaning without evidence.body: true");
}

static void load_replay(struct loader *loader, const struct cursor *cursor,
                        struct route_policy *route)
{
    struct cursor in = cursor_in(cursor, "replay");
    uint32_t count;
    const struct yaml_node *item = cursor_items(&in, "headers", &count);
    const struct yaml_node *list = yaml_member(in.node, SPAN("headers"));
    route->replay_set_cookie = cursor_bool(&in, "set_cookie");
    if (list == NULL || list->kind != YAML_LIST)
        return;
    struct span *names = loader_take(loader, count + 1, sizeof(*names));
    route->replay_headers = names;
    for (; item != NULL && names != NULL; item = items_next(item)) {
        if ((header_flags(item->text) & (HEADER_NO_STORE | HEADER_HOP | HEADER_OWNED)) != 0)
            node_error(loader, item, "%s: is never replayed", item->text.ptr);
        names[route->replay_header_count++] = item->text;
    }
}

#define TOMBSTONE_MS INT64_C(2592000000) /* 30 days */

static void load_times(const struct cursor *cursor, struct route_policy *route)
{
    struct cursor pending = cursor_in(cursor, "on_pending");
    struct cursor reconcile = cursor_in(cursor, "reconcile");
    struct cursor limits = cursor_in(cursor, "limits");
    struct setting quiet = setting_get(&reconcile, "quiet_time");
    route->pending_wait_ms = cursor_number(&pending, "wait");
    route->retention_ms = cursor_number(cursor, "retention");
    route->tombstone_ms =
        number_or(cursor, "tombstone",
                  route->retention_ms > TOMBSTONE_MS ? route->retention_ms : TOMBSTONE_MS);
    route->quiet_ms = quiet.from == FROM_FILE   ? setting_number(&quiet)
                      : route->upstream != NULL ? route->upstream->late_ms
                                                : 0;
    route->request_body_max = (uint64_t)cursor_number(cursor, "request_body_max");
    route->replay_body_max = (uint64_t)cursor_number(cursor, "replay_body_max");
    route->route_in_flight_max = (uint32_t)cursor_number(&limits, "route_in_flight");
    route->owner_in_flight_max = (uint32_t)cursor_number(&limits, "owner_in_flight");
}

static void load_words(struct loader *loader, const struct cursor *cursor,
                       struct route_policy *route)
{
    bool is_header_key = route->key.from == KEY_FROM_HEADER;
    for (uint32_t i = 0; i < route->key.part_count; i++)
        is_header_key |= route->key.parts[i].from == KEY_FROM_HEADER;
    route->scope_gateway = cursor_word(cursor, "scope", 0) == 1;
    route->credentials = (enum credentials_mode)cursor_word(cursor, "credentials", 0);
    route->rerun_on_expiry = cursor_word(cursor, "on_expiry", 0) == 1;
    route->replace_on_change =
        cursor_word(cursor, "on_changed_after_release", is_header_key ? 0 : 1) == 1;
    route->errors_text = cursor_word(cursor, "errors", 0) == 1;
    route->stripe_should_retry = cursor_bool(cursor, "stripe_should_retry");
    struct cursor passed = cursor_in(cursor, "upstream_idempotency");
    struct span header = cursor_text(&passed, "header");
    route->passes_key = passed.node != NULL;
    if (!route->passes_key)
        return;
    route->dedup_window_ms = cursor_number(&passed, "window");
    if (route->key.from != KEY_FROM_HEADER)
        key_error(loader, &passed, NULL,
                  "needs key.from: header; what is passed on is the key header");
    else if (header.len > 0 && !span_equal_nocase(header, route->key.name))
        key_error(loader, &passed, "header",
                  "%s: must be the header of the key, %s; it is passed on under its own name",
                  header.ptr, route->key.name.ptr);
}

bool route_key_concerns_pass(struct span key)
{
    static const char *const used[] = {"name",  "mode",        "match", "upstream",
                                       "owner", "credentials", "errors"};
    for (size_t i = 0; i < GW_COUNT(used); i++)
        if (span_equal(key, span_str(used[i])))
            return true;
    return false;
}

/* What only guarded routes act upon. */
static void warn_of_idle_keys(struct loader *loader, const struct cursor *cursor)
{
    for (const struct yaml_node *node = cursor->node->child; node != NULL; node = node->next) {
        if (!node->is_bad && !route_key_concerns_pass(node->name))
            key_warning(loader, cursor, node->name.ptr,
                        "has no effect: the route passes, and nothing of it is guarded");
    }
}

static void load_route(struct loader *loader, const struct yaml_node *node,
                       struct route_policy *route)
{
    struct cursor cursor = cursor_of(node, span_of("", 0));
    cursor.preset = setting_get(&cursor, "preset").text;
    route->name = cursor_text(&cursor, "name");
    route->line = node->line;
    route->mode = (enum route_mode)cursor_word(&cursor, "mode", ROUTE_ENFORCE);
    load_match(loader, &cursor, route);
    if (!route_is_local(&cursor))
        load_upstream(loader, &cursor, route);
    load_owner(loader, &cursor, route);
    load_key(loader, &cursor, route);
    load_fingerprint(loader, &cursor, route);
    load_labels(loader, &cursor, route);
    load_outcome(loader, &cursor, &route->outcome);
    load_breaker(&cursor, &route->breaker);
    load_retry(loader, &cursor, route);
    load_times(&cursor, route);
    load_reconcile(loader, &cursor, route);
    load_evidence(loader, &cursor, route);
    load_replay(loader, &cursor, route);
    load_words(loader, &cursor, route);
    load_local(loader, &cursor, route);
    load_compensate(loader, &cursor, route); /* the last: it takes over what the others said */
    if (route->mode == ROUTE_PASS)
        warn_of_idle_keys(loader, &cursor);
}

void load_routes(struct loader *loader)
{
    struct cursor root = cursor_root(loader->root);
    struct route_table *table = &loader->conf->routes;
    uint32_t count;
    const struct yaml_node *item = cursor_items(&root, "routes", &count);
    struct route_policy *routes = loader_take(loader, count + 1, sizeof(*routes));
    if (routes == NULL)
        return;
    table->routes = routes;
    for (; item != NULL && !loader->no_memory; item = items_next(item)) {
        struct route_policy *route = &routes[table->count];
        route->index = table->count++;
        load_route(loader, item, route);
    }
}
