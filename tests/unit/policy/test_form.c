/* Forms: the pairs of the vectors, what is refused, finding and decoding, order,
 * members, and random pairs in random spellings. */
#include "tests/unit/policy/collect.h"

#define VECTORS SOURCE_DIR "/tests/data/fingerprint/form-cases.json"

struct parsed_form {
    char *text;
    struct span body;
    struct form_pair *pairs;
    uint32_t count;
};

static void form_fini(struct parsed_form *form)
{
    free(form->text);
    free(form->pairs);
}

static bool form_read(struct span text, struct parsed_form *form, struct json_fault *fault)
{
    uint32_t room = form_count(text);
    form->text = exact_copy(text);
    form->body = span_of(form->text, text.len);
    form->pairs = malloc(room == 0 ? 1 : room * sizeof(*form->pairs));
    assert_non_null(form->pairs);
    if (form_parse(form->body, form->pairs, room, &form->count, fault)) {
        assert_in_range(form->count, 0, room);
        return true;
    }
    form_fini(form);
    return false;
}

static void collect_form(struct span text, struct collected *all)
{
    struct parsed_form form;
    struct json_fault fault = {0, NULL};
    if (!form_read(text, &form, &fault))
        fail_msg("%.*s: %zu: %s", (int)text.len, text.ptr, fault.offset, fault.text);
    struct canonical_sink sink = collect_start(all);
    canonical_form(form.body, form.pairs, form.count, &sink);
    assert_int_equal(all->open_count, 0);
    for (uint32_t i = 0; i < form.count; i++) { /* sorted, and still what they were */
        assert_int_equal(form.pairs[i].value, form.pairs[i].name_end + form.pairs[i].has_value);
        assert_in_range(form.pairs[i].value_end, form.pairs[i].value, text.len);
        assert_in_range(form.pairs[i].name_end, form.pairs[i].name, text.len);
    }
    form_fini(&form);
}

static bool is_form(struct span text)
{
    struct parsed_form form;
    struct json_fault fault;
    if (!form_read(text, &form, &fault))
        return false;
    form_fini(&form);
    return true;
}

static bool is_same_form(struct span a, struct span b)
{
    struct collected first, second;
    collect_form(a, &first);
    collect_form(b, &second);
    bool is_same = collect_is_same(&first, &second);
    collect_fini(&first);
    collect_fini(&second);
    return is_same;
}

static bool is_case_met(const json_t *entry)
{
    const char *expect = json_string_value(json_object_get(entry, "expect"));
    struct span a = test_json_span(json_object_get(entry, "a"));
    if (strcmp(expect, "reject") == 0)
        return !is_form(a);
    if (strcmp(expect, "accept") == 0)
        return is_form(a);
    bool is_same = is_same_form(a, test_json_span(json_object_get(entry, "b")));
    if (strcmp(expect, "same") == 0)
        return is_same;
    assert_string_equal(expect, "different");
    return !is_same;
}

static void vectors_hold(void **state)
{
    /* Guards: which pairs of forms are one request, and which are refused. */
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
    assert_int_equal(count, 14);
}

