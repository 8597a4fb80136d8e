/* Guards the request side: every listed raw request gets its verdict, and gets the
 * same one however its bytes are cut. */
#include "tests/lib/testlib.h"
#include "tests/unit/http1/trace.h"

#define CASES      SOURCE_DIR "/tests/data/http1/raw-request-cases.json"
#define HUGE_BYTES 100000

/* What the codec cannot judge alone: two paths are well-formed, and only the table of
 * routes can tell that they may reach a guarded one; an expectation is judged after
 * route, caller and key. */
static const char *const left_to_gateway[] = {"r093", "r096", "r126"};

static bool is_left_to_gateway(const char *id)
{
    for (size_t i = 0; i < GW_COUNT(left_to_gateway); i++)
        if (strcmp(id, left_to_gateway[i]) == 0)
            return true;
    return false;
}

static void add_filler(struct gw_buf *buf)
{
    for (int i = 0; i < HUGE_BYTES; i++)
        assert_true(gw_buf_byte(buf, 'a'));
}

/* Two cases are too long to be listed and say how they are built. */
static struct gw_buf case_bytes(const json_t *test, const char *id)
{
    struct gw_buf buf;
    gw_buf_init(&buf, TRACE_BYTES_MAX);
    const json_t *raw = json_object_get(test, "raw");
    if (raw != NULL) {
        /* The text holds one character below U+0100 for each byte. */
        struct span text = test_json_span(raw);
        for (size_t i = 0; i < text.len; i++) {
            uint8_t byte = (uint8_t)text.ptr[i];
            if (byte >= 0xc0)
                byte = (uint8_t)((byte & 3) << 6 | ((uint8_t)text.ptr[++i] & 0x3f));
            assert_true(gw_buf_byte(&buf, (char)byte));
        }
    } else if (strcmp(id, "r132") == 0) {
        assert_true(gw_buf_add(&buf, SPAN("GET / HTTP/1.1\r\nHost: a\r\nX: ")));
        add_filler(&buf);
        assert_true(gw_buf_add(&buf, SPAN("\r\n\r\n")));
    } else {
        assert_string_equal(id, "r133");
        assert_true(gw_buf_add(&buf, SPAN("GET /")));
        add_filler(&buf);
        assert_true(gw_buf_add(&buf, SPAN(" HTTP/1.1\r\nHost: a\r\n\r\n")));
    }
    return buf;
}

static bool is_listed(const json_t *statuses, uint16_t status)
{
    size_t i;
    const json_t *item;
    json_array_foreach(statuses, i, item) if (json_integer_value(item) == status) return true;
    return false;
}

static void check_verdict(const json_t *test, const char *id, const struct trace *trace)
{
    const char *expect = json_string_value(json_object_get(test, "expect"));
    bool accepted = trace->error == 0 && trace->ends > 0 && !http1_has_begun(&trace->parser);
    bool refused = trace->ends == 0 && trace->error != 0 &&
                   is_listed(json_object_get(test, "status"), trace->error);
    bool is_right = accepted;
    if (strcmp(expect, "reject") == 0)
        is_right = is_left_to_gateway(id) ? accepted : refused;
    else if (strcmp(expect, "accept_or_reject") == 0)
        is_right = accepted || refused;
    if (!is_right)
        fail_msg("%s: want %s, got %s", id, expect, gw_buf_span(&trace->text).ptr);
}

static void check_same(const char *id, const struct trace *whole, const struct trace_input *input)
{
    struct trace trace;
    trace_run(&trace, input);
    if (!trace_is_same(whole, &trace))
        fail_msg("%s: other events, first cut at %zu", id, input->cuts == NULL ? 1 : *input->cuts);
    trace_fini(&trace);
}

static void every_case_gets_its_verdict_for_every_cut(void **state)
{
    (void)state; /* none */
    json_t *root = test_load_vectors(CASES);
    size_t i, count = 0;
    const json_t *test;
    json_array_foreach(json_object_get(root, "cases"), i, test)
    {
        const char *id = json_string_value(json_object_get(test, "id"));
        struct gw_buf bytes = case_bytes(test, id);
        struct trace_input input = {
            .side = HTTP1_REQUESTS, .limits = trace_limits(), .bytes = gw_buf_span(&bytes)};
        struct trace whole;
        trace_run(&whole, &input);
        check_verdict(test, id, &whole);
        input.cut_count = 1;
        size_t step = bytes.len > 4096 ? 997 : 1;
        for (size_t cut = 1; cut < bytes.len; cut += step) {
            input.cuts = &cut;
            check_same(id, &whole, &input);
        }
        input.cuts = NULL;
        input.every_byte = true;
        check_same(id, &whole, &input);
        trace_fini(&whole);
        gw_buf_fini(&bytes);
        count++;
    }
    assert_true(count >= 80);
    json_decref(root);
}

