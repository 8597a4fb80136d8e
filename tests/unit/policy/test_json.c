/* The JSON reader against a public suite, its own limits, and names chosen to be
 * slow to sort. */
#include "base/text.h"
#include "tests/unit/policy/collect.h"

static bool accepts(struct span text, struct json_fault *fault)
{
    struct parsed parsed;
    if (!parse(text, &parsed, fault))
        return false;
    parsed_fini(&parsed);
    return true;
}

static void decode_base64(struct span text, struct gw_buf *ret)
{
    gw_buf_clear(ret);
    assert_true(gw_buf_reserve(ret, text.len + 1));
    assert_true(gw_base64_decode(text, ret->ptr, &ret->len));
}

static void suite_verdicts_hold(void **state)
{
    /* Guards: the public suite of accepted and refused texts, except that two names
     * which are equal are refused here. */
    (void)state;
    json_t *suite = test_load_vectors(SHARED_DATA "/json/jsontestsuite.json");
    size_t i, wrong = 0, accepted = 0, rejected = 0, free_choice = 0;
    json_t *entry;
    struct gw_buf body;
    gw_buf_init(&body, COLLECT_BYTES_MAX);
    json_array_foreach(json_object_get(suite, "cases"), i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        const char *verdict = json_string_value(json_object_get(entry, "verdict"));
        struct json_fault fault = {0, "accepted"};
        decode_base64(test_json_span(json_object_get(entry, "b64")), &body);
        bool is_accepted = accepts(gw_buf_span(&body), &fault);
        bool expected = strcmp(verdict, "accept") == 0 && strstr(name, "_duplicated_key") == NULL;
        if (strcmp(verdict, "either") == 0) {
            free_choice++;
            continue;
        }
        accepted += is_accepted;
        rejected += !is_accepted;
        if (is_accepted == expected)
            continue;
        wrong++;
        print_error("%s: %s, wanted %s\n", name, fault.text, verdict);
    }
    print_message("%zu accepted, %zu rejected, %zu of free choice\n", accepted, rejected,
                  free_choice);
    gw_buf_fini(&body);
    json_decref(suite);
    assert_int_equal(wrong, 0);
    assert_int_equal(accepted, 93);
    assert_int_equal(rejected, 188);
}

static void expect_fault(struct span text, struct json_limits limits, size_t offset,
                         const char *wanted)
{
    struct parsed parsed;
    struct json_fault fault = {0, NULL};
    assert_false(parse_limited(text, limits, &parsed, &fault));
    assert_string_equal(fault.text, wanted);
    assert_int_equal(fault.offset, offset);
}

static void deep_texts_are_faults(void **state)
{
    /* Guards: endless nesting ends at the limit, at the bracket that is too many. */
    (void)state;
    struct json_limits limits = {.depth_max = 64, .nodes_max = 1000};
    struct gw_buf text;
    gw_buf_init(&text, COLLECT_BYTES_MAX);
    for (int i = 0; i < 100000; i++)
        assert_true(gw_buf_byte(&text, '['));
    expect_fault(gw_buf_span(&text), limits, 64, "the text is nested too deeply");
    gw_buf_clear(&text);
    for (int i = 0; i < 50000; i++)
        assert_true(gw_buf_add(&text, SPAN("[{\"\":")));
    assert_true(gw_buf_byte(&text, '\n'));
    assert_int_equal(text.len, 250001);
    expect_fault(gw_buf_span(&text), limits, 160, "the text is nested too deeply");
    gw_buf_fini(&text);
}

static void depth_limit_is_exact(void **state)
{
    /* Guards: as many levels as the limit pass, one more does not, up to the
     * greatest limit there is. */
    (void)state;
    static const uint32_t depths[] = {1, 2, 64, JSON_DEPTH_MAX};
    char text[2 * (JSON_DEPTH_MAX + 1)];
    for (size_t i = 0; i < GW_COUNT(depths); i++) {
        struct json_limits limits = {.depth_max = depths[i], .nodes_max = 1000};
        struct parsed parsed;
        struct json_fault fault;
        for (uint32_t extra = 0; extra < 2; extra++) {
            uint32_t levels = depths[i] + extra;
            memset(text, '[', levels);
            memset(text + levels, ']', levels);
            bool is_parsed =
                parse_limited(span_of(text, (size_t)2 * levels), limits, &parsed, &fault);
            assert_int_equal(is_parsed, extra == 0);
            if (is_parsed)
                parsed_fini(&parsed);
        }
        expect_fault(span_of(text, (size_t)2 * (depths[i] + 1)), limits, depths[i],
                     "the text is nested too deeply");
    }
}

