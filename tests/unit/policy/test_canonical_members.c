/* What the options select of a JSON body, and the members that a refusal can name. */
#include "tests/unit/policy/collect.h"

/* A pointer written down by a test: "/a/b" without escapes. */
struct test_pointer {
    struct span steps[8];
    struct json_pointer pointer;
};

static struct json_pointer pointer_of(const char *text, struct test_pointer *room)
{
    uint32_t count = 0;
    for (const char *at = text; *at == '/';) {
        size_t len = strcspn(at + 1, "/");
        assert_in_range(count, 0, 7);
        room->steps[count++] = span_of(at + 1, len);
        at += 1 + len;
    }
    return (struct json_pointer){.text = span_str(text), .steps = room->steps, .step_count = count};
}

#define POINTERS_MAX 4

/* Pointers as one text, separated by spaces; "." is the whole document. */
static uint32_t pointers_of(const char *text, struct test_pointer *rooms,
                            struct json_pointer *pointers, char (*texts)[64])
{
    uint32_t count = 0;
    for (const char *at = text; *at != '\0';) {
        size_t len = strcspn(at, " ");
        assert_in_range(count, 0, POINTERS_MAX - 1);
        (void)snprintf(texts[count], 64, "%.*s", (int)len, *at == '.' ? "" : at); /* short */
        if (*at == '.')
            texts[count][0] = '\0';
        pointers[count] = pointer_of(texts[count], &rooms[count]);
        count++;
        at += len + (at[len] == ' ');
    }
    return count;
}

static void collect_selected(const char *text, const char *ignore, const char *only,
                             struct collected *all)
{
    struct test_pointer ignore_rooms[POINTERS_MAX], only_rooms[POINTERS_MAX];
    struct json_pointer ignores[POINTERS_MAX], onlys[POINTERS_MAX];
    char ignore_texts[POINTERS_MAX][64], only_texts[POINTERS_MAX][64];
    struct canonical_options options = {
        .ignore = ignores,
        .ignore_count = pointers_of(ignore, ignore_rooms, ignores, ignore_texts),
        .only = onlys,
        .only_count = pointers_of(only, only_rooms, onlys, only_texts),
    };
    collect_json(span_str(text), &options, all);
}

