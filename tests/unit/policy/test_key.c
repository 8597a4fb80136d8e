/* Guards that every spelling of one key gives one canonical text, and that nothing
 * else passes for a key. */
#include <stdio.h>
#include <stdlib.h>

#include "policy/key.h"
#include "tests/lib/testlib.h"

#define LINES_MAX 4

static const struct key_grammar lenient = {.bytes_min = 1, .bytes_max = 255};
static const struct key_grammar strict = {.bytes_min = 1, .bytes_max = 255, .strict = true};

/* The key is copied to memory of its exact length, so that a sanitizer sees a
 * write behind the longest line. */
static enum key_verdict read_lines(const struct key_grammar *grammar, const struct span *lines,
                                   uint32_t count, char *ret_key, size_t *ret_len)
{
    size_t longest = 1;
    for (uint32_t i = 0; i < count; i++)
        longest = lines[i].len > longest ? lines[i].len : longest;
    char *room = malloc(longest);
    assert_non_null(room);
    struct key_fault fault = {0};
    enum key_verdict verdict = key_from_lines(grammar, lines, count, room, ret_len, &fault);
    if (verdict == KEY_OK)
        memcpy(ret_key, room, *ret_len);
    else if (verdict == KEY_INVALID)
        assert_non_null(fault.text);
    free(room);
    return verdict;
}

static void assert_key(const struct key_grammar *grammar, struct span line, struct span key)
{
    char room[1024];
    size_t len = 0;
    if (read_lines(grammar, &line, 1, room, &len) != KEY_OK)
        fail_msg("refused: %.*s", (int)line.len, line.ptr);
    if (!span_equal(span_of(room, len), key))
        fail_msg("%.*s gives %.*s", (int)line.len, line.ptr, (int)len, room);
}

static void assert_verdict(const struct key_grammar *grammar, struct span line,
                           enum key_verdict expected)
{
    char room[1024];
    size_t len = 0;
    enum key_verdict verdict = read_lines(grammar, &line, 1, room, &len);
    if (verdict != expected)
        fail_msg("%.*s: verdict %d, not %d", (int)line.len, line.ptr, (int)verdict, (int)expected);
}

static void assert_invalid(const struct key_grammar *grammar, struct span line)
{
    assert_verdict(grammar, line, KEY_INVALID);
}

/* Guards the published table of field lines, in the lenient and the strict mode. */
static void test_vectors(void **state)
{
    (void)state;
    json_t *root = test_load_vectors(SOURCE_DIR "/tests/data/keys/idempotency-key-header.json");
    json_t *cases = json_object_get(root, "cases"), *item;
    size_t index;
    assert_true(json_array_size(cases) >= 30);
    json_array_foreach(cases, index, item)
    {
        struct span lines[LINES_MAX];
        json_t *list = json_object_get(item, "lines");
        uint32_t count = (uint32_t)json_array_size(list);
        assert_true(count <= LINES_MAX);
        for (uint32_t i = 0; i < count; i++)
            lines[i] = test_json_span(json_array_get(list, i));
        char key[1024];
        size_t len = 0;
        bool is_key = strcmp(json_string_value(json_object_get(item, "expect")), "key") == 0;
        enum key_verdict verdict = read_lines(&lenient, lines, count, key, &len);
        if ((verdict == KEY_OK) != is_key)
            fail_msg("case %zu: verdict %d", index, (int)verdict);
        if (!is_key)
            continue;
        struct span want = test_json_span(json_object_get(item, "key"));
        assert_true(span_equal(span_of(key, len), want));
        bool is_quoted = lines[0].ptr[0] == '"';
        verdict = read_lines(&strict, lines, count, key, &len);
        assert_int_equal(verdict, is_quoted ? KEY_OK : KEY_INVALID);
    }
    json_decref(root);
}

/* A string that is well-formed but that the product does not take for a key. */
static bool is_against_policy(struct span text)
{
    return text.len == 0 || text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' ';
}

static size_t run_structured_field_file(const char *path)
{
    static const struct key_grammar wide = {.bytes_min = 1, .bytes_max = 4096, .strict = true};
    json_t *root = test_load_vectors(path), *item;
    size_t index, count = json_array_size(root);
    json_array_foreach(root, index, item)
    {
        json_t *raw = json_object_get(item, "raw");
        struct span lines[LINES_MAX];
        uint32_t line_count = (uint32_t)json_array_size(raw);
        assert_in_range(line_count, 1, LINES_MAX);
        for (uint32_t i = 0; i < line_count; i++)
            lines[i] = test_json_span(json_array_get(raw, i));
        char key[1024];
        size_t len = 0;
        const char *name = json_string_value(json_object_get(item, "name"));
        enum key_verdict verdict = read_lines(&wide, lines, line_count, key, &len);
        json_t *expected = json_array_get(json_object_get(item, "expected"), 0);
        if (expected == NULL || line_count > 1) {
            if (verdict == KEY_OK)
                fail_msg("%s: accepted", name);
            continue;
        }
        struct span want = test_json_span(expected);
        if (is_against_policy(want)) {
            assert_int_equal(verdict, KEY_INVALID);
        } else if (verdict != KEY_OK || !span_equal(span_of(key, len), want)) {
            fail_msg("%s: verdict %d", name, (int)verdict);
        }
    }
    json_decref(root);
    return count;
}

