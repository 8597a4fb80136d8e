/* Guards every limit of the codec: what is exactly at it passes, one byte or line
 * more is refused with the limit's own status, and no limit waits for the end. */
#include "gateway/http1/parts.h"
#include "tests/lib/testlib.h"
#include "tests/unit/http1/trace.h"

#define CHUNKED_HEAD "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

static void add(struct gw_buf *buf, struct span bytes)
{
    assert_true(gw_buf_add(buf, bytes));
}

static void fill(struct gw_buf *buf, char byte, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_true(gw_buf_byte(buf, byte));
}

/* 0: taken whole. Whole and byte by byte must agree. Frees the buffer. */
static uint16_t outcome(struct gw_buf *bytes, struct http1_limits limits)
{
    struct trace whole, slow;
    struct trace_input input = {
        .side = HTTP1_REQUESTS, .limits = limits, .bytes = gw_buf_span(bytes)};
    trace_run(&whole, &input);
    input.every_byte = true;
    trace_run(&slow, &input);
    assert_true(trace_is_same(&whole, &slow));
    uint16_t error = whole.error;
    if (error == 0)
        assert_true(whole.ends > 0);
    trace_fini(&whole);
    trace_fini(&slow);
    gw_buf_fini(bytes);
    return error;
}

static struct gw_buf start(struct span bytes)
{
    struct gw_buf buf;
    gw_buf_init(&buf, TRACE_BYTES_MAX);
    add(&buf, bytes);
    return buf;
}

static uint16_t with_target(size_t len)
{
    struct gw_buf buf = start(SPAN("GET /"));
    fill(&buf, 'a', len - 1);
    add(&buf, SPAN(" HTTP/1.1\r\nHost: a\r\n\r\n"));
    return outcome(&buf, trace_limits());
}

