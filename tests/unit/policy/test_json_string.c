/* The inside of JSON strings: escapes, an independent reading of UTF-8, and the
 * order of strings in different spellings. */
#include "tests/unit/policy/collect.h"

static bool accepts(struct span text, struct json_fault *fault)
{
    struct parsed parsed;
    if (!parse(text, &parsed, fault))
        return false;
    parsed_fini(&parsed);
    return true;
}

static void broken_escapes_are_faults(void **state)
{
    /* Guards: unknown, cut and half surrogate escapes, in values and in names. */
    (void)state;
    static const char *const texts[] = {
        "\\",
        "\\x41",
        "\\u",
        "\\u004",
        "\\u00g1",
        "\\U0041",
        "\\ud800",
        "\\uDFFF",
        "\\udc00\\ud800",
        "\\ud800\\u0041",
        "\\ud800x",
        "\\ud800\\n",
        "\\ud83d\\ud83d",
        "\\ud83d\\ude0",
        "\\ud800\\",
        "\\u+041",
        "\\u 041",
        "\\a",
        "\\0",
        "\\'",
    };
    static const char *const frames[] = {"\"ab%s\"", "{\"ab%s\":1}", "[1,\"ab%s",
                                         "{\"k\":\"ab%s\"}"};
    for (size_t i = 0; i < GW_COUNT(texts); i++)
        for (size_t k = 0; k < GW_COUNT(frames); k++) {
            char text[64];
            const char *mark = strstr(frames[k], "%s");
            (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(mark - frames[k]), frames[k],
                           texts[i], mark + 2); /* short */
            struct json_fault fault = {0, NULL};
            assert_false(accepts(span_str(text), &fault));
            /* A backslash before the closing quote takes the quote with it. */
            if (strcmp(fault.text, "the text ends inside a string") == 0)
                assert_string_equal(texts[i], "\\");
            else if (strcmp(texts[i], "\\") != 0)
                assert_int_equal(fault.offset, mark - frames[k]);
        }
}

/* What RFC 3629 says, from the code point's side. */
static bool is_utf8(const unsigned char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t more = bytes[at] < 0x80   ? 0
                      : bytes[at] < 0xC0 ? 9
                      : bytes[at] < 0xE0 ? 1
                      : bytes[at] < 0xF0 ? 2
                      : bytes[at] < 0xF8 ? 3
                                         : 9;
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (more == 9 || at + more >= len)
            return false;
        uint32_t point = more == 0 ? bytes[at] : bytes[at] & (0x3Fu >> more);
        for (size_t i = 1; i <= more; i++) {
            if ((bytes[at + i] & 0xC0) != 0x80)
                return false;
            point = point << 6 | (bytes[at + i] & 0x3F);
        }
        if (point < least[more] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
            return false;
        at += more + 1;
    }
    return true;
}

static void utf8_agrees_with_the_definition(void **state)
{
    /* Guards: exactly well-formed UTF-8 passes, tried at every edge of the ranges. */
    (void)state;
    static const unsigned char edges[] = {0x20, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0,
                                          0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
                                          0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF};
    struct json_limits limits = {.depth_max = 1, .nodes_max = 1};
    size_t count = GW_COUNT(edges), good = 0, bad = 0;
    for (size_t i = 0; i < count * count * count * count; i++) {
        unsigned char text[6] = {'"',
                                 edges[i % count],
                                 edges[i / count % count],
                                 edges[i / count / count % count],
                                 edges[i / count / count / count],
                                 '"'};
        uint32_t nodes;
        struct json_fault fault;
        bool expected = is_utf8(text + 1, 4);
        bool got = json_count(span_of((const char *)text, sizeof(text)), &limits, &nodes, &fault);
        if (got != expected)
            fail_msg("%02x %02x %02x %02x", text[1], text[2], text[3], text[4]);
        good += got;
        bad += !got;
    }
    print_message("%zu well-formed, %zu not\n", good, bad);
    assert_true(good > 1000 && bad > 100000);
}

static void buffer_put(void *ctx, struct span piece)
{
    assert_true(gw_buf_add(ctx, piece));
}

