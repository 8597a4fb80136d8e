/* The push machine: which part of a message the next byte belongs to, and when to
 * tell what. It keeps the bytes of a head only while they come in pieces, never
 * bytes of a body; after a fault it reads nothing more. */
#include "gateway/http1/parts.h"

static void begin_message(struct http1_parser *parser)
{
    *parser = (struct http1_parser){
        .side = parser->side,
        .limits = parser->limits,
        .phase = HTTP1_PHASE_BEFORE,
        .place = parser->side == HTTP1_REQUESTS ? HTTP1_PLACE_METHOD : HTTP1_PLACE_STATUS,
        .fault = {0, ""},
    };
    gw_buf_init(&parser->head_bytes, parser->limits.head_bytes_max);
}

void http1_parser_init(struct http1_parser *parser, enum http1_side side,
                       const struct http1_limits *limits)
{
    parser->side = side;
    parser->limits = *limits;
    begin_message(parser);
}

void http1_parser_fini(struct http1_parser *parser)
{
    gw_buf_fini(&parser->head_bytes);
    http_head_free(parser->head);
    parser->head = NULL;
    parser->phase = HTTP1_PHASE_FAILED;
}

void http1_parser_reset(struct http1_parser *parser)
{
    bool to_head = parser->to_head && parser->interim;
    http1_parser_fini(parser);
    begin_message(parser);
    parser->to_head = to_head;
}

void http1_parser_answers_head(struct http1_parser *parser, bool is_head)
{
    gw_assert(parser->side == HTTP1_RESPONSES);
    gw_assert(parser->phase == HTTP1_PHASE_BEFORE);
    parser->to_head = is_head;
}

enum http1_event http1_fail(struct http1_parser *parser, uint16_t status, const char *text)
{
    parser->fault.status = parser->side == HTTP1_REQUESTS ? status : 502;
    parser->fault.text = text;
    parser->over_limit = status == 413 || status == 414 || status == 431;
    parser->phase = HTTP1_PHASE_FAILED;
    gw_buf_fini(&parser->head_bytes);
    return HTTP1_ERROR;
}

static enum http1_event fail_with(struct http1_parser *parser, struct http1_fault fault)
{
    return http1_fail(parser, fault.status, fault.text);
}

/* Passes over empty lines before a request; no event but HTTP1_MORE is good news. */
static enum http1_event skip_blank_lines(struct http1_parser *parser, struct span *bytes)
{
    while (bytes->len > 0) {
        char byte = bytes->ptr[0];
        if (parser->place == HTTP1_PLACE_LINE_LF) {
            if (byte != '\n')
                return http1_fail(parser, 400, "a carriage return is not followed by a line feed");
            parser->place = HTTP1_PLACE_METHOD;
        } else if (byte == '\r' && parser->side == HTTP1_REQUESTS) {
            if (parser->blank_lines == HTTP1_BLANK_LINES_MAX)
                return http1_fail(parser, 400, "there are too many empty lines before a request");
            parser->blank_lines++;
            parser->place = HTTP1_PLACE_LINE_LF;
        } else {
            parser->phase = HTTP1_PHASE_HEAD;
            return HTTP1_MORE;
        }
        *bytes = span_of(bytes->ptr + 1, bytes->len - 1);
    }
    return HTTP1_MORE;
}

/* All bytes of the head so far in one piece: where they came if they came at
 * once, else in head_bytes, to which `fresh` is added. false: no memory. */
static bool gather(struct http1_parser *parser, struct span *fresh, struct span *ret_all)
{
    if (parser->head_bytes.len == 0) {
        *ret_all = *fresh;
        return true;
    }
    if (!gw_buf_add(&parser->head_bytes, *fresh)) {
        (void)http1_fail(parser, 503, "there is no memory for the request"); /* one event */
        return false;
    }
    *fresh = span_of(fresh->ptr + fresh->len, 0);
    *ret_all = gw_buf_span(&parser->head_bytes);
    return true;
}

static enum http1_phase phase_of_body(const struct http_head *head)
{
    switch (head->framing) {
    case HTTP1_NO_BODY:
        return HTTP1_PHASE_DONE;
    case HTTP1_LENGTH:
        return head->content_length == 0 ? HTTP1_PHASE_DONE : HTTP1_PHASE_LENGTH;
    case HTTP1_CHUNKED:
        return HTTP1_PHASE_CHUNKS;
    case HTTP1_UNTIL_CLOSE:
        return HTTP1_PHASE_UNTIL_CLOSE;
    }
    gw_assert(false); /* every framing is above */
    return HTTP1_PHASE_FAILED;
}

static enum http1_event end_head(struct http1_parser *parser, struct span all)
{
    struct http1_fault fault = {0, ""};
    struct http_head *head = http1_head_new(parser, all, &fault);
    if (head == NULL)
        return fail_with(parser, fault);
    gw_assert(parser->head == NULL);
    parser->head = head;
    parser->interim = parser->side == HTTP1_RESPONSES && head->status < 200;
    parser->phase = (uint8_t)phase_of_body(head);
    parser->place = HTTP1_CHUNK_SIZE;
    parser->body_left = head->framing == HTTP1_LENGTH ? head->content_length : 0;
    gw_buf_fini(&parser->head_bytes);
    return HTTP1_HEAD;
}

