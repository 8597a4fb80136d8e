/* Texts with a grammar: names, headers, pointers, addresses, ranges, urls. It
 * must never look a name up. */
#include <arpa/inet.h>

#include "base/text.h"
#include "conf/values.h"

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool all_of(struct span text, const char *others)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_alnum(text.ptr[i]) && (text.ptr[i] == '\0' || strchr(others, text.ptr[i]) == NULL))
            return false;
    return text.len > 0;
}

static bool all_visible(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= 0x20 || (unsigned char)text.ptr[i] >= 0x7f)
            return false;
    return text.len > 0;
}

static const char *pointer_fault(struct span text)
{
    if (text.len > 0 && text.ptr[0] != '/')
        return "must be a JSON pointer, which begins with /";
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '~' &&
            (i + 1 == text.len || (text.ptr[i + 1] != '0' && text.ptr[i + 1] != '1')))
            return "must be a JSON pointer; in it ~ is written ~0 and / inside a name ~1";
    return NULL;
}

static const char *crypt_fault(struct span text)
{
    static const char *const kinds[] = {"$y$", "$6$", "$5$", "$7$", "$gy$", "$2b$", "$2y$", "$2a$"};
    for (size_t i = 0; i < GW_COUNT(kinds); i++) {
        size_t len = strlen(kinds[i]);
        if (text.len > len + 8 && memcmp(text.ptr, kinds[i], len) == 0)
            return all_visible(text) ? NULL : "must be one crypt(3) hash without spaces";
    }
    return "must be a crypt(3) hash that begins with $y$, $6$, $5$, $7$, $gy$ or $2b$";
}

static const char *extra_fault(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || c >= 0x7f || c == ',' || c == ';' || c == '"' || c == '\\')
            return "must be ASCII without comma, semicolon, quote, backslash or controls";
    }
    return NULL;
}

static const char *host_fault(struct span text)
{
    struct value_url url;
    struct conf_address unused;
    if (all_of(text, ".-_"))
        return NULL;
    if (value_address(text, false, &unused) == NULL)
        return NULL;
    /* A name with a port, or a bracketed address: as in a url. */
    char room[300];
    if (text.len > 255 || memchr(text.ptr, '/', text.len) != NULL)
        return "must be preserve, or a host name with or without a port";
    memcpy(room, "http://", 7);
    memcpy(room + 7, text.ptr, text.len);
    return value_url(span_of(room, 7 + text.len), &url) == NULL
               ? NULL
               : "must be preserve, or a host name with or without a port";
}

static const char *base_fault(struct span text)
{
    if (!all_visible(text) || memchr(text.ptr, '"', text.len) != NULL ||
        memchr(text.ptr, '\\', text.len) != NULL || memchr(text.ptr, ':', text.len) == NULL ||
        memchr(text.ptr, '<', text.len) != NULL || memchr(text.ptr, '>', text.len) != NULL)
        return "must be the beginning of a URI, for example https://example.com/problems/";
    return NULL;
}

static const char *prefix_fault(struct span text)
{
    if (text.len < 3 || text.ptr[0] != '/' || text.ptr[text.len - 1] != '/' ||
        !all_of(text, "/._-~") || memcmp(text.ptr, "//", 2) == 0)
        return "must be off, or a path that begins and ends with /, like /.recibo/";
    return NULL;
}

const char *value_word(enum conf_type type, struct span text)
{
    uint8_t digest[32];
    switch (type) {
    case CONF_BOOL:
        return span_equal(text, SPAN("true")) || span_equal(text, SPAN("false"))
                   ? NULL
                   : "must be true or false";
    case CONF_NAME:
        return all_of(text, "._-") ? NULL : "must be made of letters, digits and . _ -";
    case CONF_OWNER_ID:
        return all_visible(text) ? NULL : "must be visible ASCII without spaces";
    case CONF_HEADER:
        return all_of(text, "!#$%&'*+-.^_`|~") ? NULL : "must be the name of a header";
    case CONF_KEY_NAME:
        return all_visible(text) ? NULL : "must be a name without spaces";
    case CONF_METHOD:
        return route_method_bit(text) != 0
                   ? NULL
                   : "must be one of GET HEAD POST PUT PATCH DELETE OPTIONS";
    case CONF_POINTER:
        return pointer_fault(text);
    case CONF_EXTRA:
        return extra_fault(text);
    case CONF_HOST:
        return host_fault(text);
    case CONF_SHA256:
        return gw_hex_decode(text, digest, sizeof(digest)) ? NULL : "must be 64 hex digits";
    case CONF_CRYPT:
        return crypt_fault(text);
    case CONF_PROBLEM_BASE:
        return base_fault(text);
    case CONF_OWN_PREFIX:
        return prefix_fault(text);
    case CONF_MAP:
    case CONF_NAMED:
    case CONF_LIST:
    case CONF_LIST_OR_ONE:
    case CONF_LATER:
    case CONF_WORD:
    case CONF_COUNT:
    case CONF_DURATION:
    case CONF_SIZE:
    case CONF_RATE:
    case CONF_PERCENT:
    case CONF_TEXT:
    case CONF_STATUS:
    case CONF_PATTERN:
    case CONF_CONDITION:
    case CONF_ADDRESS:
    case CONF_CIDR:
    case CONF_URL:
    case CONF_FILE_NAME:
        return NULL;
    }
    return NULL;
}

