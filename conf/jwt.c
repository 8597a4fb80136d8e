/* The entries of owners that take signed tokens. It must never let one exist that would
 * take a token by a key, or by an algorithm, that nobody named. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "conf/loader.h"

#define ARENA_BYTES ((size_t)4 << 20) /* nodes, order and numbers of the largest set */

/* The whole file; what lies in the arena of the configuration lives as long as that. */
static bool read_file(struct loader *loader, const struct yaml_node *node, struct span *ret)
{
    char shown[SHOWN_BYTES];
    struct span path = node->text;
    size_t len = 0;
    if (!loader->may_read_files) {
        node_error(loader, node, "no other files are read here");
        return false;
    }
    if (path.ptr[0] != '/' && loader->folder.len > 0)
        path = arena_print(loader->arena, "%s/%s", loader->folder.ptr, path.ptr);
    value_shown(node->text, shown);
    int fd = path.len == 0 ? -1 : open(path.ptr, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        node_error(loader, node, "%s: the file cannot be opened: %s", shown, strerror(errno));
        return false;
    }
    char *room = loader_take(loader, 1, JWK_SET_BYTES_MAX + 1);
    ssize_t got = room == NULL ? 0 : 1;
    while (got > 0 && len <= JWK_SET_BYTES_MAX) {
        got = read(fd, room + len, JWK_SET_BYTES_MAX + 1 - len);
        len += got > 0 ? (size_t)got : 0;
    }
    int error = errno;
    (void)close(fd); /* read only */
    if (room == NULL)
        return false;
    if (got < 0 || len > JWK_SET_BYTES_MAX) {
        node_error(loader, node, got < 0 ? "%s: cannot be read: %s" : "%s: is larger than %s",
                   shown, got < 0 ? strerror(error) : "256 KiB");
        return false;
    }
    *ret = span_of(room, len);
    return true;
}

static uint32_t line_of(struct span text, size_t offset)
{
    uint32_t line = 1;
    for (size_t i = 0; i < offset && i < text.len; i++)
        line += text.ptr[i] == '\n';
    return line;
}

static void load_set(struct loader *loader, const struct cursor *entry, struct conf_jwt *jwt)
{
    char shown[SHOWN_BYTES];
    struct setting file = setting_get(entry, "jwks_file");
    struct jwk_fault fault;
    struct span text;
    if (file.from != FROM_FILE || file.is_bad || !read_file(loader, file.node, &text))
        return;
    value_shown(file.text, shown);
    if (!jwk_set_read(loader->arena, text, &jwt->keys, &fault)) {
        if (fault.text == NULL)
            loader->no_memory = true;
        else
            node_error(loader, file.node, "%s:%u: %s", shown, line_of(text, fault.offset),
                       fault.text);
        return;
    }
    uint32_t usable = 0;
    for (uint32_t i = 0; i < jwt->keys.count; i++)
        usable += (jwt->keys.keys[i].algorithms & jwt->algorithms) != 0;
    if (usable == 0 && jwt->algorithms != 0)
        node_error(loader, file.node, "%s: holds no key for any of the algorithms", shown);
}

/* A secret that both sides know and a key that everybody may know do not belong together:
 * whoever mixes them up lets callers sign for themselves. */
static void check_mix(struct loader *loader, const struct cursor *entry, uint32_t algorithms)
{
    const uint32_t secret =
        1U << GW_SIGNATURE_HS256 | 1U << GW_SIGNATURE_HS384 | 1U << GW_SIGNATURE_HS512;
    if ((algorithms & secret) != 0 && (algorithms & ~secret) != 0)
        key_error(loader, entry, "algorithms",
                  "HS256, HS384 and HS512 use a shared secret and cannot stand beside the others; "
                  "make two entries");
}

const struct conf_jwt *load_jwt(struct loader *loader, const struct cursor *entry)
{
    uint32_t count;
    const struct yaml_node *item = cursor_items(entry, "algorithms", &count);
    struct conf_jwt *jwt = loader_take(loader, 1, sizeof(*jwt));
    if (jwt == NULL)
        return NULL;
    jwt->issuer = cursor_text(entry, "issuer");
    jwt->audience = cursor_text(entry, "audience");
    jwt->type = cursor_text(entry, "typ");
    jwt->leeway_ms = cursor_number(entry, "leeway");
    for (; item != NULL; item = items_next(item)) {
        enum gw_signature_algorithm algorithm = gw_signature_of(item->text);
        jwt->algorithms |= algorithm == GW_SIGNATURE_COUNT ? 0 : 1U << algorithm;
    }
    check_mix(loader, entry, jwt->algorithms);
    load_set(loader, entry, jwt);
    return jwt;
}
