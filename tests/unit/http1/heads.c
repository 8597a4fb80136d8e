/* Guards what a request head comes to mean: whom it asks, where its body ends,
 * whether the connection goes on; and that nothing with two readings passes. */
#include <stdio.h>

#include "tests/lib/testlib.h"
#include "tests/unit/http1/trace.h"

/* NULL: refused, with *ret_status. */
static struct http_head *parse(const char *text, uint16_t *ret_status)
{
    struct http1_limits limits = trace_limits();
    struct http1_parser parser;
    struct span bytes = span_str(text), body;
    struct http_head *head = NULL;
    http1_parser_init(&parser, HTTP1_REQUESTS, &limits);
    enum http1_event event = http1_feed(&parser, &bytes, &body);
    if (event == HTTP1_HEAD)
        head = http1_take_head(&parser);
    else
        assert_int_equal(event, HTTP1_ERROR);
    *ret_status = parser.fault.status;
    http1_parser_fini(&parser);
    return head;
}

static struct http_head *parse_good(const char *text)
{
    uint16_t status;
    struct http_head *head = parse(text, &status);
    if (head == NULL)
        fail_msg("refused with %u: %s", status, text);
    return head;
}

static void check_refused(const char *text, uint16_t want)
{
    uint16_t status;
    struct http_head *head = parse(text, &status);
    if (head != NULL || status != want)
        fail_msg("want %u, got %u: %s", want, status, text);
}

/* printf into a bounded text that the test never outgrows. */
static const char *print(char *buffer, size_t room, const char *before, const char *middle,
                         const char *after)
{
    assert_true(strlen(before) + strlen(middle) + strlen(after) < room);
    (void)snprintf(buffer, room, "%s%s%s", before, middle, after); /* just measured */
    return buffer;
}

static void a_target_has_one_of_the_forms_its_method_allows(void **state)
{
    (void)state; /* none */
    static const struct {
        const char *line, *path, *authority;
    } good[] = {
        {"GET / HTTP/1.1", "/", "a"},
        {"GET /a/../b//c?x=[1]&y=%2F/?@:!$'()*,;= HTTP/1.1",
         "/a/../b//c?x=[1]&y=%2F/?@:!$'()*,;=", "a"},
        {"GET //evil/x HTTP/1.1", "//evil/x", "a"},
        {"OPTIONS * HTTP/1.1", "*", "a"},
        {"OPTIONS / HTTP/1.1", "/", "a"},
        {"GET http://b:81/x?y HTTP/1.1", "/x?y", "b:81"},
        {"GET HTTPS://b/x HTTP/1.1", "/x", "b"},
        {"GET http://b HTTP/1.1", "/", "b"},
        {"GET http://[::1]:80 HTTP/1.1", "/", "[::1]:80"},
        {"GET http://b?q=/1 HTTP/1.1", "/?q=/1", "b"},
        {"OPTIONS http://b:80 HTTP/1.1", "*", "b:80"},
        {"OPTIONS http://b/ HTTP/1.1", "/", "b"},
    };
    char text[512];
    for (size_t i = 0; i < GW_COUNT(good); i++) {
        struct http_head *head =
            parse_good(print(text, sizeof(text), good[i].line, "\r\nHost: a\r\n", "\r\n"));
        if (!span_equal(head->path, span_str(good[i].path)) ||
            !span_equal(head->authority, span_str(good[i].authority)))
            fail_msg("path %.*s authority %.*s: %s", (int)head->path.len, head->path.ptr,
                     (int)head->authority.len, head->authority.ptr, good[i].line);
        http_head_free(head);
    }
    static const char *const bad[] = {
        "*",
        "!",
        "foo",
        "a:80",
        "/a%",
        "/a%4",
        "/a%zz",
        "/a%00",
        "/a#b",
        "/a\"",
        "/a<",
        "/a>",
        "/a\\b",
        "/a^",
        "/a`",
        "/{a}",
        "/a|b",
        "/\x7f",
        "/\x80",
        "http:/b",
        "http://",
        "http:///x",
        "http://u@b/",
        "http://u:p@b/",
        "ftp://b/",
        "http://b:x/",
        "http://b:70000/",
        "http://b c/",
        "http://[::1/",
        "http://[::g]/",
        "http://b%00/",
        "//b@c HTTP/1.1 x",
        "https:b/x",
    };
    for (size_t i = 0; i < GW_COUNT(bad); i++)
        check_refused(print(text, sizeof(text), "GET ", bad[i], " HTTP/1.1\r\nHost: a\r\n\r\n"),
                      400);
}

