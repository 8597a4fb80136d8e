/* Two Content-Types have one spelling exactly when they say the same: what repeats
 * of a request are compared by must neither miss a difference nor see one too many. */
#include "gateway/media.h"
#include "tests/lib/testlib.h"

#define ARENA_BYTES ((size_t)1 << 16)

struct pair {
    const char *a, *b;
};

static const struct pair same[] = {
    {"application/json", "Application/JSON"},
    {"a/b;charset=utf-8", "a/b ; Charset = \"UTF-8\""},
    {"a/b;x=1;y=2", "a/b; y=2; x=1"},
    {"a/b;x=\"p q\"", "a/b; X=\"p\\ q\""},
    {"multipart/form-data;boundary=one", "multipart/form-data; boundary=\"two;three\""},
};

static const struct pair different[] = {
    {"a/b;x=\"p;charset=q\"", "a/b;x=p;charset=q"},
    {"a/b;x=\"1;y=2\"", "a/b;x=1;y=2"},
    {"a/b;x=P", "a/b;x=p"},
    {"a/b;x=\"p\\\"q\"", "a/b;x=\"pq\""},
    {"a/b;z=1;x=\"p;q", "a/b;x=\"p;q;z=1"},
    {"a/b", "a/b;x=\"\""},
};

static void test_same(void **state)
{
    (void)state; /* the tests share nothing */
    struct arena *arena = arena_new(ARENA_BYTES);
    assert_non_null(arena);
    for (size_t i = 0; i < GW_COUNT(same); i++)
        assert_true(span_equal(media_normalized(arena, span_str(same[i].a)),
                               media_normalized(arena, span_str(same[i].b))));
    arena_free(arena);
}

static void test_different(void **state)
{
    (void)state; /* the tests share nothing */
    struct arena *arena = arena_new(ARENA_BYTES);
    assert_non_null(arena);
    for (size_t i = 0; i < GW_COUNT(different); i++)
        assert_false(span_equal(media_normalized(arena, span_str(different[i].a)),
                                media_normalized(arena, span_str(different[i].b))));
    arena_free(arena);
}

static void test_parameter(void **state)
{
    (void)state; /* the tests share nothing */
    struct arena *arena = arena_new(ARENA_BYTES);
    assert_non_null(arena);
    struct span value = SPAN("a/b; Boundary = \"x;\\\"y\\\\\"; boundary=z");
    assert_true(span_equal(media_parameter(arena, value, SPAN("boundary")), SPAN("x;\"y\\")));
    assert_int_equal(media_parameter(arena, SPAN("a/b;c=d"), SPAN("e")).len, 0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_different),
        cmocka_unit_test(test_parameter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