/* Guards the string grammar against the standard's own vectors. */
static void test_structured_fields(void **state)
{
    (void)state;
    size_t count = run_structured_field_file(SHARED_DATA "/sf/string.json");
    count += run_structured_field_file(SHARED_DATA "/sf/string-generated.json");
    print_message("%zu string vectors\n", count);
    assert_true(count >= 270);
}

/* Guards that parameters do not count for identity and broken ones are refused. */
static void test_parameters(void **state)
{
    (void)state;
    static const char *const good[] = {
        "\"k\";v=1",        "\"k\";v",           "\"k\"; a=1;b",   "\"k\";*x=\"a;b\\\"\"",
        "\"k\";a=tok/en:x", "\"k\";a=:YWJj:",    "\"k\";a=?0",     "\"k\";a=@1659578233",
        "\"k\";a=-12.125",  "\"k\";a=%\"f%c3\"", "  \"k\";v=1   ", "\"k\";a=123456789012345",
    };
    static const char *const broken[] = {
        "\"k\" ;v=1",     "\"k\";",      "\"k\";A=1",    "\"k\";v=",
        "\"k\";v=1,",     "\"k\";v=\"a", "\"k\";v=?2",   "\"k\";v=1.",
        "\"k\";v=1.1234", "\"k\";v=:a",  "\"k\";v=@1.5", "\"k\";v=%\"%C3\"",
        "\"k\";v=(1 2)",  "\"k\";v=1 x", "\"k\";1=1",    "\"k\";v=1234567890123456",
        "\"k\"x",         "\"k\"\"k\"",  "\"k\"\t",      "\"k\";v=1234567890123.1",
    };
    for (size_t i = 0; i < GW_COUNT(good); i++)
        assert_key(&strict, span_str(good[i]), SPAN("k"));
    for (size_t i = 0; i < GW_COUNT(broken); i++)
        assert_invalid(&lenient, span_str(broken[i]));
}

/* Guards each byte of the bare grammar, at the first and at a later place, and
 * that no configuration lets in a comma, a quote or a byte outside ASCII. */
static void test_bare_bytes(void **state)
{
    (void)state;
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789-._~:/+=";
    struct key_grammar wide = lenient;
    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)(unsigned char)i;
    wide.extra = span_of(all, sizeof(all));
    for (int i = 0; i < 256; i++) {
        char line[3] = {'a', (char)(unsigned char)i, 'b'};
        char lead[2] = {line[1], 'b'};
        bool is_first = i != 0 && strchr(first, i) != NULL;
        char key[8];
        size_t len;
        struct span later_line = span_of(line, 3), first_line = span_of(lead, 2);
        assert_int_equal(read_lines(&lenient, &later_line, 1, key, &len) == KEY_OK,
                         is_first || i == '@');
        /* a leading space is not part of the value */
        assert_int_equal(read_lines(&lenient, &first_line, 1, key, &len) == KEY_OK,
                         is_first || i == ' ');
        bool is_open = i >= 0x20 && i <= 0x7e && i != ',' && i != '"';
        assert_int_equal(read_lines(&wide, &later_line, 1, key, &len) == KEY_OK, is_open);
    }
    wide.extra = SPAN(" ");
    assert_key(&wide, SPAN("order 17"), SPAN("order 17"));
    assert_key(&wide, SPAN("\"order 17\""), SPAN("order 17"));
    assert_invalid(&wide, SPAN("order;17"));
}

/* Guards "missing" (nothing was said) against "invalid" (something wrong was). */
static void test_missing(void **state)
{
    (void)state;
    char room[8];
    size_t len;
    struct key_fault fault;
    const struct span two[2] = {{"", 0}, {"", 0}};
    assert_int_equal(key_from_lines(&lenient, NULL, 0, room, &len, &fault), KEY_MISSING);
    assert_int_equal(key_from_lines(&lenient, two, 1, room, &len, &fault), KEY_MISSING);
    assert_int_equal(key_from_lines(&lenient, two, 2, room, &len, &fault), KEY_INVALID);
    assert_verdict(&lenient, SPAN(" \t "), KEY_MISSING);
    assert_verdict(&strict, SPAN(" "), KEY_MISSING);
    assert_verdict(&lenient, SPAN("\"\""), KEY_INVALID);
    assert_verdict(&lenient, SPAN("\"  \""), KEY_INVALID);
    assert_verdict(&lenient, SPAN("a\0b"), KEY_INVALID);
    assert_verdict(&lenient, SPAN("\"a\0b\""), KEY_INVALID);
    assert_verdict(&lenient, SPAN("\"a\";v\0"), KEY_INVALID);
    assert_verdict(&lenient, SPAN("\0"), KEY_INVALID);
}

