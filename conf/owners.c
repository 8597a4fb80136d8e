/* The entries of owners. It must never let an entry exist whose kind lacks what it
 * needs to tell callers apart. */
#include "conf/loader.h"

const struct conf_network *load_networks(struct loader *loader, const struct cursor *cursor,
                                         const char *name, uint32_t *ret_count)
{
    uint32_t count;
    const struct yaml_node *item = cursor_items(cursor, name, &count);
    struct conf_network *networks = loader_take(loader, count + 1, sizeof(*networks));
    *ret_count = 0;
    if (networks == NULL)
        return NULL;
    for (; item != NULL; item = items_next(item)) {
        struct conf_network *network = &networks[*ret_count];
        struct span text = item->text;
        struct span owner = {"", 0};
        if (item->kind == YAML_MAP) {
            struct cursor entry = cursor_of(item, span_of(NULL, 0));
            text = cursor_text(&entry, "cidr");
            owner = cursor_text(&entry, "owner");
        }
        if (text.len == 0 || value_cidr(text, network) != NULL)
            continue;
        network->owner = owner;
        (*ret_count)++;
    }
    return networks;
}

static bool network_holds(const struct conf_network *network, const uint8_t address[16])
{
    uint32_t bytes = network->prefix_bits / 8, bits = network->prefix_bits % 8;
    if (memcmp(network->address, address, bytes) != 0)
        return false;
    if (bits == 0)
        return true;
    uint8_t mask = (uint8_t)(0xff << (8 - bits));
    return (network->address[bytes] & mask) == (address[bytes] & mask);
}

const struct conf_network *conf_network_find(const struct conf_network *networks, uint32_t count,
                                             const uint8_t address[16])
{
    const struct conf_network *best = NULL;
    for (uint32_t i = 0; i < count; i++)
        if ((best == NULL || networks[i].prefix_bits > best->prefix_bits) &&
            network_holds(&networks[i], address))
            best = &networks[i];
    return best;
}

static void note_credential(struct loader *loader, const struct conf_owner_key *key,
                            const struct yaml_node *node)
{
    struct credential *credential = loader_take(loader, 1, sizeof(*credential));
    if (credential == NULL)
        return;
    *credential = (struct credential){loader->credentials, key->sha256, key->owner, node};
    loader->credentials = credential;
    loader->credential_count++;
}

static void load_keys(struct loader *loader, const struct cursor *entry, struct conf_owner *owner)
{
    uint32_t count;
    const struct yaml_node *item = cursor_items(entry, "keys", &count);
    struct conf_owner_key *keys = loader_take(loader, count + 1, sizeof(*keys));
    if (keys == NULL)
        return;
    owner->keys = keys;
    for (; item != NULL; item = items_next(item)) {
        struct cursor cursor = cursor_of(item, span_of(NULL, 0));
        struct conf_owner_key *key = &keys[owner->key_count];
        key->owner = cursor_text(&cursor, "owner");
        if (!load_digest(loader, &cursor, key->sha256))
            continue;
        note_credential(loader, key, item);
        owner->key_count++;
    }
}

static void load_users(struct loader *loader, const struct cursor *entry, struct conf_owner *owner)
{
    uint32_t count;
    const struct yaml_node *item = cursor_items(entry, "users", &count);
    struct conf_owner_user *users = loader_take(loader, count + 1, sizeof(*users));
    if (users == NULL)
        return;
    owner->users = users;
    for (; item != NULL; item = items_next(item)) {
        struct cursor cursor = cursor_of(item, span_of(NULL, 0));
        struct conf_owner_user *user = &users[owner->user_count];
        user->name = cursor_text(&cursor, "name");
        user->owner = cursor_text(&cursor, "owner");
        if (user->owner.len == 0)
            user->owner = user->name;
        if (memchr(user->name.ptr, ':', user->name.len) != NULL)
            key_error(loader, &cursor, "name", "a user name cannot hold a colon");
        if (user->owner.len > 0 && value_word(CONF_OWNER_ID, user->owner) != NULL)
            key_error(loader, &cursor, "name",
                      "is no visible ASCII, so it cannot be the owner; name an owner");
        if (load_secret(loader, &cursor, "hash", "hash_file", &user->hash))
            owner->user_count++;
    }
}