static void node_limit_is_exact(void **state)
{
    /* Guards: as many values as the limit pass, one more does not. */
    (void)state;
    struct json_limits limits = {.depth_max = 4, .nodes_max = 5};
    struct parsed parsed;
    struct json_fault fault;
    assert_true(parse_limited(SPAN("{\"a\":[1,2],\"b\":3}"), limits, &parsed, &fault));
    parsed_fini(&parsed);
    expect_fault(SPAN("{\"a\":[1,2],\"b\":3,\"c\":4}"), limits, 21, "the text has too many values");
    expect_fault(SPAN("[1,2,3,4,[]]"), limits, 9, "the text has too many values");
    limits.nodes_max = 0;
    expect_fault(SPAN("1"), limits, 0, "the text has too many values");
}

static void less_room_than_counted_is_a_fault(void **state)
{
    /* Guards: json_parse never writes past the room it was given. */
    (void)state;
    struct json_limits limits = {.depth_max = 4, .nodes_max = 100};
    struct json_node *nodes = malloc(2 * sizeof(*nodes));
    uint32_t *order = malloc(2 * sizeof(*order));
    struct json_doc doc;
    struct json_fault fault = {0, NULL};
    assert_true(nodes != NULL && order != NULL);
    assert_true(json_parse(SPAN("[1]"), &limits, nodes, order, 2, &doc, &fault));
    assert_false(json_parse(SPAN("[1,2]"), &limits, nodes, order, 2, &doc, &fault));
    assert_string_equal(fault.text, "the text has too many values");
    free(order);
    free(nodes);
}

static void endless_texts_are_faults(void **state)
{
    /* Guards: a text whose offsets would not fit the table is refused unread. */
    (void)state;
    struct json_limits limits = {.depth_max = 4, .nodes_max = 100};
    struct json_fault fault = {0, NULL};
    uint32_t count;
    assert_false(json_count(span_of("1", (size_t)UINT32_MAX + 1), &limits, &count, &fault));
    assert_string_equal(fault.text, "the text is too long");
}

static void faults_name_the_first_wrong_byte(void **state)
{
    /* Guards: what is not strict JSON is refused, with the place and the rule. */
    (void)state;
    static const struct {
        struct span text;
        size_t offset;
        const char *fault;
    } rows[] = {
        {{"", 0}, 0, "the text is empty"},
        {{" \t\r\n", 4}, 4, "the text is empty"},
        {{"\xEF\xBB\xBF{}", 5}, 0, "the text begins with a byte order mark"},
        {{"\xFF\xFE{\0}\0", 6}, 0, "a value was expected here"},
        {{"\0{\0}", 4}, 0, "a value was expected here"},
        {{"{}\xEF\xBB\xBF", 5}, 2, "something follows the value"},
        {{"{} {}", 5}, 3, "something follows the value"},
        {{"1\0", 2}, 1, "something follows the value"},
        {{"nul", 3}, 0, "a value was expected here"},
        {{"nulll", 5}, 4, "something follows the value"},
        {{"True", 4}, 0, "a value was expected here"},
        {{"[", 1}, 1, "the text ends too early"},
        {{"[1", 2}, 2, "the text ends too early"},
        {{"[1,", 3}, 3, "the text ends too early"},
        {{"{\"a\":", 5}, 5, "the text ends too early"},
        {{"{\"a\"", 4}, 4, "a colon was expected after the name of a member"},
        {{"[1,]", 4}, 3, "a value was expected here"},
        {{"[,1]", 4}, 1, "a value was expected here"},
        {{"[1 2]", 5}, 3, "a comma or the end of the array was expected here"},
        {{"[1}", 3}, 2, "a comma or the end of the array was expected here"},
        {{"{\"a\":1]", 7}, 6, "a comma or the end of the object was expected here"},
        {{"{\"a\":1,}", 8}, 7, "the name of a member was expected here"},
        {{"{a:1}", 5}, 1, "the name of a member was expected here"},
        {{"{'a':1}", 7}, 1, "the name of a member was expected here"},
        {{"{1:1}", 5}, 1, "the name of a member was expected here"},
        {{"{,}", 3}, 1, "the name of a member was expected here"},
        {{"[1]//c", 6}, 3, "something follows the value"},
        {{"[/**/1]", 7}, 1, "a value was expected here"},
        {{"+1", 2}, 0, "a value was expected here"},
        {{".5", 2}, 0, "a value was expected here"},
        {{"-", 1}, 1, "a number lacks a digit here"},
        {{"-x", 2}, 1, "a number lacks a digit here"},
        {{"-Infinity", 9}, 1, "a number lacks a digit here"},
        {{"1.", 2}, 2, "a number lacks a digit here"},
        {{"1.e1", 4}, 2, "a number lacks a digit here"},
        {{"1e", 2}, 2, "a number lacks a digit here"},
        {{"1e+", 3}, 3, "a number lacks a digit here"},
        {{"00", 2}, 0, "a number has a leading zero"},
        {{"-01", 3}, 1, "a number has a leading zero"},
        {{"[012.5]", 7}, 1, "a number has a leading zero"},
        {{"0x1", 3}, 1, "something follows the value"},
        {{"1_000", 5}, 1, "something follows the value"},
        {{"\"a", 2}, 2, "the text ends inside a string"},
        {{"\"a\n\"", 4}, 2, "a control character in a string is not escaped"},
        {{"\"\0\"", 3}, 1, "a control character in a string is not escaped"},
        {{"{\"\t\":1}", 7}, 2, "a control character in a string is not escaped"},
        {{"\"\xC0\x80\"", 4}, 1, "a string is not well-formed UTF-8"},
        {{"\"ab\xED\xA0\x80\"", 7}, 3, "a string is not well-formed UTF-8"},
        {{"\"\xF4\x90\x80\x80\"", 6}, 1, "a string is not well-formed UTF-8"},
        {{"\"\xC3\"", 3}, 1, "a string is not well-formed UTF-8"},
        {{"\"\xC3", 2}, 1, "a string is not well-formed UTF-8"},
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++)
        expect_fault(rows[i].text, (struct json_limits){64, 1000}, rows[i].offset, rows[i].fault);
}

