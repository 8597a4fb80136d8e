/* The canonical form of JSON and raw bodies: the pairs of the vectors, numbers that
 * must stay apart, and the encoding byte by byte. */
#include "tests/unit/policy/collect.h"

#define VECTORS SOURCE_DIR "/tests/data/fingerprint/json-cases.json"

static bool is_same_form(struct span a, struct span b)
{
    struct collected first, second;
    collect_json(a, NULL, &first);
    collect_json(b, NULL, &second);
    bool is_same = collect_is_same(&first, &second);
    collect_fini(&first);
    collect_fini(&second);
    return is_same;
}

static bool is_json(struct span text)
{
    struct parsed parsed;
    struct json_fault fault;
    if (!parse(text, &parsed, &fault))
        return false;
    parsed_fini(&parsed);
    return true;
}

static unsigned hex_digit(char c)
{
    return (unsigned)(c >= '0' && c <= '9' ? c - '0' : gw_lower(c) - 'a' + 10);
}

static bool is_case_met(const json_t *entry)
{
    const char *expect = json_string_value(json_object_get(entry, "expect"));
    const char *hex = json_string_value(json_object_get(entry, "hex"));
    char bytes[64];
    struct span a = test_json_span(json_object_get(entry, "a"));
    if (hex != NULL) {
        a = span_of(bytes, strlen(hex) / 2);
        assert_in_range(a.len, 1, sizeof(bytes));
        for (size_t i = 0; i < a.len; i++)
            bytes[i] = (char)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
    }
    if (strcmp(expect, "reject") == 0)
        return !is_json(a);
    if (strcmp(expect, "accept") == 0)
        return is_json(a);
    bool is_same = is_same_form(a, test_json_span(json_object_get(entry, "b")));
    if (strcmp(expect, "same") == 0)
        return is_same;
    assert_string_equal(expect, "different");
    return !is_same;
}

static void vectors_hold(void **state)
{
    /* Guards: which pairs of bodies are one request, and which texts are refused. */
    (void)state;
    json_t *vectors = test_load_vectors(VECTORS);
    size_t i, wrong = 0, count = 0;
    json_t *entry;
    json_array_foreach(json_object_get(vectors, "cases"), i, entry)
    {
        count++;
        if (is_case_met(entry))
            continue;
        wrong++;
        print_error("case %zu: %s\n", i, json_string_value(json_object_get(entry, "why")));
    }
    print_message("%zu cases\n", count);
    json_decref(vectors);
    assert_int_equal(wrong, 0);
    assert_true(count > 40);
}

struct number_line {
    char *text;
    char *canonical;
    size_t canonical_len;
};

static int compare_forms(const void *a, const void *b)
{
    const struct number_line *x = a, *y = b;
    size_t shorter = x->canonical_len < y->canonical_len ? x->canonical_len : y->canonical_len;
    int order = memcmp(x->canonical, y->canonical, shorter);
    return order != 0
               ? order
               : (x->canonical_len > y->canonical_len) - (x->canonical_len < y->canonical_len);
}

/* The last column of each line that is a number. */
static size_t number_lines(const char *path, char separator, struct number_line *lines, size_t room)
{
    size_t len, count = 0;
    char *rest = test_read_file(path, &len), *whole = rest;
    if (rest == NULL) {
        print_message("SKIP: no vectors at %s\n", path);
        skip();
    }
    for (char *end = strchr(rest, '\n'); end != NULL; end = strchr(rest, '\n')) {
        *end = '\0';
        const char *column = strrchr(rest, separator);
        assert_non_null(column);
        struct span text = span_str(column + 1);
        if (is_json(text)) {
            struct collected all;
            collect_json(text, NULL, &all);
            assert_in_range(count, 0, room - 1);
            lines[count].text = exact_copy(span_of(text.ptr, text.len + 1));
            lines[count].canonical = exact_copy(gw_buf_span(&all.bytes));
            lines[count++].canonical_len = all.bytes.len;
            collect_fini(&all);
        }
        rest = end + 1;
    }
    free(whole);
    return count;
}

