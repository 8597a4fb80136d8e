/* The small parts of the operator plane: queries, endpoints, JSON, metrics, tables. */
#include "tests/lib/testlib.h"

#include "gateway/admin/exposition.h"
#include "gateway/admin/query.h"
#include "gateway/commands/words.h"

#define ROOM 65536

static void test_queries(void **state)
{
    /* Property: names and values are decoded, each name comes once, broken escapes are refused. */
    static const struct {
        const char *text;
        int count; /* -1: refused */
    } cases[] = {{"", 0},      {"a=1", 1},      {"a=1&b=2", 2},    {"&&a=1&", 1},
                 {"a", 1},     {"a=1&a=2", -1}, {"%61=1&a=2", -1}, {"a=%", -1},
                 {"a=%4", -1}, {"a=%zz", -1},   {"a=%00", 1},      {"=x", 1}};
    struct arena *arena = arena_new(ROOM);
    struct query *query = arena_take(arena, sizeof(*query));
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        bool ok = query_parse(arena, span_str(cases[i].text), query);
        if (ok != (cases[i].count >= 0) || (ok && (int)query->count != cases[i].count))
            fail_msg("query '%s'", cases[i].text);
    }
    assert_true(query_parse(arena, SPAN("a+b=c%2Bd+e%00"), query));
    assert_true(span_equal(query->pairs[0].name, SPAN("a b")));
    assert_true(span_equal(query->pairs[0].value, SPAN("c+d e\0")));
    arena_free(arena);
}

static void test_too_many_pairs(void **state)
{
    /* Property: the bound of a query holds. */
    struct arena *arena = arena_new(ROOM);
    struct query *query = arena_take(arena, sizeof(*query));
    struct gw_buf text;
    (void)state;
    gw_buf_init(&text, ROOM);
    for (int i = 0; i < QUERY_PAIRS_MAX; i++)
        assert_true(gw_buf_print(&text, "n%d=x&", i));
    assert_true(query_parse(arena, gw_buf_span(&text), query));
    assert_true(gw_buf_print(&text, "more=x"));
    assert_false(query_parse(arena, gw_buf_span(&text), query));
    gw_buf_fini(&text);
    arena_free(arena);
}

static void test_operation_ids(void **state)
{
    /* Property: only "op_" and 26 characters of the alphabet are an id. */
    (void)state;
    assert_true(operation_id_is_sound(SPAN("op_0123456789abcdefghjkmnpqrs")));
    assert_false(operation_id_is_sound(SPAN("op_0123456789abcdefghjkmnpqr")));
    assert_false(operation_id_is_sound(SPAN("op_0123456789abcdefghjkmnpqrst")));
    assert_false(operation_id_is_sound(SPAN("op_0123456789abcdefghjkmnpqru")));
    assert_false(operation_id_is_sound(SPAN("op_0123456789ABCDEFGHJKMNPQRS")));
    assert_false(operation_id_is_sound(SPAN("op_0123456789abcdefghjkmnpq\0s")));
    assert_false(operation_id_is_sound(SPAN("xx_0123456789abcdefghjkmnpqrs")));
    assert_false(operation_id_is_sound(SPAN("")));
}