static void forms_are_the_same_or_not(void **state)
{
    /* Guards: FORM-1 and FORM-2 case by case: what counts and what does not. */
    (void)state;
    static const struct {
        struct span a, b;
        bool is_same;
    } rows[] = {
        {{"", 0}, {"", 0}, true},
        {{"", 0}, {"&", 1}, true},
        {{"&&a=1&&&b&", 10}, {"b&a=1", 5}, true},
        {{"", 0}, {"=", 1}, false},
        {{"=", 1}, {"=&=", 3}, false},
        {{"=1", 2}, {"=1&", 3}, true},
        {{"a=1=2", 5}, {"a=1%3D2", 7}, true},
        {{"a%3D1=2", 7}, {"a=1=2", 5}, false},
        {{"a=1&a=2", 7}, {"a=2&a=1", 7}, false},
        {{"a=1&b=3&a=2", 11}, {"a=1&a=2&b=3", 11}, true},
        {{"a=1&b=3&a=2", 11}, {"b=3&a=2&a=1", 11}, false},
        {{"%61=1&b=2&a=3", 13}, {"a=1&%61=3&%62=2", 15}, true},
        {{"a&a=", 4}, {"a=&a", 4}, false},
        {{"a=+", 3}, {"a=%2B", 5}, false},
        {{"a+b=1", 5}, {"a%20b=1", 7}, true},
        {{"a=%2b", 5}, {"a=%2B", 5}, true},
        {{"a[]=1", 5}, {"a%5B%5d=1", 9}, true},
        {{"a[]=1&a[]=2", 11}, {"a[0]=1&a[1]=2", 13}, false},
        {{"a;b=1", 5}, {"a%3Bb=1", 7}, true},
        {{"a=\xC3\xA9", 4}, {"a=%C3%A9", 8}, true},
        {{"a=%e9", 5}, {"a=%C3%A9", 8}, false},
        {{"a=%00", 5}, {"a=", 2}, false},
        {{"a=%00b", 6}, {"a=%00c", 6}, false},
        {{"a=\0", 3}, {"a=%00", 5}, true},
        {{"ab=c", 4}, {"a=bc", 4}, false},
        {{"a= 1", 4}, {"a=1", 3}, false},
        {{"a=%25zz", 7}, {"a=%25ZZ", 7}, false},
        {{"a=1\r\n", 5}, {"a=1", 3}, false},
        {{"a=%26b=2", 8}, {"a=&b=2", 6}, false},
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++)
        if (is_same_form(rows[i].a, rows[i].b) != rows[i].is_same)
            fail_msg("%.*s and %.*s", (int)rows[i].a.len, rows[i].a.ptr, (int)rows[i].b.len,
                     rows[i].b.ptr);
}

static void bad_escapes_are_faults(void **state)
{
    /* Guards: a percent sign without two hex digits is refused where it stands. */
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
    } rows[] = {
        {"%", 0},      {"%4", 0},        {"%zz=1", 0}, {"a=%", 2},   {"a=%4", 2},     {"a=%4g", 2},
        {"a=%g4", 2},  {"a=1&b=%&c", 6}, {"a%=41", 1}, {"a%4=1", 1}, {"a=%4&1", 2},   {"a=%%41", 2},
        {"a=%41%", 5}, {"a=% 1", 2},     {"a=%+1", 2}, {"a=%0x", 2}, {"a=%u0041", 2},
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        struct parsed_form form;
        struct json_fault fault = {0, NULL};
        assert_false(form_read(span_str(rows[i].text), &form, &fault));
        assert_string_equal(fault.text, "a % in the form lacks its two hex digits");
        assert_int_equal(fault.offset, rows[i].offset);
    }
}

static void too_many_pairs_are_a_fault(void **state)
{
    /* Guards: as many pairs as there is room for pass, one more does not. */
    (void)state;
    struct form_pair pairs[2];
    struct json_fault fault = {0, NULL};
    uint32_t count = 77;
    assert_true(form_parse(SPAN("a&&b=&"), pairs, 2, &count, &fault));
    assert_int_equal(count, 2);
    count = 77;
    assert_false(form_parse(SPAN("a&&b=&c"), pairs, 2, &count, &fault));
    assert_string_equal(fault.text, "the form has too many names");
    assert_int_equal(fault.offset, 6);
    assert_int_equal(count, 77);
    assert_false(form_parse(SPAN("a"), NULL, 0, &count, &fault));
    assert_true(form_parse(SPAN(""), NULL, 0, &count, &fault));
    assert_int_equal(count, 0);
    assert_int_equal(form_count(SPAN("&a&&b=1&&")), 2);
    /* Offsets that would not fit the table: refused unread. */
    assert_false(form_parse(span_of("a", (size_t)UINT32_MAX + 1), pairs, 2, &count, &fault));
    assert_string_equal(fault.text, "the form is too long");
}

