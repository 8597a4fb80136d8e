/* The forms of values: what is taken, what is refused, and what is printed again. */
#include "conf/values.h"
#include "tests/lib/testlib.h"

#define REFUSED INT64_C(-1)

static void test_numbers(void **state)
{
    /* Guards: numbers with units are exact, and anything else is refused. */
    (void)state;
    static const struct {
        enum conf_type type;
        const char *text;
        int64_t number;
    } cases[] = {
        {CONF_DURATION, "500ms", 500},
        {CONF_DURATION, "2s", 2000},
        {CONF_DURATION, "10m", 600000},
        {CONF_DURATION, "24h", 86400000},
        {CONF_DURATION, "30d", INT64_C(2592000000)},
        {CONF_DURATION, "0s", 0},
        {CONF_DURATION, "007s", 7000},
        {CONF_DURATION, "106751991167d", INT64_C(9223372036828800000)},
        {CONF_DURATION, "106751991168d", REFUSED},
        {CONF_DURATION, "18446744073709551616ms", REFUSED},
        {CONF_DURATION, "0", REFUSED},
        {CONF_DURATION, "s", REFUSED},
        {CONF_DURATION, "", REFUSED},
        {CONF_DURATION, "1S", REFUSED},
        {CONF_DURATION, "1sec", REFUSED},
        {CONF_DURATION, " 1s", REFUSED},
        {CONF_DURATION, "1s ", REFUSED},
        {CONF_DURATION, "+1s", REFUSED},
        {CONF_SIZE, "0", 0},
        {CONF_SIZE, "65536", 65536},
        {CONF_SIZE, "64KiB", 65536},
        {CONF_SIZE, "1MiB", 1 << 20},
        {CONF_SIZE, "3GiB", INT64_C(3) << 30},
        {CONF_SIZE, "1TiB", INT64_C(1) << 40},
        {CONF_SIZE, "8388608TiB", REFUSED},
        {CONF_SIZE, "1KB", REFUSED},
        {CONF_SIZE, "1kib", REFUSED},
        {CONF_SIZE, "1B", REFUSED},
        {CONF_SIZE, "MiB", REFUSED},
        {CONF_RATE, "20/s", 20},
        {CONF_RATE, "1KiB/s", 1024},
        {CONF_RATE, "20", REFUSED},
        {CONF_RATE, "/s", REFUSED},
        {CONF_RATE, "20/m", REFUSED},
        {CONF_PERCENT, "20%", 20},
        {CONF_PERCENT, "0%", 0},
        {CONF_PERCENT, "%", REFUSED},
        {CONF_PERCENT, "20", REFUSED},
        {CONF_PERCENT, "20%%", REFUSED},
        {CONF_COUNT, "64", 64},
        {CONF_COUNT, "9223372036854775807", INT64_MAX},
        {CONF_COUNT, "9223372036854775808", REFUSED},
        {CONF_COUNT, "1e3", REFUSED},
        {CONF_COUNT, "1_000", REFUSED},
        {CONF_COUNT, "0x10", REFUSED},
    };
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        int64_t number = REFUSED;
        const char *fault = value_number(cases[i].type, span_str(cases[i].text), &number);
        if (number != cases[i].number || (fault == NULL) != (cases[i].number != REFUSED))
            fail_msg("'%s' is %lld", cases[i].text, (long long)number);
    }
}

static void test_numbers_print_and_read(void **state)
{
    /* Guards: what is printed is read back as the same number. */
    (void)state;
    static const enum conf_type types[] = {CONF_DURATION, CONF_SIZE, CONF_RATE, CONF_PERCENT,
                                           CONF_COUNT};
    static const int64_t numbers[] = {0,
                                      1,
                                      999,
                                      1000,
                                      1024,
                                      60000,
                                      61000,
                                      86400000,
                                      90000000,
                                      1 << 20,
                                      3 << 20,
                                      172800000,
                                      INT64_C(1) << 40,
                                      1025};
    for (size_t i = 0; i < GW_COUNT(types); i++)
        for (size_t j = 0; j < GW_COUNT(numbers); j++) {
            char text[VALUE_TEXT_BYTES];
            int64_t again = -1;
            value_print(types[i], numbers[j], text);
            assert_null(value_number(types[i], span_str(text), &again));
            assert_true(again == numbers[j]);
        }
}

static void test_people_texts(void **state)
{
    /* Guards: durations and sums as people read them; a sum is never shown smaller. */
    (void)state;
    char text[VALUE_TEXT_BYTES];
    value_print_duration(86400000, text);
    assert_string_equal(text, "24 h");
    value_print_duration(INT64_C(2592000000), text);
    assert_string_equal(text, "30 days");
    value_print_duration(600000, text);
    assert_string_equal(text, "10 min");
    value_print_duration(0, text);
    assert_string_equal(text, "0 s");
    value_print_duration(1500, text);
    assert_string_equal(text, "1500 ms");
    value_print_size(1 << 20, text);
    assert_string_equal(text, "1 MiB");
    value_print_size(((uint64_t)399 << 20) + 1, text);
    assert_string_equal(text, "400 MiB");
    value_print_size(1000, text);
    assert_string_equal(text, "1000 bytes");
}

