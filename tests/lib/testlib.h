/* What the C tests share: cmocka in the right order, files and JSON vectors. */
#ifndef RECIBO_TESTS_TESTLIB_H
#define RECIBO_TESTS_TESTLIB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/base.h"

/* A whole file, NUL-terminated; the caller frees it. NULL: not there. */
char *test_read_file(const char *path, size_t *ret_len);
/* A JSON file with jansson; fails the test if it is broken, skips the test with
 * a message if it is not there. */
json_t *test_load_vectors(const char *path);
/* The string's bytes, NUL included where the JSON has one. */
struct span test_json_span(const json_t *string);

#endif
