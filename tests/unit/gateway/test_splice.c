/* One more member in a JSON object: where it goes, what is refused, and that every other
 * byte stays. */
#include "tests/lib/testlib.h"

#include "gateway/splice.h"

#define NODES_MAX 64

static const struct span top[] = {{"id", 2}}, inside[] = {{"a", 1}, {"b", 1}, {"id", 2}};
static const struct json_pointer at_top = {{"/id", 3}, top, 1};
static const struct json_pointer at_depth = {{"/a/b/id", 7}, inside, 3};

struct parsed {
    struct json_doc doc;
    struct json_node nodes[NODES_MAX];
    uint32_t order[NODES_MAX];
};

static enum splice_verdict find(const char *text, const struct json_pointer *pointer,
                                struct splice *ret)
{
    const struct json_limits limits = {.depth_max = 16, .nodes_max = NODES_MAX};
    struct parsed parsed;
    struct json_fault fault;
    uint32_t count = 0;
    assert_true(json_count(span_str(text), &limits, &count, &fault));
    assert_true(json_parse(span_str(text), &limits, parsed.nodes, parsed.order, count, &parsed.doc,
                           &fault));
    return splice_find(&parsed.doc, pointer, ret);
}

static void must_splice(const char *text, const struct json_pointer *pointer, const char *name,
                        const char *expected)
{
    struct splice splice = {0};
    struct gw_buf body;
    gw_buf_init(&body, 4096);
    assert_true(gw_buf_add(&body, span_str(text)));
    assert_int_equal(find(text, pointer, &splice), SPLICE_READY);
    assert_true(splice_apply(&splice, span_str(name), SPAN("op\"1"), &body));
    if (!span_equal(gw_buf_span(&body), span_str(expected)))
        fail_msg("'%s' became '%.*s'", text, (int)body.len, body.ptr);
    gw_buf_fini(&body);
}

/* Guards: the member stands first in its object, with a comma where one is needed. */
static void test_where(void **state)
{
    (void)state;
    must_splice("{}", &at_top, "id", "{\"id\":\"op\\\"1\"}");
    must_splice(" { \n} ", &at_top, "id", " {\"id\":\"op\\\"1\" \n} ");
    must_splice("{\"a\":1}", &at_top, "id", "{\"id\":\"op\\\"1\",\"a\":1}");
    must_splice("{\"a\":{\"b\":{ }},\"id\":1}", &at_depth, "id",
                "{\"a\":{\"b\":{\"id\":\"op\\\"1\" }},\"id\":1}");
    must_splice("{\"ID\":0,\"x\":{\"id\":1}}", &at_top, "id",
                "{\"id\":\"op\\\"1\",\"ID\":0,\"x\":{\"id\":1}}");
    must_splice("{}", &at_top, "a\"\n", "{\"a\\\"\\u000a\":\"op\\\"1\"}");
}

/* Guards: nothing is overwritten, and no object is made up. */
static void test_refused(void **state)
{
    (void)state;
    static const char *const no_object[] = {"[]", "[{}]", "null", "\"{}\"", "1"};
    static const char *const taken[] = {"{\"id\":null}", "{\"x\":1,\"\\u0069d\":2}"};
    static const char *const not_inside[] = {"{}", "{\"a\":1}", "{\"a\":{}}", "{\"a\":{\"b\":[]}}",
                                             "{\"a\":[{\"b\":{}}]}"};
    struct splice splice = {.at = 77};
    for (size_t i = 0; i < GW_COUNT(no_object); i++)
        assert_int_equal(find(no_object[i], &at_top, &splice), SPLICE_NO_OBJECT);
    for (size_t i = 0; i < GW_COUNT(taken); i++)
        assert_int_equal(find(taken[i], &at_top, &splice), SPLICE_TAKEN);
    for (size_t i = 0; i < GW_COUNT(not_inside); i++)
        assert_int_equal(find(not_inside[i], &at_depth, &splice), SPLICE_NO_OBJECT);
    assert_int_equal(splice_find(NULL, &at_top, &splice), SPLICE_NO_OBJECT);
    assert_int_equal(splice.at, 77);
}

/* Guards: a body that cannot grow is left as it was. */
static void test_no_room(void **state)
{
    (void)state;
    struct splice splice = {0};
    struct gw_buf body;
    assert_int_equal(find("{\"a\":1}", &at_top, &splice), SPLICE_READY);
    for (size_t room = 7; room < 30; room++) {
        gw_buf_init(&body, room);
        assert_true(gw_buf_add(&body, SPAN("{\"a\":1}")));
        bool fits = splice_apply(&splice, SPAN("id"), SPAN("op_1"), &body);
        assert_int_equal(fits, room >= 7 + 12);
        assert_true(fits || span_equal(gw_buf_span(&body), SPAN("{\"a\":1}")));
        gw_buf_fini(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
