/* Reads files and vectors for the C tests; it asserts nothing of the product itself. */
#include "tests/lib/testlib.h"

#include <stdio.h>
#include <stdlib.h>

char *test_read_file(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    size_t cap = 1 << 16, len = 0;
    char *text = malloc(cap + 1);
    while (text != NULL) {
        len += fread(text + len, 1, cap - len, file);
        if (len < cap)
            break;
        cap *= 2;
        char *more = realloc(text, cap + 1);
        if (more == NULL)
            free(text);
        text = more;
    }
    (void)fclose(file); /* read only */
    if (text == NULL)
        return NULL;
    text[len] = '\0';
    *ret_len = len;
    return text;
}

json_t *test_load_vectors(const char *path)
{
    size_t len;
    char *text = test_read_file(path, &len);
    if (text == NULL) {
        print_message("SKIP: no vectors at %s\n", path);
        skip();
    }
    json_error_t why;
    json_t *root = json_loadb(text, len, JSON_ALLOW_NUL, &why);
    free(text);
    if (root == NULL)
        fail_msg("%s:%d: %s", path, why.line, why.text);
    return root;
}

struct span test_json_span(const json_t *string)
{
    return span_of(json_string_value(string), json_string_length(string));
}
