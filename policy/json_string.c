/* Checks, decodes and compares JSON strings where they lie. Must never normalise:
 * two strings are equal when their characters are, and not otherwise. */
#include "policy/json_string.h"

#include "policy/utf8.h"

#define SHORT_ESCAPE_BYTES   2  /* backslash and a letter */
#define UNICODE_ESCAPE_BYTES 6  /* backslash, u, four hex digits */
#define STRING_AT_END        -1 /* below every byte, so that a prefix sorts first */

/* A \uHHHH at the front of `text`. */
static bool unicode_escape_read(struct span text, uint32_t *ret_unit)
{
    uint32_t unit = 0;
    if (text.len < UNICODE_ESCAPE_BYTES || text.ptr[0] != '\\' || text.ptr[1] != 'u')
        return false;
    for (size_t i = SHORT_ESCAPE_BYTES; i < UNICODE_ESCAPE_BYTES; i++) {
        int digit = gw_hex_value(text.ptr[i]);
        if (digit < 0)
            return false;
        unit = unit << 4 | (uint32_t)digit;
    }
    *ret_unit = unit;
    return true;
}

/* The escape at the front of `text`: its decoded bytes, and how many bytes of the
 * text it takes. 0: it is none, or half a surrogate pair. */
static size_t escape_read(struct span text, char ret_bytes[UTF8_BYTES_MAX], size_t *ret_len)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    for (size_t i = 0; text.len >= SHORT_ESCAPE_BYTES && i < sizeof(letters) - 1; i++)
        if (text.ptr[1] == letters[i]) {
            ret_bytes[0] = meanings[i];
            *ret_len = 1;
            return SHORT_ESCAPE_BYTES;
        }
    uint32_t high, low;
    if (!unicode_escape_read(text, &high))
        return 0;
    if (high < 0xD800 || high > 0xDFFF) {
        *ret_len = utf8_encode(high, ret_bytes);
        return UNICODE_ESCAPE_BYTES;
    }
    struct span rest = span_of(text.ptr + UNICODE_ESCAPE_BYTES, text.len - UNICODE_ESCAPE_BYTES);
    if (high > 0xDBFF || !unicode_escape_read(rest, &low) || low < 0xDC00 || low > 0xDFFF)
        return 0;
    *ret_len = utf8_encode(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), ret_bytes);
    return (size_t)2 * UNICODE_ESCAPE_BYTES;
}

/* Bytes that the character or escape at `at` takes. 0: it is wrong. */
static size_t character_bytes(struct span text, size_t at, const char **ret_wrong)
{
    unsigned char byte = (unsigned char)text.ptr[at];
    if (byte < 0x20) {
        *ret_wrong = "a control character in a string is not escaped";
        return 0;
    }
    if (byte == '\\') {
        char bytes[UTF8_BYTES_MAX];
        size_t len;
        *ret_wrong = "an escape in a string is not one of JSON's or half of a surrogate pair";
        return escape_read(span_of(text.ptr + at, text.len - at), bytes, &len);
    }
    *ret_wrong = "a string is not well-formed UTF-8";
    return utf8_sequence(text, at);
}

bool json_string_scan(struct span text, size_t start, size_t *ret_end, bool *ret_has_escapes,
                      struct json_fault *ret_fault)
{
    bool has_escapes = false;
    size_t at = start;
    gw_assert(start <= text.len);
    while (at < text.len && text.ptr[at] != '"') {
        const char *wrong = NULL;
        size_t taken = character_bytes(text, at, &wrong);
        if (taken == 0) {
            *ret_fault = (struct json_fault){at, wrong};
            return false;
        }
        has_escapes |= text.ptr[at] == '\\';
        at += taken;
    }
    if (at == text.len) {
        *ret_fault = (struct json_fault){at, "the text ends inside a string"};
        return false;
    }
    *ret_end = at;
    *ret_has_escapes = has_escapes;
    return true;
}

