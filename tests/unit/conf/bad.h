/* Tables of files with every finding that they must give, word for word. */
#ifndef RECIBO_TESTS_CONF_BAD_H
#define RECIBO_TESTS_CONF_BAD_H

#include <stdio.h>

#include "conf/conf.h"
#include "tests/lib/testlib.h"

struct bad_case {
    const char *name;
    const char *text;
    size_t len;           /* the text may hold a NUL */
    const char *findings; /* a line each, "E " or "W " before it */
};
#define BAD(text) text, sizeof(text) - 1

/* Two warnings that most of these small files deserve; they have rows of their own. */
static inline bool is_usual(const struct conf_finding *finding, const char *expected)
{
    const char *usual[] = {"there is no operator's plane", "no rule speaks of 3xx"};
    for (size_t i = 0; i < GW_COUNT(usual); i++)
        if (strstr(finding->text, usual[i]) != NULL)
            return strstr(expected, usual[i]) == NULL;
    return false;
}

static inline void check_bad(const struct bad_case *one)
{
    struct conf *conf = NULL;
    struct conf_report report;
    struct gw_buf seen;
    bool has_error = false;
    gw_buf_init(&seen, 1 << 20);
    enum gw_status status = conf_parse(span_of(one->text, one->len), "t.yaml", &conf, &report);
    for (uint32_t i = 0; i < report.count; i++) {
        const struct conf_finding *finding = &report.findings[i];
        has_error |= !finding->is_warning;
        if (is_usual(finding, one->findings))
            continue;
        assert_true(gw_buf_print(&seen, "%s%c %s", seen.len == 0 ? "" : "\n",
                                 finding->is_warning ? 'W' : 'E', finding->text));
    }
    assert_true(gw_buf_byte(&seen, '\0'));
    if (strcmp(seen.ptr, one->findings) != 0)
        fail_msg("case '%s'\nexpected:\n%s\nseen:\n%s", one->name, one->findings, seen.ptr);
    assert_int_equal(status, has_error ? GW_INVALID : GW_OK);
    assert_int_equal(conf != NULL, !has_error);
    conf_unref(conf);
    conf_report_fini(&report);
    gw_buf_fini(&seen);
}

#endif