static void nodes_lie_over_the_received_bytes(void **state)
{
    /* Guards: the table: kinds, ranges, names, children and siblings. */
    (void)state;
    const char *text = " {\"a\":[1.50,\"x\\n\"],\"\\u0062\":null,\"\":{}} ";
    struct parsed parsed;
    struct json_fault fault;
    assert_true(parse(span_str(text), &parsed, &fault));
    static const struct {
        enum json_kind kind;
        const char *value, *name;
        uint32_t child, next;
    } rows[] = {
        {JSON_KIND_OBJECT, "{\"a\":[1.50,\"x\\n\"],\"\\u0062\":null,\"\":{}}", "", 1, JSON_NONE},
        {JSON_KIND_ARRAY, "[1.50,\"x\\n\"]", "a", 2, 4},
        {JSON_KIND_NUMBER, "1.50", "", JSON_NONE, 3},
        {JSON_KIND_STRING, "x\\n", "", JSON_NONE, JSON_NONE},
        {JSON_KIND_NULL, "null", "\\u0062", JSON_NONE, 5},
        {JSON_KIND_OBJECT, "{}", "", JSON_NONE, JSON_NONE},
    };
    assert_int_equal(parsed.doc.node_count, GW_COUNT(rows));
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        const struct json_node *node = &parsed.nodes[i];
        assert_int_equal(node->kind, rows[i].kind);
        assert_int_equal(node->end - node->start, strlen(rows[i].value));
        assert_memory_equal(text + node->start, rows[i].value, node->end - node->start);
        assert_int_equal(node->name_end - node->name_start, strlen(rows[i].name));
        assert_memory_equal(text + node->name_start, rows[i].name, strlen(rows[i].name));
        assert_int_equal(node->child, rows[i].child);
        assert_int_equal(node->next, rows[i].next);
        assert_int_equal(node->has_escapes, i == 3);
        assert_int_equal(node->name_has_escapes, i == 4);
    }
    assert_int_equal(parsed.nodes[2].name_end, 0);
    assert_true(parsed.nodes[5].name_start > 0); /* an empty name is not no name */
    parsed_fini(&parsed);
}