static void test_statuses(void **state)
{
    /* Guards: statuses, ranges and classes fill the set, and print in few words. */
    (void)state;
    static const struct {
        const char *list, *printed;
    } cases[] = {
        {"401", "401"},
        {"401, 403,421", "401 403 421"},
        {"500-504", "500-504"},
        {"500-501", "500 501"},
        {"5xx", "5xx"},
        {"408, 500, 502-504, 506-599", "408, 5xx without 501 and 505"},
        {"2xx, 500-597", "2xx, 5xx without 598 and 599"},
        {"300-395", "300-395"},
        {"", ""},
    };
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct status_set set = {{0}};
        struct span rest = span_str(cases[i].list), item;
        bool is_class;
        while (value_next_item(&rest, &item))
            assert_null(value_status(item, &set, &is_class));
        struct gw_buf out;
        gw_buf_init(&out, 1024);
        value_print_statuses(&set, &out);
        assert_true(gw_buf_byte(&out, '\0'));
        assert_string_equal(out.ptr, cases[i].printed);
        gw_buf_fini(&out);
    }
    static const char *const refused[] = {"",    "20",  "2000", "199",     "600",  "1xx",
                                          "xxx", "5XX", "4 1",  "504-500", "400-", "-400",
                                          "4-5", "0x1", "+20",  "400-6xx", "40O"};
    for (size_t i = 0; i < GW_COUNT(refused); i++) {
        struct status_set set = {{0}};
        bool is_class;
        assert_non_null(value_status(span_str(refused[i]), &set, &is_class));
        for (size_t j = 0; j < GW_COUNT(set.bits); j++)
            assert_true(set.bits[j] == 0);
    }
}

static void test_ranges(void **state)
{
    /* Guards: an address is found in the longest range that holds it, in both families. */
    (void)state;
    static const char *const texts[] = {"10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32",
                                        "192.0.2.7",  "::1",         "10.1.2.128/25"};
    static const struct {
        const char *address;
        int found; /* index, -1: none */
    } cases[] = {
        {"10.9.9.9", 0},         {"10.1.9.9", 1},       {"10.1.2.200", 5}, {"10.1.2.127", 1},
        {"11.0.0.0", -1},        {"9.255.255.255", -1}, {"192.0.2.7", 3},  {"192.0.2.8", -1},
        {"2001:db8:ffff::1", 2}, {"2001:db9::", -1},    {"::1", 4},        {"::2", -1},
        {"::ffff:10.9.9.9", 0},
    };
    struct conf_network networks[GW_COUNT(texts)];
    for (size_t i = 0; i < GW_COUNT(texts); i++)
        assert_null(value_cidr(span_str(texts[i]), &networks[i]));
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        uint8_t address[16];
        assert_true(value_host_address(span_str(cases[i].address), address));
        const struct conf_network *found = conf_network_find(networks, GW_COUNT(texts), address);
        if ((found == NULL ? -1 : (int)(found - networks)) != cases[i].found)
            fail_msg("%s is in the wrong range", cases[i].address);
    }
    struct conf_network all;
    uint8_t address[16];
    assert_null(value_cidr(SPAN("0.0.0.0/0"), &all));
    assert_true(value_host_address(SPAN("203.0.113.1"), address));
    assert_ptr_equal(conf_network_find(&all, 1, address), &all);
    assert_true(value_host_address(SPAN("::1"), address));
    assert_null(conf_network_find(&all, 1, address));
    assert_null(value_cidr(SPAN("::/0"), &all));
    assert_ptr_equal(conf_network_find(&all, 1, address), &all);
    static const char *const refused[] = {
        "",        "10.0.0.0/",   "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8",         "10.0.0.1/8",
        "::1/129", "10.0.0.0/8 ", "localhost",   "1.2.3.4.5",   "::ffff:1.2.3.4/96"};
    for (size_t i = 0; i < GW_COUNT(refused); i++)
        if (value_cidr(span_str(refused[i]), &all) == NULL)
            fail_msg("'%s' is taken for a range", refused[i]);
}

