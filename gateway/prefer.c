/* Takes the Prefer lines of a request apart. It must never refuse a request: what is
 * no preference is none. */
#include "gateway/prefer.h"

#include "base/text.h"

static struct span trim(struct span text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = span_of(text.ptr + 1, text.len - 1);
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

/* Up to the next `end` outside of quotes; the rest begins behind it. */
static struct span take_until(struct span *rest, char end)
{
    bool is_quoted = false;
    size_t len = 0;
    for (; len < rest->len && (is_quoted || rest->ptr[len] != end); len++) {
        if (is_quoted && rest->ptr[len] == '\\' && len + 1 < rest->len)
            len++;
        else if (rest->ptr[len] == '"')
            is_quoted = !is_quoted;
    }
    struct span taken = span_of(rest->ptr, len);
    size_t used = len < rest->len ? len + 1 : len;
    *rest = span_of(rest->ptr + used, rest->len - used);
    return trim(taken);
}

static struct span unquoted(struct span text)
{
    bool is_quoted = text.len >= 2 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"';
    return is_quoted ? span_of(text.ptr + 1, text.len - 2) : text;
}

static void read_one(struct span item, struct prefer *ret)
{
    struct span preference = take_until(&item, ';');
    struct span name = take_until(&preference, '='), value = unquoted(trim(preference));
    uint64_t seconds = 0;
    if (span_equal_nocase(name, SPAN("respond-async")) && value.len == 0)
        ret->respond_async = true;
    if (!ret->has_wait && span_equal_nocase(name, SPAN("wait")) && gw_parse_u64(value, &seconds)) {
        ret->has_wait = true;
        ret->wait_s = seconds;
    }
}

void prefer_read(const struct http_head *head, struct prefer *ret)
{
    const struct http_field *field = NULL;
    *ret = (struct prefer){0};
    for (uint32_t from = 0; (field = http_head_find(head, SPAN("Prefer"), from)) != NULL;
         from = (uint32_t)(field - head->fields) + 1) {
        struct span rest = field->value;
        while (rest.len > 0)
            read_one(take_until(&rest, ','), ret);
    }
}
