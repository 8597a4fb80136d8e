/* CSV from any bytes: fields lie inside the text, places never go back, and what was
 * read reads the same when it is written again with every field in quotes. First byte
 * of the input: the separator. */
#include <stdlib.h>

#include "base/buf.h"
#include "policy/csv_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_BYTES_MAX ((size_t)64 << 10)

static struct span content_of(const struct csv_field *field, char *room)
{
    return span_of(room, csv_field_content(field, room));
}

/* Writes the records so far; the fault, if there was one, is left out. */
static enum csv_next write_again(struct csv_reader *reader, struct gw_buf *out, char *room)
{
    struct csv_field field;
    enum csv_next next;
    uint32_t line = 1;
    while ((next = csv_reader_next(reader, &field)) == CSV_FIELD) {
        struct span text = reader->text;
        gw_assert(field.raw.ptr >= text.ptr);
        gw_assert(field.raw.ptr + field.raw.len <= text.ptr + text.len);
        gw_assert(field.line >= line);
        gw_assert(reader->line >= field.line);
        line = field.line;
        struct span content = content_of(&field, room);
        gw_assert(gw_buf_byte(out, '"'));
        for (size_t i = 0; i < content.len; i++) {
            if (content.ptr[i] == '"')
                gw_assert(gw_buf_byte(out, '"'));
            gw_assert(gw_buf_byte(out, content.ptr[i]));
        }
        gw_assert(gw_buf_byte(out, '"'));
        gw_assert(gw_buf_byte(out, field.is_last ? '\n' : reader->separator));
    }
    gw_assert(csv_reader_next(reader, &field) == next);
    gw_implies(next == CSV_FAULT, reader->fault != NULL);
    gw_assert(reader->empty_lines < reader->line);
    return next;
}

/* Both have the same fields, up to the fault that the first one may have. */
static void compare(struct csv_reader *a, struct csv_reader *b, char *room, char *other)
{
    struct csv_field left, right;
    while (csv_reader_next(a, &left) == CSV_FIELD) {
        gw_assert(csv_reader_next(b, &right) == CSV_FIELD);
        gw_assert(right.is_quoted);
        gw_assert(span_equal(content_of(&left, room), content_of(&right, other)));
        gw_assert(left.is_last == right.is_last);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > TEXT_BYTES_MAX)
        return 0;
    char separator = (char)data[0];
    if (separator == '"' || separator == '\r' || separator == '\n')
        separator = ',';
    struct span text = span_of((const char *)data + 1, size - 1);
    char *room = malloc(size), *other = malloc(size);
    struct gw_buf again;
    struct csv_reader first, second;
    gw_assert(room != NULL && other != NULL);
    gw_buf_init(&again, 4 * TEXT_BYTES_MAX + 16);
    csv_reader_init(&first, text, separator);
    enum csv_next end = write_again(&first, &again, room);
    csv_reader_init(&first, text, separator);
    csv_reader_init(&second, gw_buf_span(&again), separator);
    compare(&first, &second, room, other);
    struct csv_field field;
    if (end == CSV_END)
        gw_assert(csv_reader_next(&second, &field) == CSV_END);
    gw_buf_fini(&again);
    free(room);
    free(other);
    return 0;
}