static void duplicate_names_are_faults(void **state)
{
    /* Guards: no object has two equal names, at any depth and in any spelling. */
    (void)state;
    static const struct {
        const char *text;
        size_t offset; /* 0: accepted */
    } rows[] = {
        {"{\"a\":1,\"a\":2}", 8},
        {"{\"a\":1,\"\\u0061\":2}", 8},
        {"{\"\\u0061\":1,\"a\":2}", 13},
        {"{\"/\":1,\"\\/\":1}", 8},
        {"{\"\":1,\"\":1}", 7},
        {"{\"\\ud83d\\ude00\":1,\"\xF0\x9F\x98\x80\":1}", 19},
        {"{\"\\u00E9\":1,\"\\u00e9\":1}", 13},
        {"{\"\\u0000\":1,\"\\u0000\":1}", 13},
        {"{\"b\":{\"x\":[{\"a\":1,\"c\":2,\"a\":3}]}}", 25},
        {"{\"a\":{\"b\":1},\"c\":[],\"d\":{},\"e\":2,\"c\":1}", 34},
        /* Found by objects from the outside in, told by place. */
        {"{\"x\":{\"b\":1,\"b\":2},\"y\":1,\"y\":2}", 13},
        {"{\"a\":{\"a\":{\"a\":1}}}", 0},
        {"[{\"a\":1},{\"a\":1}]", 0},
        {"{\"a\":\"b\",\"b\":\"a\"}", 0},
        {"{\"a\":1,\"A\":2,\"a \":3,\"\":4,\"\\u0000\":5,\"a\\u0000\":6}", 0},
        {"{\"\\u00e9\":1,\"e\\u0301\":2}", 0},
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        struct json_fault fault = {0, NULL};
        bool is_accepted = accepts(span_str(rows[i].text), &fault);
        assert_int_equal(is_accepted, rows[i].offset == 0);
        if (is_accepted)
            continue;
        assert_string_equal(fault.text, "an object has two members of the same name");
        assert_int_equal(fault.offset, rows[i].offset);
    }
}

/* An object of many members: "PREFIX0":0,"PREFIX1":0 ... in a scrambled order. */
static void many_members(struct gw_buf *text, const char *prefix, uint32_t count)
{
    gw_buf_clear(text);
    assert_true(gw_buf_byte(text, '{'));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = (uint32_t)((uint64_t)i * 7919 % count);
        assert_true(gw_buf_print(text, "%s\"%s%u\":0", i == 0 ? "" : ",", prefix, number));
    }
    assert_true(gw_buf_byte(text, '}'));
}

static void many_members_are_no_burden(void **state)
{
    /* Guards: the cost of looking for duplicates does not grow with the square of
     * the members, nor with long common beginnings: else the test runs out of time. */
    (void)state;
    struct gw_buf text, prefix;
    gw_buf_init(&text, COLLECT_BYTES_MAX);
    gw_buf_init(&prefix, COLLECT_BYTES_MAX);
    for (int i = 0; i < 1000; i++)
        assert_true(gw_buf_byte(&prefix, 'p'));
    assert_true(gw_buf_byte(&prefix, '\0'));
    struct {
        const char *prefix;
        uint32_t count;
    } rows[] = {{"", 100003}, {"\\u0070", 50021}, {prefix.ptr, 997}, {prefix.ptr, 9973}};
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        struct json_fault fault = {0, NULL};
        many_members(&text, rows[i].prefix, rows[i].count);
        assert_true(accepts(gw_buf_span(&text), &fault));
        text.len--;
        size_t offset = text.len + 2;
        assert_true(gw_buf_print(&text, ",\"%s5\":1}", rows[i].prefix));
        assert_false(accepts(gw_buf_span(&text), &fault));
        assert_int_equal(fault.offset, offset);
    }
    gw_buf_fini(&prefix);
    gw_buf_fini(&text);
}

static void few_long_names_among_many_short_ones(void **state)
{
    /* Guards: two names of a quarter megabyte that differ at the end are not compared
     * again for each of the many others: else the test runs out of time. */
    (void)state;
    struct gw_buf text;
    gw_buf_init(&text, COLLECT_BYTES_MAX);
    for (int side = 0; side < 3; side++) {
        gw_buf_clear(&text);
        assert_true(gw_buf_byte(&text, '{'));
        for (uint32_t i = 0; i < 65536; i++) {
            if (i == 100 || i == 101 || i == 50000) {
                assert_true(gw_buf_byte(&text, '"'));
                for (int k = 0; k < 1 << 18; k++)
                    assert_true(gw_buf_byte(&text, side == 0 ? '!' : side == 1 ? '8' : '~'));
                assert_true(gw_buf_print(&text, "%u\":0,", i));
            }
            assert_true(gw_buf_print(&text, "\"%x\":0,", i));
        }
        text.ptr[text.len - 1] = '}';
        struct json_fault fault = {0, NULL};
        assert_true(accepts(gw_buf_span(&text), &fault));
    }
    gw_buf_fini(&text);
}