static void number_texts_stay_apart(void **state)
{
    /* Guards: two numbers are the same only when they are spelled alike (JSON-5). */
    (void)state;
    struct number_line lines[1100];
    size_t thousand = number_lines(SHARED_DATA "/jcs/es6numbers-1000.txt", ',', lines, 1100);
    size_t count = thousand + number_lines(SHARED_DATA "/jcs/appendix-b-numbers.tsv", '\t',
                                           lines + thousand, 1100 - thousand);
    size_t equal = 0;
    qsort(lines, count, sizeof(lines[0]), compare_forms);
    for (size_t i = 1; i < count; i++) {
        bool is_equal = compare_forms(&lines[i - 1], &lines[i]) == 0;
        assert_int_equal(is_equal, strcmp(lines[i - 1].text, lines[i].text) == 0);
        equal += is_equal;
    }
    print_message("%zu number texts of %zu, %zu of them repeated\n", count, thousand, equal);
    for (size_t i = 0; i < count; i++) {
        free(lines[i].text);
        free(lines[i].canonical);
    }
    assert_true(thousand > 990);
}

static void spellings_of_numbers_stay_apart(void **state)
{
    /* Guards: equal values in other spellings, and values that a double folds. */
    (void)state;
    static const char *const texts[] = {
        "1",
        "1.0",
        "1e0",
        "1E0",
        "1e+0",
        "10e-1",
        "1.00",
        "-0",
        "0",
        "0.0",
        "-0.0",
        "0e0",
        "0e5",
        "1e400",
        "1e401",
        "null",
        "\"1\"",
        "true",
        "[1]",
        "0.1",
        "0.10000000000000000001",
        "1e-400",
        "0.30000000000000004",
        "0.3",
        "9007199254740993",
        "9007199254740992",
        "9007199254740993.0",
        "18446744073709551615",
        "18446744073709551616",
        "1e5",
        "100000",
        "100000000000000000000000000000000000001",
        "100000000000000000000000000000000000000",
    };
    for (size_t i = 0; i < GW_COUNT(texts); i++)
        for (size_t k = 0; k < GW_COUNT(texts); k++)
            assert_int_equal(is_same_form(span_str(texts[i]), span_str(texts[k])), i == k);
}

static void published_pairs_of_one_value_agree(void **state)
{
    /* Guards: a public canonicaliser's inputs and outputs are one value to us too,
     * except where it changes the spelling of numbers. */
    (void)state;
    static const char *const names[] = {"arrays", "french",     "unicode",
                                        "weird",  "structures", "values"};
    static const size_t same_count = 4; /* the last two have 56.0, 1E30 and the like */
    for (size_t i = 0; i < GW_COUNT(names); i++) {
        char path[512];
        size_t lens[2];
        (void)snprintf(path, sizeof(path), "%s/jcs/input/%s.json", SHARED_DATA, names[i]);
        char *input = test_read_file(path, &lens[0]);
        (void)snprintf(path, sizeof(path), "%s/jcs/output/%s.json", SHARED_DATA, names[i]);
        char *output = test_read_file(path, &lens[1]);
        if (input == NULL || output == NULL) {
            print_message("SKIP: no vectors at %s\n", path);
            skip();
        }
        bool is_same = is_same_form(span_of(input, lens[0]), span_of(output, lens[1]));
        free(input);
        free(output);
        if (is_same != (i < same_count))
            fail_msg("%s: %d", names[i], is_same);
    }
}

static void encoding_is_what_the_header_says(void **state)
{
    /* Guards: version 1 of the encoding: receipts on disk were made with it. */
    (void)state;
    static const struct {
        const char *text;
        struct span form;
    } rows[] = {
        {"null", {"Jan", 3}},
        {" true ", {"Jat", 3}},
        {"false", {"Jaf", 3}},
        {"-0.50", {"Ja#\5-0.50", 9}},
        {"\"\"", {"Ja\"\0", 4}},
        {"\"a\\u0000\\u00e9\"", {"Ja\"\4a\0\xC3\xA9", 8}},
        {"[]", {"Ja[\0", 4}},
        {"{}", {"Ja{\0", 4}},
        {"[1,[],\"x\"]",
         {"Ja[\3#\1"
          "1[\0\"\1x",
          12}},
        {"{\"b\":null,\"a\":[true],\"\":1,\"ab\":{\"\":2}}",
         {"Ja{\4\0#\1"
          "1\1a[\1t\2ab{\1\0#\1"
          "2\1bn",
          25}},
    };
    assert_int_equal(CANONICAL_VERSION, 1);
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        struct collected all;
        collect_json(span_str(rows[i].text), NULL, &all);
        if (!span_equal(gw_buf_span(&all.bytes), rows[i].form))
            fail_msg("%s", rows[i].text);
        collect_fini(&all);
    }
}

