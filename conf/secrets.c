/* Values that may stand in a file of their own. It must never show one. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "conf/loader.h"

#define SECRET_FILE_BYTES 4096

/* The first line, without the white space around it. */
static struct span first_line(struct span text)
{
    size_t len = 0;
    while (len < text.len && text.ptr[len] != '\n')
        len++;
    while (len > 0 && (text.ptr[len - 1] == '\r' || text.ptr[len - 1] == ' '))
        len--;
    return span_of(text.ptr, len);
}

static bool read_secret(struct loader *loader, const struct yaml_node *node, struct span *ret)
{
    char room[SECRET_FILE_BYTES];
    if (!loader->may_read_files) {
        node_error(loader, node, "no other files are read here");
        return false;
    }
    struct span path = node->text;
    if (path.ptr[0] != '/' && loader->folder.len > 0)
        path = arena_print(loader->arena, "%s/%s", loader->folder.ptr, path.ptr);
    int fd = path.len == 0 ? -1 : open(path.ptr, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        char shown[SHOWN_BYTES];
        value_shown(node->text, shown);
        node_error(loader, node, "%s: the file cannot be opened: %s", shown, strerror(errno));
        return false;
    }
    ssize_t got = read(fd, room, sizeof(room));
    (void)close(fd); /* read only */
    if (got <= 0 || got == (ssize_t)sizeof(room)) {
        node_error(loader, node, "the file must hold one line of at most %d bytes",
                   SECRET_FILE_BYTES - 1);
        return false;
    }
    struct span line = first_line(span_of(room, (size_t)got));
    char *copy = loader_take(loader, 1, line.len + 1);
    if (copy == NULL)
        return false;
    memcpy(copy, line.ptr, line.len);
    *ret = span_of(copy, line.len);
    return true;
}

bool load_secret(struct loader *loader, const struct cursor *cursor, const char *name,
                 const char *file_name, struct span *ret)
{
    struct setting direct = setting_get(cursor, name), file = setting_get(cursor, file_name);
    if (direct.is_bad || file.is_bad)
        return false;
    if ((direct.from == FROM_FILE) == (file.from == FROM_FILE)) {
        key_error(loader, cursor, name, "give %s or %s, one of the two", name, file_name);
        return false;
    }
    if (direct.from == FROM_FILE) {
        *ret = direct.text;
        return true;
    }
    struct span text;
    if (!read_secret(loader, file.node, &text))
        return false;
    const char *fault = value_word(field_at(direct.row)->type, text);
    if (fault != NULL || memchr(text.ptr, '\0', text.len) != NULL) {
        node_error(loader, file.node, "what the file holds %s", fault != NULL ? fault : "is bad");
        return false;
    }
    *ret = text;
    return true;
}

bool load_digest(struct loader *loader, const struct cursor *cursor, uint8_t ret[32])
{
    struct span text;
    return load_secret(loader, cursor, "sha256", "sha256_file", &text) &&
           gw_hex_decode(text, ret, 32);
}
