/* Guards two properties with many inputs made from a fixed seed: how the bytes
 * are cut never changes what is told, and no change to a valid message can do
 * worse than an error (a sanitizer build sees what that would be). */
#include "tests/lib/testlib.h"
#include "tests/unit/http1/trace.h"

#define CUTS_MAX          4096
#define CUT_ROUNDS        300
#define MUTATIONS         6000
#define CHANGES_MAX       4
#define MESSAGE_BYTES_MAX 8192

static const char *const requests[] = {
    "GET /a/b?c=%20d HTTP/1.1\r\nHost: example.test:8080\r\nUser-Agent: test/1.0 (x; y)\r\n"
    "Accept: */*\r\nCookie: a=b; c=d\r\n\r\n"
    "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\nIdempotency-Key: \"k-1\"\r\n\r\nhello "
    "world"
    "\r\nDELETE http://b:81?x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: [::1]:80\r\nTransfer-Encoding: chunked\r\nExpect: "
    "100-continue\r\n\r\n"
    "5\r\nhello\r\n10;ext=\"v\"\r\n0123456789abcdef\r\n0\r\nTrailer-A: 1\r\nTrailer-B: 2\r\n\r\n"
    "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    "\r\n\r\nPUT /old HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc",
};

static const char *const responses[] = {
    ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
     "HTTP/1.1 201 Created\r\nContent-Length : 5\r\nX: \t y z \r\n\r\nhellostray"),
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n00\r\nT: v\r\n\r\n",
    "HTTP/1.0 200\r\nServer: old\r\n\r\nuntil the connection closes",
    "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 9\r\n\r\n",
};

/* Fixed sequence: a failure is met again by running the test again. */
static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void check_cuts(struct trace_input input, uint32_t seed, size_t longest)
{
    size_t cuts[CUTS_MAX];
    struct trace whole, cut;
    input.cut_count = 0;
    trace_run(&whole, &input);
    input.cuts = cuts;
    input.cut_count = trace_random_cuts(seed, input.bytes.len, longest, cuts, CUTS_MAX);
    trace_run(&cut, &input);
    (void)trace_eof(&whole); /* their events are compared below */
    (void)trace_eof(&cut);
    if (!trace_is_same(&whole, &cut))
        fail_msg("seed %u longest %zu: %s\nbecame %s", seed, longest, gw_buf_span(&whole.text).ptr,
                 gw_buf_span(&cut.text).ptr);
    trace_fini(&whole);
    trace_fini(&cut);
}

static struct trace_input input_of(size_t index)
{
    bool is_request = index < GW_COUNT(requests);
    const char *text = is_request ? requests[index] : responses[index - GW_COUNT(requests)];
    return (struct trace_input){.side = is_request ? HTTP1_REQUESTS : HTTP1_RESPONSES,
                                .limits = trace_limits(),
                                .bytes = span_str(text)};
}

static void random_cuts_do_not_change_the_events(void **state)
{
    (void)state; /* none */
    for (size_t i = 0; i < GW_COUNT(requests) + GW_COUNT(responses); i++) {
        struct trace_input input = input_of(i);
        struct trace trace;
        trace_run(&trace, &input);
        assert_int_equal(trace.error, 0); /* so that the cuts cut something that is told */
        assert_true(trace.heads > 0);
        trace_fini(&trace);
        for (uint32_t seed = 0; seed < CUT_ROUNDS; seed++)
            check_cuts(input, seed, 1 + seed % 40);
    }
}

/* One small change of the kinds that break parsers. */
static void change(char *text, size_t *len, uint32_t *seed)
{
    static const char odd[] = {'\r', '\n', '\0', ' ', '\t', ':', ',', ';', '%',    '0',
                               'f',  '-',  '+',  '/', '*',  '[', ']', '"', '\x7f', '\xff'};
    size_t at = next_random(seed) % *len;
    char byte = odd[next_random(seed) % sizeof(odd)];
    size_t count = 1 + next_random(seed) % 8;
    switch (next_random(seed) % 5) {
    case 0:
        text[at] = byte;
        break;
    case 1:
        text[at] = (char)next_random(seed);
        break;
    case 2: /* insert */
        memmove(text + at + 1, text + at, *len - at);
        text[at] = byte;
        *len += 1;
        break;
    case 3: /* take out */
        count = count < *len - at ? count : *len - at;
        memmove(text + at, text + at + count, *len - at - count);
        *len -= count;
        break;
    default: /* double */
        count = count < *len - at ? count : *len - at;
        memmove(text + at + count, text + at, *len - at);
        *len += count;
        break;
    }
}

static void a_changed_message_is_at_worst_an_error(void **state)
{
    (void)state; /* none */
    uint32_t seed = 20240229;
    uint32_t errors = 0;
    for (uint32_t round = 0; round < MUTATIONS; round++) {
        struct trace_input input = input_of(round % (GW_COUNT(requests) + GW_COUNT(responses)));
        char text[MESSAGE_BYTES_MAX];
        size_t len = input.bytes.len;
        assert_true(len + CHANGES_MAX * 8 < sizeof(text));
        memcpy(text, input.bytes.ptr, len);
        uint32_t changes = 1 + next_random(&seed) % CHANGES_MAX;
        for (uint32_t i = 0; i < changes && len > 0; i++)
            change(text, &len, &seed);
        input.bytes = span_of(text, len);
        input.to_head = next_random(&seed) % 4 == 0 && input.side == HTTP1_RESPONSES;
        check_cuts(input, seed, 1 + next_random(&seed) % 30);
        struct trace trace;
        trace_run(&trace, &input);
        errors += trace.error != 0;
        trace_fini(&trace);
    }
    assert_true(errors > MUTATIONS / 10 && errors < MUTATIONS); /* both outcomes were met */
}

/* A parser that was given back in the middle of anything holds nothing. */
static void a_parser_can_be_left_at_any_byte(void **state)
{
    (void)state; /* none */
    for (size_t i = 0; i < GW_COUNT(requests) + GW_COUNT(responses); i++) {
        struct trace_input input = input_of(i);
        struct span whole = input.bytes;
        for (size_t len = 0; len < whole.len; len++) {
            struct http1_parser parser;
            struct span bytes = span_of(whole.ptr, len), body;
            http1_parser_init(&parser, input.side, &input.limits);
            assert_null(parser.head_bytes.ptr);
            assert_int_not_equal(http1_feed(&parser, &bytes, &body), HTTP1_ERROR);
            if (len % 2 == 0)
                http1_parser_reset(&parser);
            assert_true(len % 2 == 1 || parser.head_bytes.ptr == NULL);
            http1_parser_fini(&parser); /* the leak checker tells whether that was all */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cuts_do_not_change_the_events),
        cmocka_unit_test(a_changed_message_is_at_worst_an_error),
        cmocka_unit_test(a_parser_can_be_left_at_any_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
