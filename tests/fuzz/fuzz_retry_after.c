/* Retry-After from any bytes: a wait is never negative nor over the maximum, what is
 * not understood leaves no trace, a number of seconds means itself, and a date means
 * the same moment in each of its spellings. The input opens with the clock, the
 * maximum and a delay, eight bytes each. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "policy/backoff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define YEAR_10000_MS INT64_C(253402300800000)
#define UNTOUCHED     INT64_C(-77)

static int64_t number_at(const uint8_t *data, size_t at)
{
    uint64_t number = 0;
    for (size_t i = 0; i < 8; i++)
        number = number << 8 | data[at + i];
    return (int64_t)number;
}

static int64_t not_negative(int64_t number)
{
    return number & INT64_MAX;
}

static void check_value(struct span value, int64_t now_ms, int64_t max_ms)
{
    int64_t wait_ms = UNTOUCHED, later_ms = UNTOUCHED;
    bool is_all_digits = value.len > 0, has_dash = false;
    uint64_t seconds = 0;
    for (size_t i = 0; i < value.len; i++) {
        is_all_digits &= value.ptr[i] >= '0' && value.ptr[i] <= '9';
        has_dash |= value.ptr[i] == '-';
    }
    if (!retry_after_ms(value, now_ms, max_ms, &wait_ms)) {
        gw_assert(wait_ms == UNTOUCHED && !is_all_digits);
        return;
    }
    gw_assert(wait_ms >= 0 && wait_ms <= max_ms);
    if (is_all_digits) {
        bool is_over = !gw_parse_u64(value, &seconds) || seconds > (uint64_t)max_ms / 1000;
        gw_assert(wait_ms == (is_over ? max_ms : (int64_t)seconds * 1000));
    }
    /* The later the clock, the shorter the wait; two-digit years move with the clock. */
    if (!has_dash && now_ms < INT64_MAX) {
        gw_assert(retry_after_ms(value, now_ms + 1, max_ms, &later_ms));
        gw_assert(later_ms <= wait_ms);
    }
}

/* A delay, written as a date and read back, in the two spellings with a whole year. */
static void check_date(int64_t now_ms, int64_t delay_ms)
{
    char date[GW_HTTP_DATE_BYTES], spelling[64];
    int64_t wait_ms = UNTOUCHED;
    now_ms %= YEAR_10000_MS;
    int64_t at_ms = now_ms + delay_ms % (YEAR_10000_MS - now_ms);
    int64_t expected_ms = at_ms / 1000 * 1000 > now_ms ? at_ms / 1000 * 1000 - now_ms : 0;
    gw_http_date(at_ms, date);
    gw_assert(retry_after_ms(span_str(date), now_ms, INT64_MAX, &wait_ms));
    gw_assert(wait_ms == expected_ms);
    /* "Sun, 06 Nov 1994 08:49:37 GMT" as "Sun Nov  6 08:49:37 1994". */
    (void)snprintf(spelling, sizeof(spelling), "%.3s %.3s %c%c %.8s %.4s", date, date + 8,
                   date[5] == '0' ? ' ' : date[5], date[6], date + 17, date + 12); /* it fits */
    gw_assert(retry_after_ms(span_str(spelling), now_ms, INT64_MAX, &wait_ms));
    gw_assert(wait_ms == expected_ms);
}

static void check_backoff(int64_t base_ms, int64_t more_ms, uint64_t random)
{
    struct backoff_policy policy = {.base_ms = base_ms == 0 ? 1 : base_ms};
    policy.max_ms = more_ms > INT64_MAX - policy.base_ms ? INT64_MAX : policy.base_ms + more_ms;
    for (uint32_t attempt = 0; attempt < 70; attempt++) {
        int64_t wait_ms = backoff_ms(&policy, attempt, random, 0);
        gw_assert(wait_ms >= 0 && wait_ms <= policy.max_ms);
        gw_implies(attempt == 0, wait_ms <= policy.base_ms);
        gw_assert(backoff_ms(&policy, attempt, random, policy.max_ms) == policy.max_ms);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 24 || size > 4096)
        return 0;
    int64_t now_ms = number_at(data, 0), max_ms = not_negative(number_at(data, 8));
    int64_t delay_ms = not_negative(number_at(data, 16));
    check_value(span_of((const char *)data + 24, size - 24), now_ms, max_ms);
    check_date(not_negative(now_ms), delay_ms);
    check_backoff(max_ms, delay_ms, (uint64_t)now_ms);
    return 0;
}