static void long_texts_carry_their_length(void **state)
{
    /* Guards: lengths of more than seven bits, and texts longer than the writer gathers. */
    (void)state;
    static const struct {
        size_t len;
        struct span prefix;
    } rows[] = {
        {127, {"\x7F", 1}},
        {128, {"\x80\x01", 2}},
        {300, {"\xAC\x02", 2}},
        {16384, {"\x80\x80\x01", 3}},
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        char *text = malloc(rows[i].len + 2);
        assert_non_null(text);
        memset(text, 'x', rows[i].len + 2);
        text[0] = text[rows[i].len + 1] = '"';
        struct collected all;
        collect_json(span_of(text, rows[i].len + 2), NULL, &all);
        assert_int_equal(all.bytes.len, 3 + rows[i].prefix.len + rows[i].len);
        assert_memory_equal(all.bytes.ptr, "Ja\"", 3);
        assert_memory_equal(all.bytes.ptr + 3, rows[i].prefix.ptr, rows[i].prefix.len);
        assert_memory_equal(all.bytes.ptr + 3 + rows[i].prefix.len, text + 1, rows[i].len);
        collect_fini(&all);
        free(text);
    }
}

static void deepest_document_is_written(void **state)
{
    /* Guards: the greatest depth that can be read can also be written. */
    (void)state;
    char text[2 * JSON_DEPTH_MAX];
    struct json_limits limits = {.depth_max = JSON_DEPTH_MAX, .nodes_max = JSON_DEPTH_MAX};
    struct canonical_options none = {NULL, 0, NULL, 0};
    struct parsed parsed;
    struct json_fault fault;
    struct collected all;
    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    assert_true(parse_limited(span_of(text, sizeof(text)), limits, &parsed, &fault));
    struct canonical_sink sink = collect_start(&all);
    canonical_json(&parsed.doc, &none, parsed.order, &sink);
    assert_int_equal(all.bytes.len, 2 + 2 * JSON_DEPTH_MAX);
    assert_int_equal(all.member_count, 2);
    parsed_fini(&parsed);
    collect_fini(&all);
}

static void raw_counts_every_byte(void **state)
{
    /* Guards: raw bodies differ in any byte, and no raw body passes for JSON. */
    (void)state;
    static const struct span bodies[] = {{"", 0},   {NULL, 0},        {"\0", 1},  {"a", 1},
                                         {"a ", 2}, {"{\"a\":1}", 7}, {"R\1a", 3}};
    struct collected forms[GW_COUNT(bodies)], json;
    for (size_t i = 0; i < GW_COUNT(bodies); i++) {
        struct canonical_sink sink = collect_start(&forms[i]);
        canonical_raw(bodies[i], &sink);
        assert_int_equal(forms[i].member_count, 0);
    }
    for (size_t i = 0; i < GW_COUNT(bodies); i++)
        for (size_t k = 0; k < GW_COUNT(bodies); k++)
            assert_int_equal(collect_is_same(&forms[i], &forms[k]), i == k || i + k == 1);
    collect_json(SPAN("{\"a\":1}"), NULL, &json);
    struct collected twice;
    struct canonical_sink sink = collect_start(&twice);
    canonical_raw(gw_buf_span(&json.bytes), &sink);
    assert_false(collect_is_same(&json, &twice));
    assert_int_not_equal(json.bytes.ptr[0], twice.bytes.ptr[0]);
    collect_fini(&twice);
    collect_fini(&json);
    for (size_t i = 0; i < GW_COUNT(bodies); i++)
        collect_fini(&forms[i]);
}

static void modes_have_names(void **state)
{
    /* Guards: the words of the configuration and of the receipt. */
    (void)state;
    static const char *const names[] = {"json", "form", "raw", "multipart"};
    assert_int_equal(GW_COUNT(names), FINGERPRINT_MODE_COUNT);
    for (int i = 0; i < FINGERPRINT_MODE_COUNT; i++)
        assert_string_equal(fingerprint_mode_name((enum fingerprint_mode)i), names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_hold),
        cmocka_unit_test(number_texts_stay_apart),
        cmocka_unit_test(spellings_of_numbers_stay_apart),
        cmocka_unit_test(published_pairs_of_one_value_agree),
        cmocka_unit_test(encoding_is_what_the_header_says),
        cmocka_unit_test(long_texts_carry_their_length),
        cmocka_unit_test(deepest_document_is_written),
        cmocka_unit_test(raw_counts_every_byte),
        cmocka_unit_test(modes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
