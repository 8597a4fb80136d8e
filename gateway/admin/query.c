/* Splits and decodes a query. It knows no parameter's meaning. */
#include "gateway/admin/query.h"

#include "base/text.h"
#include "store/store.h"

#include <stdio.h>

bool query_decode(struct arena *arena, struct span text, bool is_query, struct span *ret)
{
    char *to = arena_take(arena, text.len + 1);
    size_t len = 0;
    if (to == NULL)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '%') {
            to[len++] = is_query && text.ptr[i] == '+' ? ' ' : text.ptr[i];
            continue;
        }
        if (text.len - i < 3 || !gw_hex_decode(span_of(text.ptr + i + 1, 2), to + len, 1))
            return false;
        len++;
        i += 2;
    }
    *ret = span_of(to, len);
    return true;
}

static bool add_pair(struct arena *arena, struct span item, struct query *query)
{
    size_t at = 0;
    while (at < item.len && item.ptr[at] != '=')
        at++;
    if (query->count == QUERY_PAIRS_MAX) {
        (void)snprintf(query->fault, sizeof(query->fault), "There are more than %d parameters.",
                       QUERY_PAIRS_MAX); /* it fits */
        return false;
    }
    struct query_pair pair;
    struct span value =
        at < item.len ? span_of(item.ptr + at + 1, item.len - at - 1) : span_of("", 0);
    if (!query_decode(arena, span_of(item.ptr, at), true, &pair.name) ||
        !query_decode(arena, value, true, &pair.value)) {
        (void)snprintf(query->fault, sizeof(query->fault),
                       "The query holds a broken percent escape."); /* it fits */
        return false;
    }
    for (uint32_t i = 0; i < query->count; i++)
        if (span_equal(query->pairs[i].name, pair.name)) {
            (void)snprintf(query->fault, sizeof(query->fault), "%.*s is given twice.",
                           (int)(pair.name.len > 64 ? 64 : pair.name.len),
                           pair.name.ptr); /* it fits */
            return false;
        }
    query->pairs[query->count++] = pair;
    return true;
}

bool query_parse(struct arena *arena, struct span text, struct query *query)
{
    query->count = 0;
    size_t start = 0;
    while (start < text.len) {
        size_t end = start;
        while (end < text.len && text.ptr[end] != '&')
            end++;
        if (end > start && !add_pair(arena, span_of(text.ptr + start, end - start), query))
            return false;
        start = end + 1;
    }
    return true;
}

bool operation_id_is_sound(struct span id)
{
    return id.len == OPERATION_ID_BYTES && memcmp(id.ptr, "op_", 3) == 0 &&
           gw_base32_is_sound(span_of(id.ptr + 3, id.len - 3));
}

bool plan_id_is_sound(struct span id)
{
    return id.len == PLAN_ID_BYTES && memcmp(id.ptr, "plan_", 5) == 0 &&
           gw_base32_is_sound(span_of(id.ptr + 5, id.len - 5));
}