static void the_target_limit_gives_414(void **state)
{
    (void)state; /* none */
    assert_int_equal(with_target(8192), 0);
    assert_int_equal(with_target(8193), 414);
    /* Said at the first byte too many, without the end of the line. */
    struct gw_buf buf = start(SPAN("GET /"));
    fill(&buf, 'a', 8192);
    assert_true(trace_fails_at_its_last_byte(HTTP1_REQUESTS, gw_buf_span(&buf), 414));
    gw_buf_fini(&buf);
    /* A target that breaks the limit of the head first is still a target too long. */
    buf = start(SPAN("GET /aaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_int_equal(outcome(&buf, (struct http1_limits){8192, 20, 100}), 414);
}

static uint16_t with_head(size_t len)
{
    const struct span front = SPAN("GET / HTTP/1.1\r\nHost: a\r\nX: "), end = SPAN("\r\n\r\n");
    struct gw_buf buf = start(front);
    fill(&buf, 'a', len - front.len - end.len);
    add(&buf, end);
    return outcome(&buf, trace_limits());
}

static void the_head_limit_gives_431(void **state)
{
    (void)state; /* none */
    assert_int_equal(with_head(32768), 0);
    assert_int_equal(with_head(32769), 431);
    struct gw_buf buf = start(SPAN("GET / HTTP/1.1\r\nX: "));
    fill(&buf, 'a', 32769 - buf.len);
    assert_true(trace_fails_at_its_last_byte(HTTP1_REQUESTS, gw_buf_span(&buf), 431));
    gw_buf_fini(&buf);
    buf = start(SPAN("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_int_equal(outcome(&buf, (struct http1_limits){0, 0, 0}), 431);
}

/* An empty line before the request is no part of the head. */
static void the_head_limit_does_not_count_what_is_around_the_head(void **state)
{
    (void)state; /* none */
    struct gw_buf buf =
        start(SPAN("\r\n\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n"));
    uint32_t head_bytes = (uint32_t)buf.len - 4;
    fill(&buf, 'b', 30);
    assert_int_equal(outcome(&buf, (struct http1_limits){1, head_bytes, 2}), 0);
}

static uint16_t with_fields(const char *front, size_t count, const char *end)
{
    struct gw_buf buf = start(span_str(front));
    for (size_t i = 0; i < count; i++)
        add(&buf, SPAN("X: y\r\n"));
    add(&buf, span_str(end));
    return outcome(&buf, trace_limits());
}

static void the_field_limit_gives_431(void **state)
{
    (void)state; /* none */
    const char *front = "GET / HTTP/1.1\r\nHost: a\r\n";
    assert_int_equal(with_fields(front, 99, "\r\n"), 0);
    assert_int_equal(with_fields(front, 100, "\r\n"), 431);
    assert_int_equal(with_fields(front, 99, "Y"), 431); /* at its first byte */
}

static void trailers_have_the_limits_of_a_head(void **state)
{
    (void)state; /* none */
    const char *front = CHUNKED_HEAD "0\r\n";
    assert_int_equal(with_fields(front, 100, "\r\n"), 0);
    assert_int_equal(with_fields(front, 101, "\r\n"), 431);
    assert_int_equal(with_fields(front, 1, "X Y: z\r\n\r\n"), 400);
    assert_int_equal(with_fields(front, 1, " z\r\n\r\n"), 400);
    assert_int_equal(with_fields(front, 1, "X: y\n\r\n"), 400);
    for (size_t over = 0; over < 2; over++) {
        struct gw_buf buf = start(span_str(front));
        add(&buf, SPAN("T: "));
        fill(&buf, 't', 32768 - 7 + over);
        add(&buf, SPAN("\r\n\r\n"));
        assert_int_equal(outcome(&buf, trace_limits()), over == 0 ? 0 : 431);
    }
}

static void empty_lines_before_a_request_are_few(void **state)
{
    (void)state; /* none */
    struct gw_buf buf = start(SPAN("\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_int_equal(outcome(&buf, trace_limits()), 0);
    assert_true(trace_fails_at_its_last_byte(HTTP1_REQUESTS, SPAN("\r\n\r\n\r\n\r\n\r"), 400));
    assert_true(trace_fails_at_its_last_byte(HTTP1_REQUESTS, SPAN("\r\r"), 400));
}

static void an_endless_method_is_refused(void **state)
{
    (void)state; /* none */
    struct gw_buf buf = start(SPAN(""));
    fill(&buf, 'A', HTTP1_METHOD_BYTES_MAX + 1);
    assert_true(trace_fails_at_its_last_byte(HTTP1_REQUESTS, gw_buf_span(&buf), 501));
    gw_buf_fini(&buf);
}

static uint16_t with_chunks(const char *chunks)
{
    struct gw_buf buf = start(SPAN(CHUNKED_HEAD));
    add(&buf, span_str(chunks));
    return outcome(&buf, trace_limits());
}

static void chunk_lines_are_read_to_the_letter(void **state)
{
    (void)state; /* none */
    static const struct {
        const char *chunks;
        uint16_t status;
    } cases[] = {
        {"0\r\n\r\n", 0},
        {"a\r\n0123456789\r\n0\r\n\r\n", 0},
        {"A\r\n0123456789\r\n000\r\n\r\n", 0},
        {"0000000000000003\r\nabc\r\n0000000000000000\r\n\r\n", 0},
        {"00000000000000003\r\nabc\r\n0\r\n\r\n", 400},
        {"3;\r\nabc\r\n0;x=\"y z\"\r\n\r\n", 0},
        {"3\r\nabc\r\n0\r\nContent-Length: x\r\nHost:\r\nTransfer-Encoding: gzip\r\n\r\n", 0},
        {"40000001", 413},
        {"fffffffff\r\n", 413},
        {"10000000000000000\r\n", 413},
        {"\r\n", 400},
        {";x\r\n", 400},
        {" 3\r\n", 400},
        {"3 \r\n", 400},
        {"3 ;x\r\n", 400},
        {"3\t\r\n", 400},
        {"0x3\r\n", 400},
        {"+3\r\n", 400},
        {"-0\r\n", 400},
        {"3g\r\n", 400},
        {"3\n", 400},
        {"3;x\n", 400},
        {"3;x\ry", 400},
        {"3\rx", 400},
        {"3\r\nabcd", 400},
        {"3\r\nabc\n", 400},
        {"3\r\nabc\r\r", 400},
        {"3\r\nabc\r\n\r\n", 400},
        {"0\r\n\n", 400},
        {"0\r\n\rx", 400},
    };
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        uint16_t status = with_chunks(cases[i].chunks);
        if (status != cases[i].status)
            fail_msg("want %u, got %u: %s", cases[i].status, status, cases[i].chunks);
    }
}

/* The largest chunk that is let in is still waited for. */
static void a_chunk_at_its_limit_is_waited_for(void **state)
{
    (void)state; /* none */
    struct trace trace;
    struct trace_input input = {.side = HTTP1_REQUESTS,
                                .limits = trace_limits(),
                                .bytes = SPAN(CHUNKED_HEAD "40000000\r\nabc")};
    trace_run(&trace, &input);
    assert_int_equal(trace.error, 0);
    assert_true(trace.in_body);
    trace_fini(&trace);
}

static uint16_t with_extensions(size_t lines, size_t len)
{
    struct gw_buf buf = start(SPAN(CHUNKED_HEAD));
    for (size_t i = 0; i < lines; i++) {
        add(&buf, SPAN("1;"));
        fill(&buf, 'e', len);
        add(&buf, SPAN("\r\nx\r\n"));
    }
    add(&buf, SPAN("0\r\n\r\n"));
    return outcome(&buf, trace_limits());
}

static void extensions_are_bounded_by_line_and_by_message(void **state)
{
    (void)state; /* none */
    size_t lines = HTTP1_EXTENSION_MESSAGE_BYTES_MAX / HTTP1_EXTENSION_LINE_BYTES_MAX;
    assert_int_equal(with_extensions(lines, HTTP1_EXTENSION_LINE_BYTES_MAX), 0);
    assert_int_equal(with_extensions(lines + 1, HTTP1_EXTENSION_LINE_BYTES_MAX), 400);
    assert_int_equal(with_extensions(1, HTTP1_EXTENSION_LINE_BYTES_MAX + 1), 400);
    assert_int_equal(with_extensions(HTTP1_EXTENSION_MESSAGE_BYTES_MAX, 1), 0);
    assert_int_equal(with_extensions(HTTP1_EXTENSION_MESSAGE_BYTES_MAX + 1, 1), 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_target_limit_gives_414),
        cmocka_unit_test(the_head_limit_gives_431),
        cmocka_unit_test(the_head_limit_does_not_count_what_is_around_the_head),
        cmocka_unit_test(the_field_limit_gives_431),
        cmocka_unit_test(trailers_have_the_limits_of_a_head),
        cmocka_unit_test(empty_lines_before_a_request_are_few),
        cmocka_unit_test(an_endless_method_is_refused),
        cmocka_unit_test(chunk_lines_are_read_to_the_letter),
        cmocka_unit_test(a_chunk_at_its_limit_is_waited_for),
        cmocka_unit_test(extensions_are_bounded_by_line_and_by_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