static const char *const good_hosts[] = {
    "a",
    "a.example",
    "a:80",
    "a:",
    "a:65535",
    "a:00080",
    "127.0.0.1",
    "[::1]",
    "[::1]:8080",
    "[2001:db8::1]",
    "[::ffff:1.2.3.4]:1",
    "a_b",
    "a%41",
    "A-1.b",
};

static const char *const bad_hosts[] = {
    "",
    ":80",
    "a b",
    "a/b",
    "a?b",
    "a#b",
    "a\\b",
    "u@a",
    "u:p@a",
    "a:b",
    "a:+1",
    "a:-1",
    "a:65536",
    "a:99999999999999999999999",
    "a:80:80",
    "::1",
    "[::1",
    "[]",
    "[::1]x",
    "[::1]:x",
    "[a]",
    "[1.2.3.4]",
    "[::1%25eth0]",
    "[v1.a]",
    "a,b",
    "a, b",
    "a%",
    "a%zz",
    "a%00",
    "http://a",
    "<a>",
    "\x80",
    "[00000000000000000000000000000000000000000000000000000001::1]",
};

static void a_host_is_one_valid_host_and_port(void **state)
{
    (void)state; /* none */
    char text[512];
    for (size_t i = 0; i < GW_COUNT(good_hosts); i++)
        http_head_free(parse_good(
            print(text, sizeof(text), "GET / HTTP/1.1\r\nHost:  ", good_hosts[i], "\t\r\n\r\n")));
    for (size_t i = 0; i < GW_COUNT(bad_hosts); i++) {
        check_refused(
            print(text, sizeof(text), "GET / HTTP/1.1\r\nHost: ", bad_hosts[i], "\r\n\r\n"), 400);
        check_refused(
            print(text, sizeof(text), "GET / HTTP/1.0\r\nHost: ", bad_hosts[i], "\r\n\r\n"), 400);
        /* A target in absolute-form does not excuse a broken Host. */
        check_refused(
            print(text, sizeof(text), "GET http://b/ HTTP/1.1\r\nHost: ", bad_hosts[i], "\r\n\r\n"),
            400);
    }
    check_refused("GET / HTTP/1.1\r\n\r\n", 400);
    check_refused("GET http://b/ HTTP/1.1\r\n\r\n", 400);
    check_refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400);
    check_refused("GET / HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n", 400);
    struct http_head *head = parse_good("GET / HTTP/1.0\r\n\r\n");
    assert_int_equal(head->authority.len, 0);
    http_head_free(head);
}