/* ---- addresses ---- */

static bool numeric_address(struct span text, uint8_t ret[16], bool *ret_is_v4)
{
    char room[INET6_ADDRSTRLEN + 1];
    struct in_addr four;
    if (text.len == 0 || text.len >= sizeof(room))
        return false;
    memcpy(room, text.ptr, text.len);
    room[text.len] = '\0';
    *ret_is_v4 = inet_pton(AF_INET, room, &four) == 1;
    if (!*ret_is_v4)
        return inet_pton(AF_INET6, room, ret) == 1;
    memset(ret, 0, 10);
    memset(ret + 10, 0xff, 2);
    memcpy(ret + 12, &four, 4);
    return true;
}

static bool has_bits_beyond(const uint8_t address[16], uint32_t prefix_bits)
{
    for (uint32_t bit = prefix_bits; bit < 128; bit++)
        if ((address[bit / 8] >> (7 - bit % 8) & 1) != 0)
            return true;
    return false;
}

const char *value_cidr(struct span text, struct conf_network *ret)
{
    const char *slash = memchr(text.ptr, '/', text.len);
    struct span address = slash == NULL ? text : span_of(text.ptr, (size_t)(slash - text.ptr));
    uint64_t bits;
    bool is_v4;
    struct conf_network found = {.text = text};
    if (!numeric_address(address, found.address, &is_v4))
        return "must be an address range like 10.0.0.0/8 or 2001:db8::/32";
    bits = is_v4 ? 32 : 128;
    if (slash != NULL) {
        uint64_t most = bits;
        struct span digits = span_of(slash + 1, text.len - address.len - 1);
        if (digits.len > 3 || !gw_parse_u64(digits, &bits) || bits > most)
            return is_v4 ? "must end in a prefix length /0 to /32"
                         : "must end in a prefix length /0 to /128";
    }
    found.prefix_bits = (uint8_t)(is_v4 ? bits + 96 : bits);
    if (has_bits_beyond(found.address, found.prefix_bits))
        return "has bits set beyond its prefix length; write the first address of the range";
    *ret = found;
    return NULL;
}

bool value_host_address(struct span host, uint8_t ret_address[16])
{
    bool is_v4;
    if (span_equal_nocase(host, SPAN("localhost")))
        host = SPAN("127.0.0.1");
    return numeric_address(host, ret_address, &is_v4);
}

