/* The endpoint table and the documentation printed from it. It never looks at a
 * request's body, token or query. */
#include "gateway/admin/shapes.h"

static const struct endpoint endpoints[] = {
#define ENDPOINT(method, path, right, body, handler, doc)                                          \
    {ENDPOINT_##method, path, ADMIN_##right, ENDPOINT_BODY_##body, handler, doc},
#include "gateway/admin/endpoints.def"
#undef ENDPOINT
};

/* The next segment of a path that begins with a slash; false: no more. */
static bool next_segment(struct span *rest, struct span *ret_segment)
{
    if (rest->len == 0 || rest->ptr[0] != '/')
        return false;
    size_t end = 1;
    while (end < rest->len && rest->ptr[end] != '/')
        end++;
    *ret_segment = span_of(rest->ptr + 1, end - 1);
    *rest = span_of(rest->ptr + end, rest->len - end);
    return true;
}

static bool path_fits(const char *pattern, struct span path, struct span *ret_parameter)
{
    struct span want = span_str(pattern), wanted, given;
    *ret_parameter = span_of("", 0);
    while (next_segment(&want, &wanted)) {
        if (!next_segment(&path, &given))
            return false;
        bool is_parameter = wanted.len > 0 && wanted.ptr[0] == '{';
        if (is_parameter ? given.len == 0 : !span_equal(wanted, given))
            return false;
        if (is_parameter)
            *ret_parameter = given;
    }
    return path.len == 0;
}

void endpoint_find(struct span path, uint32_t method, struct endpoint_match *ret)
{
    *ret = (struct endpoint_match){0};
    for (size_t i = 0; i < GW_COUNT(endpoints); i++) {
        struct span parameter;
        if (!path_fits(endpoints[i].path, path, &parameter))
            continue;
        ret->methods |= (uint32_t)endpoints[i].method;
        if (((uint32_t)endpoints[i].method & method) != 0) {
            ret->endpoint = &endpoints[i];
            ret->parameter = parameter;
        }
    }
}

const struct endpoint *endpoint_at(uint32_t index)
{
    return index < GW_COUNT(endpoints) ? &endpoints[index] : NULL;
}

const char *endpoint_method_name(enum endpoint_method method)
{
    switch (method) {
    case ENDPOINT_GET:
        return "GET";
    case ENDPOINT_POST:
        return "POST";
    case ENDPOINT_DELETE:
        return "DELETE";
    }
    return "";
}

static const char *right_text(uint32_t right)
{
    switch (right) {
    case ADMIN_READ:
        return "read";
    case ADMIN_EVIDENCE:
        return "evidence";
    case ADMIN_SETTLE:
        return "settle";
    case ADMIN_CONTROL:
        return "control";
    case ADMIN_ANY:
        return "any";
    default: /* a set of bits, not an enum */
        return "none";
    }
}

static void print_problems(struct gw_buf *out)
{
    (void)gw_buf_add(out, SPAN("\n## Problems\n\n| code | status | title |\n|---|---|---|\n"));
#define ADMIN_PROBLEM(name, code, status, retry, title)                                            \
    (void)gw_buf_print(out, "| `%s` | %d | %s |\n", code, status, title);
#include "gateway/admin/problems.def"
#undef ADMIN_PROBLEM
}

void endpoint_print_reference(struct gw_buf *out)
{
    /* The caller asks once at the end whether the buffer failed. */
    (void)gw_buf_add(
        out,
        SPAN(
            "# The operator API\n\n"
            "This file is printed by `recibo help --markdown admin`; a test fails when it is "
            "stale.\n\n"
            "It listens on `admin.address`, away from the callers' listener. The same description "
            "for programs is `GET /openapi.json` (OpenAPI 3.1).\n\n"
            "## Who may call\n\n"
            "Every call but the open ones carries `Authorization: Bearer TOKEN`; `recibo token "
            "new` makes a token, the configuration holds its SHA-256 and its rights. Without a "
            "valid token the answer is 401, without the right 403. The audit names the caller:\n\n"
            "- `token:ana` is the holder of a token;\n"
            "- `token:proxy/anna` is a person whom a proxy named in the header of "
            "`admin.actor_header`; from an address that is not listed there the header is "
            "ignored;\n"
            "- `uid:1000` is the peer of a Unix socket (`admin.address: unix:/path`) who showed no "
            "token: the kernel says who it is. The user that Recibo runs as, and root, have all "
            "rights; nobody else has any;\n"
            "- a page that was opened by a link of `recibo page` acts as whoever asked for the "
            "link.\n\n"
            "The `Host` must be a loopback name or address (any port, so that a tunnel works), or "
            "the configured address; else the answer is 421. A request from a page of another "
            "origin is refused. Calls that change something are POST with `Content-Type: "
            "application/json`, or DELETE; a GET changes nothing. Bodies are strict JSON: no name "
            "twice, at most 32 levels, no member that is not known. Errors are "
            "`application/problem+json` with a `code`. Times are RFC 3339 in UTC.\n\n"
            "## Calls\n\n| call | right | what |\n|---|---|---|\n"));
    for (size_t i = 0; i < GW_COUNT(endpoints); i++)
        (void)gw_buf_print(out, "| `%s %s` | %s | %s |\n",
                           endpoint_method_name(endpoints[i].method), endpoints[i].path,
                           right_text(endpoints[i].right), endpoints[i].doc);
    print_problems(out);
    shape_print_reference(out);
}
