/* Order numbers that spreadsheets take for dates: 3-12 becomes 12-Mar, MAR1 becomes 01-Mar.
 * It must never miss one that is common; one too many is for a person. */
#include "gateway/commands/plans_match.h"

#define PARTS_MAX 3
#define YEAR_MIN  1900
#define YEAR_MAX  9999

struct date_part {
    uint32_t number; /* 0: it is a word, or zero */
    size_t digits;
    struct span word;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* English, Spanish, Portuguese, French, German and Italian: what is written out begins so. */
static bool is_month(struct span word)
{
    static const char names[] = "jan feb mar apr may jun jul aug sep oct nov dec "
                                "ene abr ago dic fev abr mai set out dez avr aou "
                                "okt mrz gen mag giu lug ott";
    char small[3];
    if (word.len < sizeof(small))
        return false;
    for (size_t i = 0; i < sizeof(small); i++) {
        if ((unsigned char)word.ptr[i] >= 0x80)
            return true; /* some months have an accent so early, and little else */
        small[i] = (char)(word.ptr[i] | 0x20);
    }
    for (size_t at = 0; at + sizeof(small) < sizeof(names); at += sizeof(small) + 1)
        if (memcmp(names + at, small, sizeof(small)) == 0)
            return true;
    return false;
}

static size_t read_part(struct span text, size_t at, struct date_part *ret)
{
    size_t start = at;
    *ret = (struct date_part){.number = 0};
    for (; at < text.len && is_digit(text.ptr[at]); at++)
        if (ret->number <= YEAR_MAX)
            ret->number = ret->number * 10 + (uint32_t)(text.ptr[at] - '0');
    ret->digits = at - start;
    while (ret->digits == 0 && at < text.len && is_letter(text.ptr[at]))
        at++;
    ret->word = ret->digits > 0 ? span_of("", 0) : span_of(text.ptr + start, at - start);
    return at;
}

static bool is_between(char c)
{
    return c == '-' || c == '/' || c == '.' || c == ' ' || c == ',';
}

static uint32_t kind_of(const struct date_part *part)
{
    return part->digits == 0 ? 1 : part->digits <= 2 ? 2 : 3;
}

/* The parts of it, however they are set apart, and what it looks like; 0: it is something
 * else. */
static uint32_t split(struct span text, struct date_part parts[PARTS_MAX], uint32_t *ret_form)
{
    uint32_t count = 0;
    *ret_form = 0;
    for (size_t at = 0; at < text.len;) {
        if (count == PARTS_MAX || (!is_digit(text.ptr[at]) && !is_letter(text.ptr[at])))
            return 0;
        at = read_part(text, at, &parts[count]);
        bool is_set_apart = at < text.len && is_between(text.ptr[at]);
        uint32_t between = is_set_apart ? (unsigned char)text.ptr[at] : 0;
        *ret_form = (*ret_form << 2 | kind_of(&parts[count++])) << 8 | between;
        while (at < text.len && is_between(text.ptr[at]))
            at++;
    }
    return count;
}

static bool is_day(const struct date_part *part)
{
    return part->digits > 0 && part->digits <= 2 && part->number >= 1 && part->number <= 31;
}

static bool is_month_part(const struct date_part *part)
{
    return is_month(part->word) || (is_day(part) && part->number <= 12);
}

static bool is_year(const struct date_part *part)
{
    return part->digits == 2 ||
           (part->digits == 4 && part->number >= YEAR_MIN && part->number <= YEAR_MAX);
}

static bool is_day_or_year(const struct date_part *part)
{
    return is_day(part) || is_year(part);
}

/* A month, and the day or the year of it, in whichever order. */
static bool is_pair(const struct date_part *a, const struct date_part *b)
{
    return (is_month_part(a) && is_day_or_year(b)) || (is_day_or_year(a) && is_month_part(b));
}

static uint32_t form_of(struct span text)
{
    struct date_part parts[PARTS_MAX];
    uint32_t form, count = split(text, parts, &form);
    bool is_date = count == 2 && is_pair(&parts[0], &parts[1]);
    if (count == 3)
        is_date = (is_pair(&parts[0], &parts[1]) && is_year(&parts[2])) ||
                  (is_year(&parts[0]) && is_pair(&parts[1], &parts[2]));
    return is_date ? form : 0;
}

void match_dates_add(struct match_dates *dates, struct span text)
{
    uint32_t form = form_of(text), i = 0;
    while (i < dates->count && dates->forms[i] != form)
        i++;
    if (form == 0 || i < dates->count)
        return;
    if (dates->count < MATCH_DATES_MAX)
        dates->forms[dates->count++] = form;
    else
        dates->is_full = true;
}

bool match_dates_hide(const struct match_dates *dates, struct span text)
{
    uint32_t form = form_of(text);
    bool is_other = dates->is_full;
    for (uint32_t i = 0; i < dates->count; i++)
        is_other = is_other || dates->forms[i] != form;
    return form != 0 && is_other;
}
