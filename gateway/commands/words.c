/* What people read. Must never pass a control byte of the outside to a terminal. */
#include "gateway/commands/words.h"

#include "base/text.h"
#include "conf/values.h"
#include "policy/utf8.h"

#include <stdio.h>

#define DAY_CHARS 10 /* of 2026-11-30T02:11:04.123Z */

struct span words_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value))
        return span_of("", 0);
    return span_of(json_string_value(value), json_string_length(value));
}

int64_t words_number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

bool words_is_true(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

static uint32_t code_point(struct span text, size_t at, size_t len)
{
    static const uint8_t first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (uint8_t)text.ptr[at] & first_bits[len];
    for (size_t i = 1; i < len; i++)
        point = point << 6 | ((uint8_t)text.ptr[at + i] & 0x3f);
    return point;
}

/* Controls, and the marks that turn the direction of what follows. */
static bool is_hidden(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x061c ||
           (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff || point == 0x00ad ||
           point == 0x180e || (point >= 0xfff9 && point <= 0xfffb) ||
           (point >= 0xe0000 && point <= 0xe007f);
}

static void print_hidden(struct gw_buf *out, uint32_t point)
{
    /* A failed buffer stays marked: what does not fit is left out. */
    if (point == '\n')
        (void)gw_buf_add(out, SPAN("\\n"));
    else if (point == '\t')
        (void)gw_buf_add(out, SPAN("\\t"));
    else if (point == '\r')
        (void)gw_buf_add(out, SPAN("\\r"));
    else if (point < 0x80)
        (void)gw_buf_print(out, "\\x%02x", point);
    else
        (void)gw_buf_print(out, "\\u{%x}", point);
}

void words_print(struct gw_buf *out, struct span text)
{
    size_t at = 0;
    while (at < text.len) {
        size_t len = utf8_sequence(text, at);
        uint32_t point = len == 0 ? 0 : code_point(text, at, len);
        if (len == 0)
            (void)gw_buf_print(out, "\\x%02x", (uint8_t)text.ptr[at]); /* marked if it fails */
        else if (is_hidden(point))
            print_hidden(out, point);
        else
            (void)gw_buf_add(out, span_of(text.ptr + at, len));
        at += len == 0 ? 1 : len;
    }
}

void words_print_age(struct gw_buf *out, struct span time, int64_t now_ms)
{
    int64_t then_ms;
    char text[VALUE_TEXT_BYTES];
    if (!gw_rfc3339_parse(time, &then_ms)) {
        (void)gw_buf_byte(out, '-'); /* a failed buffer stays marked */
        return;
    }
    int64_t seconds = now_ms > then_ms ? (now_ms - then_ms) / 1000 : 0;
    int64_t unit = seconds < 120 ? 1 : seconds < 7200 ? 60 : seconds < 172800 ? 3600 : 86400;
    value_print_duration(seconds / unit * unit * 1000, text);
    (void)gw_buf_print(out, "%s", text);
}

/* The day only where it is another one. */
void words_print_moment(struct gw_buf *out, struct span time, int64_t now_ms)
{
    int64_t then_ms;
    char then[GW_RFC3339_BYTES], now[GW_RFC3339_BYTES];
    if (!gw_rfc3339_parse(time, &then_ms)) {
        (void)gw_buf_byte(out, '-'); /* a failed buffer stays marked */
        return;
    }
    gw_rfc3339(then_ms, then);
    gw_rfc3339(now_ms, now);
    if (strncmp(then, now, DAY_CHARS) == 0)
        (void)gw_buf_print(out, "%.8s", then + DAY_CHARS + 1);
    else
        (void)gw_buf_print(out, "%.10s %.5s", then, then + DAY_CHARS + 1);
}

void words_print_labels(struct gw_buf *out, const json_t *labels)
{
    const char *between = "";
    for (void *at = json_object_iter((json_t *)labels); at != NULL;
         at = json_object_iter_next((json_t *)labels, at)) {
        const json_t *value = json_object_iter_value(at);
        (void)gw_buf_print(out, "%s", between); /* a failed buffer stays marked */
        words_print(out, span_str(json_object_iter_key(at)));
        (void)gw_buf_byte(out, '=');
        words_print(out, span_of(json_string_value(value), json_string_length(value)));
        between = " ";
    }
}

/* "3,812": what people read at a glance. */
void words_print_count(struct gw_buf *out, int64_t number)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)number); /* at most 20 */
    for (int i = 0; i < len; i++) {
        bool splits = i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-';
        (void)gw_buf_print(out, "%s%c", splits ? "," : "", digits[i]); /* marked if it fails */
    }
}

void words_flush(struct gw_buf *out)
{
    struct span text = gw_buf_span(out);
    (void)fwrite(text.ptr, 1, text.len, stdout); /* the exit code cannot tell more */
    if (out->failed)
        (void)fputs("\n(cut: too much to print)\n", stdout);
    gw_buf_clear(out);
}
