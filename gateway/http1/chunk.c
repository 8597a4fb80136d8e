/* The chunked coding (RFC 9112 7.1), read to the letter: the size line is hex
 * digits, perhaps an extension, CRLF, and nothing else. Content is handed on as a
 * view and never copied; extensions are counted and dropped. */
#include "gateway/http1/parts.h"

static enum http1_event add_digit(struct http1_parser *parser, char digit)
{
    if (parser->size_digits == HTTP1_CHUNK_DIGITS_MAX)
        return http1_fail(parser, 400, "a chunk size has too many digits");
    parser->size_digits++;
    /* 16 digits fit exactly. */
    parser->body_left = parser->body_left << 4 | (uint64_t)gw_hex_value(digit);
    if (parser->side == HTTP1_REQUESTS && parser->body_left > HTTP1_REQUEST_CHUNK_BYTES_MAX)
        return http1_fail(parser, 413, "a chunk is too large");
    return HTTP1_MORE;
}

static enum http1_event feed_size(struct http1_parser *parser, char byte)
{
    if (http1_is_hex(byte))
        return add_digit(parser, byte);
    if (parser->size_digits == 0 || (byte != ';' && byte != '\r'))
        return http1_fail(parser, 400, "a chunk size is not made of hex digits alone");
    parser->part_bytes = 0;
    parser->place = byte == ';' ? HTTP1_CHUNK_EXTENSION : HTTP1_CHUNK_SIZE_LF;
    return HTTP1_MORE;
}

/* The bounds are those of what comes between the ';' and the CR. */
static enum http1_event feed_extension(struct http1_parser *parser, struct span *bytes)
{
    size_t len = http1_run(*bytes, HTTP1_VALUE);
    if (len > HTTP1_EXTENSION_LINE_BYTES_MAX - parser->part_bytes ||
        len > HTTP1_EXTENSION_MESSAGE_BYTES_MAX - parser->extension_bytes)
        return http1_fail(parser, 400, "the chunk extensions are too long");
    parser->part_bytes += (uint32_t)len;
    parser->extension_bytes += (uint32_t)len;
    *bytes = span_of(bytes->ptr + len, bytes->len - len);
    if (bytes->len == 0)
        return HTTP1_MORE;
    if (bytes->ptr[0] != '\r')
        return http1_fail(parser, 400, "a chunk extension has a control character");
    *bytes = span_of(bytes->ptr + 1, bytes->len - 1);
    parser->place = HTTP1_CHUNK_SIZE_LF;
    return HTTP1_MORE;
}

static void begin_trailers(struct http1_parser *parser)
{
    parser->phase = HTTP1_PHASE_TRAILERS;
    parser->place = HTTP1_PLACE_LINE;
    parser->section_bytes = 0;
    parser->fields = 0;
}

static enum http1_event feed_line_feed(struct http1_parser *parser, char byte)
{
    if (byte != '\n')
        return http1_fail(parser, 400, "a carriage return in a chunk line stands alone");
    if (parser->place == HTTP1_CHUNK_DATA_LF) {
        parser->place = HTTP1_CHUNK_SIZE;
        parser->size_digits = 0;
    } else if (parser->body_left > 0) {
        parser->place = HTTP1_CHUNK_DATA;
    } else {
        begin_trailers(parser);
    }
    return HTTP1_MORE;
}

static enum http1_event feed_data(struct http1_parser *parser, struct span *bytes,
                                  struct span *ret_body)
{
    size_t len = bytes->len < parser->body_left ? bytes->len : (size_t)parser->body_left;
    *ret_body = span_of(bytes->ptr, len);
    *bytes = span_of(bytes->ptr + len, bytes->len - len);
    parser->body_left -= len;
    if (parser->body_left == 0)
        parser->place = HTTP1_CHUNK_DATA_CR;
    return HTTP1_BODY;
}

static enum http1_event feed_byte(struct http1_parser *parser, char byte)
{
    if (parser->place == HTTP1_CHUNK_SIZE)
        return feed_size(parser, byte);
    if (parser->place != HTTP1_CHUNK_DATA_CR)
        return feed_line_feed(parser, byte);
    if (byte != '\r')
        return http1_fail(parser, 400, "the data of a chunk is longer than its size");
    parser->place = HTTP1_CHUNK_DATA_LF;
    return HTTP1_MORE;
}

enum http1_event http1_feed_chunks(struct http1_parser *parser, struct span *bytes,
                                   struct span *ret_body)
{
    enum http1_event event = HTTP1_MORE;
    while (event == HTTP1_MORE && bytes->len > 0 && parser->phase == HTTP1_PHASE_CHUNKS) {
        switch ((enum http1_chunk_place)parser->place) {
        case HTTP1_CHUNK_DATA:
            return feed_data(parser, bytes, ret_body);
        case HTTP1_CHUNK_EXTENSION:
            event = feed_extension(parser, bytes);
            break;
        case HTTP1_CHUNK_SIZE:
        case HTTP1_CHUNK_SIZE_LF:
        case HTTP1_CHUNK_DATA_CR:
        case HTTP1_CHUNK_DATA_LF:
            event = feed_byte(parser, bytes->ptr[0]);
            *bytes = span_of(bytes->ptr + 1, bytes->len - 1);
            break;
        }
    }
    return event;
}
