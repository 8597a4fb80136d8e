/* Makes a head of the bytes that the scanner let pass: one allocation for the
 * struct, the fields and a copy of the bytes, and every span points into the copy.
 * Looking things up in a head lives here too. */
#include <stdlib.h>

#include "gateway/http1/parts.h"

static void split_request_line(struct http_head *head, struct span line, char *spare)
{
    struct http1_request_line parts = http1_split_request_line(line);
    struct http1_target target;
    const char *wrong = http1_split_target(parts.method, parts.target, &target);
    gw_assert(wrong == NULL); /* the same line was checked when it ended */
    head->method = parts.method;
    head->target = parts.target;
    head->authority = target.authority;
    head->path = target.path;
    head->minor = (uint8_t)(line.ptr[line.len - 1] - '0');
    if (target.lacks_slash) { /* "http://host?query" has the path "/?query" */
        spare[0] = '/';
        memcpy(spare + 1, target.path.ptr, target.path.len);
        head->path = span_of(spare, target.path.len + 1);
    }
}

static void split_status_line(struct http_head *head, struct span line)
{
    const char *digits = line.ptr + 9;
    head->minor = (uint8_t)(line.ptr[7] - '0');
    head->status = (uint16_t)((digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0'));
    if (line.len > 13)
        head->reason = span_of(line.ptr + 13, line.len - 13);
}

static void split_fields(struct http_head *head, struct span lines)
{
    const char *at = lines.ptr, *end = lines.ptr + lines.len;
    for (uint32_t i = 0; i < head->field_count; i++) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        gw_assert(colon != NULL);
        const char *stop = memchr(colon, '\r', (size_t)(end - colon));
        gw_assert(stop != NULL);
        head->fields[i] = (struct http_field){
            .name = http1_trim(span_of(at, (size_t)(colon - at))),
            .value = http1_trim(span_of(colon + 1, (size_t)(stop - colon - 1))),
        };
        at = stop + 2;
    }
    gw_assert(at == end);
}

/* A target in absolute-form may need its path written anew. */
static size_t spare_bytes(enum http1_side side, struct span line)
{
    if (side == HTTP1_RESPONSES)
        return 0;
    struct span target = http1_split_request_line(line).target;
    return target.ptr[0] == '/' ? 0 : target.len + 1;
}

static struct span first_line(struct span bytes)
{
    const char *stop = memchr(bytes.ptr, '\r', bytes.len);
    gw_assert(stop != NULL);
    return span_of(bytes.ptr, (size_t)(stop - bytes.ptr));
}

struct http_head *http1_head_new(const struct http1_parser *parser, struct span bytes,
                                 struct http1_fault *ret_fault)
{
    size_t fields = (size_t)parser->fields * sizeof(struct http_field);
    size_t spare = spare_bytes(parser->side, first_line(bytes));
    struct http_head *head = malloc(sizeof(*head) + fields + bytes.len + spare);
    if (head == NULL) {
        *ret_fault = (struct http1_fault){503, "there is no memory for the request"};
        return NULL;
    }
    *head = (struct http_head){
        .method = SPAN(""),
        .target = SPAN(""),
        .path = SPAN(""),
        .authority = SPAN(""),
        .reason = SPAN(""),
        .fields = (struct http_field *)(head + 1),
        .field_count = parser->fields,
    };
    char *copy = (char *)(head->fields + head->field_count);
    memcpy(copy, bytes.ptr, bytes.len);
    struct span line = first_line(span_of(copy, bytes.len));
    if (parser->side == HTTP1_REQUESTS)
        split_request_line(head, line, copy + bytes.len);
    else
        split_status_line(head, line);
    /* Between the start line's CRLF and that of the empty line. */
    split_fields(head, span_of(line.ptr + line.len + 2, bytes.len - line.len - 4));
    if (parser->side == HTTP1_REQUESTS
            ? http1_apply_request_fields(head, ret_fault)
            : http1_apply_response_fields(head, parser->to_head, ret_fault))
        return head;
    http_head_free(head);
    return NULL;
}

void http_head_free(struct http_head *head)
{
    free(head);
}

struct http_head *http_head_of_request(const struct http_request_parts *parts)
{
    size_t bytes = parts->field_count * sizeof(struct http_field);
    struct http_head *head = malloc(sizeof(*head) + bytes);
    if (head == NULL)
        return NULL;
    *head = (struct http_head){
        .method = parts->method,
        .target = parts->path,
        .path = parts->path,
        .authority = parts->authority,
        .reason = SPAN(""),
        .minor = 1,
        .keep_alive = true,
        .framing = parts->has_body ? HTTP1_LENGTH : HTTP1_NO_BODY,
        .content_length = parts->body_bytes,
        .fields = (struct http_field *)(head + 1),
        .field_count = parts->field_count,
    };
    if (bytes > 0)
        memcpy(head->fields, parts->fields, bytes);
    return head;
}

const struct http_field *http_head_find(const struct http_head *head, struct span name,
                                        uint32_t from)
{
    for (uint32_t i = from; i < head->field_count; i++)
        if (span_equal_nocase(head->fields[i].name, name))
            return &head->fields[i];
    return NULL;
}

static bool list_has(struct span list, struct span token)
{
    struct span member;
    while (http1_next_member(&list, &member))
        if (span_equal_nocase(member, token))
            return true;
    return false;
}

bool http_head_lists(const struct http_head *head, struct span name, struct span token)
{
    for (uint32_t i = 0; i < head->field_count; i++)
        if (span_equal_nocase(head->fields[i].name, name) && list_has(head->fields[i].value, token))
            return true;
    return false;
}
