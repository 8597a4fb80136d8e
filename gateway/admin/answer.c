/* Checks and builds a response to be replayed. Must never let one through that
 * would break the framing of a connection or that no upstream could have sent. */
#include "gateway/admin/answer.h"

#include "base/text.h"
#include "gateway/http1/http1.h"
#include "policy/headers.h"

#define ANSWER_FIELDS_MAX      64
#define ANSWER_NAME_BYTES_MAX  256
#define ANSWER_VALUE_BYTES_MAX 8192

static bool refuse(struct call *call, const char *what)
{
    call_problem(call, ADMIN_BODY_INVALID, "response: %s.", what);
    return false;
}

static bool read_status(struct call *call, const struct json_doc *doc, uint32_t response,
                        struct stored_message *message)
{
    uint32_t node = body_member(doc, response, "status");
    uint64_t status = 0;
    if (node == JSON_NONE || doc->nodes[node].kind != JSON_KIND_NUMBER ||
        !gw_parse_u64(body_raw(doc, node), &status) || status < 200 || status > 599)
        return refuse(call, "status must be a final status, 200 to 599");
    message->status = (uint16_t)status;
    return true;
}

/* Visible bytes, blanks inside, and bytes over 127; no white space at the ends. */
static bool is_field_value(struct span value)
{
    if (value.len > ANSWER_VALUE_BYTES_MAX)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        bool is_blank = c == ' ' || c == '\t';
        if ((c < 0x20 && c != '\t') || c == 0x7f || (is_blank && (i == 0 || i + 1 == value.len)))
            return false;
    }
    return true;
}

static const char *field_fault(const struct http_field *field)
{
    uint32_t flags = header_flags(field->name);
    if (!http1_is_token(field->name) || field->name.len > ANSWER_NAME_BYTES_MAX)
        return "is not a header name";
    if (!is_field_value(field->value))
        return "has a value that no header may have";
    if ((flags & (HEADER_HOP | HEADER_FRAMING)) != 0)
        return "belongs to one connection and is made anew";
    if ((flags & HEADER_OWNED) != 0)
        return "is Recibo's own";
    if ((flags & HEADER_NO_STORE) != 0)
        return "is never replayed";
    return NULL;
}

static bool add_field(struct call *call, struct span name, struct span value,
                      struct stored_message *message)
{
    struct http_field field = {name, value};
    const char *fault = field_fault(&field);
    if (message->field_count == ANSWER_FIELDS_MAX)
        return refuse(call, "there are more than 64 headers");
    if (fault == NULL) {
        message->fields[message->field_count++] = field;
        return true;
    }
    call_problem(call, ADMIN_BODY_INVALID, "response: headers: \"%.*s\" %s.",
                 (int)(name.len > 64 ? 64 : name.len), name.ptr, fault);
    return false;
}

/* "Name": "value", or "Name": ["one", "two"] for several lines. */
static bool read_field(struct call *call, const struct json_doc *doc, uint32_t node,
                       struct stored_message *message)
{
    struct span name, value;
    bool is_list = doc->nodes[node].kind == JSON_KIND_ARRAY;
    uint32_t at = is_list ? doc->nodes[node].child : node;
    if (!body_name(call, doc, node, &name))
        return refuse(call, "out of memory");
    while (at != JSON_NONE) {
        if (!body_text(call, doc, at, &value))
            return refuse(call, "headers: a value must be a string or a list of strings");
        if (!add_field(call, name, value, message))
            return false;
        at = is_list ? doc->nodes[at].next : JSON_NONE;
    }
    return true;
}

