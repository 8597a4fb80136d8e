/* Feeds field lines to the key's grammar: no bytes crash it, and whatever it takes
 * for a key is in bounds, printable, and the same key when written out and read again. */
#include <stdlib.h>

#include "policy/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINES_MAX 3
#define BYTES_MAX 4096

static void check_key(const struct key_grammar *grammar, struct span key)
{
    gw_assert(key.len >= grammar->bytes_min && key.len <= grammar->bytes_max);
    for (size_t i = 0; i < key.len; i++)
        gw_assert(key.ptr[i] >= 0x20 && key.ptr[i] <= 0x7e);
    char *line = malloc(2 * key.len + 2), *back = malloc(2 * key.len + 2);
    gw_assert(line != NULL && back != NULL);
    struct span value = span_of(line, key_to_sf_string(key, line));
    struct key_fault fault;
    size_t len = 0;
    gw_assert(key_from_lines(grammar, &value, 1, back, &len, &fault) == KEY_OK);
    gw_assert(span_equal(span_of(back, len), key));
    free(line);
    free(back);
}

/* The first byte says which grammar; a line feed separates the lines. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > BYTES_MAX)
        return 0;
    const struct key_grammar grammar = {
        .bytes_min = 1,
        .bytes_max = (data[0] & 1) != 0 ? 8 : 255,
        .strict = (data[0] & 2) != 0,
        .uuid = (data[0] & 4) != 0,
        .pattern = (data[0] & 8) != 0 ? SPAN("a*?b") : SPAN(""),
        .extra = (data[0] & 16) != 0 ? SPAN(" ,\"\\;") : SPAN(""),
    };
    struct span lines[LINES_MAX];
    uint32_t count = 0;
    size_t longest = 0, start = 1;
    for (size_t i = 1; i <= size && count < LINES_MAX; i++) {
        if (i < size && data[i] != '\n')
            continue;
        lines[count++] = span_of((const char *)data + start, i - start);
        longest = i - start > longest ? i - start : longest;
        start = i + 1;
    }
    char *room = malloc(longest == 0 ? 1 : longest);
    gw_assert(room != NULL);
    struct key_fault fault = {NULL};
    size_t len = 0;
    switch (key_from_lines(&grammar, lines, count, room, &len, &fault)) {
    case KEY_OK:
        gw_assert(count == 1);
        check_key(&grammar, span_of(room, len));
        break;
    case KEY_INVALID:
        gw_assert(fault.text != NULL);
        break;
    case KEY_MISSING:
        break;
    }
    if (key_from_text(&grammar, lines[0], &fault) == KEY_OK)
        gw_assert(lines[0].len >= 1 && lines[0].len <= grammar.bytes_max);
    free(room);
    return 0;
}
