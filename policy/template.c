/* Targets with holes. It must never let a value say more than one value: no slash, no
 * dot segment, no control character in a path, and nothing unescaped anywhere. */
#include "policy/template.h"

struct reader {
    struct span text;
    size_t at;
    struct template_part *parts;
    uint32_t parts_max, count;
    struct template_fault *fault;
};

static bool wrong(struct reader *reader, size_t at, const char *text)
{
    *reader->fault = (struct template_fault){.column = (uint32_t)at + 1, .text = text};
    return false;
}

static bool holds(struct span text, char c)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == c)
            return true;
    return false;
}

static bool is_unreserved(char c)
{
    return (gw_lower(c) >= 'a' && gw_lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

/* RFC 3986 3.3 and 3.4, without what needs an escape. */
static const char *literal_fault(struct span text, size_t at)
{
    char c = text.ptr[at];
    if (c == '}')
        return "} without {; as a character it is written %7D";
    if (c == '%' && (at + 2 >= text.len || gw_hex_value(text.ptr[at + 1]) < 0 ||
                     gw_hex_value(text.ptr[at + 2]) < 0))
        return "% must be followed by two hex digits";
    if (c == '#')
        return "# begins what is never sent; as a character it is written %23";
    if (c <= 0x20 || c >= 0x7f || holds(SPAN("\"<>\\^`|"), c))
        return "a character that a target must hold as %HH";
    return NULL;
}

static bool add_part(struct reader *reader, enum template_kind kind, struct span text, size_t at)
{
    if (reader->count == reader->parts_max)
        return wrong(reader, at, "too many parts");
    reader->parts[reader->count++] =
        (struct template_part){.kind = kind, .text = text, .column = (uint32_t)at + 1};
    return true;
}

static bool read_text(struct reader *reader)
{
    size_t from = reader->at;
    for (; reader->at < reader->text.len && reader->text.ptr[reader->at] != '{'; reader->at++) {
        const char *fault = literal_fault(reader->text, reader->at);
        if (fault != NULL)
            return wrong(reader, reader->at, fault);
    }
    return add_part(reader, TEMPLATE_TEXT, span_of(reader->text.ptr + from, reader->at - from),
                    from);
}

static bool take_prefix(struct span *name, struct span prefix)
{
    if (name->len < prefix.len || memcmp(name->ptr, prefix.ptr, prefix.len) != 0)
        return false;
    *name = span_of(name->ptr + prefix.len, name->len - prefix.len);
    return true;
}

static bool add_hole(struct reader *reader, struct span name, size_t at)
{
    if (span_equal(name, SPAN("operation_id")))
        return add_part(reader, TEMPLATE_OPERATION_ID, name, at);
    if (span_equal(name, SPAN("key")))
        return add_part(reader, TEMPLATE_KEY, name, at);
    if (span_equal(name, SPAN("owner")))
        return add_part(reader, TEMPLATE_OWNER, name, at);
    if (take_prefix(&name, SPAN("label:")))
        return name.len > 0 ? add_part(reader, TEMPLATE_LABEL, name, at)
                            : wrong(reader, at, "label: needs a name, as in {label:order}");
    if (take_prefix(&name, SPAN("response:")))
        return name.len > 0 && name.ptr[0] == '/'
                   ? add_part(reader, TEMPLATE_RESPONSE, name, at)
                   : wrong(reader, at, "response: needs a JSON pointer, as in {response:/id}");
    return wrong(reader, at,
                 "unknown name; known are operation_id, key, owner, label:NAME and "
                 "response:/POINTER");
}

static bool read_hole(struct reader *reader)
{
    size_t open = reader->at, end = open + 1;
    while (end < reader->text.len && reader->text.ptr[end] != '}' && reader->text.ptr[end] != '{')
        end++;
    if (end == reader->text.len || reader->text.ptr[end] != '}')
        return wrong(reader, open, "{ without }; as a character it is written %7B");
    if (end == open + 1)
        return wrong(reader, open, "nothing stands in the braces");
    reader->at = end + 1;
    return add_hole(reader, span_of(reader->text.ptr + open + 1, end - open - 1), open + 1);
}

/* ---- dot segments ---- */

static size_t dot_at(struct span path, size_t at)
{
    if (path.ptr[at] == '.')
        return 1;
    return at + 2 < path.len && path.ptr[at] == '%' && path.ptr[at + 1] == '2' &&
                   gw_lower(path.ptr[at + 2]) == 'e'
               ? 3
               : 0;
}

/* Is there a segment "." or "..", however its dots are spelled? `at` is left behind it. */
static bool has_dot_segment(struct span target, size_t *ret_at)
{
    size_t at = 0;
    while (at < target.len && target.ptr[at] != '?') {
        size_t dots = 0, len;
        at += target.ptr[at] == '/' ? 1 : 0;
        size_t from = at;
        while (at < target.len && (len = dot_at(target, at)) > 0) {
            at += len;
            dots++;
        }
        bool ends = at == target.len || target.ptr[at] == '/' || target.ptr[at] == '?';
        if (ends && (dots == 1 || dots == 2)) {
            *ret_at = from;
            return true;
        }
        while (at < target.len && target.ptr[at] != '/' && target.ptr[at] != '?')
            at++;
    }
    return false;
}

bool template_parse(struct span text, struct template_part *parts, uint32_t parts_max,
                    uint32_t *ret_count, struct template_fault *ret_fault)
{
    struct reader reader = {
        .text = text, .parts = parts, .parts_max = parts_max, .fault = ret_fault};
    size_t at = 0;
    gw_assert(text.len < UINT32_MAX);
    if (text.len == 0 || text.ptr[0] != '/')
        return wrong(&reader, 0, "must begin with /");
    if (text.len > 1 && text.ptr[1] == '/')
        return wrong(&reader, 1, "must not begin with //");
    while (reader.at < text.len)
        if (!(text.ptr[reader.at] == '{' ? read_hole(&reader) : read_text(&reader)))
            return false;
    if (has_dot_segment(text, &at))
        return wrong(&reader, at, "a segment . or .. leads elsewhere");
    *ret_count = reader.count;
    return true;
}

bool template_uses(const struct target_template *target, enum template_kind kind)
{
    for (uint32_t i = 0; i < target->part_count; i++)
        if (target->parts[i].kind == kind)
            return true;
    return false;
}

/* ---- filling in ---- */

struct writer {
    char *room;
    size_t room_len, len;
};

static bool put(struct writer *writer, struct span bytes)
{
    if (bytes.len > writer->room_len - writer->len)
        return false;
    if (bytes.len > 0)
        memcpy(writer->room + writer->len, bytes.ptr, bytes.len);
    writer->len += bytes.len;
    return true;
}

static bool put_escaped(struct writer *writer, struct span value)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < value.len; i++) {
        const unsigned char byte = (unsigned char)value.ptr[i];
        const char escaped[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        if (!put(writer, is_unreserved(value.ptr[i]) ? span_of(value.ptr + i, 1)
                                                     : span_of(escaped, sizeof(escaped))))
            return false;
    }
    return true;
}

/* Upstreams decode before they look: an escaped slash may still be a slash to them, and
 * an escaped NUL the end of the text. */
static bool is_one_value(struct span value, bool in_query)
{
    for (size_t i = 0; i < value.len; i++) {
        const unsigned char byte = (unsigned char)value.ptr[i];
        if (byte < 0x20 || byte == 0x7f || (!in_query && (byte == '/' || byte == '\\')))
            return false;
    }
    return true;
}

enum template_verdict template_fill(const struct target_template *target, const struct span *values,
                                    char *room, size_t room_len, size_t *ret_len,
                                    uint32_t *ret_part)
{
    struct writer writer = {.room = room, .room_len = room_len};
    bool in_query = false;
    size_t at = 0;
    for (uint32_t i = 0; i < target->part_count; i++) {
        const struct template_part *part = &target->parts[i];
        *ret_part = i;
        if (part->kind == TEMPLATE_TEXT) {
            in_query = in_query || holds(part->text, '?');
            if (!put(&writer, part->text))
                return TEMPLATE_TOO_LONG;
            continue;
        }
        if (values[i].len == 0)
            return TEMPLATE_NO_VALUE;
        if (!is_one_value(values[i], in_query))
            return TEMPLATE_BAD_VALUE;
        if (!put_escaped(&writer, values[i]))
            return TEMPLATE_TOO_LONG;
    }
    gw_assert(writer.len <= room_len);
    if (has_dot_segment(span_of(room, writer.len), &at))
        return TEMPLATE_BAD_VALUE;
    *ret_len = writer.len;
    return TEMPLATE_FILLED;
}
