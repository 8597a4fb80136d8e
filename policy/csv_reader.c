/* CSV, one field at a time. It must never give a field a content that another reader
 * of the same file would not give it: what is doubtful is refused. */
#include "policy/csv_reader.h"

static bool fails(struct csv_reader *reader, const char *fault)
{
    reader->fault = fault;
    return false;
}

static bool begins_with(struct span text, size_t at, const char *bytes, size_t len)
{
    return text.len - at >= len && memcmp(text.ptr + at, bytes, len) == 0;
}

void csv_reader_init(struct csv_reader *reader, struct span text, char separator)
{
    gw_assert(separator != '"' && separator != '\r' && separator != '\n');
    *reader = (struct csv_reader){.text = text, .separator = separator, .line = 1, .column = 1};
    if (begins_with(text, 0, "\xef\xbb\xbf", 3))
        reader->at = 3;
    else if (begins_with(text, 0, "\xff\xfe", 2) || begins_with(text, 0, "\xfe\xff", 2))
        reader->fault = "the text is UTF-16; save it as UTF-8";
}

static char peek(const struct csv_reader *reader)
{
    return reader->text.ptr[reader->at];
}

static bool is_at_end(const struct csv_reader *reader)
{
    return reader->at == reader->text.len;
}

static void move(struct csv_reader *reader)
{
    bool ends_line = peek(reader) == '\n';
    reader->at++;
    reader->line += ends_line ? 1 : 0;
    reader->column = ends_line ? 1 : reader->column + 1;
}

/* How many bytes the line end here has; 0: there is none. */
static size_t line_end(const struct csv_reader *reader)
{
    if (begins_with(reader->text, reader->at, "\r\n", 2))
        return 2;
    return begins_with(reader->text, reader->at, "\n", 1) ? 1 : 0;
}

static void pass_line_end(struct csv_reader *reader)
{
    size_t len = line_end(reader);
    for (size_t i = 0; i < len; i++)
        move(reader);
}

/* Stands on the first byte of the content. */
static bool read_plain(struct csv_reader *reader, struct csv_field *field)
{
    size_t start = reader->at;
    while (!is_at_end(reader) && peek(reader) != reader->separator && line_end(reader) == 0) {
        if (peek(reader) == '"')
            return fails(reader, "a quote inside a field that does not begin with one");
        if (peek(reader) == '\r')
            return fails(reader, "a carriage return without a line feed");
        if (peek(reader) == '\0')
            return fails(reader, "a NUL byte: this is no text");
        move(reader);
    }
    field->raw = span_of(reader->text.ptr + start, reader->at - start);
    return true;
}

/* Stands on the opening quote. */
static bool read_quoted(struct csv_reader *reader, struct csv_field *field)
{
    bool is_open = true;
    move(reader);
    size_t start = reader->at, end = start;
    while (is_open && !is_at_end(reader)) {
        bool is_doubled = begins_with(reader->text, reader->at, "\"\"", 2);
        is_open = peek(reader) != '"' || is_doubled;
        if (peek(reader) == '\0')
            return fails(reader, "a NUL byte: this is no text");
        field->has_quotes = field->has_quotes || is_doubled;
        end = reader->at;
        move(reader);
        if (is_doubled)
            move(reader);
    }
    if (is_open) {
        reader->line = field->line;
        reader->column = field->column;
        return fails(reader, "a quote that is never closed");
    }
    if (!is_at_end(reader) && peek(reader) != reader->separator && line_end(reader) == 0)
        return fails(reader, "something stands behind the closing quote");
    field->is_quoted = true;
    field->raw = span_of(reader->text.ptr + start, end - start);
    return true;
}

/* What stands behind a field. */
static void end_field(struct csv_reader *reader, struct csv_field *field)
{
    bool is_separated = !is_at_end(reader) && peek(reader) == reader->separator;
    if (is_separated)
        move(reader);
    else
        pass_line_end(reader);
    reader->is_inside = is_separated;
    field->is_last = !is_separated;
}

enum csv_next csv_reader_next(struct csv_reader *reader, struct csv_field *ret_field)
{
    if (reader->fault != NULL)
        return CSV_FAULT;
    while (!reader->is_inside && !is_at_end(reader) && line_end(reader) > 0) {
        pass_line_end(reader);
        reader->empty_lines++;
    }
    if (!reader->is_inside && is_at_end(reader))
        return CSV_END;
    struct csv_field field = {.line = reader->line, .column = reader->column};
    bool is_quoted = !is_at_end(reader) && peek(reader) == '"';
    if (!(is_quoted ? read_quoted(reader, &field) : read_plain(reader, &field)))
        return CSV_FAULT;
    end_field(reader, &field);
    *ret_field = field;
    return CSV_FIELD;
}

size_t csv_field_content(const struct csv_field *field, char *to)
{
    size_t len = 0;
    for (size_t i = 0; i < field->raw.len; i++) {
        to[len++] = field->raw.ptr[i];
        if (field->has_quotes && field->raw.ptr[i] == '"')
            i++; /* the second one of the pair */
    }
    gw_assert(len <= field->raw.len);
    return len;
}