static void pairs_lie_over_the_received_bytes(void **state)
{
    /* Guards: the table of pairs: offsets, and whether there is an equals sign. */
    (void)state;
    static const struct form_pair wanted[] = {
        {0, 1, 2, 5, true}, {7, 8, 8, 8, false}, {9, 9, 10, 10, true}, {11, 12, 13, 13, true}};
    struct form_pair pairs[4];
    uint32_t count;
    struct json_fault fault;
    assert_true(form_parse(SPAN("a=b=c&&d&=&e="), pairs, 4, &count, &fault));
    assert_int_equal(count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pairs[i].name, wanted[i].name);
        assert_int_equal(pairs[i].name_end, wanted[i].name_end);
        assert_int_equal(pairs[i].value, wanted[i].value);
        assert_int_equal(pairs[i].value_end, wanted[i].value_end);
        assert_int_equal(pairs[i].has_value, wanted[i].has_value);
    }
}

static void names_are_found_after_decoding(void **state)
{
    /* Guards: the first pair of that very name, however it is spelled. */
    (void)state;
    static const struct {
        struct span name;
        uint32_t index;
    } rows[] = {
        {{"a b", 3}, 0},
        {{"a", 1}, 2},
        {{"ab", 2}, 1},
        {{"", 0}, 4},
        {{"x\0", 2}, 5},
        {{"x", 1}, JSON_NONE},
        {{"a ", 2}, JSON_NONE},
        {{"a+b", 3}, JSON_NONE},
        {{"a%20b", 5}, JSON_NONE},
        {{"A", 1}, JSON_NONE},
        {{"a bc", 4}, JSON_NONE},
        {{"\xC3\xA9", 2}, 6},
    };
    struct parsed_form form;
    struct json_fault fault;
    assert_true(form_read(SPAN("%61+b=1&ab&a=2&a=3&=4&x%00=5&%c3%A9"), &form, &fault));
    for (size_t i = 0; i < GW_COUNT(rows); i++)
        assert_int_equal(form_find(form.body, form.pairs, form.count, rows[i].name), rows[i].index);
    form_fini(&form);
}

static void buffer_put(void *ctx, struct span piece)
{
    assert_true(gw_buf_add(ctx, piece));
}

static void parts_decode(void **state)
{
    /* Guards: plus is a space, an escape is a byte, all else is itself. */
    (void)state;
    static const struct {
        struct span raw, decoded;
    } rows[] = {
        {{"", 0}, {"", 0}},
        {{"plain", 5}, {"plain", 5}},
        {{"+a++b+", 6}, {" a  b ", 6}},
        {{"%41%6a%6A", 9}, {"Ajj", 3}},
        {{"x%00%ff%2B", 10}, {"x\0\xFF+", 4}},
        {{"=;,\xC3", 4}, {"=;,\xC3", 4}},
    };
    struct gw_buf out;
    gw_buf_init(&out, 4096);
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        gw_buf_clear(&out);
        form_decode(rows[i].raw, buffer_put, &out);
        assert_true(span_equal(gw_buf_span(&out), rows[i].decoded));
    }
    gw_buf_fini(&out);
}

static void encoding_is_what_the_header_says(void **state)
{
    /* Guards: version 1 of the encoding: receipts on disk were made with it. */
    (void)state;
    static const struct {
        const char *text;
        struct span form;
    } rows[] = {
        {"", {"F\0", 2}},
        {"a", {"F\1\1a-", 5}},
        {"a=", {"F\1\1a=\0", 6}},
        {"b=%78y&=&a=+", {"F\3\0=\0\1a=\1 \1b=\2xy", 16}},
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        struct collected all;
        collect_form(span_str(rows[i].text), &all);
        if (!span_equal(gw_buf_span(&all.bytes), rows[i].form))
            fail_msg("%s", rows[i].text);
        collect_fini(&all);
    }
}