static void test_urls(void **state)
{
    /* Guards: a url is taken apart exactly, and what it must not hold is refused. */
    (void)state;
    static const struct {
        const char *url, *host, *authority, *prefix;
        uint16_t port;
    } cases[] = {
        {"http://127.0.0.1:9000", "127.0.0.1", "127.0.0.1:9000", "", 9000},
        {"http://api.example", "api.example", "api.example", "", 80},
        {"http://api.example/", "api.example", "api.example", "", 80},
        {"HTTP://api.example/v1/x//", "api.example", "api.example", "/v1/x", 80},
        {"http://[::1]:8080/a%20b", "::1", "[::1]:8080", "/a%20b", 8080},
        {"http://[2001:db8::1]", "2001:db8::1", "[2001:db8::1]", "", 80},
        {"https://api.example/v1", "api.example", "api.example", "/v1", 443},
        {"HTTPS://[::1]:8443", "::1", "[::1]:8443", "", 8443},
    };
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct value_url url;
        assert_null(value_url(span_str(cases[i].url), &url));
        assert_true(span_equal(url.host, span_str(cases[i].host)));
        assert_true(span_equal(url.authority, span_str(cases[i].authority)));
        assert_true(span_equal(url.path_prefix, span_str(cases[i].prefix)));
        assert_int_equal(url.port, cases[i].port);
        assert_int_equal(url.is_tls, gw_lower(cases[i].url[4]) == 's');
    }
    static const char *const refused[] = {
        "",           "http://",        "http:///x",   "ftp://h",     "https://",
        "http://h:",  "http://h:65536", "http://h:0",  "http://h:8o", "http://u@h",
        "http://h?x", "http://h/x#y",   "http://[::1", "http://[h]",  "http://[::1]x",
        "http://a b", "http://h/a b",   "http://h/\"", "//h",         "http://::1/",
    };
    for (size_t i = 0; i < GW_COUNT(refused); i++) {
        struct value_url url;
        if (value_url(span_str(refused[i]), &url) == NULL)
            fail_msg("'%s' is taken for a url", refused[i]);
    }
}

static void test_pointers(void **state)
{
    /* Guards: a JSON pointer is split and unescaped as RFC 6901 says. */
    (void)state;
    static const struct {
        const char *text;
        const char *steps[4];
        uint32_t count;
    } cases[] = {
        {"", {NULL}, 0},     {"/", {""}, 1},
        {"/a", {"a"}, 1},    {"/a/b c", {"a", "b c"}, 2},
        {"//", {"", ""}, 2}, {"/a~1b/m~0n", {"a/b", "m~n"}, 2},
        {"/~01", {"~1"}, 1}, {"/x/0/-/", {"x", "0", "-", ""}, 4},
    };
    struct arena *arena = arena_new(1 << 16);
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct json_pointer pointer;
        assert_null(value_word(CONF_POINTER, span_str(cases[i].text)));
        assert_true(value_pointer(arena, span_str(cases[i].text), &pointer));
        assert_int_equal(pointer.step_count, cases[i].count);
        for (uint32_t j = 0; j < cases[i].count; j++)
            assert_true(span_equal(pointer.steps[j], span_str(cases[i].steps[j])));
    }
    arena_free(arena);
}

static void test_words(void **state)
{
    /* Guards: each grammar takes its own and refuses its neighbours. */
    (void)state;
    static const struct {
        enum conf_type type;
        const char *good, *bad;
    } cases[] = {
        {CONF_BOOL, "true", "True"},
        {CONF_NAME, "create-order_2.x", "create order"},
        {CONF_OWNER_ID, "acme:1/x", "ac me"},
        {CONF_HEADER, "X-Api-Key", "X Api"},
        {CONF_HEADER, "x!#$%&'*+-.^_`|~1", "x:"},
        {CONF_METHOD, "PATCH", "patch"},
        {CONF_POINTER, "/a", "a"},
        {CONF_EXTRA, " |", "a\\"},
        {CONF_HOST, "preserve", "a/b"},
        {CONF_HOST, "[::1]:80", "[::1"},
        {CONF_HOST, "stock.example:81", "stock.example:x"},
        {CONF_CRYPT, "$6$saltsalt$hash", "$1$saltsalt$hash"},
        {CONF_CRYPT, "$2b$10$abcdefghijkl", "$2b$10$abc defghijkl"},
        {CONF_PROBLEM_BASE, "https://example.com/problems/", "https://example.com/a b"},
        {CONF_OWN_PREFIX, "/.recibo/", "/.recibo"},
        {CONF_OWN_PREFIX, "/a/b/", "//"},
    };
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        if (value_word(cases[i].type, span_str(cases[i].good)) != NULL)
            fail_msg("'%s' is refused", cases[i].good);
        if (value_word(cases[i].type, span_str(cases[i].bad)) == NULL)
            fail_msg("'%s' is taken", cases[i].bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_numbers_print_and_read),
        cmocka_unit_test(test_people_texts), cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_ranges),       cmocka_unit_test(test_urls),
        cmocka_unit_test(test_pointers),     cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
