/* Feeds bodies to the form reader: no bytes crash it, the pairs lie inside the body,
 * and a body that is accepted keeps its canonical form when each byte is written
 * as an escape and the pairs of different names change places. */
#include <stdlib.h>

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

struct pairs {
    struct form_pair *list;
    uint32_t count;
};

static bool pairs_read(struct span body, struct pairs *pairs)
{
    struct json_fault fault = {0, NULL};
    uint32_t room = form_count(body);
    pairs->list = malloc(room == 0 ? 1 : room * sizeof(*pairs->list));
    gw_assert(pairs->list != NULL);
    if (!form_parse(body, pairs->list, room, &pairs->count, &fault)) {
        gw_assert(fault.offset < body.len && body.ptr[fault.offset] == '%');
        free(pairs->list);
        return false;
    }
    gw_assert(pairs->count == room);
    return true;
}

static void hear(struct span body, const struct pairs *pairs, struct heard *heard)
{
    *heard = (struct heard){.members = 0};
    gw_buf_init(&heard->bytes, FORM_BYTES_MAX);
    struct canonical_sink sink = {put, member_begin, member_end, heard};
    canonical_form(body, pairs->list, pairs->count, &sink);
    gw_assert(heard->open == 0);
}

static void escape_put(void *ctx, struct span piece)
{
    for (size_t i = 0; i < piece.len; i++)
        gw_assert(gw_buf_print(ctx, i % 2 ? "%%%02x" : "%%%02X", (unsigned char)piece.ptr[i]));
}

/* The sorted pairs wholly escaped: the order within a name is still that of the body. */
static void rewrite(struct span body, const struct pairs *pairs, struct gw_buf *out)
{
    for (uint32_t i = 0; i < pairs->count; i++) {
        const struct form_pair *pair = &pairs->list[i];
        gw_assert(pair->name <= pair->name_end && pair->name_end <= pair->value);
        gw_assert(pair->value <= pair->value_end && pair->value_end <= body.len);
        gw_assert(gw_buf_add(out, SPAN("&&")));
        form_decode(span_of(body.ptr + pair->name, pair->name_end - pair->name), escape_put, out);
        if (pair->has_value)
            gw_assert(gw_buf_byte(out, '='));
        form_decode(span_of(body.ptr + pair->value, pair->value_end - pair->value), escape_put,
                    out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span body = span_of((const char *)data, size);
    struct pairs pairs, again;
    struct heard first, second;
    struct gw_buf other;
    if (size > BODY_BYTES_MAX || !pairs_read(body, &pairs))
        return 0;
    hear(body, &pairs, &first);
    gw_buf_init(&other, FORM_BYTES_MAX);
    rewrite(body, &pairs, &other);
    gw_assert(pairs_read(gw_buf_span(&other), &again));
    gw_assert(again.count == pairs.count);
    hear(gw_buf_span(&other), &again, &second);
    gw_assert(span_equal(gw_buf_span(&first.bytes), gw_buf_span(&second.bytes)));
    gw_assert(first.members == second.members);
    gw_assert(form_find(body, pairs.list, pairs.count, SPAN("a")) ==
              form_find(gw_buf_span(&other), again.list, again.count, SPAN("a")));
    gw_buf_fini(&first.bytes);
    gw_buf_fini(&second.bytes);
    gw_buf_fini(&other);
    free(pairs.list);
    free(again.list);
    return 0;
}