static void members_are_the_names(void **state)
{
    /* Guards: each name once, over all its values, in order and fit to be shown. */
    (void)state;
    struct collected all;
    char pointers[1024];
    collect_form(SPAN("b=1&a%2Fb=2&b=3&%7e&\xC3\xA9=4&%ff=5&%0a=6&=7&%62"), &all);
    collect_pointers(&all, pointers, sizeof(pointers));
    assert_string_equal(pointers, "/\n/\\u000A\n/a~1b\n/b\n/~0\n/\xC3\xA9\n/\\xFF\n");
    const struct collected_member *b = collect_find(&all, "/b");
    assert_true(span_equal(span_of(all.bytes.ptr + b->start, b->end - b->start), span_of("\1b=\1"
                                                                                         "1\1b=\1"
                                                                                         "3\1b-",
                                                                                         13)));
    for (uint32_t i = 0; i < all.member_count; i++)
        assert_int_equal(all.members[i].level, 1);
    collect_fini(&all);
}

static void members_end_at_the_limit(void **state)
{
    /* Guards: the list of members is bounded, the bytes are not cut. */
    (void)state;
    struct gw_buf text;
    struct collected all;
    gw_buf_init(&text, COLLECT_BYTES_MAX);
    for (int i = 99; i >= 10; i--)
        assert_true(gw_buf_print(&text, "k%d=1&k%d&", i, i));
    collect_form(gw_buf_span(&text), &all);
    assert_int_equal(all.member_count, CANONICAL_MEMBERS_MAX);
    assert_string_equal(all.members[0].pointer, "/k10");
    assert_string_equal(all.members[31].pointer, "/k41");
    assert_int_equal(all.bytes.len, 1 + 2 + 90 * (7 + 5));
    collect_fini(&all);
    gw_buf_fini(&text);
}

#define PAIRS_MAX 60
#define ROUNDS    20000

struct model_pair {
    uint32_t name, value; /* a number is a text; value 0: none, 1: empty */
};

static const char letters[] = {'a', 'b', '&', '=', '+', ' ', '%', '\0', '\xC3', '\xA9', '/', '2'};

static void print_letter(uint64_t *seed, struct gw_buf *out, char letter)
{
    bool is_plain = strchr("&=+% ", letter) == NULL || letter == '\0';
    if (letter == ' ' && random_below(seed, 2) == 0)
        assert_true(gw_buf_byte(out, '+'));
    else if (is_plain && random_below(seed, 2) == 0)
        assert_true(gw_buf_byte(out, letter));
    else if (random_below(seed, 2) == 0)
        assert_true(gw_buf_print(out, "%%%02x", (unsigned char)letter));
    else
        assert_true(gw_buf_print(out, "%%%02X", (unsigned char)letter));
}

/* Each number is another text: bijective in the base of the letters. */
static void print_text(uint64_t *seed, struct gw_buf *out, uint32_t number)
{
    for (; number > 0; number = (number - 1) / (uint32_t)GW_COUNT(letters))
        print_letter(seed, out, letters[(number - 1) % GW_COUNT(letters)]);
}

/* Prints the pairs so that those of one name keep their order. */
static void print_pairs(uint64_t *seed, const struct model_pair *pairs, uint32_t count,
                        struct gw_buf *out)
{
    bool is_done[PAIRS_MAX] = {false};
    gw_buf_clear(out);
    for (uint32_t left = count; left > 0;) {
        uint32_t next = random_below(seed, count);
        for (uint32_t i = 0; i <= next; i++)
            if (!is_done[i] && pairs[i].name == pairs[next].name) {
                next = i;
                break;
            }
        if (is_done[next])
            continue;
        is_done[next] = true;
        left--;
        print_text(seed, out, pairs[next].name);
        /* A pair of nothing at all would be dropped; it has an equals sign here. */
        if (pairs[next].value > 0) {
            assert_true(gw_buf_byte(out, '='));
            print_text(seed, out, pairs[next].value - 1);
        }
        for (uint32_t i = 1 + random_below(seed, 2); i > 0 && (left > 0 || i > 1); i--)
            assert_true(gw_buf_byte(out, '&'));
    }
}

