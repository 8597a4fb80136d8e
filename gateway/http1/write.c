/* Writes heads and chunk sizes. The last guard of the framing: a name or a value
 * that could end its line early is refused, wherever it came from. A refusal and
 * a full buffer leave the buffer's bytes as they were. */
#include "gateway/http1/parts.h"

#define NUMBER_BYTES_MAX 20 /* of a 64-bit number in decimal */

static bool is_line_safe(struct span text)
{
    return http1_run(text, HTTP1_LOOSE) == text.len;
}

/* All parts or none. */
static bool add_parts(struct gw_buf *out, const struct span *parts, size_t count)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++)
        len += parts[i].len;
    if (!gw_buf_reserve(out, len))
        return false;
    for (size_t i = 0; i < count; i++)
        (void)gw_buf_add(out, parts[i]); /* cannot fail: the room is there */
    return true;
}

bool http1_write_request_line(struct gw_buf *out, struct span method, struct span target)
{
    if (!http1_is_token(method) || target.len == 0 || http1_run(target, HTTP1_TARGET) != target.len)
        return false;
    const struct span parts[] = {method, SPAN(" "), target, SPAN(" HTTP/1.1\r\n")};
    return add_parts(out, parts, GW_COUNT(parts));
}

bool http1_write_status_line(struct gw_buf *out, uint16_t status, struct span reason)
{
    if (status < 100 || status > 599 || !is_line_safe(reason))
        return false;
    char digits[3] = {(char)('0' + status / 100), (char)('0' + status / 10 % 10),
                      (char)('0' + status % 10)};
    const struct span parts[] = {SPAN("HTTP/1.1 "), span_of(digits, sizeof(digits)), SPAN(" "),
                                 reason, SPAN("\r\n")};
    return add_parts(out, parts, GW_COUNT(parts));
}

bool http1_write_field(struct gw_buf *out, struct span name, struct span value)
{
    if (!http1_is_token(name) || !is_line_safe(value))
        return false;
    const struct span parts[] = {name, SPAN(": "), value, SPAN("\r\n")};
    return add_parts(out, parts, GW_COUNT(parts));
}

bool http1_write_number_field(struct gw_buf *out, struct span name, uint64_t value)
{
    char digits[NUMBER_BYTES_MAX];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return http1_write_field(out, name, span_of(digits + at, sizeof(digits) - at));
}

bool http1_write_end_of_head(struct gw_buf *out)
{
    return gw_buf_add(out, SPAN("\r\n"));
}

bool http1_write_chunk_size(struct gw_buf *out, uint64_t bytes)
{
    char digits[HTTP1_CHUNK_DIGITS_MAX];
    size_t at = sizeof(digits);
    do {
        digits[--at] = "0123456789abcdef"[bytes & 15];
        bytes >>= 4;
    } while (bytes > 0);
    const struct span parts[] = {span_of(digits + at, sizeof(digits) - at), SPAN("\r\n")};
    return add_parts(out, parts, GW_COUNT(parts));
}

struct phrase {
    uint16_t status;
    const char *text;
};

/* The IANA registry of status codes; those without a phrase there are left out. */
static const struct phrase phrases[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {102, "Processing"},
    {103, "Early Hints"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {207, "Multi-Status"},
    {208, "Already Reported"},
    {226, "IM Used"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {305, "Use Proxy"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {424, "Failed Dependency"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {506, "Variant Also Negotiates"},
    {507, "Insufficient Storage"},
    {508, "Loop Detected"},
    {511, "Network Authentication Required"},
};

struct span http1_reason(uint16_t status)
{
    for (size_t i = 0; i < GW_COUNT(phrases); i++)
        if (phrases[i].status == status)
            return span_str(phrases[i].text);
    return SPAN("Status");
}
