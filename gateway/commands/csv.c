/* Writes CSV. It must never let a cell begin as a formula: labels and keys are other
 * people's words, and the file is opened in a spreadsheet. */
#include "gateway/commands/csv.h"

#include "gateway/commands/words.h"
#include "policy/utf8.h"

#include <stdio.h>

#define ROW_BYTES_MAX ((size_t)1 << 20)

enum csv_kind { CSV_TEXT, CSV_NUMBER, CSV_FLAG };

static const struct {
    const char *name;
    enum csv_kind kind;
} columns[] = {
    {"id", CSV_TEXT},
    {"version", CSV_NUMBER},
    {"state", CSV_TEXT},
    {"phase", CSV_TEXT},
    {"route", CSV_TEXT},
    {"owner", CSV_TEXT},
    {"key", CSV_TEXT},
    {"method", CSV_TEXT},
    {"target", CSV_TEXT},
    {"end", CSV_TEXT},
    {"status", CSV_NUMBER},
    {"attempts", CSV_NUMBER},
    {"created_at", CSV_TEXT},
    {"updated_at", CSV_TEXT},
    {"repeats", CSV_NUMBER},
    {"last_repeat_at", CSV_TEXT},
    {"settled", CSV_FLAG},
    {"contradicted", CSV_FLAG},
    {"claimed_by", CSV_TEXT},
    {"probe", CSV_TEXT},
    {"probe_count", CSV_NUMBER},
};

struct csv_row {
    struct csv_row *next;
    struct span cells;                         /* those of `columns`, with their commas */
    struct span labels[CSV_LABELS_MAX_OF_ONE]; /* in the order of label_at */
    uint16_t label_at[CSV_LABELS_MAX_OF_ONE];
    uint32_t label_count;
};

/* Ignored results: a buffer that is full stays marked, and is asked once a row. */

/* Full-width signs too: some spreadsheets read them like the others. */
static bool is_formula(struct span text)
{
    static const char *const begins[] = {"=",
                                         "+",
                                         "-",
                                         "@",
                                         "\t",
                                         "\r",
                                         "\n",
                                         "\xef\xbc\x9d",
                                         "\xef\xbc\x8b",
                                         "\xef\xbc\x8d",
                                         "\xef\xbc\xa0"};
    while (text.len > 0 && text.ptr[0] == ' ') /* some cut blanks off first */
        text = span_of(text.ptr + 1, text.len - 1);
    for (size_t i = 0; i < GW_COUNT(begins); i++) {
        size_t len = strlen(begins[i]);
        if (text.len >= len && memcmp(text.ptr, begins[i], len) == 0)
            return true;
    }
    return false;
}

static bool is_line_part(char c)
{
    return c == '\t' || c == '\r' || c == '\n';
}

/* With its quotes doubled. */
static void put_quoted(struct gw_buf *out, struct span text)
{
    size_t at = 0;
    while (at < text.len) {
        size_t run = at;
        while (run < text.len && text.ptr[run] != '"' && !is_line_part(text.ptr[run]))
            run++;
        words_print(out, span_of(text.ptr + at, run - at));
        if (run < text.len)
            (void)gw_buf_print(out, "%s%c", text.ptr[run] == '"' ? "\"" : "", text.ptr[run]);
        at = run + 1;
    }
}

/* What a spreadsheet would calculate gets a ' before it; control characters but tab and
 * line ends are spelled out. */
static void put_cell(struct gw_buf *out, struct span text)
{
    bool needs_quotes = is_formula(text);
    for (size_t i = 0; i < text.len && !needs_quotes; i++)
        needs_quotes = memchr("\",; ", text.ptr[i], 4) != NULL || is_line_part(text.ptr[i]);
    if (!needs_quotes) {
        words_print(out, text);
        return;
    }
    (void)gw_buf_add(out, is_formula(text) ? SPAN("\"'") : SPAN("\""));
    put_quoted(out, text);
    (void)gw_buf_byte(out, '"');
}

