/* Feeds bytes to the codec in given pieces and writes down what it says, as text,
 * so that two ways of cutting the same bytes can be compared. Shared by the unit
 * tests and the fuzz targets; so it checks with gw_assert and knows no cmocka.
 * Every piece is an allocation of its own and is freed before its head is looked
 * at: a sanitizer sees every byte read too far and every span into fed bytes. */
#ifndef RECIBO_TESTS_UNIT_HTTP1_TRACE_H
#define RECIBO_TESTS_UNIT_HTTP1_TRACE_H

#include <stdlib.h>

#include "gateway/http1/http1.h"

#define TRACE_BYTES_MAX ((size_t)1 << 26)

struct trace_input {
    enum http1_side side;
    bool to_head;
    struct http1_limits limits;
    struct span bytes;
    const size_t *cuts; /* rising offsets where a new piece begins */
    size_t cut_count;
    bool every_byte; /* one byte a piece; cuts are ignored */
};

struct trace {
    struct gw_buf text;
    struct http1_parser parser;
    bool to_head;
    bool in_body;
    bool is_over;    /* an error, or the final answer has ended */
    bool has_final;  /* responses: the final answer ended */
    bool keep_alive; /* of the last head */
    uint32_t heads, ends;
    uint16_t status; /* responses: of the last head */
    uint16_t error;  /* 0: none */
    size_t left;     /* bytes that belong to nobody */
};

static inline struct http1_limits trace_limits(void)
{
    return (struct http1_limits){8192, 32768, 100};
}

static inline void trace_add_head(struct gw_buf *out, const struct http_head *head)
{
    (void)gw_buf_print(out, "HEAD %.*s %.*s path=%.*s authority=%.*s\n", (int)head->method.len,
                       head->method.ptr, (int)head->target.len, head->target.ptr,
                       (int)head->path.len, head->path.ptr, (int)head->authority.len,
                       head->authority.ptr);
    (void)gw_buf_print(out, " %u minor=%u alive=%d continue=%d framing=%d length=%llu reason=",
                       head->status, head->minor, head->keep_alive, head->expects_continue,
                       (int)head->framing, (unsigned long long)head->content_length);
    (void)gw_buf_add(out, head->reason);
    for (uint32_t i = 0; i < head->field_count; i++) {
        (void)gw_buf_add(out, SPAN("\n "));
        (void)gw_buf_add(out, head->fields[i].name);
        (void)gw_buf_add(out, SPAN("="));
        (void)gw_buf_add(out, head->fields[i].value);
    }
    (void)gw_buf_add(out, SPAN("\n"));
    gw_assert(!out->failed);
}

/* What was parsed can be written, and parses to the same. */
static inline void trace_check_rewrite(const struct http_head *head, enum http1_side side,
                                       bool to_head)
{
    struct gw_buf wire, before, after;
    gw_buf_init(&wire, TRACE_BYTES_MAX);
    gw_buf_init(&before, TRACE_BYTES_MAX);
    gw_buf_init(&after, TRACE_BYTES_MAX);
    if (side == HTTP1_REQUESTS)
        gw_assert(http1_write_request_line(&wire, head->method, head->target));
    else
        gw_assert(http1_write_status_line(&wire, head->status, head->reason));
    for (uint32_t i = 0; i < head->field_count; i++)
        gw_assert(http1_write_field(&wire, head->fields[i].name, head->fields[i].value));
    gw_assert(http1_write_end_of_head(&wire));

    struct http1_parser parser;
    struct http1_limits limits = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    http1_parser_init(&parser, side, &limits);
    if (side == HTTP1_RESPONSES)
        http1_parser_answers_head(&parser, to_head);
    struct span bytes = gw_buf_span(&wire), body;
    gw_assert(http1_feed(&parser, &bytes, &body) == HTTP1_HEAD);
    gw_assert(bytes.len == 0);
    struct http_head *again = http1_take_head(&parser);
    trace_add_head(&before, head);
    trace_add_head(&after, again);
    gw_assert(span_equal(gw_buf_span(&before), gw_buf_span(&after)));
    http_head_free(again);
    http1_parser_fini(&parser);
    gw_buf_fini(&wire);
    gw_buf_fini(&before);
    gw_buf_fini(&after);
}

static inline void trace_head(struct trace *trace)
{
    struct http_head *head = http1_take_head(&trace->parser);
    trace_add_head(&trace->text, head);
    if (head->minor == 1) /* the writer speaks 1.1 alone */
        trace_check_rewrite(head, trace->parser.side, trace->to_head);
    trace->heads++;
    trace->status = head->status;
    trace->keep_alive = head->keep_alive;
    http_head_free(head);
}

static inline void trace_body(struct trace *trace, struct span body)
{
    gw_assert(body.len > 0);
    if (!trace->in_body)
        (void)gw_buf_add(&trace->text, SPAN("BODY "));
    trace->in_body = true;
    (void)gw_buf_add(&trace->text, body);
}

