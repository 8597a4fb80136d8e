/* Which bytes may stand where, as one table, and the few ways to walk over them.
 * Nothing here knows of lines or messages. */
#include "gateway/http1/parts.h"

/* Sixteen bytes a row, as in the ASCII chart. Each number is a sum of enum
 * http1_class. A comma is no HOST byte: two Host lines that a hop before us
 * joined must not pass as one. */
static const uint8_t classes[256] = {
    0,  8,  8,  8,  8,  8,  8,  8,  8,  12, 0,  8,  8,  0,  8,  8,  /* 00 */
    8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  /* 10 */
    12, 31, 12, 13, 31, 31, 31, 31, 30, 30, 31, 31, 14, 31, 31, 14, /* 20 */
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 14, 30, 12, 30, 12, 14, /* 30 */
    14, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, /* 40 */
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 14, 12, 14, 13, 31, /* 50 */
    13, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, /* 60 */
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 12, 13, 12, 31, 8,  /* 70 */
    12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, /* 80 */
    12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, /* 90 */
    12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, /* a0 */
    12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, /* b0 */
    12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, /* c0 */
    12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, /* d0 */
    12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, /* e0 */
    12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, /* f0 */
};

/* Eight bytes at a time while none is a control character: the bytes of most
 * values, and most bytes of a head are values. Stops before the first word with
 * one; HTAB too, which the caller's table then lets pass. */
static size_t plain_words(struct span text)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    size_t len = 0;
    while (text.len - len >= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, text.ptr + len, sizeof(word));
        uint64_t from_del = word ^ (ones * 0x7f); /* a zero byte where DEL was */
        uint64_t below_space = (word - ones * ' ') & ~word;
        if (((below_space | ((from_del - ones) & ~from_del)) & tops) != 0)
            return len;
        len += sizeof(word);
    }
    return len;
}

size_t http1_run(struct span text, enum http1_class class)
{
    size_t len = (class & (HTTP1_VALUE | HTTP1_LOOSE)) != 0 ? plain_words(text) : 0;
    while (len < text.len && (classes[(uint8_t)text.ptr[len]] & class) != 0)
        len++;
    return len;
}

bool http1_is_token(struct span text)
{
    return text.len > 0 && http1_run(text, HTTP1_TOKEN) == text.len;
}

bool http1_is_hex(char c)
{
    return gw_hex_value(c) >= 0;
}

bool http1_escapes_are_sound(struct span text)
{
    const char *at = text.ptr, *end = text.ptr + text.len;
    while (at < end) {
        at = memchr(at, '%', (size_t)(end - at));
        if (at == NULL)
            return true;
        if (end - at < 3 || !http1_is_hex(at[1]) || !http1_is_hex(at[2]))
            return false;
        if (at[1] == '0' && at[2] == '0')
            return false;
        at += 3;
    }
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

struct span http1_trim(struct span text)
{
    while (text.len > 0 && is_space(text.ptr[0]))
        text = span_of(text.ptr + 1, text.len - 1);
    while (text.len > 0 && is_space(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

bool http1_next_member(struct span *list, struct span *ret_member)
{
    while (list->len > 0) {
        const char *comma = memchr(list->ptr, ',', list->len);
        size_t len = comma == NULL ? list->len : (size_t)(comma - list->ptr);
        struct span member = http1_trim(span_of(list->ptr, len));
        size_t used = comma == NULL ? len : len + 1;
        *list = span_of(list->ptr + used, list->len - used);
        if (member.len > 0) {
            *ret_member = member;
            return true;
        }
    }
    return false;
}
