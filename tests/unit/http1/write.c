/* Guards the writer: nothing it writes can end a line, a head or a chunk early,
 * and what it refuses or has no room for leaves the buffer as it was. */
#include "tests/lib/testlib.h"
#include "tests/unit/http1/trace.h"

static void lines_are_written_as_they_must_be(void **state)
{
    (void)state; /* none */
    struct gw_buf out;
    gw_buf_init(&out, 1 << 16);
    assert_true(http1_write_request_line(&out, SPAN("PATCH"), SPAN("/a?b=%20")));
    assert_true(http1_write_status_line(&out, 404, SPAN("Not Found")));
    assert_true(http1_write_status_line(&out, 599, SPAN("")));
    assert_true(http1_write_field(&out, SPAN("X-A"), SPAN("b c\t\xe9")));
    assert_true(http1_write_field(&out, SPAN("Empty"), SPAN("")));
    assert_true(http1_write_number_field(&out, SPAN("N"), 0));
    assert_true(http1_write_number_field(&out, SPAN("N"), UINT64_MAX));
    assert_true(http1_write_end_of_head(&out));
    assert_true(http1_write_chunk_size(&out, 0));
    assert_true(http1_write_chunk_size(&out, 5));
    assert_true(http1_write_chunk_size(&out, 0x1a2f));
    assert_true(http1_write_chunk_size(&out, UINT64_MAX));
    assert_true(span_equal(gw_buf_span(&out), SPAN("PATCH /a?b=%20 HTTP/1.1\r\n"
                                                   "HTTP/1.1 404 Not Found\r\n"
                                                   "HTTP/1.1 599 \r\n"
                                                   "X-A: b c\t\xe9\r\n"
                                                   "Empty: \r\n"
                                                   "N: 0\r\n"
                                                   "N: 18446744073709551615\r\n"
                                                   "\r\n"
                                                   "0\r\n5\r\n1a2f\r\nffffffffffffffff\r\n")));
    gw_buf_fini(&out);
}

/* Every byte in every place where a peer's or a configured text may go. */
static void no_byte_can_break_a_line(void **state)
{
    (void)state; /* none */
    struct gw_buf out;
    gw_buf_init(&out, 1 << 16);
    for (unsigned byte = 0; byte < 256; byte++) {
        const char text[] = {'a', (char)byte, 'b'};
        struct span span = span_of(text, sizeof(text));
        bool breaks = byte == 0 || byte == '\r' || byte == '\n';
        bool is_token = http1_is_token(span);
        gw_buf_clear(&out);
        assert_int_equal(http1_write_field(&out, span, SPAN("v")), is_token);
        assert_int_equal(http1_write_number_field(&out, span, 1), is_token);
        assert_int_equal(http1_write_request_line(&out, span, SPAN("/")), is_token);
        assert_true(is_token || out.len == 0);
        gw_buf_clear(&out);
        assert_int_equal(http1_write_field(&out, SPAN("N"), span), !breaks);
        assert_int_equal(http1_write_status_line(&out, 200, span), !breaks);
        assert_true(!breaks || out.len == 0);
        gw_buf_clear(&out);
        if (breaks || byte <= ' ' || byte >= 127) {
            assert_false(http1_write_request_line(&out, SPAN("GET"), span));
            assert_int_equal(out.len, 0);
        }
        if (breaks || byte == ' ' || byte == '\t' || byte == ':' || byte >= 127)
            assert_false(is_token);
    }
    assert_false(http1_write_field(&out, SPAN(""), SPAN("v")));
    assert_false(http1_write_request_line(&out, SPAN(""), SPAN("/")));
    assert_false(http1_write_request_line(&out, SPAN("GET"), SPAN("")));
    assert_false(http1_write_status_line(&out, 99, SPAN("")));
    assert_false(http1_write_status_line(&out, 600, SPAN("")));
    assert_int_equal(out.len, 0);
    gw_buf_fini(&out);
}

/* All of a line or nothing of it, for every size of the room that is left. */
static void a_full_buffer_gets_no_half_line(void **state)
{
    (void)state; /* none */
    for (size_t room = 0; room < 40; room++) {
        struct gw_buf out;
        gw_buf_init(&out, room);
        bool ok = http1_write_field(&out, SPAN("Name"), SPAN("value"));
        assert_int_equal(ok, room >= 13);
        assert_int_equal(out.len, ok ? 13 : 0);
        assert_int_equal(out.failed, !ok);
        gw_buf_clear(&out);
        ok = http1_write_status_line(&out, 200, SPAN("OK"));
        assert_int_equal(out.len, ok ? 17 : 0);
        gw_buf_clear(&out);
        ok = http1_write_request_line(&out, SPAN("GET"), SPAN("/"));
        assert_int_equal(out.len, ok ? 16 : 0);
        gw_buf_clear(&out);
        ok = http1_write_chunk_size(&out, 255);
        assert_int_equal(out.len, ok ? 4 : 0);
        gw_buf_fini(&out);
    }
}

static void what_is_written_reads_back(void **state)
{
    (void)state; /* none */
    struct gw_buf out;
    gw_buf_init(&out, 1 << 16);
    assert_true(http1_write_status_line(&out, 201, http1_reason(201)));
    assert_true(http1_write_field(&out, SPAN("Transfer-Encoding"), SPAN("chunked")));
    assert_true(http1_write_end_of_head(&out));
    for (size_t len = 1; len <= 33; len += 16) {
        assert_true(http1_write_chunk_size(&out, len));
        for (size_t i = 0; i < len; i++)
            assert_true(gw_buf_byte(&out, '\n'));
        assert_true(gw_buf_add(&out, SPAN("\r\n")));
    }
    assert_true(gw_buf_add(&out, SPAN("0\r\n\r\n")));
    struct trace trace;
    struct trace_input input = {.side = HTTP1_RESPONSES,
                                .limits = trace_limits(),
                                .bytes = gw_buf_span(&out),
                                .every_byte = true};
    trace_run(&trace, &input);
    assert_true(trace.has_final);
    assert_int_equal(trace.status, 201);
    struct gw_buf want;
    gw_buf_init(&want, 1 << 16);
    assert_true(gw_buf_add(&want, SPAN("BODY ")));
    for (size_t i = 0; i < 1 + 17 + 33; i++)
        assert_true(gw_buf_byte(&want, '\n'));
    assert_true(gw_buf_add(&want, SPAN("\nEND\n")));
    struct span text = gw_buf_span(&trace.text);
    assert_true(text.len > want.len);
    assert_memory_equal(text.ptr + text.len - want.len, want.ptr, want.len);
    gw_buf_fini(&want);
    trace_fini(&trace);
    gw_buf_fini(&out);
}

static void every_status_has_a_phrase(void **state)
{
    (void)state; /* none */
    assert_true(span_equal(http1_reason(200), SPAN("OK")));
    assert_true(span_equal(http1_reason(422), SPAN("Unprocessable Content")));
    assert_true(span_equal(http1_reason(299), SPAN("Status")));
    struct gw_buf out;
    gw_buf_init(&out, 1 << 16);
    for (uint16_t status = 100; status < 600; status++) {
        assert_true(http1_reason(status).len > 0);
        assert_true(http1_write_status_line(&out, status, http1_reason(status)));
    }
    gw_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_written_as_they_must_be),
        cmocka_unit_test(no_byte_can_break_a_line),
        cmocka_unit_test(a_full_buffer_gets_no_half_line),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(every_status_has_a_phrase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