static void methods_are_known_and_spelt_exactly(void **state)
{
    (void)state; /* none */
    static const char *const good[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    static const char *const unknown[] = {"get",     "Get",   "GETT", "GE",
                                          "CONNECT", "TRACE", "BREW", "!"};
    char text[128];
    for (size_t i = 0; i < GW_COUNT(good); i++)
        http_head_free(
            parse_good(print(text, sizeof(text), "", good[i], " / HTTP/1.1\r\nHost: a\r\n\r\n")));
    for (size_t i = 0; i < GW_COUNT(unknown); i++)
        check_refused(print(text, sizeof(text), "", unknown[i], " / HTTP/1.1\r\nHost: a\r\n\r\n"),
                      501);
}

static void versions_are_one_digit_each(void **state)
{
    (void)state; /* none */
    static const struct {
        const char *version;
        uint16_t status; /* 0: fine */
    } versions[] = {
        {"HTTP/1.0", 0},
        {"HTTP/1.1", 0},
        {"HTTP/1.2", 0},
        {"HTTP/1.9", 0},
        {"HTTP/0.9", 505},
        {"HTTP/2.0", 505},
        {"HTTP/9.1", 505},
        {"HTTP/1.10", 400},
        {"HTTP/1", 400},
        {"HTTP/1.", 400},
        {"HTTP/1.x", 400},
        {"HTTP/11.1", 400},
        {"HTTP/+1.1", 400},
        {"http/1.1", 400},
        {"HTTP/1.1 ", 400},
        {" HTTP/1.1", 400},
        {"HTTP/4294967297.1", 400},
        {"", 400},
    };
    char text[128];
    for (size_t i = 0; i < GW_COUNT(versions); i++) {
        const char *request =
            print(text, sizeof(text), "GET / ", versions[i].version, "\r\nHost: a\r\n\r\n");
        if (versions[i].status == 0)
            http_head_free(parse_good(request));
        else
            check_refused(request, versions[i].status);
    }
}

static const struct {
    const char *fields;
    enum http1_framing framing;
    uint64_t length;
} good_framings[] = {
    {"", HTTP1_NO_BODY, 0},
    {"Content-Length: 0\r\n", HTTP1_LENGTH, 0},
    {"content-length:\t03 \r\n", HTTP1_LENGTH, 3},
    {"Content-Length: 000000000000000000000000000000003\r\n", HTTP1_LENGTH, 3},
    {"Content-Length: 9223372036854775807\r\n", HTTP1_LENGTH, INT64_MAX},
    {"Transfer-Encoding: chunked\r\n", HTTP1_CHUNKED, 0},
    {"TRANSFER-ENCODING:CHUNKED\t\r\n", HTTP1_CHUNKED, 0},
    {"Content_Length: 5\r\nContent-Lengthy: 6\r\n", HTTP1_NO_BODY, 0},
};

static const struct {
    const char *fields;
    uint16_t status;
} bad_framings[] = {
    {"Content-Length: 9223372036854775808\r\n", 413},
    {"Content-Length: 18446744073709551616\r\n", 413},
    {"Content-Length: 99999999999999999999999999\r\n", 413},
    {"Content-Length: 3\r\nContent-Length: 3\r\n", 400},
    {"Content-Length: 3\r\ncontent-length: 4\r\n", 400},
    {"Content-Length: 3, 3\r\n", 400},
    {"Content-Length: 3,\r\n", 400},
    {"Content-Length:\r\n", 400},
    {"Content-Length: 3 4\r\n", 400},
    {"Content-Length: 1_0\r\n", 400},
    {"Content-Length: -3\r\n", 400},
    {"Content-Length: \"3\"\r\n", 400},
    {"Content-Length: 3;\r\n", 400},
    {"Content-Length: 3.0\r\n", 400},
    {"Content-Length: \xb2\r\n", 400},
    {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", 400},
    {"Transfer-Encoding: identity\r\nContent-Length: 3\r\n", 400},
    {"Transfer-Encoding: identity\r\n", 501},
    {"Transfer-Encoding: gzip\r\n", 501},
    {"Transfer-Encoding: xchunked\r\n", 501},
    {"Transfer-Encoding: gzip, chunked\r\n", 400},
    {"Transfer-Encoding: chunked, gzip\r\n", 400},
    {"Transfer-Encoding: ,chunked\r\n", 400},
    {"Transfer-Encoding: chunked;q=1\r\n", 400},
    {"Transfer-Encoding: \"chunked\"\r\n", 400},
    {"Transfer-Encoding:\r\n", 400},
    {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
    {"Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n", 400},
    {"Authorization: Basic YTpi\r\nAuthorization: Basic YTpi\r\n", 400},
    {"Connection: close, HOST\r\n", 400},
    {"Connection: close\r\nConnection: content-length\r\n", 400},
    {"Connection: Transfer-Encoding\r\n", 400},
    {"Connection: , ,Authorization\r\n", 400},
    {"Connection: content-type\r\n", 400},
    {"Connection:\tcookie\r\n", 400},
    {"Connection: X-Forwarded-For\r\n", 400},
};

static void framing_has_one_reading(void **state)
{
    (void)state; /* none */
    char text[512];
    for (size_t i = 0; i < GW_COUNT(good_framings); i++) {
        struct http_head *head = parse_good(print(
            text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n", good_framings[i].fields, "\r\n"));
        assert_int_equal(head->framing, good_framings[i].framing);
        assert_int_equal(head->content_length, good_framings[i].length);
        http_head_free(head);
    }
    for (size_t i = 0; i < GW_COUNT(bad_framings); i++)
        check_refused(print(text, sizeof(text), "POST / HTTP/1.1\r\nHost: a\r\n",
                            bad_framings[i].fields, "\r\n"),
                      bad_framings[i].status);
    check_refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
}

static void a_connection_goes_on_only_if_both_sides_know_it(void **state)
{
    (void)state; /* none */
    static const struct {
        const char *version, *fields;
        bool keep_alive, expects_continue;
    } cases[] = {
        {"1", "", true, false},
        {"2", "", true, false},
        {"0", "", false, false},
        {"0", "Connection: keep-alive\r\n", true, false},
        {"0", "Connection: x\r\nconnection: y, Keep-Alive\r\n", true, false},
        {"0", "Connection: keep-alive, close\r\n", false, false},
        {"1", "Connection: CLOSE\r\n", false, false},
        {"1", "Connection: x\r\nConnection: y ,\tclose\t,\r\n", false, false},
        {"1", "Connection: closed, \"close\", clos\r\n", true, false},
        {"1", "Connection:\r\n", true, false},
        {"1", "Connection: Upgrade, HTTP2-Settings, TE, Keep-Alive\r\n", true, false},
        {"1", "Expect: 100-Continue\r\n", true, true},
        {"1", "Expect: , 100-continue ,\r\n", true, true},
        {"1", "Expect:\r\n", true, false},
        {"0", "Expect: 100-continue\r\n", false, false},
        {"0", "Expect: foo\r\n", false, false},
    };
    char before[64], text[512];
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        (void)print(before, sizeof(before), "GET / HTTP/1.", cases[i].version, "\r\nHost: a\r\n");
        struct http_head *head =
            parse_good(print(text, sizeof(text), before, cases[i].fields, "\r\n"));
        if (head->keep_alive != cases[i].keep_alive ||
            head->expects_continue != cases[i].expects_continue)
            fail_msg("alive %d continue %d: %s", head->keep_alive, head->expects_continue, text);
        assert_int_equal(head->minor, cases[i].version[0] - '0');
        http_head_free(head);
    }
}

static void fields_are_found_in_order_whatever_their_case(void **state)
{
    (void)state; /* none */
    struct http_head *head = parse_good(
        "GET / HTTP/1.1\r\nHost: a\r\nX-A:one\r\nEmpty:\r\nx-a: \t two  words\t\r\nX-AB: three\r\n"
        "X-B: a:b:c\r\nX-a: ,Four,, FIVE ,six seven\r\n\r\n");
    assert_int_equal(head->field_count, 7);
    const struct http_field *field = http_head_find(head, SPAN("X-A"), 0);
    assert_non_null(field);
    assert_true(span_equal(field->value, SPAN("one")));
    field = http_head_find(head, SPAN("X-A"), (uint32_t)(field - head->fields) + 1);
    assert_non_null(field);
    assert_true(span_equal(field->name, SPAN("x-a")));
    assert_true(span_equal(field->value, SPAN("two  words")));
    assert_true(span_equal(http_head_find(head, SPAN("x-b"), 0)->value, SPAN("a:b:c")));
    assert_int_equal(http_head_find(head, SPAN("EMPTY"), 0)->value.len, 0);
    assert_null(http_head_find(head, SPAN("X-A"), 7));
    assert_null(http_head_find(head, SPAN("X"), 0));
    assert_null(http_head_find(head, SPAN(""), 0));
    assert_true(http_head_lists(head, SPAN("x-A"), SPAN("ONE")));
    assert_true(http_head_lists(head, SPAN("X-A"), SPAN("four")));
    assert_true(http_head_lists(head, SPAN("X-A"), SPAN("five")));
    assert_true(http_head_lists(head, SPAN("X-A"), SPAN("six seven")));
    assert_false(http_head_lists(head, SPAN("X-A"), SPAN("six")));
    assert_false(http_head_lists(head, SPAN("X-A"), SPAN("three")));
    assert_false(http_head_lists(head, SPAN("X-A"), SPAN("")));
    assert_false(http_head_lists(head, SPAN("Empty"), SPAN("")));
    http_head_free(head);
    http_head_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_has_one_of_the_forms_its_method_allows),
        cmocka_unit_test(a_host_is_one_valid_host_and_port),
        cmocka_unit_test(methods_are_known_and_spelt_exactly),
        cmocka_unit_test(versions_are_one_digit_each),
        cmocka_unit_test(framing_has_one_reading),
        cmocka_unit_test(a_connection_goes_on_only_if_both_sides_know_it),
        cmocka_unit_test(fields_are_found_in_order_whatever_their_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
