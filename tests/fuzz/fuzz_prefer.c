/* Prefer from any bytes that a header may hold: lines of the input are lines of the
 * field. What is preferred stands there, one line means the same as several, the first
 * wait counts, and no other preference or parameter hides a later one. */
#include <stdlib.h>

#include "base/buf.h"
#include "gateway/prefer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINES_MAX       64
#define INPUT_BYTES_MAX 8192

/* What the reader of requests lets through. */
static bool may_be_value(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static bool holds_nocase(struct span text, struct span word)
{
    for (size_t i = 0; i + word.len <= text.len; i++)
        if (span_equal_nocase(span_of(text.ptr + i, word.len), word))
            return true;
    return false;
}

static struct prefer read_lines(struct http_field *fields, uint32_t count)
{
    struct http_head head = {.fields = fields, .field_count = count};
    struct prefer found;
    prefer_read(&head, &found);
    return found;
}

static void assert_same(struct prefer a, struct prefer b)
{
    gw_assert(a.respond_async == b.respond_async && a.has_wait == b.has_wait);
    gw_assert(a.wait_s == b.wait_s);
}

/* Is every quote of the line closed in it? Else it would swallow what is joined to it. */
static bool is_closed(struct span text)
{
    bool is_quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        if (is_quoted && text.ptr[i] == '\\')
            i++;
        else if (text.ptr[i] == '"')
            is_quoted = !is_quoted;
    }
    return !is_quoted;
}

static void check_joined(struct http_field *fields, uint32_t count)
{
    struct gw_buf text;
    gw_buf_init(&text, (size_t)4 * INPUT_BYTES_MAX);
    bool all_closed = true;
    for (uint32_t i = 0; i < count; i++) {
        all_closed &= is_closed(fields[i].value);
        gw_assert(gw_buf_add(&text, i == 0 ? SPAN("") : SPAN(" ,\t")));
        gw_assert(gw_buf_add(&text, fields[i].value));
    }
    struct prefer several = read_lines(fields, count);
    struct http_field one = {.name = SPAN("pREFER"), .value = gw_buf_span(&text)};
    if (all_closed)
        assert_same(read_lines(&one, 1), several);
    gw_implies(several.respond_async, holds_nocase(one.value, SPAN("respond-async")));
    gw_implies(several.has_wait, holds_nocase(one.value, SPAN("wait")));
    gw_implies(!several.has_wait, several.wait_s == 0);
    gw_buf_fini(&text);
}

/* A line of its own behind them is always read, and an earlier wait wins. */
static void check_added(struct http_field *fields, uint32_t count)
{
    struct prefer before = read_lines(fields, count);
    fields[count] = (struct http_field){.name = SPAN("Prefer"),
                                        .value = SPAN("x;y=\"a,b\" , Respond-Async;z, wait=7")};
    struct prefer after = read_lines(fields, count + 1);
    gw_assert(after.respond_async && after.has_wait);
    gw_assert(after.wait_s == (before.has_wait ? before.wait_s : 7));
    fields[count].name = SPAN("Preference");
    assert_same(read_lines(fields, count + 1), before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_field fields[LINES_MAX + 1];
    uint32_t count = 0;
    if (size > INPUT_BYTES_MAX)
        return 0;
    struct span rest = span_of(size == 0 ? "" : (const char *)data, size);
    while (rest.len > 0 && count < LINES_MAX) {
        size_t len = 0;
        while (len < rest.len && rest.ptr[len] != '\n')
            len++;
        struct span line = span_of(rest.ptr, len);
        if (may_be_value(line))
            fields[count++] = (struct http_field){.name = SPAN("Prefer"), .value = line};
        len += len < rest.len;
        rest = span_of(rest.ptr + len, rest.len - len);
    }
    check_joined(fields, count);
    check_added(fields, count);
    return 0;
}
