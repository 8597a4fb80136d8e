/* Feeds bodies to the multipart reader: no bytes crash it, what it accepts has
 * balanced members that can be shown, and the canonical form is always the same.
 * The first line of the input is the boundary. */
#include "base/buf.h"
#include "policy/canonical.h"
#include "policy/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_BYTES_MAX ((size_t)1 << 20)
#define FORM_BYTES_MAX ((size_t)1 << 26)

struct heard {
    struct gw_buf bytes;
    uint32_t members, open;
};

static void put(void *ctx, struct span bytes)
{
    gw_assert(gw_buf_add(&((struct heard *)ctx)->bytes, bytes));
}

static void member_begin(void *ctx, struct span pointer)
{
    struct heard *heard = ctx;
    gw_assert(pointer.len >= 1 && pointer.len <= CANONICAL_POINTER_BYTES_MAX);
    for (size_t at = 0; at < pointer.len;) {
        size_t len = utf8_sequence(pointer, at);
        gw_assert(len > 0 && (unsigned char)pointer.ptr[at] >= 0x20);
        at += len;
    }
    gw_assert(++heard->members <= CANONICAL_MEMBERS_MAX);
    gw_assert(++heard->open == 1);
}

static void member_end(void *ctx)
{
    gw_assert(--((struct heard *)ctx)->open == 0);
}

static bool hear(struct span body, struct span boundary, struct heard *heard)
{
    struct json_fault fault = {0, NULL};
    *heard = (struct heard){.members = 0};
    gw_buf_init(&heard->bytes, FORM_BYTES_MAX);
    struct canonical_sink sink = {put, member_begin, member_end, heard};
    bool is_good = canonical_multipart(body, boundary, &sink, &fault);
    gw_assert(is_good || (fault.text != NULL && fault.offset <= body.len));
    gw_assert(!is_good || (heard->open == 0 && heard->bytes.len >= 4));
    return is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span body = span_of((const char *)data, size);
    size_t line = 0;
    while (line < size && data[line] != '\n')
        line++;
    if (line == size || size > BODY_BYTES_MAX)
        return 0;
    struct span boundary = span_of(body.ptr, line);
    body = span_of(body.ptr + line + 1, size - line - 1);
    struct heard first, longer;
    bool is_good = hear(body, boundary, &first);
    /* One more byte at the end: either refused or, as the epilogue, counted. */
    struct gw_buf more;
    gw_buf_init(&more, BODY_BYTES_MAX + 1);
    gw_assert(gw_buf_add(&more, body));
    gw_assert(gw_buf_byte(&more, 'x'));
    if (hear(gw_buf_span(&more), boundary, &longer) && is_good)
        gw_assert(!span_equal(gw_buf_span(&first.bytes), gw_buf_span(&longer.bytes)));
    gw_buf_fini(&more);
    gw_buf_fini(&first.bytes);
    gw_buf_fini(&longer.bytes);
    return 0;
}
