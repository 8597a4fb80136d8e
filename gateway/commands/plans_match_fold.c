/* Spelling: what a cell or a label may stand for, once spreadsheets and people have had it
 * in their hands. It must never call two different that one could have become the other:
 * when in doubt they are alike, and a person looks. */
#include "gateway/commands/plans_match.h"

#include "policy/utf8.h"

#define VALUE_DIGITS_MAX 64 /* labels are shorter */
#define NOT_ASCII        0xff
#define NOTHING          0xfe

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* ---- to ASCII ---- */

static uint32_t code_point_at(struct span text, size_t at, size_t len)
{
    static const unsigned char first_bits[UTF8_BYTES_MAX + 1] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)text.ptr[at] & first_bits[len];
    for (size_t i = 1; i < len; i++)
        code = code << 6 | ((unsigned char)text.ptr[at + i] & 0x3f);
    return code;
}

/* The ASCII character that it is another form of. NOTHING: it shows nothing. NOT_ASCII:
 * there is none, or it is not known. */
static unsigned char ascii_of(uint32_t code)
{
    static const uint32_t zeros[] = {0x0660,  0x06f0,  0x07c0,  0x0966,  0x09e6, 0x0a66,
                                     0x0ae6,  0x0b66,  0x0be6,  0x0c66,  0x0ce6, 0x0d66,
                                     0x0e50,  0x0ed0,  0x0f20,  0x1040,  0x17e0, 0x1810,
                                     0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6};
    if (code < 0x80)
        return (unsigned char)code;
    if (code >= 0xff01 && code <= 0xff5e) /* full width: the whole of ASCII, shifted */
        return (unsigned char)(code - 0xff01 + '!');
    for (size_t i = 0; i < GW_COUNT(zeros); i++)
        if (code >= zeros[i] && code < zeros[i] + 10)
            return (unsigned char)('0' + (code - zeros[i]));
    if (code == 0xad || code == 0x34f || code == 0x180e || code == 0xfeff ||
        (code >= 0x200b && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
        (code >= 0x2060 && code <= 0x206f) || (code >= 0xfe00 && code <= 0xfe0f))
        return NOTHING;
    if (code == 0x66b || code == 0xff0e)
        return '.';
    if (code == 0xa0 || code == 0xb7 || code == 0xb4 || code == 0x66c || code == 0x2212 ||
        code == 0x3000 || (code >= 0x2000 && code <= 0x205f) || code == 0x1680)
        return '-'; /* blanks, dashes and quotes: all that matters is that they part */
    return NOT_ASCII;
}

/* false: out of memory. *ret_lost: a character had no form in ASCII. */
static bool to_ascii(struct arena *arena, struct span text, struct span *ret, bool *ret_lost)
{
    char *to = arena_take(arena, text.len + 1);
    size_t len = 0;
    if (to == NULL)
        return false;
    *ret_lost = false;
    for (size_t at = 0; at < text.len;) {
        size_t bytes = utf8_sequence(text, at);
        unsigned char plain = bytes == 0 ? NOT_ASCII : ascii_of(code_point_at(text, at, bytes));
        at += bytes == 0 ? 1 : bytes;
        if (plain < 0x80)
            to[len++] = (char)plain;
        else if (plain == NOT_ASCII)
            *ret_lost = true;
    }
    gw_assert(len <= text.len);
    while (len > 0 && !is_digit(to[len - 1]) && !is_letter(to[len - 1]))
        len--;
    size_t start = 0;
    while (start < len && !is_digit(to[start]) && !is_letter(to[start]))
        start++;
    *ret = span_of(to + start, len - start);
    return true;
}

/* ---- keys ---- */

static struct span without_zeros(struct span digits)
{
    while (digits.len > 1 && digits.ptr[0] == '0')
        digits = span_of(digits.ptr + 1, digits.len - 1);
    return digits;
}

static void add_key(struct match_reading *reading, struct span key)
{
    gw_assert(reading->count < MATCH_KEYS_MAX);
    for (uint32_t i = 0; i < reading->count; i++)
        if (span_equal(reading->keys[i], key))
            return;
    if (key.len > 0)
        reading->keys[reading->count++] = key;
}

/* Letters and digits of it, and where they lay apart. `is_by_run`: each number in it loses
 * the zeros before it, not only the first one. */
static bool add_core(struct arena *arena, struct span plain, bool is_by_run,
                     struct match_reading *reading, struct span *ret_parted)
{
    char *core = arena_take(arena, plain.len + 1), *parted = arena_take(arena, 2 * plain.len + 1);
    size_t len = 0, parted_len = 0;
    bool is_in_number = false; /* a digit other than zero came before, in this run */
    bool has_gap = false;
    if (core == NULL || parted == NULL)
        return false;
    for (size_t i = 0; i < plain.len; i++) {
        char c = plain.ptr[i];
        bool is_kept = is_digit(c) || is_letter(c);
        bool goes_on = i + 1 < plain.len && is_digit(plain.ptr[i + 1]);
        bool is_idle = is_by_run && c == '0' && !is_in_number && goes_on;
        is_in_number = is_digit(c) && (is_in_number || c != '0');
        has_gap = has_gap || !is_kept;
        if (!is_kept || is_idle)
            continue;
        if (has_gap && len > 0 && is_digit(c) && is_digit(core[len - 1]))
            parted[parted_len++] = '.';
        has_gap = false;
        core[len++] = parted[parted_len++] = small(c);
    }
    add_key(reading, without_zeros(span_of(core, len)));
    *ret_parted = parted_len > len ? span_of(parted, parted_len) : span_of("", 0);
    return true;
}

static bool is_year(struct span text)
{
    bool is_century = text.len == 4 && ((text.ptr[0] == '1' && text.ptr[1] == '9') ||
                                        (text.ptr[0] == '2' && text.ptr[1] == '0'));
    return is_century && is_digit(text.ptr[2]) && is_digit(text.ptr[3]);
}

/* 2026-8042 is written 26-8042, and 8042/2026 is 8042/26: where a year is set apart, its
 * century may be left out. */
static bool add_short_year(struct arena *arena, struct span plain, struct match_reading *reading)
{
    struct span whole = reading->count == 0 ? span_of("", 0) : reading->keys[0];
    if (plain.len <= 5 || whole.len <= 4)
        return true;
    struct span last = span_of(plain.ptr + plain.len - 4, 4);
    char before = plain.ptr[plain.len - 5], behind = plain.ptr[4];
    bool begins_so = is_year(span_of(plain.ptr, 4));
    if (!begins_so && !is_digit(plain.ptr[0]))
        return true; /* one number alone is no year */
    if (begins_so && !is_digit(behind) && !is_letter(behind))
        add_key(reading, span_of(whole.ptr + 2, whole.len - 2));
    if (!is_year(last) || is_digit(before) || is_letter(before))
        return true;
    char *to = arena_take(arena, whole.len);
    if (to == NULL)
        return false;
    memcpy(to, whole.ptr, whole.len - 4);
    memcpy(to + whole.len - 4, last.ptr + 2, 2);
    add_key(reading, span_of(to, whole.len - 2));
    return true;
}

/* ---- numbers ---- */

struct number {
    size_t digits, whole;       /* of the mantissa: all, and those before the last point or comma */
    bool has_fraction, is_idle; /* the fraction is zeros alone */
    int exponent;
    bool has_exponent;
};

static size_t mantissa_of(struct span plain, struct number *number)
{
    size_t at = 0;
    *number = (struct number){.is_idle = true};
    for (; at < plain.len && !is_letter(plain.ptr[at]); at++) {
        char c = plain.ptr[at];
        if (c == '.' || c == ',') {
            number->whole = number->digits;
            number->has_fraction = number->is_idle = true;
        }
        number->is_idle = number->is_idle && (c == '0' || !is_digit(c) || !number->has_fraction);
        number->digits += is_digit(c);
    }
    if (!number->has_fraction)
        number->whole = number->digits;
    return at;
}

/* "7001", "7,001.00", "7.001E+03"; false: none of these. */
static bool parse_number(struct span plain, struct number *number)
{
    size_t at = mantissa_of(plain, number);
    bool is_negative = false;
    if (number->digits == 0 || at == plain.len)
        return number->digits > 0;
    if (small(plain.ptr[at]) != 'e' || ++at == plain.len)
        return false;
    if (plain.ptr[at] == '+' || plain.ptr[at] == '-')
        is_negative = plain.ptr[at++] == '-';
    if (at == plain.len)
        return false;
    for (; at < plain.len; at++) {
        if (!is_digit(plain.ptr[at]))
            return false;
        if (number->exponent <= VALUE_DIGITS_MAX)
            number->exponent = number->exponent * 10 + (plain.ptr[at] - '0');
    }
    number->exponent = is_negative ? -number->exponent : number->exponent;
    number->has_exponent = true;
    return true;
}

/* The whole number that it is, cut at the point. */
static bool add_value(struct arena *arena, struct span plain, const struct number *number,
                      struct match_reading *reading)
{
    long wanted = (long)number->whole + number->exponent;
    size_t len = 0;
    if (wanted <= 0 || wanted > VALUE_DIGITS_MAX)
        return true; /* no label is so long */
    char *to = arena_take(arena, VALUE_DIGITS_MAX);
    if (to == NULL)
        return false;
    for (size_t i = 0; i < plain.len && len < (size_t)wanted && !is_letter(plain.ptr[i]); i++)
        if (is_digit(plain.ptr[i]))
            to[len++] = plain.ptr[i];
    while (len < (size_t)wanted)
        to[len++] = '0';
    uint32_t before = reading->count;
    add_key(reading, without_zeros(span_of(to, len)));
    reading->is_rounded = number->has_exponent && reading->count > before;
    return true;
}

/* 7.10 is 7.1: a fraction without the zeros at its end, which no other key looks like. */
static bool add_decimal(struct arena *arena, struct span plain, const struct number *number,
                        struct match_reading *reading)
{
    char *to = arena_take(arena, number->digits + 2);
    size_t len = 0, digits = 0;
    if (to == NULL)
        return false;
    for (size_t i = 0; i < plain.len; i++) {
        if (!is_digit(plain.ptr[i]))
            continue;
        if (digits++ == number->whole)
            to[len++] = '.';
        to[len++] = plain.ptr[i];
    }
    while (len > 0 && to[len - 1] == '0')
        len--;
    add_key(reading, without_zeros(span_of(to, len)));
    return true;
}

/* ---- the whole ---- */

static bool is_word_for_nothing(struct span text, struct span key)
{
    static const char *const words[] = {"null", "na",  "nan",  "nat",   "none", "nil",  "ref",
                                        "name", "num", "div0", "value", "n",    "empty"};
    if (key.len == 0 || span_equal(text, SPAN("\\N")))
        return true;
    bool is_error = text.ptr[0] == '#'; /* of a spreadsheet */
    for (size_t i = 0; i < GW_COUNT(words); i++)
        if (span_equal(key, span_str(words[i])))
            return is_error || i < 6;
    return false;
}

bool match_read(struct arena *arena, struct span text, struct match_reading *ret)
{
    struct span plain;
    struct number number;
    *ret = (struct match_reading){.raw = text, .is_number = true};
    if (!to_ascii(arena, text, &plain, &ret->is_lossy) ||
        !add_core(arena, plain, false, ret, &ret->parted[0]) ||
        !add_core(arena, plain, true, ret, &ret->parted[1]) || !add_short_year(arena, plain, ret))
        return false;
    struct span first = ret->count == 0 ? span_of("", 0) : ret->keys[0];
    for (size_t i = 0; i < first.len; i++)
        ret->is_number = ret->is_number && is_digit(first.ptr[i]);
    /* A number of which a character is not known may be any number. */
    ret->is_blank = is_word_for_nothing(text, first) || (ret->is_lossy && ret->is_number);
    if (!parse_number(plain, &number))
        return true;
    ret->parted[0] = ret->parted[1] = span_of("", 0); /* of a number nothing is a part */
    if (!number.has_exponent && number.has_fraction && !number.is_idle)
        return add_decimal(arena, plain, &number, ret);
    return (!number.has_exponent && !number.has_fraction) || add_value(arena, plain, &number, ret);
}
