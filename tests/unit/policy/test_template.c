/* Targets with holes: what is one, what is said of what is none, and that a value stays
 * one value wherever it stands. */
#include "tests/lib/testlib.h"

#include "policy/template.h"

struct parsed {
    struct target_template target;
    struct template_part parts[TEMPLATE_PARTS_MAX];
};

static void parse(struct parsed *into, const char *text)
{
    struct template_fault fault = {0, ""};
    into->target.text = span_str(text);
    into->target.parts = into->parts;
    if (!template_parse(span_str(text), into->parts, TEMPLATE_PARTS_MAX, &into->target.part_count,
                        &fault))
        fail_msg("'%s': column %u: %s", text, fault.column, fault.text);
}

static void must_refuse(const char *text, uint32_t column, const char *words)
{
    struct template_part parts[TEMPLATE_PARTS_MAX];
    struct template_fault fault = {0, ""};
    uint32_t count = 77;
    assert_false(template_parse(span_str(text), parts, TEMPLATE_PARTS_MAX, &count, &fault));
    if (fault.column != column || strstr(fault.text, words) == NULL)
        fail_msg("'%s': column %u: %s", text, fault.column, fault.text);
    assert_int_equal(count, 77);
}

/* Guards: every kind of hole is found where it stands, and texts between them are kept. */
static void test_parts(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, "/t/{label:order}/x?a={operation_id}&k={key}{owner}&r={response:/a/0}");
    static const enum template_kind kinds[] = {
        TEMPLATE_TEXT, TEMPLATE_LABEL, TEMPLATE_TEXT, TEMPLATE_OPERATION_ID, TEMPLATE_TEXT,
        TEMPLATE_KEY,  TEMPLATE_OWNER, TEMPLATE_TEXT, TEMPLATE_RESPONSE};
    assert_int_equal(p.target.part_count, GW_COUNT(kinds));
    for (size_t i = 0; i < GW_COUNT(kinds); i++)
        assert_int_equal(p.parts[i].kind, kinds[i]);
    assert_true(span_equal(p.parts[1].text, SPAN("order")));
    assert_int_equal(p.parts[1].column, 5);
    assert_true(span_equal(p.parts[8].text, SPAN("/a/0")));
    assert_true(template_uses(&p.target, TEMPLATE_KEY));
    parse(&p, "/all");
    assert_int_equal(p.target.part_count, 1);
    assert_false(template_uses(&p.target, TEMPLATE_KEY));
}

/* Guards: what is no template is refused at the byte that is wrong. */
static void test_faults(void **state)
{
    (void)state;
    must_refuse("", 1, "begin with /");
    must_refuse("x/{key}", 1, "begin with /");
    must_refuse("{key}", 1, "begin with /");
    must_refuse("//host/{key}", 2, "//");
    must_refuse("/a/{key", 4, "{ without }");
    must_refuse("/a/{key/{owner}", 4, "{ without }");
    must_refuse("/a/key}", 7, "} without {");
    must_refuse("/a/{}", 4, "nothing");
    must_refuse("/a/{Key}", 5, "unknown name");
    must_refuse("/a/{ key}", 5, "unknown name");
    must_refuse("/a/{opid}", 5, "operation_id, key, owner");
    must_refuse("/a/{label}", 5, "unknown name");
    must_refuse("/a/{label:}", 5, "needs a name");
    must_refuse("/a/{response:id}", 5, "JSON pointer");
    must_refuse("/a b", 3, "%HH");
    must_refuse("/a\x7f", 3, "%HH");
    must_refuse("/caf\xc3\xa9", 5, "%HH");
    must_refuse("/a#b", 3, "%23");
    must_refuse("/a%2", 3, "hex");
    must_refuse("/a%zz", 3, "hex");
    must_refuse("/a/../{key}", 4, "segment");
    must_refuse("/a/%2E%2e?{key}", 4, "segment");
    must_refuse("/./a", 2, "segment");
}

/* Guards: the number of parts is bounded. */
static void test_too_many_parts(void **state)
{
    (void)state;
    char text[8 * TEMPLATE_PARTS_MAX] = "/";
    for (size_t i = 0; i < TEMPLATE_PARTS_MAX; i++)
        memcpy(text + 1 + 5 * i, "{key}", 6);
    must_refuse(text, 1 + 5 * (TEMPLATE_PARTS_MAX - 1) + 2, "too many parts");
    text[strlen(text) - 5] = '\0';
    struct parsed p;
    parse(&p, text);
    assert_int_equal(p.target.part_count, TEMPLATE_PARTS_MAX);
}

