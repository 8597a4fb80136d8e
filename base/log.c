/* Builds the line on the stack and hands it on in one piece, so that lines of two threads
 * never mix. It must never let a value forge or tear a line: whatever is no plain text is
 * escaped, and a line that would be too long is cut between characters and says so. */
#include "base/log.h"
#include "base/log_writer.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

#define LOG_STOP_MS      2000
#define LOG_CLOSER_BYTES 32 /* kept for the end of a cut value, of a cut line, and of the line */

static enum gw_log_level log_level = GW_LOG_INFO; /* set once at start */
static enum gw_log_format log_format = GW_LOG_TEXT;
static const char *const level_names[] = {"debug", "info", "warn", "error"};

struct line {
    char text[LOG_LINE_BYTES];
    size_t len;
    bool is_cut;
};

void gw_log_setup(enum gw_log_level level, enum gw_log_format format)
{
    log_level = level;
    log_format = format;
}

void gw_log_start(void)
{
    (void)log_writer_start(); /* without it lines are written at once, as before */
}

void gw_log_stop(void)
{
    log_writer_stop(LOG_STOP_MS);
}

bool gw_log_is_on(enum gw_log_level level)
{
    return level >= log_level;
}

static bool fits(const struct line *line, size_t len)
{
    return len <= sizeof(line->text) - LOG_CLOSER_BYTES - line->len;
}

/* What always fits: fixed words, and the closers, for which room is kept. */
static void put(struct line *line, const char *text, size_t len)
{
    gw_assert(len <= sizeof(line->text) - line->len);
    memcpy(line->text + line->len, text, len);
    line->len += len;
}

static void put_str(struct line *line, const char *text)
{
    put(line, text, strlen(text));
}

/* A character that a terminal, an editor or a reader of lines would take for more than
 * itself: controls of both sets, ends of lines, marks that turn the direction of text. */
static bool is_hostile(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) || code_point == 0x061c ||
           (code_point >= 0x200b && code_point <= 0x200f) ||
           (code_point >= 0x2028 && code_point <= 0x202e) ||
           (code_point >= 0x2060 && code_point <= 0x206f) || code_point == 0xfeff;
}

/* Of a sequence that gw_utf8_length() has found sound. */
static uint32_t decode(const char *text, size_t len)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code_point = (unsigned char)text[0] & first_bits[len];
    for (size_t i = 1; i < len; i++)
        code_point = code_point << 6 | ((unsigned char)text[i] & 0x3fu);
    return code_point;
}

/* One character of a value as it stands in the line; returns how much of `text` it took. */
static size_t spell(struct span text, char ret[12], size_t *ret_len)
{
    unsigned char c = (unsigned char)text.ptr[0];
    size_t len = gw_utf8_length(text);
    int written = 0;
    if (len == 0) { /* JSON knows no bytes: the mark of what cannot be read */
        written = log_format == GW_LOG_JSON ? snprintf(ret, 12, "\\ufffd")
                                            : snprintf(ret, 12, "\\x%02x", c);
        len = 1;
    } else if (c == '"' || c == '\\') {
        written = snprintf(ret, 12, "\\%c", c);
    } else if (is_hostile(decode(text.ptr, len))) {
        written = snprintf(ret, 12, "\\u%04x", decode(text.ptr, len));
    } else {
        memcpy(ret, text.ptr, len);
        written = (int)len;
    }
    gw_assert(written > 0 && written < 12);
    *ret_len = (size_t)written;
    return len;
}

static void put_quoted(struct line *line, struct span text)
{
    put_str(line, "\"");
    while (text.len > 0) {
        char spelled[12];
        size_t len, taken = spell(text, spelled, &len);
        if (!fits(line, len)) {
            put_str(line, "...");
            line->is_cut = true;
            break;
        }
        put(line, spelled, len);
        text = span_of(text.ptr + taken, text.len - taken);
    }
    put_str(line, "\"");
}

static void put_pair(struct line *line, const struct gw_log_pair *pair)
{
    bool json = log_format == GW_LOG_JSON;
    char number[24];
    (void)snprintf(number, sizeof(number), "%lld", (long long)pair->number); /* fits */
    if (line->is_cut || !fits(line, strlen(pair->name) + sizeof(number) + 8)) {
        line->is_cut = true;
        return;
    }
    put_str(line, json ? ",\"" : " ");
    put_str(line, pair->name);
    put_str(line, json ? "\":" : "=");
    if (pair->text.ptr != NULL)
        put_quoted(line, pair->text);
    else
        put_str(line, number);
}

void gw_log(enum gw_log_level level, const char *event, const struct gw_log_pair *pairs)
{
    if (!gw_log_is_on(level))
        return;
    struct line line;
    char when[GW_RFC3339_BYTES];
    struct gw_clock *clock = gw_clock_system();
    line.len = 0;
    line.is_cut = false;
    gw_rfc3339(clock->wall_ms(clock), when);
    bool json = log_format == GW_LOG_JSON;
    put_str(&line, json ? "{\"time\":\"" : "");
    put_str(&line, when);
    put_str(&line, json ? "\",\"level\":\"" : " ");
    put_str(&line, level_names[level]);
    put_str(&line, json ? "\",\"event\":\"" : " ");
    put_str(&line, event);
    put_str(&line, json ? "\"" : "");
    for (; pairs != NULL && pairs->name != NULL; pairs++)
        put_pair(&line, pairs);
    if (line.is_cut)
        put_str(&line, json ? ",\"cut\":true" : " cut=true");
    put_str(&line, json ? "}\n" : "\n");
    log_writer_put(line.text, line.len);
}

void gw_log_text(enum gw_log_level level, const char *event, const char *fmt, ...)
{
    if (!gw_log_is_on(level))
        return;
    char text[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args); /* cut, by design */
    va_end(args);
    const struct gw_log_pair pairs[] = {{"msg", span_str(text), 0}, GW_LOG_END};
    gw_log(level, event, pairs);
}
