/* The grammar of request targets and of host[:port] (RFC 9112 3.2, RFC 3986 3.2.2).
 * It says what a target is; which targets are served is for the gateway. */
#include <arpa/inet.h>

#include "base/text.h"
#include "gateway/http1/parts.h"

/* A port may be empty, as the grammar has it. */
static bool is_port(struct span text)
{
    uint64_t port = 0;
    return text.len == 0 || (gw_parse_u64(text, &port) && port <= HTTP1_PORT_MAX);
}

/* "[...]" with an IPv6 address. The grammar's "future" addresses name nothing
 * that exists, and zone identifiers have no place in a request. */
static bool is_bracketed(struct span text)
{
    char address[HTTP1_IPV6_BYTES_MAX + 1];
    struct in6_addr parsed;
    if (text.len < 3 || text.len - 2 > HTTP1_IPV6_BYTES_MAX)
        return false;
    size_t len = text.len - 2;
    if (memchr(text.ptr + 1, '\0', len) != NULL)
        return false;
    memcpy(address, text.ptr + 1, len);
    address[len] = '\0';
    return inet_pton(AF_INET6, address, &parsed) == 1;
}

bool http1_is_authority(struct span text)
{
    const char *end = text.ptr + text.len, *host_end;
    if (text.len == 0)
        return false;
    bool is_literal = text.ptr[0] == '[';
    if (is_literal) {
        const char *bracket = memchr(text.ptr, ']', text.len);
        if (bracket == NULL)
            return false;
        host_end = bracket + 1;
    } else {
        host_end = text.ptr + http1_run(text, HTTP1_HOST);
    }
    if (host_end < end && *host_end != ':')
        return false;
    struct span host = span_of(text.ptr, (size_t)(host_end - text.ptr));
    if (host.len == 0)
        return false;
    if (is_literal ? !is_bracketed(host) : !http1_escapes_are_sound(host))
        return false;
    return host_end == end || is_port(span_of(host_end + 1, (size_t)(end - host_end - 1)));
}

static bool drop_front(struct span *text, struct span front)
{
    if (text->len < front.len || !span_equal_nocase(span_of(text->ptr, front.len), front))
        return false;
    *text = span_of(text->ptr + front.len, text->len - front.len);
    return true;
}

static const char *split_absolute(struct span method, struct span rest, struct http1_target *ret)
{
    size_t len = 0;
    while (len < rest.len && rest.ptr[len] != '/' && rest.ptr[len] != '?')
        len++;
    ret->authority = span_of(rest.ptr, len);
    ret->path = span_of(rest.ptr + len, rest.len - len);
    if (!http1_is_authority(ret->authority))
        return "the request target does not name a valid host and port";
    ret->lacks_slash = ret->path.len > 0 && ret->path.ptr[0] == '?';
    if (ret->path.len == 0) /* RFC 9112 3.2.4: asks about the server, not about a resource */
        ret->path = span_equal(method, SPAN("OPTIONS")) ? SPAN("*") : SPAN("/");
    return NULL;
}

const char *http1_split_target(struct span method, struct span target, struct http1_target *ret)
{
    gw_assert(target.len > 0); /* the scanner lets no empty one pass */
    *ret = (struct http1_target){.authority = SPAN(""), .path = target};
    if (!http1_escapes_are_sound(target))
        return "the request target has a broken escape";
    if (target.ptr[0] == '/')
        return NULL;
    if (span_equal(target, SPAN("*")))
        return span_equal(method, SPAN("OPTIONS")) ? NULL : "only OPTIONS may ask for *";
    struct span rest = target;
    if (drop_front(&rest, SPAN("http://")) || drop_front(&rest, SPAN("https://")))
        return split_absolute(method, rest, ret);
    return "the request target is neither a path nor an http or https URI";
}
