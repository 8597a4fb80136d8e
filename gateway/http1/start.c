/* Start lines as a whole: the version, the method, the target, the status. The
 * scanner has let every byte of the line pass before; so the parts are where its
 * places put them. Checked as soon as the line ends, before any field comes. */
#include "gateway/http1/parts.h"

#define VERSION_BYTES 8 /* HTTP/1.1 */

struct http1_request_line http1_split_request_line(struct span line)
{
    const char *space = memchr(line.ptr, ' ', line.len);
    gw_assert(space != NULL);
    gw_assert(line.ptr + line.len - space > VERSION_BYTES + 2);
    const char *target = space + 1;
    size_t len = (size_t)(line.ptr + line.len - target) - VERSION_BYTES - 1;
    return (struct http1_request_line){
        .method = span_of(line.ptr, (size_t)(space - line.ptr)),
        .target = span_of(target, len),
    };
}

/* CONNECT and TRACE are left out on purpose: this is no tunnel and no mirror. */
static bool is_served(struct span method)
{
    static const struct span methods[] = {
        {"GET", 3},  {"POST", 4},   {"PUT", 3},     {"PATCH", 5},
        {"HEAD", 4}, {"DELETE", 6}, {"OPTIONS", 7},
    };
    for (size_t i = 0; i < GW_COUNT(methods); i++)
        if (span_equal(method, methods[i]))
            return true;
    return false;
}

static bool fail(struct http1_fault *fault, uint16_t status, const char *text)
{
    *fault = (struct http1_fault){status, text};
    return false;
}

static bool check_request_line(struct span line, struct http1_fault *fault)
{
    if (line.ptr[line.len - 3] != '1')
        return fail(fault, 505, "only HTTP/1 is spoken here");
    struct http1_request_line parts = http1_split_request_line(line);
    if (!is_served(parts.method))
        return fail(fault, 501, "the method is not known here");
    struct http1_target target;
    const char *text = http1_split_target(parts.method, parts.target, &target);
    return text == NULL || fail(fault, 400, text);
}

static bool check_status_line(struct span line, struct http1_fault *fault)
{
    gw_assert(line.len >= VERSION_BYTES + 4);
    if (line.ptr[5] != '1')
        return fail(fault, 502, "the answer is not HTTP/1");
    if (line.ptr[9] < '1' || line.ptr[9] > '5')
        return fail(fault, 502, "the status is not in 100 to 599");
    if (memcmp(line.ptr + 9, "101", 3) == 0)
        return fail(fault, 502, "the answer switches protocols unasked");
    return true;
}

bool http1_check_start_line(enum http1_side side, struct span line, struct http1_fault *ret_fault)
{
    return side == HTTP1_REQUESTS ? check_request_line(line, ret_fault)
                                  : check_status_line(line, ret_fault);
}
