/* Loading from real files: the environment, secrets beside the file, the folder of
 * relative paths, the shipped examples, and many errors at once. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "conf/loader.h"
#include "tests/lib/testlib.h"

#define KEY_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ROOM  4096

#define PASS_ROUTE "routes:\n  - {name: p, mode: pass, match: {path: \"/*\"}}\n"
#define UPSTREAM   "upstreams: {u: {url: \"http://h:1\"}}\n"

static int make_folder(void **state)
{
    char *folder = strdup("/tmp/recibo-conf-XXXXXX");
    *state = folder == NULL ? NULL : mkdtemp(folder);
    return *state == NULL;
}

static int remove_folder(void **state)
{
    char command[ROOM];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
    int code = system(command);
    free(*state);
    return code;
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[ROOM];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

static struct conf *load(const char *folder, const char *name, struct conf_report *report)
{
    char path[ROOM];
    struct conf *conf = NULL;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    enum gw_status status = conf_load(path, &conf, report);
    assert_int_equal(status == GW_OK, conf != NULL);
    return conf;
}

static bool is_reported(const struct conf_report *report, const char *what)
{
    for (uint32_t i = 0; i < report->count; i++)
        if (strstr(report->findings[i].text, what) != NULL)
            return true;
    return false;
}

static void test_secrets_and_paths(void **state)
{
    /* Guards: files beside the configuration are found, whatever the current folder is. */
    const char *folder = *state;
    char path[ROOM];
    struct conf_report report;
    write_file(folder, "token", "  \n");
    write_file(folder, "token", KEY_A "\r\nsecond line\n");
    write_file(
        folder, "a.yaml",
        "admin: {tokens: [{name: a, rights: [settle], sha256_file: token}]}\n" UPSTREAM PASS_ROUTE);
    struct conf *conf = load(folder, "a.yaml", &report);
    assert_non_null(conf);
    char hex[65];
    gw_hex(conf->tokens[0].sha256, 32, hex);
    assert_string_equal(hex, KEY_A);
    char *real = realpath(folder, NULL);
    (void)snprintf(path, sizeof(path), "%s/recibo.db", real);
    free(real);
    assert_true(span_equal(conf->store_path, span_str(path)));
    conf_unref(conf);
    conf_report_fini(&report);
}

static void test_bad_secrets(void **state)
{
    /* Guards: a secret file that is missing or holds junk is an error, and is not shown. */
    const char *folder = *state;
    struct conf_report report;
    write_file(folder, "junk", "hush-hush\n");
    write_file(folder, "b.yaml",
               "admin: {tokens: [{name: a, rights: [settle], sha256_file: junk}, {name: b, rights: "
               "[read], sha256_file: nowhere}]}\n" UPSTREAM PASS_ROUTE);
    assert_null(load(folder, "b.yaml", &report));
    assert_true(is_reported(&report,
                            "b.yaml:1:59: admin.tokens[0].sha256_file: what the file holds "
                            "must be 64 hex digits"));
    assert_true(is_reported(&report, "admin.tokens[1].sha256_file: nowhere: the file cannot be "
                                     "opened"));
    assert_false(is_reported(&report, "hush"));
    conf_report_fini(&report);
}

static void test_environment(void **state)
{
    /* Guards: ${NAME} is put in, $$ is a dollar, and what is not set is an error at its place. */
    const char *folder = *state;
    struct conf_report report;
    assert_int_equal(setenv("RECIBO_TEST_PORT", "9321", 1), 0);
    assert_int_equal(setenv("RECIBO_TEST_EMPTY", "", 1), 0);
    assert_int_equal(unsetenv("RECIBO_TEST_GONE"), 0);
    write_file(folder, "c.yaml",
               "upstreams: {u: {url: \"http://h:${RECIBO_TEST_PORT}/a${RECIBO_TEST_EMPTY}$$x$\"}}\n"
               "workers: ${RECIBO_TEST_PORT}\n"
               "drain: ${RECIBO_TEST_GONE}\n" PASS_ROUTE);
    assert_null(load(folder, "c.yaml", &report));
    assert_true(is_reported(&report, "c.yaml:2:10: workers: 9321: is over the maximum 64"));
    assert_true(is_reported(&report, "c.yaml:3:8: drain: ${RECIBO_TEST_GONE}: not set in the "
                                     "environment"));
    assert_int_equal(report.count, 2);
    conf_report_fini(&report);
    write_file(folder, "d.yaml",
               "upstreams: {u: {url: "
               "\"http://h:${RECIBO_TEST_PORT}/a${RECIBO_TEST_EMPTY}$$x$\"}}\n" PASS_ROUTE);
    struct conf *conf = load(folder, "d.yaml", &report);
    assert_non_null(conf);
    assert_int_equal(conf->upstreams[0].port, 9321);
    assert_true(span_equal(conf->upstreams[0].path_prefix, SPAN("/a$x$")));
    conf_unref(conf);
    conf_report_fini(&report);
}

static void test_environment_is_bounded(void **state)
{
    /* Guards: a value that grows over the bound by the environment is refused. */
    const char *folder = *state;
    struct conf_report report;
    char *large = calloc(1, 40001);
    assert_non_null(large);
    memset(large, 'x', 40000);
    assert_int_equal(setenv("RECIBO_TEST_LARGE", large, 1), 0);
    free(large);
    write_file(folder, "e.yaml",
               "via: ${RECIBO_TEST_LARGE}${RECIBO_TEST_LARGE}\n" UPSTREAM PASS_ROUTE);
    assert_null(load(folder, "e.yaml", &report));
    assert_true(is_reported(&report, "via: longer than 65536 bytes"));
    conf_report_fini(&report);
    assert_int_equal(unsetenv("RECIBO_TEST_LARGE"), 0);
}