static enum http1_event keep(struct http1_parser *parser, struct span fresh)
{
    if (gw_buf_add(&parser->head_bytes, fresh))
        return HTTP1_MORE;
    return http1_fail(parser, 503, "there is no memory for the request");
}

/* `fresh` always spans what was scanned and is not in head_bytes yet. */
static enum http1_event feed_head(struct http1_parser *parser, struct span *bytes)
{
    struct span fresh = span_of(bytes->ptr, 0), all;
    struct http1_fault fault = {0, ""};
    enum http1_stop stop;
    do { /* at most two turns: a head has one start line */
        stop = http1_scan(parser, bytes);
        fresh.len = (size_t)(bytes->ptr - fresh.ptr);
        if (stop == HTTP1_STOP_FAILED)
            return HTTP1_ERROR;
        if (stop == HTTP1_STOP_MORE)
            return keep(parser, fresh);
        if (!gather(parser, &fresh, &all))
            return HTTP1_ERROR;
        if (stop == HTTP1_STOP_START_LINE &&
            !http1_check_start_line(parser->side, span_of(all.ptr, all.len - 2), &fault))
            return fail_with(parser, fault);
    } while (stop == HTTP1_STOP_START_LINE);
    return end_head(parser, all);
}

static enum http1_event feed_length(struct http1_parser *parser, struct span *bytes,
                                    struct span *ret_body)
{
    size_t len = bytes->len < parser->body_left ? bytes->len : (size_t)parser->body_left;
    *ret_body = span_of(bytes->ptr, len);
    *bytes = span_of(bytes->ptr + len, bytes->len - len);
    parser->body_left -= len;
    if (parser->body_left == 0)
        parser->phase = HTTP1_PHASE_DONE;
    return HTTP1_BODY;
}

static enum http1_event feed_until_close(struct span *bytes, struct span *ret_body)
{
    *ret_body = *bytes;
    *bytes = span_of(bytes->ptr + bytes->len, 0);
    return HTTP1_BODY;
}

/* Trailers obey the rules of a head and are dropped: none may change what the
 * head has said. */
static enum http1_event feed_trailers(struct http1_parser *parser, struct span *bytes)
{
    switch (http1_scan(parser, bytes)) {
    case HTTP1_STOP_MORE:
        return HTTP1_MORE;
    case HTTP1_STOP_END:
        parser->phase = HTTP1_PHASE_DONE;
        return HTTP1_END;
    case HTTP1_STOP_START_LINE:
    case HTTP1_STOP_FAILED:
        return HTTP1_ERROR;
    }
    gw_assert(false); /* every stop is above */
    return HTTP1_ERROR;
}

static enum http1_event feed_chunks(struct http1_parser *parser, struct span *bytes,
                                    struct span *ret_body)
{
    enum http1_event event = http1_feed_chunks(parser, bytes, ret_body);
    return parser->phase == HTTP1_PHASE_TRAILERS ? feed_trailers(parser, bytes) : event;
}

enum http1_event http1_feed(struct http1_parser *parser, struct span *bytes, struct span *ret_body)
{
    if (bytes->len == 0 && parser->phase < HTTP1_PHASE_DONE)
        return HTTP1_MORE;
    if (parser->phase == HTTP1_PHASE_BEFORE) {
        enum http1_event event = skip_blank_lines(parser, bytes);
        if (parser->phase != HTTP1_PHASE_HEAD)
            return event;
    }
    switch ((enum http1_phase)parser->phase) {
    case HTTP1_PHASE_BEFORE:
    case HTTP1_PHASE_HEAD:
        return feed_head(parser, bytes);
    case HTTP1_PHASE_LENGTH:
        return feed_length(parser, bytes, ret_body);
    case HTTP1_PHASE_UNTIL_CLOSE:
        return feed_until_close(bytes, ret_body);
    case HTTP1_PHASE_CHUNKS:
        return feed_chunks(parser, bytes, ret_body);
    case HTTP1_PHASE_TRAILERS:
        return feed_trailers(parser, bytes);
    case HTTP1_PHASE_DONE:
        return HTTP1_END;
    case HTTP1_PHASE_FAILED:
        return HTTP1_ERROR;
    }
    gw_assert(false); /* every phase is above */
    return HTTP1_ERROR;
}

enum http1_event http1_eof(struct http1_parser *parser)
{
    switch ((enum http1_phase)parser->phase) {
    case HTTP1_PHASE_BEFORE:
        return HTTP1_MORE;
    case HTTP1_PHASE_UNTIL_CLOSE:
        parser->phase = HTTP1_PHASE_DONE;
        return HTTP1_END;
    case HTTP1_PHASE_DONE:
        return HTTP1_END;
    case HTTP1_PHASE_HEAD:
    case HTTP1_PHASE_LENGTH:
    case HTTP1_PHASE_CHUNKS:
    case HTTP1_PHASE_TRAILERS:
        return http1_fail(parser, 400, "the message was cut off");
    case HTTP1_PHASE_FAILED:
        return HTTP1_ERROR;
    }
    gw_assert(false); /* every phase is above */
    return HTTP1_ERROR;
}

bool http1_has_begun(const struct http1_parser *parser)
{
    return parser->phase != HTTP1_PHASE_BEFORE;
}

struct http_head *http1_take_head(struct http1_parser *parser)
{
    struct http_head *head = parser->head;
    gw_assert(head != NULL);
    parser->head = NULL;
    return head;
}
