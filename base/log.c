/* Builds the line on the stack and writes it in one call, so that lines of two
 * threads never mix and no lock is needed. */
#include "base/log.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LOG_LINE_BYTES 2048

static enum gw_log_level log_level = GW_LOG_INFO; /* set once at start */
static enum gw_log_format log_format = GW_LOG_TEXT;
static const char *const level_names[] = {"debug", "info", "warn", "error"};

struct line {
    char text[LOG_LINE_BYTES];
    size_t len;
};

void gw_log_setup(enum gw_log_level level, enum gw_log_format format)
{
    log_level = level;
    log_format = format;
}

bool gw_log_is_on(enum gw_log_level level)
{
    return level >= log_level;
}

static void put(struct line *line, const char *text, size_t len)
{
    size_t room = sizeof(line->text) - 2 - line->len; /* room for the quote and the line's end */
    if (len > room)
        len = room;
    memcpy(line->text + line->len, text, len);
    line->len += len;
}

static void put_str(struct line *line, const char *text)
{
    put(line, text, strlen(text));
}

static void put_quoted(struct line *line, struct span text)
{
    put_str(line, "\"");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        char escape[8];
        if (c == '"' || c == '\\') {
            escape[0] = '\\';
            escape[1] = (char)c;
            put(line, escape, 2);
        } else if (c < 0x20 || c >= 0x7f) {
            (void)snprintf(escape, sizeof(escape), "\\u%04x", c); /* six characters */
            put(line, escape, 6);
        } else {
            put(line, text.ptr + i, 1);
        }
    }
    put_str(line, "\"");
}

static void put_pair(struct line *line, const struct gw_log_pair *pair)
{
    bool json = log_format == GW_LOG_JSON;
    put_str(line, json ? ",\"" : " ");
    put_str(line, pair->name);
    put_str(line, json ? "\":" : "=");
    if (pair->text.ptr != NULL) {
        put_quoted(line, pair->text);
    } else {
        char number[24];
        (void)snprintf(number, sizeof(number), "%lld", (long long)pair->number); /* fits */
        put_str(line, number);
    }
}

void gw_log(enum gw_log_level level, const char *event, const struct gw_log_pair *pairs)
{
    if (!gw_log_is_on(level))
        return;
    struct line line = {.len = 0};
    char when[GW_RFC3339_BYTES];
    struct gw_clock *clock = gw_clock_system();
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
    if (json)
        line.text[line.len++] = '}';
    line.text[line.len++] = '\n';
    ssize_t written = write(STDERR_FILENO, line.text, line.len);
    (void)written; /* a log that cannot be written has nobody to be told */
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
