/* Waiting times and Retry-After. */
#include "tests/lib/testlib.h"

#include "policy/backoff.h"

#define MAX INT64_C(1000000000000)

/* 1994-11-06T08:49:37Z, the example of RFC 9110 5.6.7. */
#define EXAMPLE_MS INT64_C(784111777000)

static bool reads(const char *value, int64_t now_ms, int64_t *ret_ms)
{
    return retry_after_ms(span_str(value), now_ms, MAX, ret_ms);
}

static void must_read(const char *value, int64_t now_ms, int64_t expect_ms)
{
    int64_t ms = -1;
    if (!reads(value, now_ms, &ms) || ms != expect_ms)
        fail_msg("'%s' gave %lld, not %lld", value, (long long)ms, (long long)expect_ms);
}

static void must_refuse(const char *value)
{
    int64_t ms = 123;
    if (reads(value, 0, &ms) || ms != 123)
        fail_msg("'%s' was read as %lld", value, (long long)ms);
}

/* Guards: the wait lies between 0 and base * 2^attempt, both ends included, under the maximum. */
static void test_full_jitter(void **state)
{
    (void)state;
    const struct backoff_policy policy = {.base_ms = 500, .max_ms = 20000};
    static const int64_t most[] = {500, 1000, 2000, 4000, 8000, 16000, 20000, 20000};
    for (uint32_t attempt = 0; attempt < GW_COUNT(most); attempt++) {
        const uint64_t top = (uint64_t)most[attempt];
        assert_int_equal(backoff_ms(&policy, attempt, 0, 0), 0);
        assert_int_equal(backoff_ms(&policy, attempt, top, 0), top);
        assert_int_equal(backoff_ms(&policy, attempt, top + 1, 0), 0);
    }
}

/* Guards: no attempt number and no maximum overflows. */
static void test_no_attempt_overflows(void **state)
{
    (void)state;
    const struct backoff_policy policy = {.base_ms = 3, .max_ms = 20000};
    static const uint32_t attempts[] = {20, 31, 32, 61, 62, 63, 64, 65, 1000, UINT32_MAX};
    for (size_t i = 0; i < GW_COUNT(attempts); i++)
        assert_int_equal(backoff_ms(&policy, attempts[i], 20000, 0), 20000);
    const struct backoff_policy widest = {.base_ms = 1, .max_ms = INT64_MAX};
    assert_int_equal(backoff_ms(&widest, 62, INT64_C(1) << 62, 0), INT64_C(1) << 62);
    assert_int_equal(backoff_ms(&widest, 62, (UINT64_C(1) << 62) + 1, 0), 0);
    assert_int_equal(backoff_ms(&widest, 63, INT64_MAX, 0), INT64_MAX);
    assert_int_equal(backoff_ms(&widest, 63, UINT64_MAX, 0), INT64_MAX);
}

/* Guards: what the upstream asked for is a lower bound, over the maximum too. */
static void test_lower_bound(void **state)
{
    (void)state;
    const struct backoff_policy policy = {.base_ms = 500, .max_ms = 1000};
    assert_int_equal(backoff_ms(&policy, 0, 100, 300), 300);
    assert_int_equal(backoff_ms(&policy, 0, 400, 300), 400);
    assert_int_equal(backoff_ms(&policy, 9, 1000, 60000), 60000);
}

/* Guards: seconds are digits alone and never overflow (UP-13). */
static void test_seconds(void **state)
{
    (void)state;
    must_read("0", 5, 0);
    must_read("120", 5, 120000);
    must_read("007", 5, 7000);
    must_read("999999999", 5, INT64_C(999999999000));
    must_read("1000000000", 5, MAX);
    must_read("1000000001", 5, MAX);
    must_read("99999999999999999999999999999999999999999999", 5, MAX);
    int64_t ms = 0;
    assert_true(retry_after_ms(SPAN("2"), 0, 1500, &ms));
    assert_int_equal(ms, 1500);
    assert_true(retry_after_ms(SPAN("1"), 0, 0, &ms));
    assert_int_equal(ms, 0);
    assert_true(retry_after_ms(SPAN("99999999999999999999"), 0, INT64_MAX, &ms));
    assert_int_equal(ms, INT64_MAX);
    static const char *const garbage[] = {"",   " ",    "-1", "+1",   "1.5", "1 ",
                                          " 1", "0x10", "1s", "soon", "1,2", "1e3"};
    for (size_t i = 0; i < GW_COUNT(garbage); i++)
        must_refuse(garbage[i]);
}

/* Guards: the three forms of a date say the same; a past one is 0. */
static void test_three_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sunday, 06-Nov-94 08:49:37 GMT",
                                        "Sun Nov  6 08:49:37 1994"};
    for (size_t i = 0; i < GW_COUNT(forms); i++) {
        must_read(forms[i], EXAMPLE_MS - 1500, 1500);
        must_read(forms[i], EXAMPLE_MS, 0);
        must_read(forms[i], EXAMPLE_MS + 1, 0);
        must_read(forms[i], EXAMPLE_MS - MAX + 1, MAX - 1);
    }
    must_read("Sun Nov 06 08:49:37 1994", EXAMPLE_MS - 1, 1);
    must_read("Wed Nov 16 08:49:37 1994", EXAMPLE_MS, INT64_C(864000000));
    must_read("Fri, 31 Dec 9999 23:59:59 GMT", 0, MAX);
    must_read("Sat, 01 Jan 0000 00:00:00 GMT", 0, 0);
    int64_t ms = 0;
    assert_true(retry_after_ms(SPAN("Fri, 31 Dec 9999 23:59:59 GMT"), INT64_MIN, MAX, &ms));
    assert_int_equal(ms, MAX);
    assert_true(retry_after_ms(SPAN("Fri, 31 Dec 9999 23:59:59 GMT"), 0, INT64_MAX, &ms));
    assert_int_equal(ms, INT64_C(253402300799000));
}