/* Bytes that can never become a request are refused at once; nobody has to wait
 * for the end of a head that never comes. */
static void an_unfinished_head_is_refused_at_its_first_bad_byte(void **state)
{
    (void)state; /* none */
    static const char *const unfinished[] = {
        "\n",
        "\r\n\n",
        "GET / HTTP/1.1\n",
        "GET / HTTP/1.1\r\nHost: a\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\r\nHost: a\rb",
        "GET / HTTP/1.1\r\nHost: a\r\nX\r",
        "GET / HTTP/1.1\r\nHost: a\r\n ",
        "GET / HTTP/1.1\r\nHost: a\r\nX ",
        "GET / HTTP/1.1\r\nHost: a\r\n:",
        "GET / HTTP/1.1\r\nHost: a\r\nX: \x7f",
        "GET / HTTP/1.1 ",
        "GET / HTTP/1.1\t",
        "GET / HTTQ",
        "GET /\r",
        "GET /\xc3",
        "GET \t",
        "GET  ",
        " ",
        "\x16", /* the hello of TLS */
        "GET / HTTP/2.0\r\n",
        "PRI * HTTP/2.0\r\n",
        "BREW / HTTP/1.1\r\n",
        "CONNECT a:443 HTTP/1.1\r\n",
        "TRACE / HTTP/1.1\r\n",
        "GET * HTTP/1.1\r\n",
        "GET a:443 HTTP/1.1\r\n",
        "GET /%0 HTTP/1.1\r\n",
    };
    for (size_t i = 0; i < GW_COUNT(unfinished); i++)
        if (!trace_fails_at_its_last_byte(HTTP1_REQUESTS, span_str(unfinished[i]), 0))
            fail_msg("not refused at its last byte: %s", unfinished[i]);
    assert_true(trace_fails_at_its_last_byte(HTTP1_REQUESTS, SPAN("GET /\0"), 400));
    assert_true(trace_fails_at_its_last_byte(HTTP1_REQUESTS,
                                             SPAN("GET / HTTP/1.1\r\nHost: a\r\nX: \0"), 400));
    assert_true(trace_fails_at_its_last_byte(HTTP1_REQUESTS,
                                             SPAN("GET / HTTP/1.1\r\nHost: a\r\nX\0"), 400));
}

/* Values are scanned several bytes at a time; no byte may hide in a place of that. */
static void every_byte_of_a_value_is_judged_wherever_it_stands(void **state)
{
    (void)state; /* none */
    const struct span front = SPAN("GET / HTTP/1.1\r\nHost: a\r\nX: y");
    for (unsigned byte = 0; byte < 256; byte++) {
        bool is_fine = byte == '\t' || (byte >= ' ' && byte != 0x7f);
        for (size_t place = 0; place < 20; place++) {
            char text[64];
            memcpy(text, front.ptr, front.len);
            memset(text + front.len, 'v', 20);
            text[front.len + place] = (char)byte;
            memcpy(text + front.len + 20, "\r\n\r\n", 4);
            struct trace_input input = {.side = HTTP1_REQUESTS,
                                        .limits = trace_limits(),
                                        .bytes = span_of(text, front.len + 24)};
            struct trace trace;
            trace_run(&trace, &input);
            if ((trace.error == 0 && trace.ends == 1) != is_fine)
                fail_msg("byte %u at %zu: error %u", byte, place, trace.error);
            trace_fini(&trace);
        }
    }
}

/* A request that stops early is an error at its end, and nothing before its first byte is. */
static void a_cut_request_is_an_error_only_once_it_has_begun(void **state)
{
    (void)state; /* none */
    const struct span whole =
        SPAN("\r\nPOST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
             "3;x\r\nabc\r\n0\r\nT: v\r\n\r\n");
    for (size_t len = 0; len <= whole.len; len++) {
        struct trace_input input = {
            .side = HTTP1_REQUESTS, .limits = trace_limits(), .bytes = span_of(whole.ptr, len)};
        struct trace trace;
        trace_run(&trace, &input);
        assert_int_equal(trace.error, 0);
        bool is_between = len <= 2 || len == whole.len;
        assert_int_equal(http1_has_begun(&trace.parser), !is_between);
        assert_int_equal(trace_eof(&trace), is_between ? HTTP1_MORE : HTTP1_ERROR);
        trace_fini(&trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gets_its_verdict_for_every_cut),
        cmocka_unit_test(an_unfinished_head_is_refused_at_its_first_bad_byte),
        cmocka_unit_test(every_byte_of_a_value_is_judged_wherever_it_stands),
        cmocka_unit_test(a_cut_request_is_an_error_only_once_it_has_begun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
