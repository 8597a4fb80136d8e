/* The base library: bounds hold at their value and one over, texts are strict. */
#include "tests/lib/testlib.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/text.h"

/* An arena gives exactly bytes_max and not one byte more. */
static void arena_is_bounded(void **state)
{
    (void)state;
    struct arena *arena = arena_new(10000);
    assert_non_null(arena_take(arena, 9000));
    assert_non_null(arena_take(arena, 1000));
    assert_null(arena_take(arena, 1));
    assert_int_equal(arena_used(arena), 10000);
    arena_free(arena);
}

/* Pieces of an arena never overlap, whatever their sizes. */
static void arena_pieces_are_apart(void **state)
{
    (void)state;
    struct arena *arena = arena_new(1 << 20);
    unsigned char *pieces[200];
    for (size_t i = 0; i < 200; i++) {
        pieces[i] = arena_take(arena, i * 7 + 1);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)i, i * 7 + 1);
    }
    for (size_t i = 0; i < 200; i++)
        for (size_t at = 0; at < i * 7 + 1; at++)
            assert_int_equal(pieces[i][at], i);
    arena_free(arena);
}

/* A buffer takes bytes_max and refuses the next byte, keeping what it has. */
static void buffer_is_bounded(void **state)
{
    (void)state;
    struct gw_buf buf;
    gw_buf_init(&buf, 5);
    assert_true(gw_buf_add(&buf, SPAN("abcde")));
    assert_false(gw_buf_byte(&buf, 'f'));
    assert_true(buf.failed);
    assert_true(span_equal(gw_buf_span(&buf), SPAN("abcde")));
    gw_buf_drop(&buf, 2);
    assert_true(span_equal(gw_buf_span(&buf), SPAN("cde")));
    gw_buf_clear(&buf);
    assert_false(buf.failed);
    gw_buf_fini(&buf);
}

/* Base64 has one spelling per value: padding, alphabet and last bits are checked. */
static void base64_is_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "Zg=", "Zg", "Zh==", "Zm9=", "Z g==", "=Zg=", "Zg==\n", "Zm-v"};
    char room[32];
    size_t len;
    assert_true(gw_base64_decode(SPAN("Zm9vYg=="), room, &len));
    assert_true(span_equal(span_of(room, len), SPAN("foob")));
    for (size_t i = 0; i < GW_COUNT(bad); i++)
        assert_false(gw_base64_decode(span_str(bad[i]), room, &len));
}

/* Numbers are digits only and end at 2^64-1. */
static void numbers_are_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "+1", "-1", " 1", "1 ", "0x1", "18446744073709551616"};
    uint64_t value;
    assert_true(gw_parse_u64(SPAN("18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
    for (size_t i = 0; i < GW_COUNT(bad); i++)
        assert_false(gw_parse_u64(span_str(bad[i]), &value));
}

/* Times print and parse to the same instant; a day that does not exist is refused. */
static void times_round_trip(void **state)
{
    (void)state;
    static const int64_t times[] = {0, 1, 999, 1000, 784111777000, 1795999999999, 253402300799999};
    static const char *const bad[] = {"2026-02-30T00:00:00Z", "2026-11-30 00:00:00Z", "2026-11-30",
                                      "2026-11-30T00:00:00", "2026-11-30T24:00:00Z"};
    char text[GW_RFC3339_BYTES], date[GW_HTTP_DATE_BYTES];
    int64_t back;
    for (size_t i = 0; i < GW_COUNT(times); i++) {
        gw_rfc3339(times[i], text);
        assert_true(gw_rfc3339_parse(span_str(text), &back));
        assert_true(back == times[i]);
    }
    for (size_t i = 0; i < GW_COUNT(bad); i++)
        assert_false(gw_rfc3339_parse(span_str(bad[i]), &back));
    gw_http_date(784111777000, date);
    assert_string_equal(date, "Sun, 06 Nov 1994 08:49:37 GMT");
}

/* 128 bits make 26 characters, and different bits different ones. */
static void base32_keeps_every_bit(void **state)
{
    (void)state;
    char zero[27], other[27];
    uint8_t bytes[16] = {0};
    gw_base32(bytes, zero);
    assert_int_equal(strlen(zero), 26);
    for (unsigned bit = 0; bit < 128; bit++) {
        memset(bytes, 0, sizeof(bytes));
        bytes[bit / 8] = (uint8_t)(1u << bit % 8);
        gw_base32(bytes, other);
        assert_string_not_equal(zero, other);
    }
}

/* Length prefixes keep two lists of parts apart. */
static void digest_parts_are_apart(void **state)
{
    (void)state;
    uint8_t a[32], b[32];
    struct gw_sha256 *sha = gw_sha256_new();
    gw_sha256_start(sha);
    gw_sha256_add_part(sha, SPAN("ab"));
    gw_sha256_add_part(sha, SPAN("c"));
    gw_sha256_final(sha, a);
    gw_sha256_start(sha);
    gw_sha256_add_part(sha, SPAN("a"));
    gw_sha256_add_part(sha, SPAN("bc"));
    gw_sha256_final(sha, b);
    assert_memory_not_equal(a, b, sizeof(a));
    gw_sha256_free(sha);
    char hex[65];
    gw_sha256_once(SPAN("abc"), a);
    gw_hex(a, 32, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* A JSON string is always one: controls escaped, broken UTF-8 replaced. */
static void json_strings_are_whole(void **state)
{
    (void)state;
    struct gw_buf buf;
    gw_buf_init(&buf, 1000);
    gw_json_string(&buf, SPAN("a\"\\\n\x7f\xc3\xa9\xff\xed\xa0\x80z"));
    assert_true(
        span_equal(gw_buf_span(&buf),
                   SPAN("\"a\\\"\\\\\\u000a\\u007f\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                        "\xef\xbf\xbdz\"")));
    gw_buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_is_bounded),       cmocka_unit_test(arena_pieces_are_apart),
        cmocka_unit_test(buffer_is_bounded),      cmocka_unit_test(base64_is_strict),
        cmocka_unit_test(numbers_are_strict),     cmocka_unit_test(times_round_trip),
        cmocka_unit_test(base32_keeps_every_bit), cmocka_unit_test(digest_parts_are_apart),
        cmocka_unit_test(json_strings_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