static inline void trace_end(struct trace *trace)
{
    (void)gw_buf_add(&trace->text, SPAN("\nEND\n"));
    trace->ends++;
    trace->in_body = false;
    if (trace->parser.side == HTTP1_RESPONSES && trace->status >= 200)
        trace->is_over = trace->has_final = true;
    http1_parser_reset(&trace->parser);
    gw_assert(!http1_has_begun(&trace->parser));
    gw_assert(trace->parser.head_bytes.ptr == NULL); /* idle connections hold nothing */
}

static inline void trace_error(struct trace *trace)
{
    struct span nothing = SPAN("x"), body;
    (void)gw_buf_print(&trace->text, "\nERROR %u %s\n", trace->parser.fault.status,
                       trace->parser.fault.text);
    trace->error = trace->parser.fault.status;
    trace->is_over = true;
    gw_assert(http1_feed(&trace->parser, &nothing, &body) == HTTP1_ERROR); /* it stays one */
}

static inline char *trace_copy(struct span bytes)
{
    char *copy = malloc(bytes.len == 0 ? 1 : bytes.len);
    gw_assert(copy != NULL);
    if (bytes.len > 0)
        memcpy(copy, bytes.ptr, bytes.len);
    return copy;
}

static inline void trace_piece(struct trace *trace, struct span piece)
{
    char *copy = trace_copy(piece);
    struct span left = span_of(copy, piece.len);
    bool goes_on = !trace->is_over;
    while (goes_on) {
        struct span body = {NULL, 0};
        enum http1_event event = http1_feed(&trace->parser, &left, &body);
        switch (event) {
        case HTTP1_MORE:
            gw_assert(left.len == 0);
            goes_on = false;
            break;
        case HTTP1_HEAD: {
            char *rest = trace_copy(left);
            free(copy);
            copy = rest;
            left.ptr = copy;
            trace_head(trace);
            break;
        }
        case HTTP1_BODY:
            trace_body(trace, body);
            break;
        case HTTP1_END:
            trace_end(trace);
            goes_on = !trace->is_over;
            break;
        case HTTP1_ERROR:
            trace_error(trace);
            goes_on = false;
            break;
        }
    }
    if (trace->is_over)
        trace->left += left.len;
    free(copy);
}

static inline void trace_init(struct trace *trace, const struct trace_input *input)
{
    *trace = (struct trace){.to_head = input->to_head};
    gw_buf_init(&trace->text, TRACE_BYTES_MAX);
    http1_parser_init(&trace->parser, input->side, &input->limits);
    if (input->side == HTTP1_RESPONSES)
        http1_parser_answers_head(&trace->parser, input->to_head);
}

static inline void trace_run(struct trace *trace, const struct trace_input *input)
{
    trace_init(trace, input);
    size_t at = 0, cut = 0;
    while (at < input->bytes.len) {
        size_t next = input->bytes.len;
        if (input->every_byte)
            next = at + 1;
        else if (cut < input->cut_count)
            next = input->cuts[cut++];
        gw_assert(next >= at && next <= input->bytes.len);
        trace_piece(trace, span_of(input->bytes.ptr + at, next - at));
        at = next;
    }
    trace_piece(trace, SPAN("")); /* nothing new must mean nothing new */
}

/* The peer closes its side. */
static inline enum http1_event trace_eof(struct trace *trace)
{
    if (trace->is_over)
        return trace->error != 0 ? HTTP1_ERROR : HTTP1_END;
    enum http1_event event = http1_eof(&trace->parser);
    if (event == HTTP1_END)
        trace_end(trace);
    if (event == HTTP1_ERROR)
        trace_error(trace);
    return event;
}

static inline void trace_fini(struct trace *trace)
{
    http1_parser_fini(&trace->parser);
    gw_buf_fini(&trace->text);
}

/* Is the last byte the one that makes an error of the bytes? `want` 0: any status. */
static inline bool trace_fails_at_its_last_byte(enum http1_side side, struct span bytes,
                                                uint16_t want)
{
    bool is_right = true;
    for (size_t less = 0; less < 2; less++) {
        struct trace trace;
        struct trace_input input = {
            .side = side, .limits = trace_limits(), .bytes = span_of(bytes.ptr, bytes.len - less)};
        trace_run(&trace, &input);
        if (less == 0)
            is_right = trace.error != 0 && (want == 0 || trace.error == want);
        else
            is_right = is_right && trace.error == 0;
        trace_fini(&trace);
    }
    return is_right;
}

/* Pieces of length 1 to `longest`, from a seed; at most `max` cuts. */
static inline size_t trace_random_cuts(uint32_t seed, size_t len, size_t longest, size_t *ret_cuts,
                                       size_t max)
{
    size_t count = 0, at = 0;
    while (count < max) {
        seed = seed * 1664525u + 1013904223u;
        at += 1 + (seed >> 8) % longest;
        if (at >= len)
            break;
        ret_cuts[count++] = at;
    }
    return count;
}

/* Do two ways of cutting the same bytes tell the same story? */
static inline bool trace_is_same(const struct trace *a, const struct trace *b)
{
    return span_equal(gw_buf_span(&a->text), gw_buf_span(&b->text)) && a->error == b->error &&
           a->heads == b->heads && a->ends == b->ends;
}

#endif
