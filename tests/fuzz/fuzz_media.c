/* Content-Type from any bytes that a header may hold: the parts lie inside the value,
 * the one spelling is its own one spelling, and a parameter that is quoted says the
 * same before and after. Lines of the input: the value; a name; its content. */
#include <stdlib.h>

#include "base/buf.h"
#include "gateway/media.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VALUE_BYTES_MAX 8192
#define ARENA_BYTES     ((size_t)4 << 20)

/* What the reader of requests lets through, without white space around it. */
static bool may_be_value(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return text.len == 0 ||
           (strchr(" \t", text.ptr[0]) == NULL && strchr(" \t", text.ptr[text.len - 1]) == NULL);
}

static bool lies_inside(struct span part, struct span whole)
{
    return part.len == 0 || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

static void check_value(struct arena *arena, struct span value)
{
    struct span once = media_normalized(arena, value);
    struct span twice = media_normalized(arena, once);
    gw_assert(span_equal(once, twice));
    struct span type = media_type(value);
    gw_assert(lies_inside(type, value));
    for (int mode = 0; mode < FINGERPRINT_MODE_COUNT; mode++) {
        bool fits = media_fits((enum fingerprint_mode)mode, type);
        gw_assert(fits == media_fits((enum fingerprint_mode)mode, media_type(once)));
    }
    gw_assert(media_is_json(type) == media_is_json(media_type(once)));
    struct span charset = media_parameter(arena, value, SPAN("charset"));
    gw_assert(charset.len <= value.len);
}

static struct span quoted(struct gw_buf *out, const char *type, struct span name,
                          struct span content)
{
    gw_assert(gw_buf_print(out, "%s ; ", type));
    gw_assert(gw_buf_add(out, name) && gw_buf_add(out, SPAN("=\"")));
    for (size_t i = 0; i < content.len; i++) {
        if (content.ptr[i] == '"' || content.ptr[i] == '\\')
            gw_assert(gw_buf_byte(out, '\\'));
        gw_assert(gw_buf_byte(out, content.ptr[i]));
    }
    gw_assert(gw_buf_byte(out, '"'));
    return gw_buf_span(out);
}

/* Two contents that differ must never become one spelling. */
static void check_parameter(struct arena *arena, struct span name, struct span content)
{
    struct gw_buf text;
    gw_buf_init(&text, (size_t)4 * VALUE_BYTES_MAX);
    struct span value = quoted(&text, "Text/Plain", name, content);
    gw_assert(span_equal(media_parameter(arena, value, name), content));
    struct span normal = media_normalized(arena, value);
    struct span kept = media_parameter(arena, normal, name);
    gw_assert(span_equal_nocase(kept, content));
    gw_implies(!span_equal_nocase(name, SPAN("charset")), span_equal(kept, content));
    gw_assert(span_equal(media_type(normal), SPAN("text/plain")));
    check_value(arena, value);
    gw_buf_fini(&text);
}

static struct span next_line(struct span *rest)
{
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] != '\n')
        len++;
    struct span line = span_of(rest->ptr, len);
    size_t eaten = len < rest->len ? len + 1 : len;
    *rest = span_of(rest->ptr + eaten, rest->len - eaten);
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > VALUE_BYTES_MAX)
        return 0;
    struct span rest = span_of(size == 0 ? "" : (const char *)data, size);
    struct span value = next_line(&rest), name = next_line(&rest), content = next_line(&rest);
    struct arena *arena = arena_new(ARENA_BYTES);
    gw_assert(arena != NULL);
    if (may_be_value(value))
        check_value(arena, value);
    struct gw_buf inside;
    gw_buf_init(&inside, (size_t)4 * VALUE_BYTES_MAX); /* every byte may want a backslash */
    if (http1_is_token(name) && may_be_value(quoted(&inside, "a/b", SPAN("n"), content)))
        check_parameter(arena, name, content);
    gw_buf_fini(&inside);
    arena_free(arena);
    return 0;
}
