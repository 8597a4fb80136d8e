/* Any bytes as a stream of HTTP/1.1 requests: never worse than an error, the same
 * events for every cut, and every head that passes can be written and read back.
 * Input: a byte of flags, two bytes that choose the cuts, then the stream. */
#include "tests/unit/http1/trace.h"

#define FRONT_BYTES 3
#define CUTS_MAX    4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct trace_input *input)
{
    struct trace_input at_once = *input;
    struct trace whole, cut;
    at_once.cut_count = 0;
    at_once.every_byte = false;
    trace_run(&whole, &at_once);
    trace_run(&cut, input);
    gw_assert(trace_eof(&whole) == trace_eof(&cut));
    gw_assert(trace_is_same(&whole, &cut));
    trace_fini(&whole);
    trace_fini(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < FRONT_BYTES)
        return 0;
    size_t cuts[CUTS_MAX];
    size_t len = size - FRONT_BYTES;
    uint32_t seed = (uint32_t)data[1] << 8 | data[2];
    struct trace_input input = {.side = HTTP1_REQUESTS,
                                .limits = trace_limits(),
                                .bytes = span_of((const char *)data + FRONT_BYTES, len),
                                .every_byte = (data[0] & 1) != 0,
                                .cuts = cuts};
    if ((data[0] & 2) != 0) /* so that limits are met by short inputs */
        input.limits = (struct http1_limits){24, 160, 4};
    input.cut_count = trace_random_cuts(seed, len, 1 + seed % 61, cuts, CUTS_MAX);
    check(&input);
    return 0;
}
