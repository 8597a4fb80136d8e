/* When to try again, and what a Retry-After says. Must never read a clock or a
 * random source: both are arguments. */
#include "policy/backoff.h"

#define MS_PER_SECOND   INT64_C(1000)
#define SECONDS_PER_DAY INT64_C(86400)
#define YEARS_AHEAD_MAX 50 /* a two-digit year further ahead is one of the century before */

/* A moment in UTC by the calendar. */
struct moment {
    int64_t year;
    uint32_t month, day; /* from 1 */
    uint32_t second;     /* of the day; 86400 in a leap second */
};

static bool parse_seconds(struct span value, int64_t max_ms, int64_t *ret_ms);
static bool parse_date(struct span value, int64_t now_ms, int64_t *ret_ms);

int64_t backoff_ms(const struct backoff_policy *policy, uint32_t attempt, uint64_t random,
                   int64_t at_least_ms)
{
    gw_assert(policy->base_ms > 0);
    gw_assert(policy->max_ms >= policy->base_ms);
    int64_t most_ms = policy->max_ms;
    if (attempt < 63 && policy->base_ms <= policy->max_ms >> attempt)
        most_ms = policy->base_ms << attempt;
    const int64_t wait_ms = (int64_t)(random % ((uint64_t)most_ms + 1));
    return wait_ms > at_least_ms ? wait_ms : at_least_ms;
}

bool retry_after_ms(struct span value, int64_t now_ms, int64_t max_ms, int64_t *ret_ms)
{
    gw_assert(max_ms >= 0);
    if (parse_seconds(value, max_ms, ret_ms))
        return true;
    int64_t date_ms = 0;
    if (!parse_date(value, now_ms, &date_ms))
        return false;
    if (date_ms <= now_ms)
        *ret_ms = 0;
    else if ((uint64_t)date_ms - (uint64_t)now_ms >= (uint64_t)max_ms)
        *ret_ms = max_ms;
    else
        *ret_ms = date_ms - now_ms;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* 1*DIGIT. What is over the maximum stays there, so that no number of digits overflows. */
static bool parse_seconds(struct span value, int64_t max_ms, int64_t *ret_ms)
{
    const int64_t too_many = max_ms / MS_PER_SECOND + 1;
    int64_t seconds = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (!is_digit(value.ptr[i]))
            return false;
        if (seconds < too_many)
            seconds = seconds * 10 + (value.ptr[i] - '0');
    }
    if (value.len == 0)
        return false;
    *ret_ms = seconds >= too_many ? max_ms : seconds * MS_PER_SECOND;
    return true;
}

/* ---- the calendar ---- */

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static uint32_t days_in_month(int64_t year, uint32_t month)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    gw_assert(month >= 1 && month <= 12);
    return days[month - 1] + (month == 2 && is_leap(year) ? 1U : 0U);
}

/* Of 1 January, counted from 1970; for years from 0. */
static int64_t day_of_year_start(int64_t year)
{
    gw_assert(year >= 0);
    /* Year 0 is a leap year itself, so the years before `year` hold one more than year-1 divides.
     */
    const int64_t before = year - 1;
    const int64_t leaps = year == 0 ? 0 : before / 4 - before / 100 + before / 400 + 1;
    return year * 365 + leaps - 719528;
}

static int64_t moment_to_ms(const struct moment *m)
{
    int64_t day = day_of_year_start(m->year) + m->day - 1;
    for (uint32_t month = 1; month < m->month; month++)
        day += days_in_month(m->year, month);
    return (day * SECONDS_PER_DAY + m->second) * MS_PER_SECOND;
}

/* Dates before 1970 and after 9999 are taken for the nearest one between. */
static struct moment moment_of_ms(int64_t wall_ms)
{
    const int64_t last_second = day_of_year_start(10000) * SECONDS_PER_DAY - 1;
    int64_t second = wall_ms < 0 ? 0 : wall_ms / MS_PER_SECOND;
    if (second > last_second)
        second = last_second;
    const int64_t day = second / SECONDS_PER_DAY;
    struct moment m = {.year = 1970 + day / 366,
                       .month = 1,
                       .day = 1,
                       .second = (uint32_t)(second % SECONDS_PER_DAY)};
    while (day_of_year_start(m.year + 1) <= day) /* at most 18 steps before the year 10000 */
        m.year++;
    uint32_t rest = (uint32_t)(day - day_of_year_start(m.year));
    while (rest >= days_in_month(m.year, m.month)) {
        rest -= days_in_month(m.year, m.month);
        m.month++;
    }
    m.day = 1 + rest;
    return m;
}

/* Grows with time. */
static int64_t moment_order(const struct moment *m)
{
    return ((m->year * 13 + m->month) * 32 + m->day) * (SECONDS_PER_DAY + 1) + m->second;
}

