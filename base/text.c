/* Hex, base64, base32, numbers and times. */
#include "base/text.h"

#include <stdio.h>
#include <time.h>

void gw_hex(const void *bytes, size_t len, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = bytes;
    for (size_t i = 0; i < len; i++) {
        ret_text[2 * i] = digits[from[i] >> 4];
        ret_text[2 * i + 1] = digits[from[i] & 15];
    }
    ret_text[2 * len] = '\0';
}

bool gw_hex_decode(struct span text, void *ret_bytes, size_t len)
{
    uint8_t *to = ret_bytes;
    if (text.len != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = gw_hex_value(text.ptr[2 * i]);
        int low = gw_hex_value(text.ptr[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        to[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool gw_base64_decode(struct span text, void *ret_bytes, size_t *ret_len)
{
    uint8_t *to = ret_bytes;
    size_t len = 0;
    if (text.len % 4 != 0)
        return false;
    for (size_t i = 0; i < text.len; i += 4) {
        bool is_last = i + 4 == text.len;
        size_t pads = 0;
        if (is_last && text.ptr[i + 3] == '=')
            pads = text.ptr[i + 2] == '=' ? 2 : 1;
        uint32_t bits = 0;
        for (size_t j = 0; j < 4; j++) {
            int value = j >= 4 - pads ? 0 : base64_value(text.ptr[i + j]);
            if (value < 0)
                return false;
            bits = bits << 6 | (uint32_t)value;
        }
        /* Bits that the padding throws away must be zero: one spelling per value. */
        if ((pads == 1 && (bits & 0xff) != 0) || (pads == 2 && (bits & 0xffff) != 0))
            return false;
        to[len++] = (uint8_t)(bits >> 16);
        if (pads < 2)
            to[len++] = (uint8_t)(bits >> 8);
        if (pads < 1)
            to[len++] = (uint8_t)bits;
    }
    *ret_len = len;
    return true;
}

static int base64url_value(char c)
{
    if (c == '-' || c == '_')
        return c == '-' ? 62 : 63;
    return c == '+' || c == '/' ? -1 : base64_value(c);
}

bool gw_base64url_decode(struct span text, void *ret_bytes, size_t *ret_len)
{
    uint8_t *to = ret_bytes;
    size_t len = 0;
    uint32_t bits = 0, held = 0;
    for (size_t i = 0; i < text.len; i++) {
        int value = base64url_value(text.ptr[i]);
        if (value < 0)
            return false;
        bits = (bits << 6 | (uint32_t)value) & 0xffff;
        held += 6;
        if (held >= 8) {
            held -= 8;
            to[len++] = (uint8_t)(bits >> held);
        }
    }
    /* What is left over must be less than a character, and zero: one spelling per value. */
    if (held >= 6 || (bits & ((1U << held) - 1)) != 0)
        return false;
    *ret_len = len;
    return true;
}

bool gw_parse_u64(struct span text, uint64_t *ret)
{
    uint64_t value = 0;
    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text.ptr[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

static const char base32_digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

void gw_base32(const uint8_t bytes[16], char ret_text[27])
{
    unsigned buffer = 0, bits = 0, at = 0, out = 0;
    while (out < 26) {
        if (bits < 5) {
            buffer = buffer << 8 | (at < 16 ? bytes[at] : 0u);
            at++;
            bits += 8;
        }
        bits -= 5;
        ret_text[out++] = base32_digits[(buffer >> bits) & 31];
        buffer &= (1u << bits) - 1;
    }
    ret_text[26] = '\0';
}

bool gw_base32_is_sound(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (memchr(base32_digits, text.ptr[i], sizeof(base32_digits) - 1) == NULL)
            return false;
    return true;
}

static void split_time(int64_t wall_ms, struct tm *ret_tm)
{
    int64_t seconds = wall_ms / 1000 - (wall_ms % 1000 < 0 ? 1 : 0);
    /* Years 0 to 9999: what both formats can print. */
    if (seconds < -62167219200)
        seconds = -62167219200;
    if (seconds > 253402300799)
        seconds = 253402300799;
    time_t when = (time_t)seconds;
    const struct tm *done = gmtime_r(&when, ret_tm);
    gw_assert(done != NULL);
}

void gw_rfc3339(int64_t wall_ms, char ret_text[GW_RFC3339_BYTES])
{
    struct tm tm;
    split_time(wall_ms, &tm);
    unsigned ms = (unsigned)((wall_ms % 1000 + 1000) % 1000);
    (void)snprintf(ret_text, GW_RFC3339_BYTES, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
                   (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)(tm.tm_mon + 1) % 100,
                   (unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100,
                   (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100,
                   ms); /* always 24 characters */
}

static bool take_number(struct span text, size_t at, size_t len, char end, int *ret)
{
    uint64_t value;
    if (at + len > text.len || !gw_parse_u64(span_of(text.ptr + at, len), &value))
        return false;
    if (end != '\0' && (at + len >= text.len || text.ptr[at + len] != end))
        return false;
    *ret = (int)value;
    return true;
}

bool gw_rfc3339_parse(struct span text, int64_t *ret_wall_ms)
{
    struct tm tm = {0};
    int ms = 0;
    if (!take_number(text, 0, 4, '-', &tm.tm_year) || !take_number(text, 5, 2, '-', &tm.tm_mon) ||
        !take_number(text, 8, 2, 'T', &tm.tm_mday) || !take_number(text, 11, 2, ':', &tm.tm_hour) ||
        !take_number(text, 14, 2, ':', &tm.tm_min) || !take_number(text, 17, 2, '\0', &tm.tm_sec))
        return false;
    bool has_ms = text.len == 24 && text.ptr[19] == '.' && take_number(text, 20, 3, 'Z', &ms);
    if (!has_ms && !(text.len == 20 && text.ptr[19] == 'Z'))
        return false;
    struct tm wanted = tm;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    time_t seconds = timegm(&tm);
    /* timegm() moves the 31st of June to July: such a day is refused. */
    if (tm.tm_mon != wanted.tm_mon - 1 || tm.tm_mday != wanted.tm_mday ||
        tm.tm_hour != wanted.tm_hour || tm.tm_min != wanted.tm_min || tm.tm_sec != wanted.tm_sec)
        return false;
    *ret_wall_ms = (int64_t)seconds * 1000 + ms;
    return true;
}

void gw_http_date(int64_t wall_ms, char ret_text[GW_HTTP_DATE_BYTES])
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm;
    split_time(wall_ms, &tm);
    (void)snprintf(ret_text, GW_HTTP_DATE_BYTES, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
                   days + 3 * tm.tm_wday, (unsigned)tm.tm_mday % 100, months + 3 * tm.tm_mon,
                   (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
                   (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100); /* always 29 characters */
}
