/* One column of a CSV file, sorted. It must never pass over a record that it cannot
 * read: what is not found there may be called not executed. */
#include "gateway/commands/plans_match.h"

#include "gateway/commands/commands.h"
#include "gateway/commands/words.h"
#include "policy/csv_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_ARENA_BYTES (MATCH_FILE_BYTES_MAX * 3)
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

static int no_memory(void)
{
    (void)fprintf(stderr, "recibo: out of memory for the file\n"); /* nowhere else */
    return EXIT_FAILED;
}

/* ---- spelling ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_number(struct span text)
{
    size_t at = 0;
    while (at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9')
        at++;
    return text.len > 0 && at == text.len;
}

/* What spreadsheets and people change without meaning to: blanks around it, the case, a
 * quote before it, zeros before a number. */
static bool fold(struct arena *arena, struct span text, struct span *ret)
{
    while (text.len > 0 && (is_blank(text.ptr[0]) || text.ptr[0] == '\''))
        text = span_of(text.ptr + 1, text.len - 1);
    while (text.len > 0 && is_blank(text.ptr[text.len - 1]))
        text.len--;
    while (text.len > 1 && text.ptr[0] == '0' && is_number(text))
        text = span_of(text.ptr + 1, text.len - 1);
    char *to = arena_take(arena, text.len + 1);
    if (to == NULL)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        bool is_upper = text.ptr[i] >= 'A' && text.ptr[i] <= 'Z';
        to[i] = is_upper ? (char)(text.ptr[i] - 'A' + 'a') : text.ptr[i];
    }
    *ret = span_of(to, text.len);
    return true;
}

static int compare_texts(const void *left, const void *right)
{
    const struct match_value *a = left, *b = right;
    int order = span_order(a->text, b->text);
    return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

static int compare_folded(const void *left, const void *right)
{
    const struct match_value *const *a = left, *const *b = right;
    return span_order((*a)->folded, (*b)->folded);
}

uint32_t match_file_find(const struct match_file *file, struct span text,
                         const struct match_value **ret_first)
{
    uint32_t low = 0, high = file->count, count = 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (span_order(file->values[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + count < file->count && span_equal(file->values[low + count].text, text))
        count++;
    *ret_first = count == 0 ? NULL : &file->values[low];
    return count;
}

uint32_t match_file_near(const struct match_file *file, struct span text, struct arena *arena,
                         const struct match_value **ret_first)
{
    struct span wanted;
    uint32_t low = 0, high = file->count, count = 0;
    *ret_first = NULL;
    if (!fold(arena, text, &wanted))
        return UINT32_MAX; /* nobody knows */
    if (wanted.len == 0)
        return file->empty; /* nothing but blanks: any record without a value may be it */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (span_order(file->folded[middle]->folded, wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + count < file->count && span_equal(file->folded[low + count]->folded, wanted))
        count++;
    if (count > 0)
        *ret_first = file->folded[low];
    return count;
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
            code = no_memory();
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
    if (!content_of(file->arena, field, &value->text) ||
        !fold(file->arena, value->text, &value->folded))
        return no_memory();
    value->line = field->line;
    if (value->folded.len == 0)
        file->empty++;
    else
        file->count++;
    return -1;
}

static int read_records(struct reading *reading)
{
    struct csv_field field;
    uint32_t at = 0;
    enum csv_next next;
    int code = -1;
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

static int sort(struct match_file *file)
{
    file->folded = arena_take(file->arena, (file->count + (size_t)1) * sizeof(*file->folded));
    if (file->folded == NULL)
        return no_memory();
    if (file->count > 1)
        qsort(file->values, file->count, sizeof(*file->values), compare_texts);
    for (uint32_t i = 0; i < file->count; i++)
        file->folded[i] = &file->values[i];
    if (file->count > 1)
        qsort(file->folded, file->count, sizeof(struct match_value *), compare_folded);
    return -1;
}

int match_file_load(const struct options *options, const char *path, struct match_file *ret)
{
    struct reading reading = {.options = options, .path = path, .file = ret};
    struct span text = SPAN("");
    char separator;
    *ret = (struct match_file){.arena = arena_new(FILE_ARENA_BYTES)};
    int code = ret->arena == NULL ? no_memory() : read_separator(options, &separator);
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
        return no_memory();
    csv_reader_init(&reading.csv, text, separator);
    code = read_header(&reading);
    if (code == -1)
        code = read_records(&reading);
    return code == -1 ? sort(ret) : code;
}

void match_file_free(struct match_file *file)
{
    arena_free(file->arena);
    file->arena = NULL;
}