/* RFC 9110 5.6.7: a two-digit year that seems more than 50 years ahead is one of the past. */
static int64_t year_of_two_digits(const struct moment *m, int64_t now_ms)
{
    struct moment limit = moment_of_ms(now_ms);
    struct moment guess = *m;
    guess.year = limit.year - limit.year % 100 + 100 + m->year;
    limit.year += YEARS_AHEAD_MAX;
    while (moment_order(&guess) >
           moment_order(&limit)) /* at most twice: a year is never below -1 */
        guess.year -= 100;
    return guess.year;
}

/* ---- reading a date: what is left of the value shrinks from the front ---- */

static bool take_byte(struct span *rest, char byte)
{
    if (rest->len == 0 || rest->ptr[0] != byte)
        return false;
    *rest = span_of(rest->ptr + 1, rest->len - 1);
    return true;
}

static bool take_text(struct span *rest, struct span text)
{
    if (rest->len < text.len || memcmp(rest->ptr, text.ptr, text.len) != 0)
        return false;
    *rest = span_of(rest->ptr + text.len, rest->len - text.len);
    return true;
}

/* Exactly `digits` digits. */
static bool take_number(struct span *rest, uint32_t digits, uint32_t *ret)
{
    if (rest->len < digits)
        return false;
    uint32_t number = 0;
    for (uint32_t i = 0; i < digits; i++) {
        if (!is_digit(rest->ptr[i]))
            return false;
        number = number * 10 + (uint32_t)(rest->ptr[i] - '0');
    }
    *rest = span_of(rest->ptr + digits, rest->len - digits);
    *ret = number;
    return true;
}

static bool take_day_name(struct span *rest, bool whole)
{
    static const struct {
        const char *brief, *whole;
    } names[7] = {{"Mon", "Monday"}, {"Tue", "Tuesday"},  {"Wed", "Wednesday"}, {"Thu", "Thursday"},
                  {"Fri", "Friday"}, {"Sat", "Saturday"}, {"Sun", "Sunday"}};
    for (size_t i = 0; i < GW_COUNT(names); i++)
        if (take_text(rest, span_str(whole ? names[i].whole : names[i].brief)))
            return true;
    return false;
}

static bool take_month(struct span *rest, struct moment *m)
{
    static const char names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    for (uint32_t i = 0; i < GW_COUNT(names); i++)
        if (take_text(rest, span_of(names[i], 3))) {
            m->month = i + 1;
            return true;
        }
    return false;
}

static bool take_year(struct span *rest, uint32_t digits, struct moment *m)
{
    uint32_t year = 0;
    if (!take_number(rest, digits, &year))
        return false;
    m->year = year;
    return true;
}

/* hh:mm:ss; a 60th second is allowed, as the grammar says. */
static bool take_time(struct span *rest, struct moment *m)
{
    uint32_t hour = 0, minute = 0, second = 0;
    if (!take_number(rest, 2, &hour) || !take_byte(rest, ':') || !take_number(rest, 2, &minute) ||
        !take_byte(rest, ':') || !take_number(rest, 2, &second))
        return false;
    m->second = (hour * 60 + minute) * 60 + second;
    return hour < 24 && minute < 60 && second <= 60;
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static bool take_imf_date(struct span rest, struct moment *m)
{
    return take_day_name(&rest, false) && take_text(&rest, SPAN(", ")) &&
           take_number(&rest, 2, &m->day) && take_byte(&rest, ' ') && take_month(&rest, m) &&
           take_byte(&rest, ' ') && take_year(&rest, 4, m) && take_byte(&rest, ' ') &&
           take_time(&rest, m) && take_text(&rest, SPAN(" GMT")) && rest.len == 0;
}

/* Sunday, 06-Nov-94 08:49:37 GMT */
static bool take_rfc850_date(struct span rest, struct moment *m)
{
    return take_day_name(&rest, true) && take_text(&rest, SPAN(", ")) &&
           take_number(&rest, 2, &m->day) && take_byte(&rest, '-') && take_month(&rest, m) &&
           take_byte(&rest, '-') && take_year(&rest, 2, m) && take_byte(&rest, ' ') &&
           take_time(&rest, m) && take_text(&rest, SPAN(" GMT")) && rest.len == 0;
}

/* Sun Nov  6 08:49:37 1994 */
static bool take_asctime_date(struct span rest, struct moment *m)
{
    return take_day_name(&rest, false) && take_byte(&rest, ' ') && take_month(&rest, m) &&
           take_byte(&rest, ' ') && take_number(&rest, take_byte(&rest, ' ') ? 1 : 2, &m->day) &&
           take_byte(&rest, ' ') && take_time(&rest, m) && take_byte(&rest, ' ') &&
           take_year(&rest, 4, m) && rest.len == 0;
}

static bool parse_date(struct span value, int64_t now_ms, int64_t *ret_ms)
{
    struct moment m = {.year = 0};
    if (take_rfc850_date(value, &m))
        m.year = year_of_two_digits(&m, now_ms);
    else if (!take_imf_date(value, &m) && !take_asctime_date(value, &m))
        return false;
    if (m.day < 1 || m.day > days_in_month(m.year, m.month))
        return false;
    *ret_ms = moment_to_ms(&m);
    return true;
}
