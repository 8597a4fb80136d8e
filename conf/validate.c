/* Values of the process judged together: addresses, credentials, rights, memory.
 * It must never change the snapshot. */
#include <stdlib.h>

#include "conf/loader.h"

/* ---- addresses ---- */

static bool is_any_address(const uint8_t address[16])
{
    static const uint8_t v6[16] = {0};
    static const uint8_t v4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
    return memcmp(address, v6, 16) == 0 || memcmp(address, v4, 16) == 0;
}

/* Would a connection to this host and port end at the listener? Port 0 is another one each time. */
static bool leads_to(struct span host, uint16_t port, const struct conf_address *listener)
{
    uint8_t to[16], at[16];
    if (listener->is_unix || listener->port == 0 || listener->port != port)
        return false;
    if (!value_host_address(listener->host, at))
        return false;
    if (!value_host_address(host, to))
        return false;
    return memcmp(to, at, 16) == 0 ||
           (is_any_address(at) && (value_is_loopback(host) || is_any_address(to))) ||
           (is_any_address(to) && value_is_loopback(listener->host));
}

static bool is_v4(const uint8_t address[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return memcmp(address, mapped, sizeof(mapped)) == 0;
}

/* Would the second one find the address taken? The two families do not meet. */
static bool same_address(const struct conf_address *a, const struct conf_address *b)
{
    uint8_t left[16], right[16];
    if (a->is_unix || b->is_unix)
        return a->is_unix && b->is_unix && span_equal(a->host, b->host);
    if (a->port != b->port || a->port == 0)
        return false;
    if (!value_host_address(a->host, left) || !value_host_address(b->host, right))
        return false;
    if (is_v4(left) != is_v4(right))
        return false;
    return memcmp(left, right, 16) == 0 || is_any_address(left) || is_any_address(right);
}

static void check_listeners(struct loader *loader, const struct cursor *root)
{
    const struct conf *conf = loader->conf;
    uint32_t count;
    const struct yaml_node *item = cursor_items(root, "listen", &count);
    for (uint32_t i = 0; i < conf->listen_count && item != NULL; item = items_next(item)) {
        struct cursor cursor = cursor_of(item, span_of(NULL, 0));
        if (setting_get(&cursor, "address").from != FROM_FILE)
            continue;
        for (uint32_t j = 0; j < i; j++)
            if (same_address(&conf->listen[i], &conf->listen[j]))
                key_error(loader, &cursor, "address", "%s: is taken by %s (line %u)",
                          conf->listen[i].text.ptr, conf->listen[j].text.ptr, conf->listen[j].line);
        i++;
    }
    struct cursor admin = cursor_in(root, "admin");
    for (uint32_t i = 0; i < conf->listen_count && conf->has_admin; i++)
        if (same_address(&conf->admin, &conf->listen[i]))
            key_error(loader, &admin, "address",
                      "%s: is the callers' listener, too; the operator's plane has its own",
                      conf->admin.text.ptr);
}

static void check_upstreams(struct loader *loader, const struct cursor *root)
{
    const struct conf *conf = loader->conf;
    const struct yaml_node *entries = yaml_member(root->node, SPAN("upstreams"));
    for (uint32_t i = 0; i < conf->upstream_count; i++) {
        const struct upstream_policy *upstream = &conf->upstreams[i];
        struct cursor entry = cursor_of(yaml_member(entries, upstream->name), span_of(NULL, 0));
        for (uint32_t j = 0; upstream->host.len > 0 && j < conf->listen_count; j++)
            if (leads_to(upstream->host, upstream->port, &conf->listen[j]))
                key_error(loader, &entry, "url",
                          "%s: is Recibo's own listener; requests would run in a circle",
                          cursor_text(&entry, "url").ptr);
        if (conf->has_admin && upstream->host.len > 0 &&
            leads_to(upstream->host, upstream->port, &conf->admin))
            key_error(loader, &entry, "url", "%s: is Recibo's operator's plane",
                      cursor_text(&entry, "url").ptr);
    }
}

/* ---- credentials ---- */

static int by_digest(const void *a, const void *b)
{
    const struct credential *const *left = a, *const *right = b;
    int order = memcmp((*left)->sha256, (*right)->sha256, 32);
    if (order != 0)
        return order;
    /* Then in the order of the file, so that the second one is the one to be told. */
    if ((*left)->node->line != (*right)->node->line)
        return (*left)->node->line < (*right)->node->line ? -1 : 1;
    return ((*left)->node->column > (*right)->node->column) -
           ((*left)->node->column < (*right)->node->column);
}

static void check_credentials(struct loader *loader)
{
    uint32_t count = 0;
    const struct credential **all =
        loader_take(loader, loader->credential_count + 1, sizeof(struct credential *));
    if (all == NULL)
        return;
    for (const struct credential *one = loader->credentials; one != NULL; one = one->next)
        all[count++] = one;
    gw_assert(count == loader->credential_count);
    qsort(all, count, sizeof(*all), by_digest);
    for (uint32_t i = 1; i < count; i++) {
        const struct credential *first = all[i - 1], *second = all[i];
        if (memcmp(first->sha256, second->sha256, 32) != 0)
            continue;
        if (!span_equal(first->owner, second->owner))
            node_error(loader, second->node,
                       "the same credential belongs to %s (line %u); it cannot be %s's, too",
                       first->owner.ptr, first->node->line, second->owner.ptr);
        else if (first->node->parent == second->node->parent)
            node_error(loader, second->node, "the same credential is in line %u already",
                       first->node->line);
    }
}

static void check_users(struct loader *loader, const struct cursor *entry,
                        const struct conf_owner *owner)
{
    for (uint32_t i = 1; i < owner->user_count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (span_equal(owner->users[i].name, owner->users[j].name)) {
                key_error(loader, entry, "users", "%s: is a user twice", owner->users[i].name.ptr);
                return;
            }
}

static void check_networks(struct loader *loader, const struct cursor *entry,
                           const struct conf_owner *owner)
{
    for (uint32_t i = 1; i < owner->network_count; i++)
        for (uint32_t j = 0; j < i; j++) {
            const struct conf_network *a = &owner->networks[j], *b = &owner->networks[i];
            if (a->prefix_bits == b->prefix_bits && memcmp(a->address, b->address, 16) == 0)
                key_error(loader, entry, "networks", "%s: is given twice, to %s and to %s",
                          b->text.ptr, a->owner.ptr, b->owner.ptr);
        }
}

static void check_owners(struct loader *loader, const struct cursor *root)
{
    const struct yaml_node *owners = yaml_member(root->node, SPAN("owners"));
    for (uint32_t i = 0; i < loader->conf->owner_count; i++) {
        const struct conf_owner *owner = &loader->conf->owners[i];
        struct cursor entry = cursor_of(yaml_member(owners, owner->name), span_of(NULL, 0));
        check_users(loader, &entry, owner);
        check_networks(loader, &entry, owner);
    }
    check_credentials(loader);
}

/* ---- the operator's plane ---- */

static void check_admin(struct loader *loader, const struct cursor *root)
{
    const struct conf *conf = loader->conf;
    struct cursor admin = cursor_in(root, "admin");
    bool has_guarded = false, may_settle = false;
    uint32_t given;
    (void)cursor_items(&admin, "tokens", &given); /* the count is wanted alone */
    for (uint32_t i = 0; i < conf->routes.count; i++)
        has_guarded |= conf->routes.routes[i].mode == ROUTE_ENFORCE &&
                       conf->routes.routes[i].local == NULL; /* there is no doubt to settle */
    for (uint32_t i = 0; i < conf->token_count; i++)
        may_settle |= (conf->tokens[i].rights & ADMIN_SETTLE) != 0;
    if (conf->has_admin && !conf->admin.is_unix && !value_is_loopback(conf->admin.host) &&
        !setting_get(&admin, "address").is_bad && yaml_member(admin.node, SPAN("tls")) == NULL)
        key_error(loader, &admin, "address",
                  "%s: is not loopback, and tokens would travel in the clear; add admin.tls, or "
                  "use 127.0.0.1, [::1] or unix:/path",
                  conf->admin.text.ptr);
    if (conf->has_admin && conf->admin.is_unix && conf->admin.tls != NULL)
        key_error(loader, &admin, "tls", "has no meaning on a Unix socket; leave it out");
    if (conf->has_admin && conf->admin.is_unix && span_equal(conf->admin.host, conf->store_path) &&
        conf->store_path.len > 0)
        key_error(loader, &admin, "address", "is the file of store.path; a socket needs its own");
    if (has_guarded && !conf->has_admin)
        key_warning(loader, root, "admin",
                    "nobody can settle: there is no operator's plane, so unknown outcomes stay "
                    "unknown; add admin with a token that has the right settle");
    else if (has_guarded && !may_settle && !conf->admin.is_unix && given == conf->token_count)
        key_warning(loader, &admin, "tokens",
                    "nobody can settle: no token has the right settle, so unknown outcomes stay "
                    "unknown");
}

/* ---- limits ---- */

/* One body must fit: else a route would refuse what its own limit allows. */
static void check_bodies(struct loader *loader, const struct cursor *limits)
{
    struct conf *conf = loader->conf;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < conf->routes.count; i++) {
        const struct route_policy *route = &conf->routes.routes[i];
        if (route->mode != ROUTE_ENFORCE)
            continue;
        largest = route->request_body_max > largest ? route->request_body_max : largest;
        largest = route->replay_body_max > largest ? route->replay_body_max : largest;
    }
    if (conf->limits.bodies >= largest)
        return;
    if (setting_get(limits, "bodies").from == FROM_FILE)
        key_error(loader, limits, "bodies",
                  "under the largest request_body_max or replay_body_max of a guarded route");
    else
        conf->limits.bodies = largest;
}

static void check_limits(struct loader *loader, const struct cursor *root)
{
    const struct conf *conf = loader->conf;
    struct cursor limits = cursor_in(root, "limits");
    char worst[VALUE_TEXT_BYTES], most[VALUE_TEXT_BYTES];
    if (conf->limits.target_bytes > conf->limits.head_bytes &&
        !setting_get(&limits, "target_bytes").is_bad && !setting_get(&limits, "head_bytes").is_bad)
        key_error(loader, &limits,
                  setting_get(&limits, "target_bytes").from == FROM_FILE ? "target_bytes"
                                                                         : "head_bytes",
                  "target_bytes %u is over head_bytes %u, of which it is a part",
                  conf->limits.target_bytes, conf->limits.head_bytes);
    check_bodies(loader, &limits);
    if (loader->findings.has_error || conf_memory_worst(conf) <= conf->limits.memory_max)
        return; /* with an error somewhere the sum would mean nothing */
    value_print_size(conf_memory_worst(conf), worst);
    value_print_size(conf->limits.memory_max, most);
    key_error(loader, &limits, "memory_max",
              "the worst case of this file is %s, over %s; raise it, or lower request_body_max, "
              "replay_body_max, bodies, route_in_flight, late_max or connections",
              worst, most);
}

void validate(struct loader *loader)
{
    struct cursor root = cursor_root(loader->root);
    check_listeners(loader, &root);
    check_upstreams(loader, &root);
    check_owners(loader, &root);
    check_admin(loader, &root);
    validate_routes(loader);
    check_limits(loader, &root);
}