static enum template_verdict fill(const char *text, const char *key, size_t key_len, char *room,
                                  size_t room_len, size_t *ret_len)
{
    struct parsed p;
    struct span values[TEMPLATE_PARTS_MAX];
    uint32_t part = 77;
    parse(&p, text);
    for (uint32_t i = 0; i < TEMPLATE_PARTS_MAX; i++)
        values[i] = span_of(key, key_len);
    enum template_verdict verdict =
        template_fill(&p.target, values, room, room_len, ret_len, &part);
    assert_in_range(part, 0, p.target.part_count - 1);
    return verdict;
}

static void must_fill(const char *text, const char *key, const char *expected)
{
    char room[256];
    size_t len = 0;
    assert_int_equal(fill(text, key, strlen(key), room, sizeof(room), &len), TEMPLATE_FILLED);
    if (!span_equal(span_of(room, len), span_str(expected)))
        fail_msg("'%s' with '%s' is '%.*s'", text, key, (int)len, room);
}

static void must_not_fill(const char *text, const char *key, enum template_verdict expected)
{
    char room[256];
    size_t len = 77;
    assert_int_equal(fill(text, key, strlen(key), room, sizeof(room), &len), expected);
    assert_int_equal(len, 77);
}

/* Guards: only unreserved bytes stand as they are; texts of the template are not touched. */
static void test_values_are_escaped(void **state)
{
    (void)state;
    must_fill("/t?ref={key}", "abc-XYZ_0.9~", "/t?ref=abc-XYZ_0.9~");
    must_fill("/t?ref={key}&x=%20+", "a b&c=d+e/f?g#h%i",
              "/t?ref=a%20b%26c%3Dd%2Be%2Ff%3Fg%23h%25i&x=%20+");
    must_fill("/t/{key}/x", "caf\xc3\xa9;p=1", "/t/caf%C3%A9%3Bp%3D1/x");
    must_fill("/{key}-{key}", "a", "/a-a");
    must_fill("/t?{key}", "..", "/t?..");
    must_fill("/t/..{key}", "a", "/t/..a");
    must_fill("/t/{key}", "...", "/t/...");
}

/* Guards: a value that would be another segment, climb, or end the text is refused. */
static void test_bad_values(void **state)
{
    (void)state;
    static const char *const climbs[] = {".", "..", "a/b", "/", "\\", "a\\b", "../x"};
    char room[64];
    size_t len = 77;
    for (size_t i = 0; i < GW_COUNT(climbs); i++) {
        must_not_fill("/t/{key}", climbs[i], TEMPLATE_BAD_VALUE);
        must_not_fill("/t/{key}/x?q=1", climbs[i], TEMPLATE_BAD_VALUE);
    }
    must_not_fill("/t/.{key}", ".", TEMPLATE_BAD_VALUE);
    must_not_fill("/t/%2e{key}?x", ".", TEMPLATE_BAD_VALUE);
    must_not_fill("/t?q={key}", "a\nb", TEMPLATE_BAD_VALUE);
    must_not_fill("/t?q={key}", "\x7f", TEMPLATE_BAD_VALUE);
    assert_int_equal(fill("/t?q={key}", "a\0b", 3, room, sizeof(room), &len), TEMPLATE_BAD_VALUE);
}

/* Guards: a missing value asks nothing, rather than everything. */
static void test_no_value(void **state)
{
    (void)state;
    must_not_fill("/t?q={key}", "", TEMPLATE_NO_VALUE);
    must_not_fill("/t/{key}", "", TEMPLATE_NO_VALUE);
}

/* Guards: the room is never left, whatever its length. */
static void test_room(void **state)
{
    (void)state;
    char room[64];
    for (size_t room_len = 0; room_len <= sizeof(room); room_len++) {
        size_t len = 0;
        memset(room, 'x', sizeof(room));
        enum template_verdict verdict = fill("/t?q={key}&z", "a/b", 3, room, room_len, &len);
        assert_int_equal(verdict, room_len < 12 ? TEMPLATE_TOO_LONG : TEMPLATE_FILLED);
        for (size_t i = room_len; i < sizeof(room); i++)
            assert_int_equal(room[i], 'x');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),          cmocka_unit_test(test_faults),
        cmocka_unit_test(test_too_many_parts), cmocka_unit_test(test_values_are_escaped),
        cmocka_unit_test(test_bad_values),     cmocka_unit_test(test_no_value),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
