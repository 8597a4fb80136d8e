/* One column of a CSV file, sorted. It must never pass over a record that it cannot
 * read: what is not found there may be called not executed. */
#include "gateway/commands/plans_match.h"

#include "gateway/commands/commands.h"
#include "gateway/commands/words.h"
#include "policy/csv_reader.h"
#include "policy/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_ARENA_BYTES (MATCH_FILE_BYTES_MAX * 10) /* it and its keys */
#define NAMES_SHOWN      64

struct reading {
    const struct options *options;
    const char *path;
    struct csv_reader csv;
    struct match_file *file;
    uint32_t column;  /* that is wanted */
    uint32_t columns; /* of the header */
};

static int refuse_at(const struct reading *reading, uint32_t line, uint32_t column, const char *why)
{
    (void)fprintf(stderr, "recibo: %s:%u:%u: %s\n", reading->path, line, column,
                  why); /* nowhere else to tell it */
    return EXIT_USAGE;
}

/* ---- records ---- */

static bool content_of(struct arena *arena, const struct csv_field *field, struct span *ret)
{
    *ret = field->raw;
    if (!field->has_quotes)
        return true;
    char *to = arena_take(arena, field->raw.len + 1);
    if (to == NULL)
        return false;
    *ret = span_of(to, csv_field_content(field, to));
    return true;
}

static int refuse_column(const struct reading *reading, const char *wanted, struct span names)
{
    bool has_semicolon = names.len > 0 && memchr(names.ptr, ';', names.len) != NULL;
    (void)fprintf(stderr, "recibo: %s has no column \"%s\"; its columns are: %.*s%s\n",
                  reading->path, wanted, (int)names.len, names.ptr,
                  has_semicolon ? " (perhaps --separator ';')" : ""); /* nowhere else */
    return EXIT_USAGE;
}

/* The first record names the columns. */
static int read_header(struct reading *reading)
{
    const char *wanted = options_value(reading->options, "--column");
    struct csv_field field = {.is_last = false};
    struct gw_buf names;
    uint32_t found = 0;
    int code = -1;
    gw_buf_init(&names, (size_t)64 << 10);
    while (code == -1 && !field.is_last) {
        struct span name;
        enum csv_next next = csv_reader_next(&reading->csv, &field);
        if (next == CSV_FAULT)
            code = refuse_at(reading, reading->csv.line, reading->csv.column, reading->csv.fault);
        else if (next == CSV_END)
            code = refuse_at(reading, 1, 1, "the file is empty; its first line names the columns");
        else if (reading->columns == MATCH_COLUMNS_MAX)
            code = refuse_at(reading, field.line, field.column, "too many columns");
        else if (!content_of(reading->file->arena, &field, &name))
            code = match_no_memory();
        if (code != -1)
            break;
        if (span_equal(name, span_str(wanted)) && ++found == 1)
            reading->column = reading->columns;
        (void)gw_buf_print(&names, "%s", reading->columns > 0 ? ", " : ""); /* for a message */
        words_print(&names, span_of(name.ptr, name.len < NAMES_SHOWN ? name.len : NAMES_SHOWN));
        reading->columns++;
    }
    if (code == -1 && found == 0)
        code = refuse_column(reading, wanted, gw_buf_span(&names));
    if (code == -1 && found > 1)
        code = refuse_at(reading, 1, 1, "several columns have this name");
    gw_buf_fini(&names);
    return code;
}

static int take_value(struct reading *reading, const struct csv_field *field)
{
    struct match_file *file = reading->file;
    struct match_value *value = &file->values[file->count];
    if (file->count == MATCH_VALUES_MAX)
        return refuse_at(reading, field->line, field->column, "too many records");
    if (!content_of(file->arena, field, &value->text))
        return match_no_memory();
    value->line = field->line;
    file->count++;
    return -1;
}