static void test_no_such_file(void **state)
{
    /* Guards: a file that cannot be read says so, in one finding without a line. */
    const char *folder = *state;
    struct conf_report report;
    assert_null(load(folder, "none.yaml", &report));
    assert_int_equal(report.count, 1);
    assert_int_equal(report.findings[0].line, 0);
    assert_true(is_reported(&report, "cannot be opened: No such file or directory"));
    conf_report_fini(&report);
    assert_null(load(folder, ".", &report));
    assert_true(is_reported(&report, "is a folder"));
    conf_report_fini(&report);
}

static void test_size_limit(void **state)
{
    /* Guards: a file of exactly 1 MiB is read, one byte more is refused. */
    const char *folder = *state;
    struct conf_report report;
    size_t len = YAML_TEXT_BYTES_MAX + 1;
    char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, ' ', len);
    for (size_t i = 99; i < len; i += 100)
        text[i] = '\n';
    memcpy(text, UPSTREAM PASS_ROUTE "#", sizeof(UPSTREAM PASS_ROUTE));
    text[len - 1] = '\n';
    text[len] = '\0';
    write_file(folder, "large.yaml", text);
    assert_null(load(folder, "large.yaml", &report));
    assert_true(is_reported(&report, "is larger than 1 MiB"));
    conf_report_fini(&report);
    text[len - 1] = '\0';
    write_file(folder, "large.yaml", text);
    struct conf *conf = load(folder, "large.yaml", &report);
    assert_non_null(conf);
    conf_unref(conf);
    conf_report_fini(&report);
    free(text);
}

static void test_all_at_once(void **state)
{
    /* Guards: all findings come in one report in the order of the file, at most CONF_FINDINGS_MAX.
     */
    const char *folder = *state;
    struct conf_report report;
    struct gw_buf text;
    gw_buf_init(&text, 1 << 20);
    assert_true(gw_buf_print(&text, UPSTREAM "routes:\n"));
    for (int i = 0; i < 60; i++)
        assert_true(gw_buf_print(
            &text, "  - {name: \"%d\", mode: pas, retention: x, match: {path: q}}\n", i));
    assert_true(gw_buf_byte(&text, '\0'));
    write_file(folder, "many.yaml", text.ptr);
    gw_buf_fini(&text);
    assert_null(load(folder, "many.yaml", &report));
    assert_int_equal(report.count, CONF_FINDINGS_MAX);
    assert_true(report.cut);
    for (uint32_t i = 1; i < report.count; i++)
        assert_true(report.findings[i - 1].line <= report.findings[i].line);
    assert_true(is_reported(&report, "did you mean \"pass\"?"));
    conf_report_fini(&report);
}

static void test_errors_push_warnings_out(void **state)
{
    /* Guards: a full report of warnings does not hide an error. */
    const char *folder = *state;
    struct conf_report report;
    struct gw_buf text;
    gw_buf_init(&text, 1 << 20);
    assert_true(gw_buf_print(&text, UPSTREAM "routes:\n"));
    for (int i = 0; i < 120; i++)
        assert_true(gw_buf_print(
            &text, "  - {name: n%d, mode: pass, retention: 1h, match: {path: /p%d}}\n", i, i));
    assert_true(gw_buf_print(&text, "  - {name: n0, mode: pass, match: {path: /last}}\n"));
    assert_true(gw_buf_byte(&text, '\0'));
    write_file(folder, "warn.yaml", text.ptr);
    gw_buf_fini(&text);
    assert_null(load(folder, "warn.yaml", &report));
    assert_true(report.cut);
    assert_true(is_reported(&report, "n0: is the name of the route"));
    conf_report_fini(&report);
}

static void test_examples(void **state)
{
    /* Guards: every shipped example is valid and without a warning, but the minimal one. */
    (void)state;
    static const char *const names[] = {"minimal.yaml", "orders.yaml", "stripe.yaml",
                                        "warehouse.yaml"};
    for (size_t i = 0; i < GW_COUNT(names); i++) {
        struct conf_report report;
        struct conf *conf = load(SOURCE_DIR "/conf/examples", names[i], &report);
        for (uint32_t j = 0; conf == NULL && j < report.count; j++)
            print_message("%s\n", report.findings[j].text);
        assert_non_null(conf);
        assert_int_equal(report.count, i == 0 ? 2 : 0);
        conf_unref(conf);
        conf_report_fini(&report);
    }
}

static void test_references(void **state)
{
    /* Guards: a snapshot lives as long as somebody holds it. */
    (void)state;
    struct conf *conf = NULL;
    struct conf_report report;
    assert_int_equal(conf_parse(SPAN(UPSTREAM PASS_ROUTE), "t", &conf, &report), GW_OK);
    conf_report_fini(&report);
    assert_ptr_equal(conf_ref(conf), conf);
    conf_unref(conf);
    assert_true(span_equal(conf->routes.routes[0].name, SPAN("p")));
    conf_unref(conf);
    conf_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrets_and_paths), cmocka_unit_test(test_bad_secrets),
        cmocka_unit_test(test_environment),       cmocka_unit_test(test_environment_is_bounded),
        cmocka_unit_test(test_no_such_file),      cmocka_unit_test(test_size_limit),
        cmocka_unit_test(test_all_at_once),       cmocka_unit_test(test_errors_push_warnings_out),
        cmocka_unit_test(test_examples),          cmocka_unit_test(test_references),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