/* Guards that both ends of the length are of the unquoted text and inclusive. */
static void test_length(void **state)
{
    (void)state;
    struct key_grammar grammar = {.bytes_min = 3, .bytes_max = 4};
    assert_invalid(&grammar, SPAN("ab"));
    assert_key(&grammar, SPAN("abc"), SPAN("abc"));
    assert_key(&grammar, SPAN("abcd"), SPAN("abcd"));
    assert_invalid(&grammar, SPAN("abcde"));
    assert_key(&grammar, SPAN("\"a\\\"\\\\d\""), SPAN("a\"\\d"));
    assert_invalid(&grammar, SPAN("\"abcde\""));
    assert_invalid(&grammar, SPAN("\"\\\\b\""));
}

/* Guards the two demands that a route may make on the form of its keys. */
static void test_format(void **state)
{
    (void)state;
    struct key_grammar grammar = {.bytes_min = 1, .bytes_max = 255, .uuid = true};
    assert_key(&grammar, SPAN("8E03978e-40d5-43e8-bc93-6894a57f9324"),
               SPAN("8E03978e-40d5-43e8-bc93-6894a57f9324"));
    assert_key(&grammar, SPAN("\"8e03978e-40d5-43e8-bc93-6894a57f9324\""),
               SPAN("8e03978e-40d5-43e8-bc93-6894a57f9324"));
    assert_invalid(&grammar, SPAN("8e03978e40d543e8bc936894a57f9324"));
    assert_invalid(&grammar, SPAN("8e03978e-40d5-43e8-bc93-6894a57f932"));
    assert_invalid(&grammar, SPAN("8e03978e-40d5-43e8-bc93-6894a57f93245"));
    assert_invalid(&grammar, SPAN("8e03978e-40d5-43e8-bc93-6894a57f932g"));
    assert_invalid(&grammar, SPAN("8e03978e-40d5-43e8-bc9-36894a57f9324"));
    grammar.uuid = false;
    grammar.pattern = SPAN("shop-*-?");
    assert_key(&grammar, SPAN("shop-17-a"), SPAN("shop-17-a"));
    assert_invalid(&grammar, SPAN("Shop-17-a"));
    assert_invalid(&grammar, SPAN("shop-17-"));
}

/* Guards keys from bodies and paths: the bare grammar, and a quote is no quote. */
static void test_text(void **state)
{
    (void)state;
    struct key_fault fault = {0};
    assert_int_equal(key_from_text(&lenient, SPAN("A-17"), &fault), KEY_OK);
    assert_int_equal(key_from_text(&strict, SPAN("A-17"), &fault), KEY_OK);
    assert_int_equal(key_from_text(&lenient, SPAN(""), &fault), KEY_MISSING);
    assert_int_equal(key_from_text(&lenient, SPAN("  "), &fault), KEY_MISSING);
    static const char *const bad[] = {"\"A\"", "a,b", " a", "a ", "a b", "@a", "a\n", "\xc3\xa9"};
    for (size_t i = 0; i < GW_COUNT(bad); i++) {
        fault.text = NULL;
        assert_int_equal(key_from_text(&lenient, span_str(bad[i]), &fault), KEY_INVALID);
        assert_non_null(fault.text);
    }
    char longer[256];
    memset(longer, 'a', sizeof(longer));
    assert_int_equal(key_from_text(&lenient, span_of(longer, 255), &fault), KEY_OK);
    assert_int_equal(key_from_text(&lenient, span_of(longer, 256), &fault), KEY_INVALID);
    struct key_grammar spaces = lenient;
    spaces.extra = SPAN(" ");
    assert_int_equal(key_from_text(&spaces, SPAN("a b"), &fault), KEY_OK);
    assert_int_equal(key_from_text(&spaces, SPAN("a "), &fault), KEY_INVALID);
}

/* Guards that writing a key and reading it again gives the key, for every byte a
 * key may hold. */
static void test_round_trip(void **state)
{
    (void)state;
    for (char c = 0x21; c <= 0x7e; c++) {
        char key[3] = {c, ' ', c}, line[8], back[8];
        size_t len = key_to_sf_string(span_of(key, 3), line), back_len;
        struct key_fault fault;
        struct span value = span_of(line, len);
        assert_int_equal(key_from_lines(&strict, &value, 1, back, &back_len, &fault), KEY_OK);
        assert_true(span_equal(span_of(back, back_len), span_of(key, 3)));
    }
    char line[2];
    assert_int_equal(key_to_sf_string(SPAN(""), line), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),    cmocka_unit_test(test_structured_fields),
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_bare_bytes),
        cmocka_unit_test(test_missing),    cmocka_unit_test(test_length),
        cmocka_unit_test(test_format),     cmocka_unit_test(test_text),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