static int read_records(struct reading *reading)
{
    struct csv_field field;
    uint32_t at = 0;
    enum csv_next next;
    int code = -1;
    uint32_t passed = reading->csv.empty_lines; /* before the header */
    while (code == -1 && (next = csv_reader_next(&reading->csv, &field)) != CSV_END) {
        if (next == CSV_FAULT)
            return refuse_at(reading, reading->csv.line, reading->csv.column, reading->csv.fault);
        if (at == reading->column)
            code = take_value(reading, &field);
        at++;
        if (code == -1 && (field.is_last ? at != reading->columns : at == reading->columns))
            code = refuse_at(reading, field.line, field.column,
                             "this record has another number of fields than the first line");
        if (field.is_last)
            at = 0;
    }
    struct span text = reading->csv.text;
    reading->file->is_cut = code == -1 && reading->column + 1 == reading->columns && text.len > 0 &&
                            text.ptr[text.len - 1] != '\n';
    /* Where there is one column, a line without a byte is a record without a value. */
    if (reading->columns == 1)
        reading->file->blank = reading->csv.empty_lines - passed;
    return code;
}

/* ---- the file ---- */

static int load(const char *path, struct arena *arena, struct span *ret_text)
{
    struct gw_buf text;
    char piece[65536];
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    size_t len = in == NULL ? 0 : 1;
    gw_buf_init(&text, MATCH_FILE_BYTES_MAX);
    while (len > 0 && !text.failed) {
        len = fread(piece, 1, sizeof(piece), in);
        (void)gw_buf_add(&text, span_of(piece, len)); /* asked once at the end */
    }
    bool ok = in != NULL && ferror(in) == 0;
    if (!ok)
        (void)fprintf(stderr, "recibo: %s: %s\n", path, strerror(errno)); /* nowhere else */
    else if (text.failed)
        (void)fprintf(stderr, "recibo: %s: larger than %zu MiB\n", path,
                      MATCH_FILE_BYTES_MAX >> 20);
    if (in != NULL && in != stdin)
        (void)fclose(in); /* only read */
    ok = ok && !text.failed && arena_copy(arena, gw_buf_span(&text), ret_text);
    gw_buf_fini(&text);
    return ok ? -1 : EXIT_USAGE;
}

static int read_separator(const struct options *options, char *ret)
{
    const char *text = options_value(options, "--separator");
    *ret = ',';
    if (text == NULL)
        return -1;
    *ret = strcmp(text, "tab") == 0 ? '\t' : text[0];
    bool is_fit =
        strcmp(text, "tab") == 0 || (strlen(text) == 1 && strchr(",;|\t:", text[0]) != NULL);
    return is_fit ? -1 : options_refuse(options, "--separator is one of , ; | : and tab");
}

/* Nothing is compared that is no text: bytes of another encoding would pass for another
 * number. */
static int check_encoding(const struct reading *reading)
{
    struct span text = reading->csv.text;
    uint32_t line = 1;
    size_t line_start = reading->csv.at;
    for (size_t at = reading->csv.at; at < text.len && reading->csv.fault == NULL;) {
        size_t bytes = utf8_sequence(text, at);
        if (bytes == 0)
            return refuse_at(reading, line, (uint32_t)(at - line_start) + 1,
                             "this is not UTF-8; save the file as UTF-8");
        at += bytes;
        if (text.ptr[at - 1] == '\n') {
            line++;
            line_start = at;
        }
    }
    return -1;
}

int match_file_load(const struct options *options, const char *path, struct match_file *ret)
{
    struct reading reading = {.options = options, .path = path, .file = ret};
    struct span text = SPAN("");
    char separator = ',';
    *ret = (struct match_file){.arena = arena_new(FILE_ARENA_BYTES)};
    int code = ret->arena == NULL ? match_no_memory() : read_separator(options, &separator);
    if (code == -1)
        code = load(path, ret->arena, &text);
    if (code != -1)
        return code;
    /* A record has a line of its own at least. */
    size_t lines = 2;
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    lines = lines > MATCH_VALUES_MAX ? MATCH_VALUES_MAX + (size_t)1 : lines;
    ret->values = arena_take(ret->arena, lines * sizeof(*ret->values));
    if (ret->values == NULL)
        return match_no_memory();
    csv_reader_init(&reading.csv, text, separator);
    code = check_encoding(&reading);
    if (code == -1)
        code = read_header(&reading);
    if (code == -1)
        code = read_records(&reading);
    return code == -1 && !match_index_build(ret) ? match_no_memory() : code;
}

void match_file_free(struct match_file *file)
{
    arena_free(file->arena);
    file->arena = NULL;
}
