/* Media types, read once and written in one way. */
#include "gateway/media.h"

#define MEDIA_PARAMETERS_MAX 8 /* more are kept as they are, after the sorted ones */

static struct span trim(struct span text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = span_of(text.ptr + 1, text.len - 1);
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

/* Cuts the next ";"-separated piece off *rest; a semicolon inside quotes does not end it. */
static struct span next_piece(struct span *rest)
{
    bool quoted = false;
    size_t at = 0;
    for (; at < rest->len && (quoted || rest->ptr[at] != ';'); at++) {
        if (quoted && rest->ptr[at] == '\\' && at + 1 < rest->len)
            at++;
        else if (rest->ptr[at] == '"')
            quoted = !quoted;
    }
    if (at > rest->len)
        at = rest->len;
    struct span piece = trim(span_of(rest->ptr, at));
    size_t eaten = at < rest->len ? at + 1 : at;
    *rest = span_of(rest->ptr + eaten, rest->len - eaten);
    return piece;
}

struct span media_type(struct span content_type)
{
    struct span rest = content_type;
    return next_piece(&rest);
}

static bool split_parameter(struct span piece, struct span *ret_name, struct span *ret_value)
{
    const char *equals = piece.len == 0 ? NULL : memchr(piece.ptr, '=', piece.len);
    if (equals == NULL)
        return false;
    size_t at = (size_t)(equals - piece.ptr);
    *ret_name = trim(span_of(piece.ptr, at));
    *ret_value = trim(span_of(equals + 1, piece.len - at - 1));
    return true;
}

/* A quoted-string and nothing else: the quote that closes it is the last byte. */
static bool is_quoted(struct span value)
{
    if (value.len < 2 || value.ptr[0] != '"')
        return false;
    size_t at = 1;
    for (; at < value.len && value.ptr[at] != '"'; at++)
        if (value.ptr[at] == '\\')
            at++;
    return at + 1 == value.len;
}

static struct span unquote(struct arena *arena, struct span value)
{
    if (!is_quoted(value))
        return value;
    char *room = arena_take(arena, value.len);
    if (room == NULL)
        return SPAN("");
    size_t len = 0;
    for (size_t i = 1; i + 1 < value.len; i++) {
        if (value.ptr[i] == '\\')
            i++;
        room[len++] = value.ptr[i];
    }
    return span_of(room, len);
}

struct span media_parameter(struct arena *arena, struct span content_type, struct span name)
{
    struct span rest = content_type;
    (void)next_piece(&rest); /* the type itself */
    while (rest.len > 0) {
        struct span piece_name, value;
        if (split_parameter(next_piece(&rest), &piece_name, &value) &&
            span_equal_nocase(piece_name, name))
            return unquote(arena, value);
    }
    return SPAN("");
}

static int compare(struct span a, struct span b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len == 0 ? 0 : memcmp(a.ptr, b.ptr, len);
    return order != 0 ? order : a.len < b.len ? -1 : a.len > b.len;
}

static struct span lower(struct arena *arena, struct span text)
{
    char *room = arena_take(arena, text.len);
    if (room == NULL)
        return text;
    for (size_t i = 0; i < text.len; i++)
        room[i] = gw_lower(text.ptr[i]);
    return span_of(room, text.len);
}

/* The one spelling of a quoted value: without its quotes only where they say nothing,
 * since "x;charset=y" is one value and x;charset=y are two. */
static struct span normal_value(struct arena *arena, struct span content)
{
    if (http1_is_token(content))
        return content;
    char *room = arena_take(arena, 2 * content.len + 2);
    if (room == NULL)
        return SPAN("");
    size_t len = 0;
    room[len++] = '"';
    for (size_t i = 0; i < content.len; i++) {
        if (content.ptr[i] == '"' || content.ptr[i] == '\\')
            room[len++] = '\\';
        room[len++] = content.ptr[i];
    }
    room[len++] = '"';
    return span_of(room, len);
}

/* "name=value" in one spelling; empty for what does not count. */
static struct span normal_parameter(struct arena *arena, struct span piece, bool is_multipart)
{
    struct span name, value;
    if (!split_parameter(piece, &name, &value))
        return piece;
    if (is_multipart && span_equal_nocase(name, SPAN("boundary")))
        return SPAN("");
    const bool was_quoted = is_quoted(value);
    value = unquote(arena, value);
    if (span_equal_nocase(name, SPAN("charset")))
        value = lower(arena, value);
    if (was_quoted)
        value = normal_value(arena, value);
    name = lower(arena, name);
    return arena_print(arena, "%.*s=%.*s", (int)name.len, name.ptr, (int)value.len, value.ptr);
}

static bool has_quote(struct span text)
{
    return text.len > 0 && memchr(text.ptr, '"', text.len) != NULL;
}

/* Quotes stand around whole values of parameters, and are closed. */
static bool quotes_are_sound(struct span content_type)
{
    struct span rest = content_type;
    if (has_quote(next_piece(&rest)))
        return false;
    while (rest.len > 0) {
        struct span name, value, piece = next_piece(&rest);
        if (has_quote(piece) &&
            (!split_parameter(piece, &name, &value) || has_quote(name) || !is_quoted(value)))
            return false;
    }
    return true;
}

struct span media_normalized(struct arena *arena, struct span content_type)
{
    /* Where it is not clear what belongs together, nothing is taken for the same. */
    if (!quotes_are_sound(content_type))
        return content_type;
    struct span rest = content_type;
    struct span type = lower(arena, next_piece(&rest));
    bool is_multipart = type.len > 10 && memcmp(type.ptr, "multipart/", 10) == 0;
    struct span parameters[MEDIA_PARAMETERS_MAX];
    size_t count = 0;
    while (rest.len > 0 && count < MEDIA_PARAMETERS_MAX) {
        struct span parameter = normal_parameter(arena, next_piece(&rest), is_multipart);
        size_t at = count;
        if (parameter.len == 0)
            continue;
        for (; at > 0 && compare(parameters[at - 1], parameter) > 0; at--)
            parameters[at] = parameters[at - 1];
        parameters[at] = parameter;
        count++;
    }
    struct span text = type;
    for (size_t i = 0; i < count; i++)
        text = arena_print(arena, "%.*s;%.*s", (int)text.len, text.ptr, (int)parameters[i].len,
                           parameters[i].ptr);
    return rest.len == 0
               ? text
               : arena_print(arena, "%.*s;%.*s", (int)text.len, text.ptr, (int)rest.len, rest.ptr);
}

bool media_is_json(struct span type)
{
    return span_equal_nocase(type, SPAN("application/json")) ||
           (type.len > 5 && span_equal_nocase(span_of(type.ptr + type.len - 5, 5), SPAN("+json")));
}

bool media_fits(enum fingerprint_mode mode, struct span type)
{
    switch (mode) {
    case FINGERPRINT_JSON:
        return media_is_json(type);
    case FINGERPRINT_FORM:
        return span_equal_nocase(type, SPAN("application/x-www-form-urlencoded"));
    case FINGERPRINT_MULTIPART:
        return span_equal_nocase(type, SPAN("multipart/form-data"));
    case FINGERPRINT_RAW:
        return true;
    case FINGERPRINT_MODE_COUNT:
        break;
    }
    gw_assert(mode < FINGERPRINT_MODE_COUNT);
    return false;
}

struct span media_accept(enum fingerprint_mode mode)
{
    switch (mode) {
    case FINGERPRINT_JSON:
        return SPAN("application/json");
    case FINGERPRINT_FORM:
        return SPAN("application/x-www-form-urlencoded");
    case FINGERPRINT_MULTIPART:
        return SPAN("multipart/form-data");
    case FINGERPRINT_RAW:
        return SPAN("*/*");
    case FINGERPRINT_MODE_COUNT:
        break;
    }
    gw_assert(mode < FINGERPRINT_MODE_COUNT);
    return SPAN("");
}
