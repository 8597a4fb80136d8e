/* Writes the items of a canonical form. Must never write a text without its
 * length, and never hand over a member's name that cannot be shown. */
#include "policy/canonical_writer.h"

#include "policy/utf8.h"

#define WRITER_TAG 0x77726974u
#define NAME_TAG   0x6e616d65u
#define LENGTH_TAG 0x6c656e67u

#define NUMBER_BYTES_MAX 10 /* 64 bits, seven a byte */
#define DIGITS_MAX       20 /* of 2^64 - 1 */

void canonical_init(struct canonical_writer *writer, const struct canonical_sink *sink)
{
    gw_assert(sink->put != NULL);
    gw_assert((sink->member_begin == NULL) == (sink->member_end == NULL));
    writer->tag_writer = WRITER_TAG;
    writer->sink = sink;
    writer->members = 0;
    writer->used = 0;
}

void canonical_flush(struct canonical_writer *writer)
{
    if (writer->used > 0)
        writer->sink->put(writer->sink->ctx, span_of(writer->bytes, writer->used));
    writer->used = 0;
}

void canonical_bytes(struct canonical_writer *writer, struct span bytes)
{
    if (bytes.len == 0)
        return;
    if (bytes.len > sizeof(writer->bytes) - writer->used)
        canonical_flush(writer);
    if (bytes.len > sizeof(writer->bytes)) {
        writer->sink->put(writer->sink->ctx, bytes);
        return;
    }
    memcpy(writer->bytes + writer->used, bytes.ptr, bytes.len);
    writer->used += bytes.len;
}

void canonical_tag(struct canonical_writer *writer, char tag)
{
    canonical_bytes(writer, span_of(&tag, 1));
}

void canonical_number(struct canonical_writer *writer, uint64_t number)
{
    char bytes[NUMBER_BYTES_MAX];
    size_t len = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[len++] = (char)(0x80 | (number & 0x7F));
    bytes[len++] = (char)number;
    canonical_bytes(writer, span_of(bytes, len));
}

void canonical_text(struct canonical_writer *writer, struct span text)
{
    canonical_number(writer, text.len);
    canonical_bytes(writer, text);
}

void canonical_optional(struct canonical_writer *writer, struct span text)
{
    canonical_tag(writer, text.ptr == NULL ? '-' : '=');
    if (text.ptr != NULL)
        canonical_text(writer, text);
}

void canonical_put(void *ctx, struct span piece)
{
    struct canonical_writer *writer;
    GW_CAST(writer, ctx, writer, WRITER_TAG);
    canonical_bytes(writer, piece);
}

bool canonical_has_room(const struct canonical_writer *writer)
{
    return writer->sink->member_begin != NULL && writer->members < CANONICAL_MEMBERS_MAX;
}

bool writer_begin(struct canonical_writer *writer, const struct canonical_path *path)
{
    if (!canonical_has_room(writer))
        return false;
    writer->members++;
    canonical_flush(writer);
    writer->sink->member_begin(writer->sink->ctx, span_of(path->text, path->len));
    return true;
}

void writer_end(struct canonical_writer *writer)
{
    canonical_flush(writer);
    writer->sink->member_end(writer->sink->ctx);
}

void canonical_name_init(struct canonical_name *name)
{
    name->tag_name = NAME_TAG;
    name->len = 0;
}

void canonical_name_put(void *ctx, struct span piece)
{
    struct canonical_name *name;
    GW_CAST(name, ctx, name, NAME_TAG);
    size_t room = sizeof(name->bytes) - name->len;
    size_t taken = piece.len < room ? piece.len : room; /* the rest is not shown */
    if (taken > 0)
        memcpy(name->bytes + name->len, piece.ptr, taken);
    name->len += taken;
}

void canonical_length_init(struct canonical_length *length)
{
    length->tag_length = LENGTH_TAG;
    length->bytes = 0;
}

void canonical_length_put(void *ctx, struct span piece)
{
    struct canonical_length *length;
    GW_CAST(length, ctx, length, LENGTH_TAG);
    length->bytes += piece.len;
}

void path_init(struct canonical_path *path)
{
    path->len = 0;
    path->safe_len = 0;
    path->is_cut = false;
}

/* All of the unit or, once there is no room, the sign that something was cut. */
static void path_unit(struct canonical_path *path, struct span unit)
{
    static const struct span dots = {"...", 3};
    if (path->is_cut)
        return;
    if (unit.len > sizeof(path->text) - path->len) {
        path->is_cut = true;
        path->len = path->safe_len;
        unit = dots;
    }
    memcpy(path->text + path->len, unit.ptr, unit.len);
    path->len += unit.len;
    if (path->len <= sizeof(path->text) - dots.len)
        path->safe_len = path->len;
}

/* Writes prefix and two hex digits: \u00XX or \xXX. */
static void path_escape(struct canonical_path *path, struct span prefix, unsigned char byte)
{
    static const char digits[] = "0123456789ABCDEF";
    char unit[8];
    gw_assert(prefix.len + 2 <= sizeof(unit));
    memcpy(unit, prefix.ptr, prefix.len);
    unit[prefix.len] = digits[byte >> 4];
    unit[prefix.len + 1] = digits[byte & 15];
    path_unit(path, span_of(unit, prefix.len + 2));
}

/* The character at `at`, in a form that can be shown; returns its bytes. */
static size_t path_character(struct canonical_path *path, struct span text, size_t at)
{
    unsigned char byte = (unsigned char)text.ptr[at];
    size_t len = utf8_sequence(text, at);
    if (len == 0) {
        path_escape(path, SPAN("\\x"), byte);
        return 1;
    }
    if (byte < 0x20 || byte == 0x7F)
        path_escape(path, SPAN("\\u00"), byte);
    else if (byte == 0xC2 && (unsigned char)text.ptr[at + 1] < 0xA0)
        path_escape(path, SPAN("\\u00"), (unsigned char)text.ptr[at + 1]);
    else
        path_unit(path, span_of(text.ptr + at, len));
    return len;
}

void path_pointer(struct canonical_path *path, struct span text)
{
    for (size_t at = 0; at < text.len && !path->is_cut;)
        at += path_character(path, text, at);
}

void path_step(struct canonical_path *path, const struct canonical_name *name)
{
    struct span text = span_of(name->bytes, name->len);
    path_unit(path, SPAN("/"));
    for (size_t at = 0; at < text.len && !path->is_cut;) {
        char byte = text.ptr[at];
        if (byte == '~' || byte == '/') {
            path_unit(path, byte == '~' ? SPAN("~0") : SPAN("~1"));
            at++;
        } else
            at += path_character(path, text, at);
    }
}

void path_number(struct canonical_path *path, char separator, uint64_t number)
{
    char digits[DIGITS_MAX + 1];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0 && at > 1);
    digits[--at] = separator;
    path_unit(path, span_of(digits + at, sizeof(digits) - at));
}
