/* What is not wholly right is not passed on: a part of a trace state would be a wrong one. */
#include "gateway/trace.h"

#define STATE_MEMBERS_MAX 32
#define STATE_KEY_MAX     256
#define STATE_VALUE_MAX   256

static bool is_lower_hex(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!((text.ptr[i] >= '0' && text.ptr[i] <= '9') ||
              (text.ptr[i] >= 'a' && text.ptr[i] <= 'f')))
            return false;
    return true;
}

static bool all_zero(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '0')
            return false;
    return true;
}

bool trace_read_parent(const struct http_head *head, struct span *ret_id, struct span *ret_flags)
{
    const struct http_field *field = http_head_find(head, SPAN("traceparent"), 0);
    if (field == NULL ||
        http_head_find(head, SPAN("traceparent"), (uint32_t)(field - head->fields) + 1) != NULL)
        return false;
    struct span v = field->value;
    if (v.len < 55 || v.ptr[2] != '-' || v.ptr[35] != '-' || v.ptr[52] != '-')
        return false;
    struct span version = span_of(v.ptr, 2), id = span_of(v.ptr + 3, 32);
    struct span parent = span_of(v.ptr + 36, 16), flags = span_of(v.ptr + 53, 2);
    bool length_fits =
        span_equal(version, SPAN("00")) ? v.len == 55 : v.len == 55 || v.ptr[55] == '-';
    if (!length_fits || span_equal(version, SPAN("ff")) || !is_lower_hex(version) ||
        !is_lower_hex(id) || !is_lower_hex(parent) || !is_lower_hex(flags) || all_zero(id) ||
        all_zero(parent))
        return false;
    *ret_id = id;
    *ret_flags = flags;
    return true;
}

/* ---- tracestate ---- */

static bool is_key(struct span key)
{
    if (key.len == 0 || key.len > STATE_KEY_MAX)
        return false;
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        bool is_mark = c == '_' || c == '-' || c == '*' || c == '/' || c == '@';
        if (!is_alnum && (i == 0 || !is_mark))
            return false;
    }
    return true;
}

static bool is_value(struct span value)
{
    if (value.len == 0 || value.len > STATE_VALUE_MAX || value.ptr[value.len - 1] == ' ')
        return false;
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] < 0x20 || value.ptr[i] > 0x7e || value.ptr[i] == ',' ||
            value.ptr[i] == '=')
            return false;
    return true;
}

struct members {
    struct span keys[STATE_MEMBERS_MAX];
    uint32_t count;
};

static bool take_member(struct members *members, struct span member)
{
    while (member.len > 0 && (member.ptr[0] == ' ' || member.ptr[0] == '\t'))
        member = span_of(member.ptr + 1, member.len - 1);
    while (member.len > 0 &&
           (member.ptr[member.len - 1] == ' ' || member.ptr[member.len - 1] == '\t'))
        member.len--;
    if (member.len == 0)
        return true; /* allowed, and nothing */
    const char *equals = memchr(member.ptr, '=', member.len);
    if (equals == NULL || members->count == STATE_MEMBERS_MAX)
        return false;
    struct span key = span_of(member.ptr, (size_t)(equals - member.ptr));
    if (!is_key(key) || !is_value(span_of(equals + 1, member.len - key.len - 1)))
        return false;
    for (uint32_t i = 0; i < members->count; i++)
        if (span_equal(members->keys[i], key))
            return false;
    members->keys[members->count++] = key;
    return true;
}

static bool take_line(struct members *members, struct span line)
{
    while (line.len > 0) {
        const char *comma = memchr(line.ptr, ',', line.len);
        size_t len = comma == NULL ? line.len : (size_t)(comma - line.ptr);
        if (!take_member(members, span_of(line.ptr, len)))
            return false;
        size_t taken = comma == NULL ? len : len + 1;
        line = span_of(line.ptr + taken, line.len - taken);
    }
    return true;
}

bool trace_state_is_sound(const struct http_head *head)
{
    struct members members = {.count = 0};
    for (uint32_t i = 0; i < head->field_count; i++)
        if (span_equal_nocase(head->fields[i].name, SPAN("tracestate")) &&
            !take_line(&members, head->fields[i].value))
            return false;
    return true;
}