static bool read_fields(struct call *call, const struct json_doc *doc, uint32_t response,
                        struct stored_message *message)
{
    uint32_t node = body_member(doc, response, "headers");
    /* One more than may be given: a Content-Type of our own. */
    message->fields = arena_take(call->arena, (ANSWER_FIELDS_MAX + 1) * sizeof(*message->fields));
    if (message->fields == NULL)
        return refuse(call, "out of memory");
    if (node == JSON_NONE || doc->nodes[node].kind == JSON_KIND_NULL)
        return true;
    if (doc->nodes[node].kind != JSON_KIND_OBJECT)
        return refuse(call, "headers must be an object");
    for (uint32_t at = doc->nodes[node].child; at != JSON_NONE; at = doc->nodes[at].next)
        if (!read_field(call, doc, at, message))
            return false;
    return true;
}

static bool has_content_type(const struct stored_message *message)
{
    for (uint32_t i = 0; i < message->field_count; i++)
        if (span_equal_nocase(message->fields[i].name, SPAN("content-type")))
            return true;
    return false;
}

static bool read_base64(struct call *call, const struct json_doc *doc, uint32_t node,
                        struct stored_message *message)
{
    struct span text;
    size_t len;
    if (!body_text(call, doc, node, &text))
        return refuse(call, "body_base64 must be a string");
    char *to = arena_take(call->arena, text.len + 1);
    if (to == NULL || !gw_base64_decode(text, to, &len))
        return refuse(call, "body_base64 is not base64 with its padding");
    message->body = span_of(to, len);
    return true;
}

/* A string is the body itself; any other JSON value is sent as it was written. */
static bool read_content(struct call *call, const struct json_doc *doc, uint32_t response,
                         struct stored_message *message)
{
    uint32_t node = body_member(doc, response, "body");
    uint32_t base64 = body_member(doc, response, "body_base64");
    message->body = SPAN("");
    if (node != JSON_NONE && base64 != JSON_NONE)
        return refuse(call, "give body or body_base64, not both");
    if (base64 != JSON_NONE)
        return read_base64(call, doc, base64, message);
    if (node == JSON_NONE || doc->nodes[node].kind == JSON_KIND_NULL)
        return true;
    if (doc->nodes[node].kind == JSON_KIND_STRING)
        return body_text(call, doc, node, &message->body) || refuse(call, "out of memory");
    message->body = body_raw(doc, node);
    if (!has_content_type(message))
        message->fields[message->field_count++] =
            (struct http_field){SPAN("Content-Type"), SPAN("application/json")};
    return true;
}

bool answer_read(struct call *call, const struct json_doc *doc, uint32_t node,
                 struct stored_message *ret_message)
{
    struct stored_message message = {.body_kept = true};
    if (doc->nodes[node].kind != JSON_KIND_OBJECT)
        return refuse(call, "it must be an object, or null when nobody knows it");
    if (!body_knows_members(call, doc, node, "status headers body body_base64") ||
        !read_status(call, doc, node, &message) || !read_fields(call, doc, node, &message) ||
        !read_content(call, doc, node, &message))
        return false;
    bool is_bodiless = message.status == 204 || message.status == 205 || message.status == 304;
    if (is_bodiless && message.body.len > 0)
        return refuse(call, "a 204, 205 or 304 has no body");
    message.body_bytes = message.body.len;
    *ret_message = message;
    return true;
}

enum answer_fault answer_fault(const struct route_policy *route,
                               const struct stored_message *message)
{
    if (message->body.len > route->replay_body_max)
        return ANSWER_TOO_LARGE;
    for (uint32_t i = 0; i < message->field_count && !route->replay_set_cookie; i++)
        if ((header_flags(message->fields[i].name) & HEADER_COOKIE) != 0)
            return ANSWER_COOKIE;
    return ANSWER_FITS;
}

void answer_refuse(struct call *call, const struct route_policy *route,
                   const struct stored_message *message)
{
    enum answer_fault fault = answer_fault(route, message);
    gw_assert(fault != ANSWER_FITS);
    if (fault == ANSWER_COOKIE)
        (void)refuse(call, "the route does not replay cookies"); /* it never says yes */
    else
        call_problem(call, ADMIN_TOO_LARGE,
                     "The response body has %zu bytes; the route keeps at most %llu.",
                     message->body.len, (unsigned long long)route->replay_body_max);
}
