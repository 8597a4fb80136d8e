/* Puts one member into a JSON object. It must never write a body in which a name
 * stands twice, nor change a byte that the caller sent. */
#include "gateway/splice.h"

#define MEMBER_BYTES_MAX 8192 /* of name and value, escaped */

enum splice_verdict splice_find(const struct json_doc *doc, const struct json_pointer *pointer,
                                struct splice *ret)
{
    gw_assert(pointer->step_count > 0);
    if (doc == NULL)
        return SPLICE_NO_OBJECT;
    const struct json_pointer above = {.steps = pointer->steps,
                                       .step_count = pointer->step_count - 1};
    uint32_t at = json_find(doc, &above);
    if (at == JSON_NONE || doc->nodes[at].kind != JSON_KIND_OBJECT)
        return SPLICE_NO_OBJECT;
    if (json_find(doc, pointer) != JSON_NONE)
        return SPLICE_TAKEN;
    gw_assert(doc->text.ptr[doc->nodes[at].start] == '{');
    *ret = (struct splice){.is_on = true,
                           .at = doc->nodes[at].start + 1,
                           .needs_comma = doc->nodes[at].child != JSON_NONE};
    return SPLICE_READY;
}

bool splice_apply(struct splice *splice, struct span name, struct span value, struct gw_buf *body)
{
    struct gw_buf member;
    gw_assert(splice->is_on);
    if (splice->is_done)
        return true;
    gw_assert(splice->at <= body->len);
    gw_buf_init(&member, MEMBER_BYTES_MAX);
    gw_json_string(&member, name);
    (void)gw_buf_byte(&member, ':'); /* a full buffer is seen below */
    gw_json_string(&member, value);
    if (splice->needs_comma)
        (void)gw_buf_byte(&member, ',');
    size_t len = member.len, rest = body->len - splice->at;
    bool ok = !member.failed && gw_buf_reserve(body, len);
    if (ok) {
        memmove(body->ptr + splice->at + len, body->ptr + splice->at, rest);
        memcpy(body->ptr + splice->at, member.ptr, len);
        body->len += len;
    }
    gw_buf_fini(&member);
    splice->is_done = ok;
    return ok;
}