static void pointers_select_what_counts(void **state)
{
    /* Guards: ignored members are as if they were not there; with `only` nothing else
     * counts; what is ignored stays ignored inside `only`. */
    (void)state;
    static const struct {
        const char *ignore, *only, *a, *b;
        bool is_same;
    } rows[] = {
        {"/t", "", "{\"a\":1,\"t\":2}", "{\"t\":3,\"a\":1}", true},
        {"/t", "", "{\"a\":1,\"t\":2}", "{\"a\":1}", true},
        {"/t", "", "{\"a\":1,\"t\":{\"x\":[1]}}", "{\"a\":1}", true},
        {"/t", "", "{\"a\":1,\"\\u0074\":2}", "{\"a\":1}", true},
        {"/t", "", "{\"a\":1,\"t\":2}", "{\"a\":2,\"t\":2}", false},
        {"/t", "", "{\"a\":{\"t\":1}}", "{\"a\":{\"t\":2}}", false},
        {"/a/t", "", "{\"a\":{\"t\":1,\"b\":2},\"t\":3}", "{\"a\":{\"t\":9,\"b\":2},\"t\":3}",
         true},
        {"/a/t", "", "{\"a\":{\"t\":1}}", "{\"a\":{}}", true},
        {"/a/t", "", "{\"a\":{\"t\":1}}", "{}", false},
        {"/a/t", "", "{\"a\":{\"t\":1},\"t\":3}", "{\"a\":{\"t\":1},\"t\":4}", false},
        {"/l/1", "", "{\"l\":[1,2,3]}", "{\"l\":[1,9,3]}", true},
        {"/l/1", "", "{\"l\":[1,2,3]}", "{\"l\":[1,2,9]}", false},
        {"/l/0 /l/2", "", "{\"l\":[1,2,3]}", "{\"l\":[7,2,8]}", true},
        {"/l/0/t", "", "{\"l\":[{\"t\":1},{\"t\":1}]}", "{\"l\":[{\"t\":2},{\"t\":1}]}", true},
        {"/l/0/t", "", "{\"l\":[{\"t\":1},{\"t\":1}]}", "{\"l\":[{\"t\":1},{\"t\":2}]}", false},
        {"/l/-", "", "{\"l\":[1,2]}", "{\"l\":[1,3]}", false},
        {"/0", "", "[1,2]", "[3,2]", true},
        {"/t", "", "[1]", "[2]", false},
        {"/t", "", "7", "7", true},
        {"/a /a/b", "", "{\"a\":{\"b\":1},\"c\":1}", "{\"c\":1}", true},
        {".", "", "{\"a\":1}", "[2]", true},
        {"", "/a", "{\"a\":1,\"b\":2}", "{\"b\":3,\"a\":1}", true},
        {"", "/a", "{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":2}", false},
        {"", "/a", "{\"a\":null}", "{}", false},
        {"", "/a", "{}", "[]", true},
        {"", "/a/b /c", "{\"a\":{\"b\":1,\"x\":1},\"c\":[1]}",
         "{\"a\":{\"b\":1,\"x\":2},\"c\":[1]}", true},
        {"", "/a /b", "{\"a\":1}", "{\"b\":1}", false},
        {"", "/a /b", "{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}", false},
        {"", "/l/0", "{\"l\":[1,2]}", "{\"l\":[1]}", true},
        {"", "/l/1", "{\"l\":[1,2]}", "{\"l\":[1]}", false},
        {"", ".", "{\"a\":1}", "{\"a\":2}", false},
        {"", ".", "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
        {"", "/a /a/b", "{\"a\":{\"c\":1,\"b\":2}}", "{\"a\":{\"b\":2,\"c\":1}}", true},
        {"/a/t", "/a", "{\"a\":{\"t\":1,\"b\":2}}", "{\"a\":{\"t\":2,\"b\":2},\"c\":1}", true},
        {"/a/t", "/a", "{\"a\":{\"t\":1,\"b\":2}}", "{\"a\":{\"t\":1,\"b\":3}}", false},
        {"/a", "/a/b", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":2}}", true},
        {"/a/b/c", "/a /a/b", "{\"a\":{\"b\":{\"c\":1,\"d\":2}}}", "{\"a\":{\"b\":{\"d\":2}}}",
         true},
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        struct collected a, b;
        collect_selected(rows[i].a, rows[i].ignore, rows[i].only, &a);
        collect_selected(rows[i].b, rows[i].ignore, rows[i].only, &b);
        if (collect_is_same(&a, &b) != rows[i].is_same)
            fail_msg("ignore %s only %s: %s and %s", rows[i].ignore, rows[i].only, rows[i].a,
                     rows[i].b);
        collect_fini(&a);
        collect_fini(&b);
    }
}

static void whole_and_selected_forms_differ(void **state)
{
    /* Guards: a document never passes for a selection of another. */
    (void)state;
    struct collected whole, selected, array;
    collect_selected("{\"a\":1}", "", "", &whole);
    collect_selected("{\"a\":1}", "", ".", &selected);
    collect_selected("[1]", "", "/0", &array);
    assert_false(collect_is_same(&whole, &selected));
    assert_false(collect_is_same(&whole, &array));
    assert_true(span_equal(gw_buf_span(&array.bytes), span_of("Jo\1#\1"
                                                              "1",
                                                              6)));
    collect_fini(&whole);
    collect_fini(&selected);
    collect_fini(&array);
}

static void members_are_named(void **state)
{
    /* Guards: the names a refusal shows: two levels, in order, ready to be shown. */
    (void)state;
    static const struct {
        const char *text, *ignore, *only, *pointers;
    } rows[] = {
        {"1", "", "", ""},
        {"{}", "", "", ""},
        {"{\"b\":1,\"a\":{\"d\":{\"x\":1},\"c\":[1,[2]]}}", "", "", "/a\n/a/c\n/a/d\n/b\n"},
        {"[5,[6,[7]],{\"x\":[8]}]", "", "", "/0\n/1\n/1/0\n/1/1\n/2\n/2/x\n"},
        {"{\"a/b\":1,\"m~n\":{\"/~\":2}}", "", "", "/a~1b\n/m~0n\n/m~0n/~1~0\n"},
        {"{\"\":{\"\":1}}", "", "", "/\n//\n"},
        {"{\"\\n\\u0000\":1,\"\\u007f\\u0085\xC3\xA9\":2}", "", "",
         "/\\u000A\\u0000\n/\\u007F\\u0085\xC3\xA9\n"},
        {"{\"a\":1,\"t\":2,\"z\":[1,2,3]}", "/t /z/1", "", "/a\n/z\n/z/0\n/z/2\n"},
        {"[1,2,3]", "/0", "", "/1\n/2\n"},
        {"{\"a\":{\"b\":{\"c\":1}},\"d\":2}", "", "/d /a/b /x", "/d\n/a/b\n/a/b/c\n/x\n"},
        {"{\"a\":[[1]]}", "", ". /a/0", "\n/a\n/a/0\n/a/0/0\n"},
        {"{\"a\":{\"b\":1,\"t\":1}}", "/a/t", "/a", "/a\n/a/b\n"},
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        struct collected all;
        char pointers[1024];
        collect_selected(rows[i].text, rows[i].ignore, rows[i].only, &all);
        collect_pointers(&all, pointers, sizeof(pointers));
        assert_string_equal(pointers, rows[i].pointers);
        collect_fini(&all);
    }
}

static void a_member_holds_its_own_bytes(void **state)
{
    /* Guards: a change shows in the members it lies in, and in no other. */
    (void)state;
    struct collected before, after;
    collect_json(SPAN("{\"a\":{\"x\":1,\"y\":[1]},\"b\":2,\"c\":[3,4]}"), NULL, &before);
    collect_json(SPAN("{\"c\":[3,4],\"b\":2,\"a\":{\"y\":[9],\"x\":1}}"), NULL, &after);
    static const char *const changed[] = {"/a", "/a/y"};
    assert_int_equal(before.member_count, 7);
    assert_int_equal(after.member_count, 7);
    for (uint32_t i = 0; i < before.member_count; i++) {
        const struct collected_member *old = &before.members[i];
        const struct collected_member *now = collect_find(&after, old->pointer);
        bool is_equal = span_equal(span_of(before.bytes.ptr + old->start, old->end - old->start),
                                   span_of(after.bytes.ptr + now->start, now->end - now->start));
        bool is_changed =
            strcmp(old->pointer, changed[0]) == 0 || strcmp(old->pointer, changed[1]) == 0;
        assert_true(old->end > old->start);
        assert_int_equal(is_equal, !is_changed);
        assert_int_equal(old->level, old->pointer[2] == '/' ? 2 : 1);
    }
    const struct collected_member *b = collect_find(&before, "/b");
    assert_true(span_equal(span_of(before.bytes.ptr + b->start, b->end - b->start), span_of("\1b#\1"
                                                                                            "2",
                                                                                            5)));
    collect_fini(&before);
    collect_fini(&after);
}

static void members_end_at_the_limit(void **state)
{
    /* Guards: the list of members is bounded and begins with the first in order. */
    (void)state;
    struct gw_buf text;
    gw_buf_init(&text, COLLECT_BYTES_MAX);
    assert_true(gw_buf_byte(&text, '{'));
    for (int i = 99; i >= 10; i--)
        assert_true(gw_buf_print(&text, "\"k%d\":{\"x\":[1],\"y\":2}%c", i, i == 10 ? '}' : ','));
    struct collected all;
    collect_json(gw_buf_span(&text), NULL, &all);
    assert_int_equal(all.member_count, CANONICAL_MEMBERS_MAX);
    assert_string_equal(all.members[0].pointer, "/k10");
    assert_string_equal(all.members[1].pointer, "/k10/x");
    assert_string_equal(all.members[31].pointer, "/k20/x");
    collect_fini(&all);
    gw_buf_fini(&text);
}

static void long_pointers_are_cut(void **state)
{
    /* Guards: a pointer is never longer than said and never cut inside a character. */
    (void)state;
    static const char *const units[] = {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                                        "~", "\\u0001"};
    static const size_t shown[] = {1, 2, 3, 4, 2, 6};
    for (size_t unit = 0; unit < GW_COUNT(units); unit++)
        for (size_t count = 1; count < 140; count++) {
            struct gw_buf text;
            struct collected all;
            gw_buf_init(&text, COLLECT_BYTES_MAX);
            assert_true(gw_buf_add(&text, SPAN("{\"")));
            for (size_t i = 0; i < count; i++)
                assert_true(gw_buf_add(&text, span_str(units[unit])));
            assert_true(gw_buf_add(&text, SPAN("\":[1]}")));
            collect_json(gw_buf_span(&text), NULL, &all);
            assert_int_equal(all.member_count, 2);
            size_t whole = 1 + count * shown[unit], len = strlen(all.members[0].pointer);
            size_t inner = strlen(all.members[1].pointer);
            assert_in_range(len, 1, CANONICAL_POINTER_BYTES_MAX);
            if (whole <= CANONICAL_POINTER_BYTES_MAX)
                assert_int_equal(len, whole);
            else {
                assert_string_equal(all.members[0].pointer + len - 3, "...");
                assert_int_equal((len - 3 - 1) % shown[unit], 0);
                assert_true(len + shown[unit] > CANONICAL_POINTER_BYTES_MAX);
            }
            if (whole + 2 <= CANONICAL_POINTER_BYTES_MAX)
                assert_string_equal(all.members[1].pointer + inner - 2, "/0");
            else
                assert_string_equal(all.members[1].pointer + inner - 3, "...");
            collect_fini(&all);
            gw_buf_fini(&text);
        }
}

static void members_change_no_bytes(void **state)
{
    /* Guards: whether members are wanted does not change the canonical form. */
    (void)state;
    struct collected with, without;
    struct parsed parsed;
    struct json_fault fault;
    struct canonical_options none = {NULL, 0, NULL, 0};
    struct span text = SPAN("{\"a\":[1,{\"b\":\"\\u0063\"}],\"d\":{\"e\":null}}");
    collect_json(text, NULL, &with);
    assert_true(parse(text, &parsed, &fault));
    struct canonical_sink sink = collect_start(&without);
    sink.member_begin = NULL;
    sink.member_end = NULL;
    canonical_json(&parsed.doc, &none, parsed.order, &sink);
    assert_true(collect_is_same(&with, &without));
    assert_int_equal(without.member_count, 0);
    assert_true(with.member_count > 0);
    parsed_fini(&parsed);
    collect_fini(&with);
    collect_fini(&without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_select_what_counts),
        cmocka_unit_test(whole_and_selected_forms_differ),
        cmocka_unit_test(members_are_named),
        cmocka_unit_test(a_member_holds_its_own_bytes),
        cmocka_unit_test(members_end_at_the_limit),
        cmocka_unit_test(long_pointers_are_cut),
        cmocka_unit_test(members_change_no_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