static struct model_pair random_pair(uint64_t *seed)
{
    struct model_pair pair = {random_below(seed, random_below(seed, 2) ? 6 : 2000),
                              random_below(seed, random_below(seed, 2) ? 4 : 2000)};
    if (pair.name == 0 && pair.value == 0)
        pair.value = 1;
    return pair;
}

static void one_list_has_one_form(void **state)
{
    /* Guards: order among names and spelling never count; each pair does. */
    (void)state;
    uint64_t seed = 0xF0A3;
    struct gw_buf text[3];
    for (int i = 0; i < 3; i++)
        gw_buf_init(&text[i], COLLECT_BYTES_MAX);
    for (int round = 0; round < ROUNDS; round++) {
        struct model_pair pairs[PAIRS_MAX], old;
        uint32_t count = 1 + random_below(&seed, random_below(&seed, 8) == 0 ? PAIRS_MAX : 9);
        for (uint32_t i = 0; i < count; i++)
            pairs[i] = random_pair(&seed);
        print_pairs(&seed, pairs, count, &text[0]);
        print_pairs(&seed, pairs, count, &text[1]);
        uint32_t changed = random_below(&seed, count);
        old = pairs[changed];
        while (pairs[changed].name == old.name && pairs[changed].value == old.value)
            pairs[changed] = random_pair(&seed);
        print_pairs(&seed, pairs, count, &text[2]);
        if (!is_same_form(gw_buf_span(&text[0]), gw_buf_span(&text[1])))
            fail_msg("round %d: %.*s and %.*s differ", round, (int)text[0].len, text[0].ptr,
                     (int)text[1].len, text[1].ptr);
        if (pairs[changed].name != old.name || count == 1)
            assert_false(is_same_form(gw_buf_span(&text[0]), gw_buf_span(&text[2])));
    }
    for (int i = 0; i < 3; i++)
        gw_buf_fini(&text[i]);
}

static void many_and_long_names_are_no_burden(void **state)
{
    /* Guards: sorting does not grow with the square of the names, and a few long
     * names are not compared again for each short one: else time runs out. */
    (void)state;
    struct gw_buf text;
    struct collected all;
    gw_buf_init(&text, COLLECT_BYTES_MAX);
    for (int side = 0; side < 3; side++) {
        gw_buf_clear(&text);
        for (uint32_t i = 0; i < 100003; i++) {
            if (i == 10 || i == 11 || i == 70000) {
                for (int k = 0; k < 1 << 16; k++)
                    assert_true(gw_buf_add(&text, side == 0   ? SPAN("%21")
                                                  : side == 1 ? SPAN("8")
                                                              : SPAN("~")));
                assert_true(gw_buf_print(&text, "%u&", i));
            }
            assert_true(gw_buf_print(&text, "%x&", (uint32_t)((uint64_t)i * 7919 % 100003)));
        }
        collect_form(gw_buf_span(&text), &all);
        assert_int_equal(all.member_count, CANONICAL_MEMBERS_MAX);
        collect_fini(&all);
    }
    gw_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_hold),
        cmocka_unit_test(forms_are_the_same_or_not),
        cmocka_unit_test(bad_escapes_are_faults),
        cmocka_unit_test(too_many_pairs_are_a_fault),
        cmocka_unit_test(pairs_lie_over_the_received_bytes),
        cmocka_unit_test(names_are_found_after_decoding),
        cmocka_unit_test(parts_decode),
        cmocka_unit_test(encoding_is_what_the_header_says),
        cmocka_unit_test(members_are_the_names),
        cmocka_unit_test(members_end_at_the_limit),
        cmocka_unit_test(one_list_has_one_form),
        cmocka_unit_test(many_and_long_names_are_no_burden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