static void strings_decode(void **state)
{
    /* Guards: each escape means what RFC 8259 says, and plain bytes mean themselves. */
    (void)state;
    static const struct {
        struct span raw, decoded;
    } rows[] = {
        {{"", 0}, {"", 0}},
        {{"abc", 3}, {"abc", 3}},
        {{"\\\"\\\\\\/\\b\\f\\n\\r\\t", 16}, {"\"\\/\b\f\n\r\t", 8}},
        {{"a\\u0000b", 8}, {"a\0b", 3}},
        {{"\\u007f\\u0080\\u07ff\\u0800\\uffff", 30},
         {"\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF", 11}},
        {{"\\uD800\\uDC00\\udbff\\udfff", 24}, {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", 8}},
        {{"\\\\u0041", 7}, {"\\u0041", 6}},
        {{"x\\u00e9y\xC3\xA9", 10}, {"x\xC3\xA9y\xC3\xA9", 6}},
    };
    struct gw_buf out;
    gw_buf_init(&out, COLLECT_BYTES_MAX);
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        gw_buf_clear(&out);
        json_decode(rows[i].raw, true, buffer_put, &out);
        assert_true(span_equal(gw_buf_span(&out), rows[i].decoded));
        assert_true(json_string_equals(rows[i].raw, true, rows[i].decoded));
        assert_int_equal(json_string_compare(rows[i].raw, true, rows[i].decoded, false), 0);
    }
    gw_buf_clear(&out);
    json_decode(SPAN("plain"), false, buffer_put, &out);
    assert_true(span_equal(gw_buf_span(&out), SPAN("plain")));
    assert_false(json_string_equals(SPAN("a"), false, SPAN("ab")));
    assert_false(json_string_equals(SPAN("\\u0061"), true, SPAN("ab")));
    assert_false(json_string_equals(SPAN("\\u0061b"), true, SPAN("a")));
    gw_buf_fini(&out);
}

/* A few characters, some in one of their other spellings. */
static bool random_raw(uint64_t *seed, struct gw_buf *raw)
{
    static const char *const pieces[] = {"a",
                                         "\\u0061",
                                         "b",
                                         "\\u0062",
                                         "\xC3\xA9",
                                         "\\u00e9",
                                         "\xF0\x9F\x98\x80",
                                         "\\ud83d\\uDE00",
                                         "\\n",
                                         "\\u000A",
                                         "\xEF\xBF\xBF",
                                         "\\uffff",
                                         "\\u0000",
                                         "/",
                                         "\\/"};
    bool has_escapes = false;
    gw_buf_clear(raw);
    for (uint32_t left = random_below(seed, 5); left > 0; left--) {
        const char *piece = pieces[random_below(seed, GW_COUNT(pieces))];
        has_escapes |= piece[0] == '\\';
        assert_true(gw_buf_add(raw, span_str(piece)));
    }
    return has_escapes;
}

static void order_is_that_of_the_decoded_bytes(void **state)
{
    /* Guards: comparing in place gives what comparing decoded copies would. */
    (void)state;
    uint64_t seed = 20240601;
    struct gw_buf raw[2], decoded[2];
    size_t equal = 0;
    for (int side = 0; side < 2; side++) {
        gw_buf_init(&raw[side], 4096);
        gw_buf_init(&decoded[side], 4096);
    }
    for (int round = 0; round < 100000; round++) {
        bool escapes[2];
        for (int side = 0; side < 2; side++) {
            escapes[side] = random_raw(&seed, &raw[side]);
            gw_buf_clear(&decoded[side]);
            json_decode(gw_buf_span(&raw[side]), escapes[side], buffer_put, &decoded[side]);
        }
        struct span a = gw_buf_span(&decoded[0]), b = gw_buf_span(&decoded[1]);
        int wanted = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
        if (wanted == 0)
            wanted = (a.len > b.len) - (a.len < b.len);
        int got =
            json_string_compare(gw_buf_span(&raw[0]), escapes[0], gw_buf_span(&raw[1]), escapes[1]);
        if ((got > 0) - (got < 0) != (wanted > 0) - (wanted < 0))
            fail_msg("round %d: %.*s and %.*s: %d, not %d", round, (int)raw[0].len, raw[0].ptr,
                     (int)raw[1].len, raw[1].ptr, got, wanted);
        equal += wanted == 0;
    }
    assert_true(equal > 1000);
    for (int side = 0; side < 2; side++) {
        gw_buf_fini(&raw[side]);
        gw_buf_fini(&decoded[side]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_escapes_are_faults),
        cmocka_unit_test(utf8_agrees_with_the_definition),
        cmocka_unit_test(strings_decode),
        cmocka_unit_test(order_is_that_of_the_decoded_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