static void pointers_find_their_node(void **state)
{
    /* Guards: RFC 6901 over the table: names after unescaping, indices exactly. */
    (void)state;
    struct parsed parsed;
    struct json_fault fault;
    const char *text =
        "{\"a\":[10,{\"b\":11}],\"\":12,\"\\u00e9\":13,\"0\":14,\"x/y~\":15,\"-\":16}";
    assert_true(parse(span_str(text), &parsed, &fault));
    static const struct {
        struct span steps[3];
        uint32_t count;
        const char *value; /* NULL: nothing */
    } rows[] = {
        {{{"a", 1}, {"0", 1}}, 2, "10"},
        {{{"a", 1}, {"1", 1}, {"b", 1}}, 3, "11"},
        {{{"", 0}}, 1, "12"},
        {{{"\xC3\xA9", 2}}, 1, "13"},
        {{{"\\u00e9", 6}}, 1, NULL},
        {{{"0", 1}}, 1, "14"},
        {{{"x/y~", 4}}, 1, "15"},
        {{{"-", 1}}, 1, "16"},
        {{{"a", 1}, {"-", 1}}, 2, NULL},
        {{{"a", 1}, {"2", 1}}, 2, NULL},
        {{{"a", 1}, {"00", 2}}, 2, NULL},
        {{{"a", 1}, {"01", 2}}, 2, NULL},
        {{{"a", 1}, {"", 0}}, 2, NULL},
        {{{"a", 1}, {"+1", 2}}, 2, NULL},
        {{{"a", 1}, {"4294967296", 10}}, 2, NULL},
        {{{"a", 1}, {"4294967297", 10}}, 2, NULL},
        {{{"a", 1}, {"18446744073709551617", 20}}, 2, NULL},
        {{{"a", 1}, {"0", 1}, {"0", 1}}, 3, NULL},
        {{{"A", 1}}, 1, NULL},
        {{{"b", 1}}, 1, NULL},
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        struct json_pointer pointer = {.steps = rows[i].steps, .step_count = rows[i].count};
        uint32_t node = json_find(&parsed.doc, &pointer);
        if (rows[i].value == NULL) {
            assert_int_equal(node, JSON_NONE);
            continue;
        }
        assert_in_range(node, 1, parsed.doc.node_count - 1);
        assert_memory_equal(text + parsed.nodes[node].start, rows[i].value, 2);
    }
    struct json_pointer whole = {.step_count = 0};
    assert_int_equal(json_find(&parsed.doc, &whole), 0);
    parsed_fini(&parsed);
}

static void counting_and_parsing_agree(void **state)
{
    /* Guards: every cut or changed text is judged alike by both passes (but for names). */
    (void)state;
    const char *base =
        "{\"a\":[1,-2.5e+3,true,null],\"b\\u0063\":{\"\xC3\xA9\":\"\\ud83d\\ude00\"},\"c\":[[]]}";
    uint64_t seed = 7;
    size_t len = strlen(base), good = 0;
    for (int round = 0; round < 20000; round++) {
        char text[128];
        assert_true(len < sizeof(text));
        memcpy(text, base, len);
        size_t used = random_below(&seed, 4) == 0 ? random_below(&seed, (uint32_t)len) : len;
        for (uint32_t changes = random_below(&seed, 3); changes > 0 && used > 0; changes--)
            text[random_below(&seed, (uint32_t)used)] = base[random_below(&seed, (uint32_t)len)];
        struct json_limits limits = {.depth_max = 8, .nodes_max = 64};
        struct json_node nodes[64];
        uint32_t order[64], count = 0;
        struct json_doc doc;
        struct json_fault counted = {0, NULL}, parsed = {0, NULL};
        bool is_counted = json_count(span_of(text, used), &limits, &count, &counted);
        bool is_parsed = json_parse(span_of(text, used), &limits, nodes, order, 64, &doc, &parsed);
        good += is_parsed;
        if (is_parsed || !is_counted) {
            assert_int_equal(is_parsed, is_counted);
            assert_ptr_equal(counted.text, parsed.text);
            assert_int_equal(counted.offset, parsed.offset);
        } else
            assert_string_equal(parsed.text, "an object has two members of the same name");
        if (is_parsed)
            assert_int_equal(doc.node_count, count);
        assert_in_range(parsed.offset, 0, used);
    }
    assert_true(good > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suite_verdicts_hold),
        cmocka_unit_test(deep_texts_are_faults),
        cmocka_unit_test(depth_limit_is_exact),
        cmocka_unit_test(node_limit_is_exact),
        cmocka_unit_test(less_room_than_counted_is_a_fault),
        cmocka_unit_test(endless_texts_are_faults),
        cmocka_unit_test(faults_name_the_first_wrong_byte),
        cmocka_unit_test(nodes_lie_over_the_received_bytes),
        cmocka_unit_test(duplicate_names_are_faults),
        cmocka_unit_test(many_members_are_no_burden),
        cmocka_unit_test(few_long_names_among_many_short_ones),
        cmocka_unit_test(pointers_find_their_node),
        cmocka_unit_test(counting_and_parsing_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
