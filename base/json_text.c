/* Writing text as a JSON string. */
#include "base/buf.h"
#include "base/text.h"

size_t gw_utf8_length(struct span text)
{
    const unsigned char *p = (const unsigned char *)text.ptr;
    size_t len = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : 4;
    if (len == 1)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4 || text.len < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates and what lies beyond U+10FFFF. */
    bool bad = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
               (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f);
    return bad ? 0 : len;
}

void gw_json_string(struct gw_buf *buf, struct span text)
{
    /* A failed buffer stays marked; callers ask once at the end. */
    (void)gw_buf_byte(buf, '"');
    while (text.len > 0) {
        size_t len = gw_utf8_length(text);
        unsigned char c = (unsigned char)text.ptr[0];
        if (len == 0)
            (void)gw_buf_add(buf, SPAN("\xef\xbf\xbd"));
        else if (c == '"' || c == '\\')
            (void)(gw_buf_byte(buf, '\\') && gw_buf_byte(buf, (char)c));
        else if (c < 0x20 || c == 0x7f)
            (void)gw_buf_print(buf, "\\u%04x", c);
        else
            (void)gw_buf_add(buf, span_of(text.ptr, len));
        if (len == 0)
            len = 1;
        text = span_of(text.ptr + len, text.len - len);
    }
    (void)gw_buf_byte(buf, '"');
}