static void test_endpoints(void **state)
{
    /* Property: a path finds its endpoint by whole segments; another method is told apart. */
    struct endpoint_match match;
    (void)state;
    endpoint_find(SPAN("/v1/operations/op_x/why"), ENDPOINT_GET, &match);
    assert_non_null(match.endpoint);
    assert_true(span_equal(match.parameter, SPAN("op_x")));
    endpoint_find(SPAN("/v1/operations/op_x/settle"), ENDPOINT_GET, &match);
    assert_null(match.endpoint);
    assert_int_equal(match.methods, ENDPOINT_POST);
    endpoint_find(SPAN("/v1/plans/plan_x"), ENDPOINT_DELETE, &match);
    assert_non_null(match.endpoint);
    assert_int_equal(match.methods, ENDPOINT_GET | ENDPOINT_DELETE);
    endpoint_find(SPAN("/v1/plans/plan_x"), 0, &match);
    assert_null(match.endpoint);
    assert_int_equal(match.methods, ENDPOINT_GET | ENDPOINT_DELETE);
    endpoint_find(SPAN("/"), ENDPOINT_GET, &match);
    assert_non_null(match.endpoint);
    static const char *const none[] = {"",
                                       "/v1",
                                       "/v1/operations/",
                                       "/v1/operations//why",
                                       "v1",
                                       "//v1/operations",
                                       "/v1/operations/x/y",
                                       "/v1/operations/x/why/",
                                       "/healthz/"};
    for (size_t i = 0; i < GW_COUNT(none); i++) {
        endpoint_find(span_str(none[i]), ENDPOINT_GET | ENDPOINT_POST, &match);
        if (match.methods != 0)
            fail_msg("path '%s' must not be there", none[i]);
    }
}