/* Which keys belong to which kind. */
struct kind_key {
    const char *key;
    uint32_t kinds; /* bits 1 << enum conf_owner_kind */
    uint32_t needed;
};
#define KIND(name) ((uint32_t)1 << OWNER_##name)
static const struct kind_key kind_keys[] = {
    {"header", KIND(API_KEY) | KIND(HEADER), KIND(HEADER)},
    {"scheme", KIND(API_KEY), 0},
    {"realm", KIND(BASIC), 0},
    {"keys", KIND(API_KEY), KIND(API_KEY)},
    {"users", KIND(BASIC), KIND(BASIC)},
    {"networks", KIND(NETWORK), KIND(NETWORK)},
    {"trusted", KIND(HEADER), 0},
    {"owner", KIND(STATIC), 0},
    {"issuer", KIND(JWT), KIND(JWT)},
    {"audience", KIND(JWT), KIND(JWT)},
    {"algorithms", KIND(JWT), KIND(JWT)},
    {"jwks_file", KIND(JWT), KIND(JWT)},
    {"leeway", KIND(JWT), 0},
    {"typ", KIND(JWT), 0},
};

static void check_kind_keys(struct loader *loader, const struct cursor *entry,
                            enum conf_owner_kind kind)
{
    struct setting word = setting_get(entry, "kind");
    for (size_t i = 0; i < GW_COUNT(kind_keys); i++) {
        const struct yaml_node *node = yaml_member(entry->node, span_str(kind_keys[i].key));
        bool is_empty = node == NULL || (node->kind == YAML_LIST && node->count == 0);
        if (node != NULL && (kind_keys[i].kinds >> kind & 1) == 0)
            key_error(loader, entry, kind_keys[i].key, "has no meaning for kind: %s",
                      word.text.ptr);
        else if (is_empty && (kind_keys[i].needed >> kind & 1) != 0)
            key_error(loader, entry, kind_keys[i].key, "required for kind: %s, but missing",
                      word.text.ptr);
    }
}

static void load_entry(struct loader *loader, const struct yaml_node *node,
                       struct conf_owner *owner)
{
    struct cursor entry = cursor_of(node, span_of(NULL, 0));
    struct setting kind = setting_get(&entry, "kind");
    owner->name = node->name;
    owner->line = cursor_line(&entry);
    owner->kind = (enum conf_owner_kind)setting_word(&kind, OWNER_STATIC);
    if (kind.from == FROM_FILE)
        check_kind_keys(loader, &entry, owner->kind);
    owner->header = cursor_text(&entry, "header");
    owner->scheme = cursor_text(&entry, "scheme");
    owner->realm = cursor_text(&entry, "realm");
    owner->owner = cursor_text(&entry, "owner");
    if (owner->kind == OWNER_API_KEY && owner->header.len == 0)
        owner->header = owner->scheme.len > 0 ? SPAN("Authorization") : SPAN("X-Api-Key");
    if (owner->kind == OWNER_BASIC && owner->realm.len == 0)
        owner->realm = SPAN("recibo");
    if (owner->kind == OWNER_STATIC && owner->owner.len == 0)
        owner->owner = owner->name;
    for (size_t i = 0; i < owner->realm.len; i++)
        if ((unsigned char)owner->realm.ptr[i] < 0x20 || owner->realm.ptr[i] == '"' ||
            owner->realm.ptr[i] == '\\' || (unsigned char)owner->realm.ptr[i] >= 0x7f) {
            key_error(loader, &entry, "realm", "must be ASCII without quote and backslash");
            break;
        }
    load_keys(loader, &entry, owner);
    load_users(loader, &entry, owner);
    if (owner->kind == OWNER_JWT && kind.from == FROM_FILE) {
        owner->jwt = load_jwt(loader, &entry);
        owner->header = SPAN("Authorization");
        owner->scheme = SPAN("Bearer");
    }
    owner->networks = load_networks(loader, &entry, "networks", &owner->network_count);
    owner->trusted = load_networks(loader, &entry, "trusted", &owner->trusted_count);
    if (owner->kind == OWNER_HEADER && yaml_member(node, SPAN("trusted")) == NULL) {
        owner->trusted = loader->conf->trusted_proxies;
        owner->trusted_count = loader->conf->trusted_proxy_count;
    }
    if (owner->kind == OWNER_HEADER && owner->trusted_count == 0)
        key_error(loader, &entry, "trusted",
                  "kind: header needs the addresses of the proxies that may set it; without them "
                  "anybody could be anybody");
}

void load_owners(struct loader *loader)
{
    struct cursor root = cursor_root(loader->root);
    uint32_t count;
    const struct yaml_node *item = cursor_items(&root, "owners", &count);
    struct conf_owner *owners = loader_take(loader, count + 1, sizeof(*owners));
    if (owners == NULL)
        return;
    loader->conf->owners = owners;
    for (; item != NULL && !loader->no_memory; item = items_next(item))
        load_entry(loader, item, &owners[loader->conf->owner_count++]);
}
