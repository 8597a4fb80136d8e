/* Printed tables compared with the files that are committed. With RECIBO_GOLDEN=write
 * in the environment the files are written instead, and the diff is for a person to
 * read. Must never write without being asked. */
#ifndef RECIBO_TESTS_GOLDEN_GOLDEN_H
#define RECIBO_TESTS_GOLDEN_GOLDEN_H

#include "tests/lib/testlib.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

#define GOLDEN_BYTES_MAX ((size_t)4 << 20)
#define GOLDEN_PATH_MAX  512

/* Length of the first line of `text` from `from`. */
static inline int golden_line_len(struct span text, size_t from)
{
    size_t end = from;
    while (end < text.len && text.ptr[end] != '\n')
        end++;
    return (int)(end - from);
}

/* Shows the first line in which the two differ. */
static inline void golden_report(const char *path, struct span kept, struct span printed)
{
    size_t line_start = 0, i = 0;
    int line = 1;
    while (i < kept.len && i < printed.len && kept.ptr[i] == printed.ptr[i]) {
        if (kept.ptr[i] == '\n') {
            line_start = i + 1;
            line++;
        }
        i++;
    }
    print_error("%s:%d is stale\n  file:    %.*s\n  printed: %.*s\n"
                "  Run the test with RECIBO_GOLDEN=write and read the diff.\n",
                path, line, golden_line_len(kept, line_start), kept.ptr + line_start,
                golden_line_len(printed, line_start), printed.ptr + line_start);
}

/* `path` is relative to the source tree. */
static inline void golden_check(const char *path, const struct gw_buf *printed)
{
    char full[GOLDEN_PATH_MAX];
    assert_false(printed->failed);
    assert_true(snprintf(full, sizeof(full), "%s/%s", SOURCE_DIR, path) < (int)sizeof(full));
    const char *wish = getenv("RECIBO_GOLDEN");
    if (wish != NULL && span_equal(span_str(wish), SPAN("write"))) {
        FILE *file = fopen(full, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(printed->ptr, 1, printed->len, file), printed->len);
        assert_int_equal(fclose(file), 0);
        return;
    }
    size_t len = 0;
    char *kept = test_read_file(full, &len);
    if (kept == NULL)
        fail_msg("%s is missing: run the test with RECIBO_GOLDEN=write", path);
    const struct span kept_span = span_of(kept, len);
    const bool same = span_equal(kept_span, gw_buf_span(printed));
    if (!same)
        golden_report(path, kept_span, gw_buf_span(printed));
    free(kept);
    assert_true(same);
}

#endif
