/* Walks over a head or a trailer section byte by byte and stops at the first byte
 * that cannot stand where it stands, whatever pieces the bytes come in. It keeps
 * nothing and understands nothing: what a line means is for start.c and head.c.
 * Every limit of a section is held here. */
#include "gateway/http1/parts.h"

struct cursor {
    const char *at, *end;
};

static enum http1_stop step(struct http1_parser *parser, struct cursor *cursor);

static enum http1_stop refuse(struct http1_parser *parser, uint16_t status, const char *text)
{
    (void)http1_fail(parser, status, text); /* it can only say HTTP1_ERROR */
    return HTTP1_STOP_FAILED;
}

enum http1_stop http1_scan(struct http1_parser *parser, struct span *bytes)
{
    uint32_t room = parser->section_bytes < parser->limits.head_bytes_max
                        ? parser->limits.head_bytes_max - parser->section_bytes
                        : 0;
    bool is_over = bytes->len > room;
    size_t len = is_over ? room : bytes->len;
    struct cursor cursor = {bytes->ptr, bytes->ptr + len};
    enum http1_stop stop = HTTP1_STOP_MORE;
    while (stop == HTTP1_STOP_MORE && cursor.at < cursor.end)
        stop = step(parser, &cursor);
    size_t used = (size_t)(cursor.at - bytes->ptr);
    parser->section_bytes += (uint32_t)used; /* at most room */
    *bytes = span_of(bytes->ptr + used, bytes->len - used);
    if (stop != HTTP1_STOP_MORE || !is_over)
        return stop;
    if (parser->place == HTTP1_PLACE_TARGET)
        return refuse(parser, 414, "the request target is too long");
    return refuse(parser, 431, "the header section is too large");
}

/* Consumes what belongs to the class; the length of the run. */
static size_t run(struct cursor *cursor, enum http1_class class)
{
    size_t len = http1_run(span_of(cursor->at, (size_t)(cursor->end - cursor->at)), class);
    cursor->at += len;
    return len;
}

static enum http1_stop refuse_byte(struct http1_parser *parser, char byte, const char *otherwise)
{
    if (byte == '\n')
        return refuse(parser, 400, "a line ends in a line feed alone");
    if (byte == '\0')
        return refuse(parser, 400, "there is a NUL byte in the head");
    return refuse(parser, 400, otherwise);
}

static enum http1_stop step_method(struct http1_parser *parser, struct cursor *cursor)
{
    size_t len = run(cursor, HTTP1_TOKEN);
    if (len > HTTP1_METHOD_BYTES_MAX - parser->part_bytes)
        return refuse(parser, 501, "the method is not known here");
    parser->part_bytes += (uint32_t)len;
    if (cursor->at == cursor->end)
        return HTTP1_STOP_MORE;
    if (*cursor->at != ' ' || parser->part_bytes == 0)
        return refuse_byte(parser, *cursor->at, "the request line does not begin with a method");
    cursor->at++;
    parser->part_bytes = 0;
    parser->place = HTTP1_PLACE_TARGET;
    return HTTP1_STOP_MORE;
}

static enum http1_stop step_target(struct http1_parser *parser, struct cursor *cursor)
{
    size_t len = run(cursor, HTTP1_TARGET);
    if (len > parser->limits.target_bytes_max - parser->part_bytes)
        return refuse(parser, 414, "the request target is too long");
    parser->part_bytes += (uint32_t)len;
    if (cursor->at == cursor->end)
        return HTTP1_STOP_MORE;
    if (*cursor->at != ' ' || parser->part_bytes == 0)
        return refuse_byte(parser, *cursor->at, "the request target has a byte it must not have");
    cursor->at++;
    parser->part_bytes = 0;
    parser->place = HTTP1_PLACE_VERSION;
    return HTTP1_STOP_MORE;
}

/* One byte of a text whose form is fixed; '#' stands for any digit. */
static bool fits(const char *form, uint32_t index, char byte)
{
    return form[index] == '#' ? byte >= '0' && byte <= '9' : byte == form[index];
}

static enum http1_stop step_version(struct http1_parser *parser, char byte)
{
    static const char form[] = "HTTP/#.#\r";
    if (!fits(form, parser->part_bytes, byte))
        return refuse_byte(parser, byte, "the request line does not end in an HTTP version");
    parser->part_bytes++;
    if (form[parser->part_bytes] == '\0')
        parser->place = HTTP1_PLACE_LINE_LF;
    return HTTP1_STOP_MORE;
}