/* Guards: days are counted rightly over leap years, centuries and leap seconds. */
static void test_calendar(void **state)
{
    (void)state;
    static const struct {
        const char *date;
        int64_t second;
    } dates[] = {
        {"Thu, 01 Jan 1970 00:00:01 GMT", 1},
        {"Tue, 29 Feb 2000 12:00:00 GMT", 951825600},
        {"Wed, 01 Mar 2000 00:00:00 GMT", 951868800},
        {"Fri, 31 Dec 2004 23:59:59 GMT", 1104537599},
        {"Sat, 01 Jan 2005 00:00:00 GMT", 1104537600},
        {"Mon, 30 Nov 2026 02:11:04 GMT", 1796004664},
        {"Mon, 01 Mar 2100 00:00:00 GMT", 4107542400},
        {"Tue, 19 Jan 2038 03:14:08 GMT", 2147483648},
        {"Thu, 31 Dec 2026 23:59:60 GMT", 1798761600},
    };
    for (size_t i = 0; i < GW_COUNT(dates); i++)
        must_read(dates[i].date, dates[i].second * 1000 - 1, 1);
    static const char *const none[] = {
        "Mon, 29 Feb 2100 00:00:00 GMT", "Mon, 29 Feb 2027 00:00:00 GMT",
        "Mon, 30 Feb 2028 00:00:00 GMT", "Mon, 31 Apr 2027 00:00:00 GMT",
        "Mon, 00 Apr 2027 00:00:00 GMT", "Mon, 32 Jan 2027 00:00:00 GMT",
        "Mon, 01 Jan 2027 24:00:00 GMT", "Mon, 01 Jan 2027 00:60:00 GMT",
        "Mon, 01 Jan 2027 00:00:61 GMT", "Sunday, 29-Feb-27 00:00:00 GMT",
        "Sun Feb 29 00:00:00 2027",      "Sun Feb  0 00:00:00 2027",
    };
    for (size_t i = 0; i < GW_COUNT(none); i++)
        must_refuse(none[i]);
}

/* Guards: a two-digit year is at most 50 years ahead, to the second (RFC 9110 5.6.7). */
static void test_fifty_years(void **state)
{
    (void)state;
    const int64_t now = INT64_C(1796004664000); /* 2026-11-30T02:11:04Z */
    int64_t ms = 0;
    assert_true(retry_after_ms(SPAN("Monday, 30-Nov-76 02:11:04 GMT"), now, INT64_MAX, &ms));
    assert_int_equal(ms, INT64_C(3373927864000) - now);
    must_read("Monday, 30-Nov-76 02:11:05 GMT", now, 0);
    must_read("Monday, 01-Dec-76 00:00:00 GMT", now, 0);
    must_read("Monday, 01-Jan-77 00:00:00 GMT", now, 0);
    must_read("Monday, 30-Nov-26 02:11:05 GMT", now, 1000);
    must_read("Sunday, 06-Nov-94 08:49:37 GMT", now, 0);
    /* At the end of a century the next one is near: 2099-12-31T23:59:59Z. */
    must_read("Friday, 01-Jan-00 00:00:00 GMT", INT64_C(4102444799000), 1000);
    /* A clock that was never set: 94 is far ahead of 1970, so it is past. */
    must_read("Sunday, 06-Nov-94 08:49:37 GMT", 0, EXAMPLE_MS);
    must_read("Sunday, 06-Nov-94 08:49:37 GMT", INT64_MIN, MAX);
    must_read("Sunday, 06-Nov-94 08:49:37 GMT", INT64_MAX, 0);
}

/* Guards: each byte of a date matters; whatever is cut off or changed is no date. */
static void test_garbage_dates(void **state)
{
    (void)state;
    static const char *const forms[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sunday, 06-Nov-94 08:49:37 GMT",
                                        "Sun Nov  6 08:49:37 1994"};
    for (size_t i = 0; i < GW_COUNT(forms); i++) {
        char text[40];
        const size_t len = strlen(forms[i]);
        for (size_t cut = 0; cut < len; cut++) {
            int64_t ms = 0;
            assert_false(retry_after_ms(span_of(forms[i], cut), 0, MAX, &ms));
        }
        for (size_t at = 0; at < len; at++) {
            memcpy(text, forms[i], len + 1);
            text[at] = '~';
            must_refuse(text);
        }
        memcpy(text, forms[i], len);
        text[len] = ' ';
        text[len + 1] = '\0';
        must_refuse(text);
    }
    static const char *const others[] = {
        "sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 gmt", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 6 Nov 1994 08:49:37 GMT",  "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",   "Sunday, 06 Nov 1994 08:49:37 GMT",
        "06 Nov 1994 08:49:37 GMT",      "1994-11-06T08:49:37Z",
        "Sun Nov 6 08:49:37 1994",       "Sun, 06 Nov 1994 8:49:37 GMT",
    };
    for (size_t i = 0; i < GW_COUNT(others); i++)
        must_refuse(others[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_jitter), cmocka_unit_test(test_no_attempt_overflows),
        cmocka_unit_test(test_lower_bound), cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_three_forms), cmocka_unit_test(test_calendar),
        cmocka_unit_test(test_fifty_years), cmocka_unit_test(test_garbage_dates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
