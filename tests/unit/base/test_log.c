/* The log: no value can forge, tear or hide a line, whatever its bytes; JSON stays JSON. */
#include "base/log.h"
#include "base/log_writer.h"
#include "tests/lib/testlib.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROOM 16384

/* Standard error of a test, caught in a file without a name. */
struct caught {
    int file, before;
    char text[ROOM];
};

static void catch_begin(struct caught *caught)
{
    char name[] = "/tmp/recibo-log-XXXXXX";
    caught->file = mkstemp(name);
    assert_true(caught->file >= 0);
    assert_int_equal(unlink(name), 0);
    caught->before = dup(STDERR_FILENO);
    assert_true(dup2(caught->file, STDERR_FILENO) >= 0);
}

static const char *catch_end(struct caught *caught)
{
    assert_true(dup2(caught->before, STDERR_FILENO) >= 0);
    (void)close(caught->before);
    ssize_t len = pread(caught->file, caught->text, ROOM - 1, 0);
    assert_true(len >= 0);
    caught->text[len] = '\0';
    (void)close(caught->file);
    return caught->text;
}

static const char *log_value(struct caught *caught, enum gw_log_format format, struct span value)
{
    const struct gw_log_pair pairs[] = {
        {"value", value, 0}, {"number", {NULL, 0}, -7}, {"last", SPAN("x"), 0}, GW_LOG_END};
    catch_begin(caught);
    gw_log_setup(GW_LOG_INFO, format);
    gw_log(GW_LOG_INFO, "test.event", pairs);
    return catch_end(caught);
}

/* Printable, one line, and nothing that turns the direction of text. */
static void assert_harmless(const char *line)
{
    size_t len = strlen(line);
    assert_true(len > 0 && len <= LOG_LINE_BYTES);
    assert_ptr_equal(strchr(line, '\n'), line + len - 1);
    for (size_t i = 0; i + 1 < len; i++)
        assert_true((unsigned char)line[i] >= 0x20 && line[i] != 0x7f);
    assert_null(strstr(line, "\xe2\x80\xae"));
    assert_null(strstr(line, "\xc2\x85"));
    assert_null(strstr(line, "\xe2\x80\xa8"));
}

static void test_quoting(void **state)
{
    static const struct {
        struct span value;
        const char *text, *json;
    } cases[] = {
        {{"plain", 5}, "\"plain\"", "\"plain\""},
        {{"", 0}, "\"\"", "\"\""},
        {{"a\"b\\c", 5}, "\"a\\\"b\\\\c\"", "\"a\\\"b\\\\c\""},
        {{"a\nb\r\t", 5}, "\"a\\u000ab\\u000d\\u0009\"", "\"a\\u000ab\\u000d\\u0009\""},
        {{"\0\x1b[2J\x7f", 6}, "\"\\u0000\\u001b[2J\\u007f\"", "\"\\u0000\\u001b[2J\\u007f\""},
        {{"caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80", 14},
         "\"caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80\"",
         "\"caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80\""},
        {{"\xff\xc3", 2}, "\"\\xff\\xc3\"", "\"\\ufffd\\ufffd\""},
        {{"\xc0\x80\xed\xa0\x80", 5},
         "\"\\xc0\\x80\\xed\\xa0\\x80\"",
         "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {{"\xc2\x85\xe2\x80\xa8\xe2\x80\xae\xef\xbb\xbf", 11},
         "\"\\u0085\\u2028\\u202e\\ufeff\"",
         "\"\\u0085\\u2028\\u202e\\ufeff\""},
    };
    struct caught caught;
    char want[256];
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        const char *line = log_value(&caught, GW_LOG_TEXT, cases[i].value);
        assert_harmless(line);
        (void)snprintf(want, sizeof(want), " info test.event value=%s number=-7 last=\"x\"\n",
                       cases[i].text);
        assert_non_null(strstr(line, want));
        line = log_value(&caught, GW_LOG_JSON, cases[i].value);
        assert_harmless(line);
        (void)snprintf(want, sizeof(want), "\"value\":%s,\"number\":-7,\"last\":\"x\"}\n",
                       cases[i].json);
        assert_non_null(strstr(line, want));
    }
}

/* Every pair of bytes, in both formats: one harmless line, and JSON that a strict reader
 * takes and reads back where the bytes are text. */
static void test_every_pair_of_bytes(void **state)
{
    struct caught caught;
    (void)state;
    for (unsigned first = 0; first < 256; first++) {
        char value[512];
        for (unsigned second = 0; second < 256; second++) {
            value[2 * second] = (char)first;
            value[2 * second + 1] = (char)second;
        }
        assert_harmless(log_value(&caught, GW_LOG_TEXT, span_of(value, sizeof(value))));
        const char *line = log_value(&caught, GW_LOG_JSON, span_of(value, sizeof(value)));
        assert_harmless(line);
        json_t *json = json_loads(line, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        assert_non_null(json);
        assert_string_equal(json_string_value(json_object_get(json, "event")), "test.event");
        json_decref(json);
    }
}

/* However long the values are, and wherever the cut falls: whole characters, a line that can
 * be read, and a mark that it was cut. */
static void test_cut(void **state)
{
    struct caught caught;
    char value[6000];
    (void)state;
    for (size_t len = 3900; len < 4100; len++) {
        for (unsigned kind = 0; kind < 3; kind++) {
            static const char *const units[] = {"\xe6\x97\xa5", "\x01", "\\"};
            size_t unit = strlen(units[kind]), used = 0;
            while (used + unit <= len)
                for (size_t i = 0; i < unit; i++)
                    value[used++] = units[kind][i];
            const char *line = log_value(&caught, GW_LOG_JSON, span_of(value, used));
            assert_harmless(line);
            json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
            assert_non_null(json);
            bool is_cut = json_is_true(json_object_get(json, "cut"));
            assert_int_equal(is_cut, json_object_get(json, "last") == NULL);
            json_decref(json);
            assert_harmless(log_value(&caught, GW_LOG_TEXT, span_of(value, used)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_every_pair_of_bytes),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
