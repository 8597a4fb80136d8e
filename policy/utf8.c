/* Reads and writes single UTF-8 sequences. Must never accept a second spelling of
 * a character: two byte strings would then pass for the same text. */
#include "policy/utf8.h"

static bool is_within(unsigned char byte, unsigned low, unsigned high)
{
    return byte >= low && byte <= high;
}

size_t utf8_sequence(struct span text, size_t at)
{
    gw_assert(at < text.len);
    const unsigned char *bytes = (const unsigned char *)text.ptr + at;
    size_t left = text.len - at;
    unsigned char lead = bytes[0];
    if (lead < 0x80)
        return 1;
    size_t len = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (!is_within(lead, 0xC2, 0xF4) || left < len)
        return 0;
    /* The second byte alone tells overlong forms, surrogates and what is too high. */
    unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (!is_within(bytes[1], low, high))
        return 0;
    for (size_t i = 2; i < len; i++)
        if (!is_within(bytes[i], 0x80, 0xBF))
            return 0;
    return len;
}

bool utf8_is_sound(struct span text)
{
    size_t at = 0, len = 1;
    while (at < text.len && len > 0) {
        len = utf8_sequence(text, at);
        at += len;
    }
    return len > 0;
}

size_t utf8_encode(uint32_t code_point, char ret_bytes[UTF8_BYTES_MAX])
{
    gw_assert(code_point <= 0x10FFFF);
    gw_assert(code_point < 0xD800 || code_point > 0xDFFF);
    if (code_point < 0x80) {
        ret_bytes[0] = (char)code_point;
        return 1;
    }
    size_t len = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--) {
        ret_bytes[i] = (char)(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    uint32_t marker = len == 2 ? 0xC0 : len == 3 ? 0xE0 : 0xF0;
    ret_bytes[0] = (char)(marker | code_point);
    return len;
}
