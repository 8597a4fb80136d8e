/* Colours and columns. It must never colour what a program reads. */
#include "gateway/commands/terminal.h"

#include "policy/utf8.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

uint32_t terminal_columns(void)
{
    struct winsize size = {0};
    if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

/* A terminal, and nobody asked for none (NO_COLOR, TERM=dumb). */
static bool has_colours(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDOUT_FILENO) != 0 && !is_set("NO_COLOR") && kind != NULL && kind[0] != '\0' &&
           strcmp(kind, "dumb") != 0;
}

bool terminal_shows_progress(void)
{
    return isatty(STDERR_FILENO) != 0;
}

void terminal_print(struct gw_buf *out, enum style style, struct span text)
{
    static const char *const marks[] = {"", "\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[1;31m"};
    bool is_styled = style != STYLE_PLAIN && text.len > 0 && has_colours();
    if (is_styled)
        (void)gw_buf_print(out, "%s", marks[style]); /* a failed buffer stays marked */
    (void)gw_buf_add(out, text);
    if (is_styled)
        (void)gw_buf_add(out, SPAN("\x1b[0m"));
}

/* ---- columns ---- */

struct range {
    uint32_t first, last;
};

static bool lies_in(uint32_t point, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

/* By blocks: marks that stand over the letter before them take none, letters of East
 * Asia and pictures two. */
static uint32_t columns_of(uint32_t point)
{
    static const struct range none[] = {
        {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
        {0x0900, 0x0902}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff},
        {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
    static const struct range two[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},
                                       {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
                                       {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
                                       {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff},
                                       {0x20000, 0x3fffd}};
    if (point < 0x0300)
        return 1;
    if (lies_in(point, none, GW_COUNT(none)))
        return 0;
    return lies_in(point, two, GW_COUNT(two)) ? 2 : 1;
}

static uint32_t point_at(struct span text, size_t at, size_t len)
{
    static const uint8_t first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (uint8_t)text.ptr[at] & first_bits[len];
    for (size_t i = 1; i < len; i++)
        point = point << 6 | ((uint8_t)text.ptr[at + i] & 0x3f);
    return point;
}

/* Bytes that fit into so many columns, and how many columns those take. */
static size_t measure(struct span text, uint32_t columns_max, uint32_t *ret_columns)
{
    size_t at = 0;
    uint32_t columns = 0;
    while (at < text.len) {
        size_t len = utf8_sequence(text, at);
        uint32_t more = len == 0 ? 1 : columns_of(point_at(text, at, len));
        if (more > columns_max - columns)
            break;
        columns += more;
        at += len == 0 ? 1 : len;
    }
    *ret_columns = columns;
    return at;
}

uint32_t text_columns(struct span text)
{
    uint32_t columns;
    (void)measure(text, UINT32_MAX, &columns); /* all of it fits */
    return columns;
}

size_t text_fit(struct span text, uint32_t columns)
{
    uint32_t taken;
    return measure(text, columns, &taken);
}