static void test_json(void **state)
{
    /* Property: whatever the bytes, the text is JSON that reads back. */
    struct gw_buf out;
    struct json_writer writer = {.out = &out};
    (void)state;
    gw_buf_init(&out, ROOM);
    writer_open(&writer, NULL, '{');
    writer_text(&writer, "text", SPAN("a\"\\\n\0\x1f\x7f</script>"));
    writer_text(&writer, "broken", SPAN("\xff\xc0\x80x"));
    writer_open(&writer, "list", '[');
    writer_number(&writer, NULL, INT64_MIN);
    writer_null(&writer, NULL);
    writer_open(&writer, NULL, '{');
    writer_close(&writer, '}');
    writer_close(&writer, ']');
    writer_member(&writer, SPAN("odd\"name"), SPAN("v"));
    writer_time(&writer, "none", 0);
    writer_time(&writer, "time", 1);
    writer_bool(&writer, "yes", true);
    writer_close(&writer, '}');
    json_t *read = json_loadb(out.ptr, out.len, JSON_ALLOW_NUL, NULL);
    assert_non_null(read);
    assert_int_equal(json_string_length(json_object_get(read, "text")), 16);
    assert_string_equal(json_string_value(json_object_get(read, "broken")),
                        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx");
    assert_int_equal(json_array_size(json_object_get(read, "list")), 3);
    assert_string_equal(json_string_value(json_object_get(read, "odd\"name")), "v");
    assert_true(json_is_null(json_object_get(read, "none")));
    assert_string_equal(json_string_value(json_object_get(read, "time")),
                        "1970-01-01T00:00:00.001Z");
    json_decref(read);
    gw_buf_fini(&out);
}

static void test_metric_text(void **state)
{
    /* Property: label values are escaped, and the two formats name counters each in its way. */
    struct gw_buf out;
    struct exposition exposition;
    (void)state;
    gw_buf_init(&out, ROOM);
    exposition_init(&exposition, &out, false);
    exposition_family(&exposition, METRIC_CONTRADICTIONS);
    exposition_count(&exposition, metric_label("route", SPAN("a\"b\\c\nd")), 7);
    assert_true(gw_buf_byte(&out, '\0'));
    assert_string_equal(out.ptr,
                        "# HELP recibo_contradictions_total Evidence that came against a verdict: "
                        "something may have run twice.\n"
                        "# TYPE recibo_contradictions_total counter\n"
                        "recibo_contradictions_total{route=\"a\\\"b\\\\c\\nd\"} 7\n");
    gw_buf_clear(&out);
    exposition_init(&exposition, &out, true);
    exposition_family(&exposition, METRIC_UNKNOWN_OLDEST);
    exposition_ms(&exposition, METRIC_NO_LABELS, 1005);
    exposition_family(&exposition, METRIC_CONTRADICTIONS);
    exposition_count(&exposition, METRIC_NO_LABELS, UINT64_MAX);
    exposition_end(&exposition);
    assert_true(gw_buf_byte(&out, '\0'));
    assert_non_null(strstr(out.ptr, "# UNIT recibo_unknown_oldest_seconds seconds\n"
                                    "recibo_unknown_oldest_seconds 1.005\n"));
    assert_non_null(strstr(out.ptr, "# TYPE recibo_contradictions counter\n"
                                    "recibo_contradictions_total 18446744073709551615\n# EOF\n"));
    gw_buf_fini(&out);
}

static void test_histogram_text(void **state)
{
    /* Property: buckets add up, bounds are in order, and +Inf is the count. */
    struct gw_buf out;
    struct exposition exposition;
    struct board_histogram histogram = {0};
    (void)state;
    gw_buf_init(&out, ROOM);
    board_observe(&histogram, 0);
    board_observe(&histogram, 1500);
    board_observe(&histogram, 10000000);
    exposition_init(&exposition, &out, false);
    exposition_family(&exposition, METRIC_REQUEST_SECONDS);
    exposition_board_histogram(&exposition, metric_label("route", SPAN("r")), &histogram);
    assert_true(gw_buf_byte(&out, '\0'));
    assert_non_null(strstr(out.ptr, "_bucket{route=\"r\",le=\"0.001\"} 1\n"));
    assert_non_null(strstr(out.ptr, "_bucket{route=\"r\",le=\"1.0\"} 1\n"));
    assert_non_null(strstr(out.ptr, "_bucket{route=\"r\",le=\"2.0\"} 2\n"));
    assert_non_null(strstr(out.ptr, "_bucket{route=\"r\",le=\"+Inf\"} 3\n"
                                    "recibo_request_seconds_sum{route=\"r\"} 10001.5\n"
                                    "recibo_request_seconds_count{route=\"r\"} 3\n"));
    gw_buf_fini(&out);
}

static void test_words_for_people(void **state)
{
    /* Property: no byte that a terminal obeys, and no mark that turns text around, gets out. */
    struct gw_buf out;
    (void)state;
    gw_buf_init(&out, ROOM);
    words_print(&out, SPAN("a\x1b[31m\n\t\r\0\x7f\xc2\x9b\xe2\x80\xae\xff\xc3\xa9"));
    assert_true(gw_buf_byte(&out, '\0'));
    assert_string_equal(out.ptr, "a\\x1b[31m\\n\\t\\r\\x00\\x7f\\u{9b}\\u{202e}\\xff\xc3\xa9");
    gw_buf_fini(&out);
}

static void test_tables(void **state)
{
    /* Property: columns line up by characters, numbers to the right, long cells are cut. */
    static const char *const headers[] = {"NAME", ">N", "LAST"};
    struct arena *arena = arena_new(ROOM);
    struct gw_buf out;
    char wide[100];
    (void)state;
    memset(wide, 'w', sizeof(wide));
    gw_buf_init(&out, ROOM);
    struct table *table = table_new(arena, headers, 3);
    const struct span one[] = {SPAN("\xc3\xa9"), SPAN("7"), SPAN("")};
    const struct span two[] = {SPAN("longer"), SPAN("123"), span_of(wide, sizeof(wide))};
    assert_true(table_add(table, one) && table_add(table, two));
    table_print(table, &out);
    assert_true(gw_buf_byte(&out, '\0'));
    const char *cut = strstr(out.ptr, "www");
    assert_non_null(cut);
    assert_int_equal(strcspn(cut, "\n"), TABLE_CUT_AT);
    assert_memory_equal(out.ptr, "NAME      N  LAST\n\xc3\xa9         7  -\nlonger  123  www", 50);
    gw_buf_fini(&out);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries),        cmocka_unit_test(test_too_many_pairs),
        cmocka_unit_test(test_operation_ids),  cmocka_unit_test(test_endpoints),
        cmocka_unit_test(test_json),           cmocka_unit_test(test_metric_text),
        cmocka_unit_test(test_histogram_text), cmocka_unit_test(test_words_for_people),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