static void put_value(struct gw_buf *out, const json_t *operation, size_t column)
{
    const char *name = columns[column].name;
    switch (columns[column].kind) {
    case CSV_TEXT:
        put_cell(out, words_of(operation, name));
        break;
    case CSV_NUMBER:
        if (json_is_integer(json_object_get(operation, name)))
            (void)gw_buf_print(out, "%lld", (long long)words_number(operation, name));
        break;
    case CSV_FLAG:
        (void)gw_buf_add(out, words_is_true(operation, name) ? SPAN("true") : SPAN("false"));
        break;
    }
}

void csv_init(struct csv *csv, struct arena *arena)
{
    *csv = (struct csv){.arena = arena};
    csv->last = &csv->first;
}

/* The column of a label; CSV_LABELS_MAX: there are too many. */
static uint32_t column_of(struct csv *csv, struct span name)
{
    for (uint32_t i = 0; i < csv->label_count; i++)
        if (span_equal(csv->labels[i], name))
            return i;
    if (csv->label_count == CSV_LABELS_MAX ||
        !arena_copy(csv->arena, name, &csv->labels[csv->label_count]))
        return CSV_LABELS_MAX;
    return csv->label_count++;
}

static bool add_labels(struct csv *csv, const json_t *operation, struct csv_row *row)
{
    json_t *labels = json_object_get(operation, "labels");
    for (void *at = json_object_iter(labels); at != NULL; at = json_object_iter_next(labels, at)) {
        const json_t *value = json_object_iter_value(at);
        uint32_t column = column_of(csv, span_str(json_object_iter_key(at)));
        struct span text = span_of(json_string_value(value), json_string_length(value));
        if (column == CSV_LABELS_MAX || row->label_count == CSV_LABELS_MAX_OF_ONE ||
            !arena_copy(csv->arena, text, &row->labels[row->label_count]))
            return false;
        row->label_at[row->label_count++] = (uint16_t)column;
    }
    return true;
}

bool csv_add(struct csv *csv, const json_t *operation)
{
    struct csv_row *row = arena_take(csv->arena, sizeof(*row));
    struct gw_buf cells;
    if (row == NULL)
        return false;
    gw_buf_init(&cells, ROW_BYTES_MAX);
    for (size_t i = 0; i < GW_COUNT(columns); i++) {
        if (i > 0)
            (void)gw_buf_byte(&cells, ',');
        put_value(&cells, operation, i);
    }
    bool ok = !cells.failed && arena_copy(csv->arena, gw_buf_span(&cells), &row->cells) &&
              add_labels(csv, operation, row);
    gw_buf_fini(&cells);
    if (!ok)
        return false;
    *csv->last = row;
    csv->last = &row->next;
    csv->rows++;
    return true;
}

/* ---- out ---- */

static void put_header(const struct csv *csv, struct gw_buf *out)
{
    for (size_t i = 0; i < GW_COUNT(columns); i++)
        (void)gw_buf_print(out, "%s%s", i == 0 ? "" : ",", columns[i].name);
    for (uint32_t i = 0; i < csv->label_count; i++) {
        (void)gw_buf_add(out, SPAN(",label."));
        words_print(out, csv->labels[i]); /* a name of the configuration: letters, digits . _ - */
    }
    (void)gw_buf_add(out, SPAN("\r\n"));
}

static void put_row(const struct csv *csv, const struct csv_row *row, struct gw_buf *out)
{
    (void)gw_buf_add(out, row->cells);
    for (uint32_t column = 0; column < csv->label_count; column++) {
        (void)gw_buf_byte(out, ',');
        for (uint32_t i = 0; i < row->label_count; i++)
            if (row->label_at[i] == column)
                put_cell(out, row->labels[i]);
    }
    (void)gw_buf_add(out, SPAN("\r\n"));
}

bool csv_write(const struct csv *csv, bool (*put)(void *ctx, struct span text), void *ctx)
{
    struct gw_buf line;
    gw_buf_init(&line, 2 * ROW_BYTES_MAX);
    put_header(csv, &line);
    bool ok = !line.failed && put(ctx, gw_buf_span(&line));
    for (const struct csv_row *row = csv->first; ok && row != NULL; row = row->next) {
        gw_buf_clear(&line);
        put_row(csv, row, &line);
        ok = !line.failed && put(ctx, gw_buf_span(&line));
    }
    gw_buf_fini(&line);
    return ok;
}
