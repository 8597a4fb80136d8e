/* What people read. Must never pass a control byte of the outside to a terminal. */
#include "gateway/commands/words.h"

#include "base/text.h"
#include "conf/values.h"
#include "policy/utf8.h"

#include <stdio.h>

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
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
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

void words_flush(struct gw_buf *out)
{
    struct span text = gw_buf_span(out);
    (void)fwrite(text.ptr, 1, text.len, stdout); /* the exit code cannot tell more */
    if (out->failed)
        (void)fputs("\n(cut: too much to print)\n", stdout);
    gw_buf_clear(out);
}

/* ---- tables ---- */

struct table_row {
    struct table_row *next;
    struct span cells[TABLE_COLUMNS_MAX];
};

struct table {
    struct arena *arena;
    uint32_t columns, rows;
    uint32_t widths[TABLE_COLUMNS_MAX];
    bool is_number[TABLE_COLUMNS_MAX];
    struct table_row *first, **last;
};

static uint32_t columns_of(struct span text)
{
    uint32_t columns = 0;
    for (size_t i = 0; i < text.len; i++)
        columns += ((uint8_t)text.ptr[i] & 0xc0) != 0x80;
    return columns;
}

/* Cut to so many columns, the last of them dots. */
static struct span cut(struct arena *arena, struct span text)
{
    size_t at = 0;
    uint32_t columns = 0;
    if (columns_of(text) <= TABLE_CUT_AT)
        return text;
    while (at < text.len && columns < TABLE_CUT_AT - 3) {
        at++;
        while (at < text.len && ((uint8_t)text.ptr[at] & 0xc0) == 0x80)
            at++;
        columns++;
    }
    return arena_print(arena, "%.*s...", (int)at, text.ptr);
}

bool table_add(struct table *table, const struct span *cells)
{
    struct table_row *row = arena_take(table->arena, sizeof(*row));
    if (row == NULL || table->rows == TABLE_ROWS_MAX)
        return false;
    for (uint32_t i = 0; i < table->columns; i++) {
        struct gw_buf shown;
        gw_buf_init(&shown, 65536);
        words_print(&shown, cells[i].len == 0 ? SPAN("-") : cells[i]);
        bool kept =
            arena_copy(table->arena, cut(table->arena, gw_buf_span(&shown)), &row->cells[i]);
        gw_buf_fini(&shown);
        if (!kept)
            return false;
        uint32_t width = columns_of(row->cells[i]);
        table->widths[i] = width > table->widths[i] ? width : table->widths[i];
    }
    *table->last = row;
    table->last = &row->next;
    table->rows++;
    return true;
}

struct table *table_new(struct arena *arena, const char *const *headers, uint32_t count)
{
    gw_assert(count <= TABLE_COLUMNS_MAX);
    struct table *table = arena_take(arena, sizeof(*table));
    struct span cells[TABLE_COLUMNS_MAX];
    if (table == NULL)
        return NULL;
    table->arena = arena;
    table->columns = count;
    table->last = &table->first;
    for (uint32_t i = 0; i < count; i++) {
        table->is_number[i] = headers[i][0] == '>';
        cells[i] = span_str(headers[i] + (table->is_number[i] ? 1 : 0));
    }
    return table_add(table, cells) ? table : NULL;
}

void table_print(const struct table *table, struct gw_buf *out)
{
    for (const struct table_row *row = table->first; row != NULL; row = row->next) {
        for (uint32_t i = 0; i < table->columns; i++) {
            struct span cell = row->cells[i];
            int pad = (int)(table->widths[i] - columns_of(cell));
            bool is_last = i + 1 == table->columns;
            /* A failed buffer stays marked. */
            if (table->is_number[i])
                (void)gw_buf_print(out, "%*s", pad, "");
            (void)gw_buf_add(out, cell);
            if (!table->is_number[i] && !is_last)
                (void)gw_buf_print(out, "%*s", pad, "");
            (void)gw_buf_add(out, is_last ? SPAN("\n") : SPAN("  "));
        }
    }
}