void json_decode(struct span raw, bool has_escapes, json_put_fn *put, void *ctx)
{
    size_t run = 0; /* where the plain bytes not yet put begin */
    for (size_t at = 0; has_escapes && at < raw.len;) {
        if (raw.ptr[at] != '\\') {
            at++;
            continue;
        }
        if (at > run)
            put(ctx, span_of(raw.ptr + run, at - run));
        char bytes[UTF8_BYTES_MAX];
        size_t len = 0;
        size_t taken = escape_read(span_of(raw.ptr + at, raw.len - at), bytes, &len);
        gw_assert(taken > 0); /* json_string_scan has seen it */
        put(ctx, span_of(bytes, len));
        at += taken;
        run = at;
    }
    if (raw.len > run)
        put(ctx, span_of(raw.ptr + run, raw.len - run));
}

/* Walks the decoded bytes of a string. */
struct string_cursor {
    struct span rest;
    bool has_escapes;
    size_t pending_at, pending_len;
    char pending[UTF8_BYTES_MAX];
};

static int cursor_next(struct string_cursor *cursor)
{
    if (cursor->pending_at < cursor->pending_len)
        return (unsigned char)cursor->pending[cursor->pending_at++];
    if (cursor->rest.len == 0)
        return STRING_AT_END;
    if (cursor->has_escapes && cursor->rest.ptr[0] == '\\') {
        size_t taken = escape_read(cursor->rest, cursor->pending, &cursor->pending_len);
        gw_assert(taken > 0); /* json_string_scan has seen it */
        cursor->rest = span_of(cursor->rest.ptr + taken, cursor->rest.len - taken);
        cursor->pending_at = 1;
        return (unsigned char)cursor->pending[0];
    }
    unsigned char byte = (unsigned char)cursor->rest.ptr[0];
    cursor->rest = span_of(cursor->rest.ptr + 1, cursor->rest.len - 1);
    return byte;
}

static bool cursor_is_pending(const struct string_cursor *cursor)
{
    return cursor->pending_at < cursor->pending_len;
}

/* Bytes of the escape at the front; a surrogate pair is one. */
static size_t escape_bytes(struct span text)
{
    if (text.len < UNICODE_ESCAPE_BYTES || text.ptr[1] != 'u')
        return SHORT_ESCAPE_BYTES;
    bool is_high = gw_lower(text.ptr[2]) == 'd' && gw_hex_value(text.ptr[3]) >= 8 &&
                   gw_hex_value(text.ptr[3]) < 12;
    return is_high ? (size_t)2 * UNICODE_ESCAPE_BYTES : UNICODE_ESCAPE_BYTES;
}

/* Steps over what both spell alike: the common case, without decoding anything. */
static void skip_common(struct string_cursor *a, struct string_cursor *b)
{
    if (cursor_is_pending(a) || cursor_is_pending(b))
        return;
    const char *left = a->rest.ptr, *right = b->rest.ptr;
    size_t shorter = a->rest.len < b->rest.len ? a->rest.len : b->rest.len;
    size_t same = 0;
    while (same < shorter && left[same] == right[same]) {
        size_t taken = 1;
        if (left[same] == '\\') {
            taken = escape_bytes(span_of(left + same, shorter - same));
            if (!a->has_escapes || !b->has_escapes || taken > shorter - same ||
                memcmp(left + same, right + same, taken) != 0)
                break;
        }
        same += taken;
    }
    a->rest = span_of(left + same, a->rest.len - same);
    b->rest = span_of(right + same, b->rest.len - same);
}

int json_string_compare(struct span a, bool a_escapes, struct span b, bool b_escapes)
{
    if (!a_escapes && !b_escapes) {
        size_t shorter = a.len < b.len ? a.len : b.len;
        int order = shorter == 0 ? 0 : memcmp(a.ptr, b.ptr, shorter);
        return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
    }
    struct string_cursor left = {.rest = a, .has_escapes = a_escapes};
    struct string_cursor right = {.rest = b, .has_escapes = b_escapes};
    int x, y;
    do {
        skip_common(&left, &right);
        x = cursor_next(&left);
        y = cursor_next(&right);
    } while (x == y && x != STRING_AT_END);
    return (x > y) - (x < y);
}

bool json_string_equals(struct span raw, bool has_escapes, struct span text)
{
    if (!has_escapes)
        return span_equal(raw, text);
    return json_string_compare(raw, true, text, false) == 0;
}
