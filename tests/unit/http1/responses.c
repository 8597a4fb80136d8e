/* Guards the response side: every listed upstream script ends as it must, for
 * every cut of its bytes, and a body ends where RFC 9112 6.3 says. */
#include "tests/lib/testlib.h"
#include "tests/unit/http1/trace.h"

#define CASES SOURCE_DIR "/tests/data/http1/raw-upstream-response-cases.json"

/* The text holds one character below U+0100 for each byte. */
static struct gw_buf latin1(const json_t *send)
{
    struct gw_buf buf;
    gw_buf_init(&buf, TRACE_BYTES_MAX);
    if (send == NULL)
        return buf;
    struct span text = test_json_span(send);
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = (uint8_t)text.ptr[i];
        if (byte >= 0xc0)
            byte = (uint8_t)((byte & 3) << 6 | ((uint8_t)text.ptr[++i] & 0x3f));
        assert_true(gw_buf_byte(&buf, (char)byte));
    }
    return buf;
}

/* Did the step give a final answer that is whole? */
static bool run_step(const json_t *step, struct trace_input *input, struct trace *ret_trace)
{
    const char *then = json_string_value(json_object_get(step, "then"));
    trace_run(ret_trace, input);
    if (then != NULL && strncmp(then, "close", 5) == 0)
        (void)trace_eof(ret_trace); /* its event shows in has_final and error */
    return ret_trace->has_final;
}

static void check_cuts(const char *id, const json_t *step, struct trace_input *input,
                       const struct trace *whole)
{
    for (size_t cut = 0; cut < input->bytes.len; cut++) {
        struct trace trace;
        input->cuts = &cut;
        input->cut_count = 1;
        input->every_byte = cut == 0;        /* no cut there: that turn goes byte by byte */
        (void)run_step(step, input, &trace); /* compared as a whole below */
        if (!trace_is_same(whole, &trace))
            fail_msg("%s: other events when cut at %zu", id, cut);
        trace_fini(&trace);
    }
}

/* Is the answer to the last request of the script whole? The steps after it are
 * there to catch a caller that asks again, which a parser cannot do. */
static bool run_script(const json_t *test, const char *id)
{
    const json_t *script = json_object_get(test, "script");
    size_t requests = (size_t)json_integer_value(json_object_get(test, "requests"));
    const char *method = json_string_value(json_object_get(test, "method"));
    bool is_whole = false;
    for (size_t i = 0; i < requests; i++) {
        const json_t *step = json_array_get(script, i);
        struct gw_buf bytes = latin1(json_object_get(step, "send"));
        struct trace_input input = {.side = HTTP1_RESPONSES,
                                    .to_head = strcmp(method, "HEAD") == 0,
                                    .limits = trace_limits(),
                                    .bytes = gw_buf_span(&bytes)};
        struct trace whole;
        is_whole = run_step(step, &input, &whole);
        if (whole.error != 0)
            assert_int_equal(whole.error, 502);
        check_cuts(id, step, &input, &whole);
        trace_fini(&whole);
        gw_buf_fini(&bytes);
    }
    return is_whole;
}

static void every_script_ends_as_it_must_for_every_cut(void **state)
{
    (void)state; /* none */
    json_t *root = test_load_vectors(CASES);
    size_t i, count = 0;
    const json_t *test;
    json_array_foreach(json_object_get(root, "cases"), i, test)
    {
        const char *id = json_string_value(json_object_get(test, "id"));
        const char *expect = json_string_value(json_object_get(test, "expect_receipt"));
        bool is_whole = run_script(test, id);
        if (strcmp(expect, "complete") == 0 && !is_whole)
            fail_msg("%s is a whole answer", id);
        if (strcmp(expect, "unknown") == 0 && is_whole)
            fail_msg("%s is no whole answer", id);
        count++;
    }
    assert_true(count >= 30);
    json_decref(root);
}

struct answer {
    const char *bytes;
    bool to_head;
    bool is_final; /* whole without a close */
    bool keep_alive;
    size_t left;
    uint16_t status;
};

static void check_answer(const struct answer *want)
{
    struct trace trace;
    struct trace_input input = {.side = HTTP1_RESPONSES,
                                .to_head = want->to_head,
                                .limits = trace_limits(),
                                .bytes = span_str(want->bytes)};
    trace_run(&trace, &input);
    if (trace.error != 0 || trace.has_final != want->is_final ||
        trace.keep_alive != want->keep_alive || trace.left != want->left ||
        trace.status != want->status)
        fail_msg("final %d alive %d left %zu status %u error %u: %s", trace.has_final,
                 trace.keep_alive, trace.left, trace.status, trace.error, want->bytes);
    trace_fini(&trace);
}