bool value_is_loopback(struct span host)
{
    static const uint8_t v4[13] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
    static const uint8_t v6[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    uint8_t address[16];
    return value_host_address(host, address) &&
           (memcmp(address, v4, sizeof(v4)) == 0 || memcmp(address, v6, sizeof(v6)) == 0);
}

static bool port_number(struct span text, uint16_t *ret)
{
    uint64_t number;
    if (text.len > 5 || !gw_parse_u64(text, &number) || number > 65535)
        return false;
    *ret = (uint16_t)number;
    return true;
}

/* HOST:PORT or [V6]:PORT; without a port ret_port is left alone. */
static bool split_authority(struct span text, struct span *ret_host, uint16_t *ret_port)
{
    struct span host = text, port = {NULL, 0};
    if (text.len > 0 && text.ptr[0] == '[') {
        const char *end = memchr(text.ptr, ']', text.len);
        if (end == NULL)
            return false;
        host = span_of(text.ptr + 1, (size_t)(end - text.ptr) - 1);
        port = span_of(end + 1, text.len - host.len - 2);
        uint8_t address[16];
        bool is_v4;
        if (!numeric_address(host, address, &is_v4) || is_v4)
            return false;
        if (port.len > 0 && port.ptr[0] != ':')
            return false;
    } else {
        const char *colon = memchr(text.ptr, ':', text.len);
        if (colon != NULL) {
            host = span_of(text.ptr, (size_t)(colon - text.ptr));
            port = span_of(colon, text.len - host.len);
        }
        if (!all_of(host, ".-_"))
            return false;
    }
    if (port.len > 0 && !port_number(span_of(port.ptr + 1, port.len - 1), ret_port))
        return false;
    *ret_host = host;
    return true;
}

const char *value_address(struct span text, bool unix_too, struct conf_address *ret)
{
    static const char rule[] = "must be a numeric address or localhost with a port, like "
                               "127.0.0.1:8080 or [::1]:8080";
    struct conf_address found = {.text = text};
    uint8_t unused[16];
    if (text.len > 5 && memcmp(text.ptr, "unix:", 5) == 0) {
        if (!unix_too)
            return rule;
        found.is_unix = true;
        found.host = span_of(text.ptr + 5, text.len - 5);
        if (found.host.ptr[0] != '/' || found.host.len > 100)
            return "must be unix: and an absolute path of at most 100 bytes";
        *ret = found;
        return NULL;
    }
    const char *last = text.len == 0 ? NULL : memchr(text.ptr, ']', text.len);
    struct span after = last == NULL ? text : span_of(last, text.len - (size_t)(last - text.ptr));
    if (after.len == 0 || memchr(after.ptr, ':', after.len) == NULL ||
        !split_authority(text, &found.host, &found.port) || !value_host_address(found.host, unused))
        return rule;
    *ret = found;
    return NULL;
}

/* ---- urls ---- */

static const char *path_fault(struct span path)
{
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] == '?' || path.ptr[i] == '#')
            return "must not have a query or a fragment";
        if (!is_alnum(path.ptr[i]) && strchr("/-._~!$&'()*+,;=:@%", path.ptr[i]) == NULL)
            return "must hold nothing but URI characters";
    }
    return NULL;
}

const char *value_url(struct span text, struct value_url *ret)
{
    bool is_tls = text.len >= 8 && span_equal_nocase(span_of(text.ptr, 8), SPAN("https://"));
    if (!is_tls && (text.len < 8 || !span_equal_nocase(span_of(text.ptr, 7), SPAN("http://"))))
        return "must be a url like http://127.0.0.1:9000 or https://api.example.com";
    size_t start = is_tls ? 8 : 7;
    struct span rest = span_of(text.ptr + start, text.len - start);
    size_t len = 0;
    while (len < rest.len && strchr("/?#", rest.ptr[len]) == NULL)
        len++;
    struct value_url found = {
        .is_tls = is_tls, .port = is_tls ? 443 : 80, .authority = span_of(rest.ptr, len)};
    if (memchr(rest.ptr, '@', len) != NULL)
        return "must not hold credentials";
    if (len == 0 || len > 255 || !split_authority(found.authority, &found.host, &found.port) ||
        found.port == 0)
        return "must be http:// or https:// with a host, and a port from 1 to 65535 if one is "
               "given";
    found.path_prefix = span_of(rest.ptr + len, rest.len - len);
    const char *fault = path_fault(found.path_prefix);
    if (fault != NULL)
        return fault;
    while (found.path_prefix.len > 0 && found.path_prefix.ptr[found.path_prefix.len - 1] == '/')
        found.path_prefix.len--;
    *ret = found;
    return NULL;
}

/* ---- JSON pointers ---- */

static struct span unescape_step(struct span step, char *to)
{
    size_t len = 0;
    for (size_t i = 0; i < step.len; i++) {
        char c = step.ptr[i];
        if (c == '~')
            c = step.ptr[++i] == '0' ? '~' : '/';
        to[len++] = c;
    }
    return span_of(to, len);
}

bool value_pointer(struct arena *arena, struct span text, struct json_pointer *ret)
{
    uint32_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == '/';
    struct span *steps = arena_take(arena, sizeof(*steps) * count + 1);
    char *room = arena_take(arena, text.len + 1);
    if (steps == NULL || room == NULL)
        return false;
    uint32_t step = 0;
    for (size_t start = 1, i = 1; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != '/')
            continue;
        steps[step] = unescape_step(span_of(text.ptr + start, i - start), room);
        room += steps[step].len;
        step++;
        start = i + 1;
    }
    gw_assert(step == count);
    *ret = (struct json_pointer){.text = text, .steps = steps, .step_count = count};
    return true;
}