static enum http1_stop step_status(struct http1_parser *parser, char byte)
{
    static const char form[] = "HTTP/#.# ###";
    if (form[parser->part_bytes] != '\0') {
        if (!fits(form, parser->part_bytes, byte))
            return refuse_byte(parser, byte, "the answer does not begin with a status line");
        parser->part_bytes++;
        return HTTP1_STOP_MORE;
    }
    if (byte != ' ' && byte != '\r') /* a missing reason and its space are tolerated */
        return refuse_byte(parser, byte, "the status is not three digits");
    parser->place = byte == ' ' ? HTTP1_PLACE_REASON : HTTP1_PLACE_LINE_LF;
    return HTTP1_STOP_MORE;
}

static enum http1_stop step_line(struct http1_parser *parser, char byte)
{
    if (byte == '\r') {
        parser->place = HTTP1_PLACE_SECTION_LF;
        return HTTP1_STOP_MORE;
    }
    if (byte == ' ' || byte == '\t') /* folded lines are refused in answers as well */
        return refuse(parser, 400, "a header line begins with white space");
    if (http1_run(span_of(&byte, 1), HTTP1_TOKEN) == 0)
        return refuse_byte(parser, byte, "a header line does not begin with a field name");
    if (parser->fields >= parser->limits.fields_max)
        return refuse(parser, 431, "there are too many header fields");
    parser->fields++;
    parser->place = HTTP1_PLACE_NAME;
    return HTTP1_STOP_MORE;
}

static enum http1_stop step_name(struct http1_parser *parser, struct cursor *cursor)
{
    if (parser->place == HTTP1_PLACE_NAME)
        (void)run(cursor, HTTP1_TOKEN); /* the first byte was one, so the name is not empty */
    if (cursor->at == cursor->end)
        return HTTP1_STOP_MORE;
    char byte = *cursor->at++;
    if (byte == ':') {
        parser->place = HTTP1_PLACE_VALUE;
        return HTTP1_STOP_MORE;
    }
    /* A client's white space here has smuggled requests; a server's must not cost the answer. */
    if (parser->side == HTTP1_RESPONSES && (byte == ' ' || byte == '\t')) {
        parser->place = HTTP1_PLACE_GAP;
        return HTTP1_STOP_MORE;
    }
    return refuse_byte(parser, byte, "a field name is not a token followed by a colon");
}

static enum http1_stop step_value(struct http1_parser *parser, struct cursor *cursor)
{
    (void)run(cursor, parser->side == HTTP1_REQUESTS ? HTTP1_VALUE : HTTP1_LOOSE); /* only moves */
    if (cursor->at == cursor->end)
        return HTTP1_STOP_MORE;
    char byte = *cursor->at++;
    if (byte != '\r')
        return refuse_byte(parser, byte, "a header line has a control character");
    parser->place = HTTP1_PLACE_LINE_LF;
    return HTTP1_STOP_MORE;
}

static enum http1_stop step_line_feed(struct http1_parser *parser, char byte)
{
    if (byte != '\n')
        return refuse(parser, 400, "a carriage return is not followed by a line feed");
    if (parser->place == HTTP1_PLACE_SECTION_LF)
        return HTTP1_STOP_END;
    parser->place = HTTP1_PLACE_LINE;
    if (parser->has_start_line)
        return HTTP1_STOP_MORE;
    parser->has_start_line = true;
    return HTTP1_STOP_START_LINE;
}

/* Consumes at least one byte, or stops. */
static enum http1_stop step(struct http1_parser *parser, struct cursor *cursor)
{
    switch ((enum http1_place)parser->place) {
    case HTTP1_PLACE_METHOD:
        return step_method(parser, cursor);
    case HTTP1_PLACE_TARGET:
        return step_target(parser, cursor);
    case HTTP1_PLACE_VERSION:
        return step_version(parser, *cursor->at++);
    case HTTP1_PLACE_STATUS:
        return step_status(parser, *cursor->at++);
    case HTTP1_PLACE_LINE:
        return step_line(parser, *cursor->at++);
    case HTTP1_PLACE_NAME:
    case HTTP1_PLACE_GAP:
        return step_name(parser, cursor);
    case HTTP1_PLACE_REASON:
    case HTTP1_PLACE_VALUE:
        return step_value(parser, cursor);
    case HTTP1_PLACE_LINE_LF:
    case HTTP1_PLACE_SECTION_LF:
        return step_line_feed(parser, *cursor->at++);
    }
    gw_assert(false); /* every place is above */
    return HTTP1_STOP_FAILED;
}