static void a_body_ends_where_the_head_says(void **state)
{
    (void)state; /* none */
    static const struct answer answers[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokstray", false, true, true, 5, 200},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, true, true, 0, 200},
        {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", false, true, true, 0, 200},
        {"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", false, true, true, 0, 200},
        {"HTTP/1.1 599 \xe9t\xe9\r\nContent-Length: 0\r\n\r\n", false, true, true, 0, 599},
        {"HTTP/1.9 200 OK\r\nContent-Length: 0\r\n\r\n", false, true, true, 0, 200},
        /* The same length twice is one length; in another spelling too. */
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 02\r\n\r\nok", false, true, true,
         0, 200},
        {"HTTP/1.1 200 OK\r\nContent-Length \t: 2\r\n\r\nok", false, true, true, 0, 200},
        {"HTTP/1.1 200 OK\r\nX: a\x01z\r\nContent-Length: 2\r\n\r\nok", false, true, true, 0, 200},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\nT : v\r\n\r\nx",
         false, true, true, 1, 200},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: x, Close\r\n\r\nok", false, true,
         false, 0, 200},
        {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false, true, false, 0, 200},
        {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", false, true,
         true, 0, 200},
        {"HTTP/1.1 200 OK\r\n\r\nuntil the end", false, false, false, 0, 200},
        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nuntil", false, false, false, 0, 200},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour", false, false, true, 0, 200},
        /* No body, whatever the fields say. */
        {"HTTP/1.1 204 No Content\r\n\r\n", false, true, true, 0, 204},
        {"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", false, true, true, 0, 204},
        {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", false, true, false, 5, 204},
        {"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", false, true, false, 0,
         204},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", false, true, false, 0, 304},
        {"HTTP/1.1 304 Not Modified\r\n\r\n", false, true, true, 0, 304},
        {"HTTP/1.1 204 No Content\r\nContent-Length: x\r\n\r\n", false, true, false, 0, 204},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, true, true, 0, 200},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, true, true, 0, 200},
        {"HTTP/1.1 200 OK\r\n\r\n", true, true, true, 0, 200},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", true, true, false, 0,
         200},
        /* Interim answers end with their head; HEAD is still what was asked. */
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
         true, true, true, 0, 200},
        {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", false, false, true, 0, 103},
    };
    for (size_t i = 0; i < GW_COUNT(answers); i++)
        check_answer(&answers[i]);
}

/* What HEAD changed for one answer must not change the next one. */
static void an_answer_to_head_does_not_colour_the_next_answer(void **state)
{
    (void)state; /* none */
    struct http1_limits limits = trace_limits();
    struct http1_parser parser;
    struct span body, bytes = SPAN("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
    http1_parser_init(&parser, HTTP1_RESPONSES, &limits);
    http1_parser_answers_head(&parser, true);
    assert_int_equal(http1_feed(&parser, &bytes, &body), HTTP1_HEAD);
    assert_int_equal(http1_feed(&parser, &bytes, &body), HTTP1_END);
    http1_parser_reset(&parser);
    bytes = SPAN("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_int_equal(http1_feed(&parser, &bytes, &body), HTTP1_HEAD);
    assert_int_equal(http1_feed(&parser, &bytes, &body), HTTP1_BODY);
    assert_true(span_equal(body, SPAN("ok")));
    http1_parser_fini(&parser);
}

static void what_is_no_answer_is_refused_as_soon_as_it_shows(void **state)
{
    (void)state; /* none */
    static const char *const broken[] = {
        "\r",
        "h",
        "HTTP/2.0 200 OK\r\n",
        "HTTP/1.1  ",
        "HTTP/1.1 20 ",
        "HTTP/1.1 2000",
        "HTTP/1.1 099 Odd\r\n",
        "HTTP/1.1 600 Odd\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n",
        "HTTP/1.1 200 OK\n",
        "HTTP/1.1 200 OK\r\nX: a\n",
        "HTTP/1.1 200 OK\r\nX: a\rb",
        "HTTP/1.1 200 OK\r\nX: a\r\n ",
        "HTTP/1.1 200 OK\r\nX Y",
        "HTTP/1.1 200 OK\r\nX\r",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2, 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551618\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokk",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n12345678123456781",
    };
    for (size_t i = 0; i < GW_COUNT(broken); i++)
        if (!trace_fails_at_its_last_byte(HTTP1_RESPONSES, span_str(broken[i]), 502))
            fail_msg("not refused at its last byte: %s", broken[i]);
    assert_true(
        trace_fails_at_its_last_byte(HTTP1_RESPONSES, SPAN("HTTP/1.1 200 OK\r\nX: a\0"), 502));
}

/* Only a body until close may end with the connection. */
static void a_close_ends_only_a_body_until_close(void **state)
{
    (void)state; /* none */
    static const struct {
        const char *bytes;
        enum http1_event event;
    } closes[] = {
        {"", HTTP1_MORE},
        {"H", HTTP1_ERROR},
        {"HTTP/1.1 200 OK\r\n", HTTP1_ERROR},
        {"HTTP/1.1 200 OK\r\n\r\n", HTTP1_END},
        {"HTTP/1.1 200 OK\r\n\r\nab", HTTP1_END},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", HTTP1_ERROR},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP1_ERROR},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", HTTP1_ERROR},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: v\r\n", HTTP1_ERROR},
        {"HTTP/1.1 100 Continue\r\n\r\n", HTTP1_MORE},
    };
    for (size_t i = 0; i < GW_COUNT(closes); i++) {
        struct trace trace;
        struct trace_input input = {
            .side = HTTP1_RESPONSES, .limits = trace_limits(), .bytes = span_str(closes[i].bytes)};
        trace_run(&trace, &input);
        assert_int_equal(trace.error, 0);
        assert_int_equal(trace_eof(&trace), closes[i].event);
        trace_fini(&trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_script_ends_as_it_must_for_every_cut),
        cmocka_unit_test(a_body_ends_where_the_head_says),
        cmocka_unit_test(an_answer_to_head_does_not_colour_the_next_answer),
        cmocka_unit_test(what_is_no_answer_is_refused_as_soon_as_it_shows),
        cmocka_unit_test(a_close_ends_only_a_body_until_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
