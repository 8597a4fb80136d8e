/* What happens to a header field, looked up in one table, and the questions about
 * Connection and about names that a CGI program cannot tell apart. Never looks at
 * the values of fields other than Connection. */
#include "policy/headers.h"

struct header_row {
    struct span name;
    uint32_t flags;
};

#define HOP       HEADER_HOP
#define OWNED     HEADER_OWNED
#define NO_STORE  HEADER_NO_STORE
#define COOKIE    HEADER_COOKIE
#define FRESH     HEADER_FRESH
#define OVERRIDE  HEADER_OVERRIDE
#define FORWARDED HEADER_FORWARDED
#define SECRET    HEADER_SECRET
#define FRAMING   HEADER_FRAMING
static const struct header_row rows[] = {
#define FIELD(name, flags, doc) {{(name), sizeof(name) - 1}, (flags)},
#include "policy/headers.def"
#undef FIELD
};
#undef HOP
#undef OWNED
#undef NO_STORE
#undef COOKIE
#undef FRESH
#undef OVERRIDE
#undef FORWARDED
#undef SECRET
#undef FRAMING

static char cgi_byte(char c)
{
    return c == '_' ? '-' : gw_lower(c);
}

bool header_same_cgi_name(struct span a, struct span b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (cgi_byte(a.ptr[i]) != cgi_byte(b.ptr[i]))
            return false;
    return true;
}

bool header_is_look_alike(struct span field_name, struct span name)
{
    return header_same_cgi_name(field_name, name) && !span_equal_nocase(field_name, name);
}

static bool row_fits(const struct header_row *row, struct span name)
{
    gw_assert(row->name.len > 1);
    if (row->name.ptr[row->name.len - 1] != '*')
        return header_same_cgi_name(row->name, name);
    struct span stem = span_of(row->name.ptr, row->name.len - 1);
    return name.len >= stem.len && header_same_cgi_name(stem, span_of(name.ptr, stem.len));
}

/* A look-alike bears the flags of what it looks like: the upstream may be a CGI
 * program, and then it is the same field. */
uint32_t header_flags(struct span name)
{
    uint32_t flags = 0;
    for (size_t i = 0; i < GW_COUNT(rows); i++)
        if (row_fits(&rows[i], name))
            flags |= rows[i].flags;
    return flags;
}

/* ---- Connection ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Takes the next member off a comma-separated list; empty members are skipped. */
static bool next_member(struct span *list, struct span *ret_member)
{
    while (list->len > 0) {
        size_t end = 0;
        while (end < list->len && list->ptr[end] != ',')
            end++;
        struct span member = span_of(list->ptr, end);
        size_t taken = end < list->len ? end + 1 : end;
        *list = span_of(list->ptr + taken, list->len - taken);
        while (member.len > 0 && is_space(member.ptr[0]))
            member = span_of(member.ptr + 1, member.len - 1);
        while (member.len > 0 && is_space(member.ptr[member.len - 1]))
            member.len--;
        if (member.len == 0)
            continue;
        *ret_member = member;
        return true;
    }
    return false;
}

bool header_named_by_connection(const struct http_field *fields, uint32_t count, struct span name)
{
    gw_assert(count == 0 || fields != NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (!span_equal_nocase(fields[i].name, SPAN("connection")))
            continue;
        struct span list = fields[i].value, member;
        while (next_member(&list, &member))
            if (span_equal_nocase(member, name))
                return true;
    }
    return false;
}

/* Fields without which a request would be another one, or from another caller. */
static bool may_not_be_stripped(struct span name)
{
    static const char *const names[] = {
        "host",        "content-length",    "content-type", "content-encoding", "idempotency-key",
        "client-cert", "client-cert-chain",
    };
    for (size_t i = 0; i < GW_COUNT(names); i++)
        if (header_same_cgi_name(span_str(names[i]), name))
            return true;
    uint32_t flags = header_flags(name);
    return (flags & HEADER_HOP) == 0 &&
           (flags & (HEADER_SECRET | HEADER_OWNED | HEADER_FORWARDED)) != 0;
}

bool header_connection_is_abused(const struct http_field *fields, uint32_t count,
                                 struct span key_name)
{
    gw_assert(count == 0 || fields != NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (!span_equal_nocase(fields[i].name, SPAN("connection")))
            continue;
        struct span list = fields[i].value, member;
        while (next_member(&list, &member))
            if (may_not_be_stripped(member) || header_same_cgi_name(member, key_name))
                return true;
    }
    return false;
}
