/* The strict HTTP/1.1 codec for both sides (STANDARDS parts 7, 8, 10, 11; ADR
 * 0001). Bytes in, events out; no sockets, no event loop, no routes, no policy of
 * the product. A push parser: feed it whatever came, in pieces of any size; the
 * events are the same for every cut. Threads: one at a time per parser. */
#ifndef RECIBO_GATEWAY_HTTP1_HTTP1_H
#define RECIBO_GATEWAY_HTTP1_HTTP1_H

#include "base/base.h"
#include "base/buf.h"
#include "base/field.h"

enum http1_framing {
    HTTP1_NO_BODY,
    HTTP1_LENGTH,
    HTTP1_CHUNKED,
    HTTP1_UNTIL_CLOSE, /* responses only */
};

/* A parsed head: one allocation, every span points into it. */
struct http_head {
    struct span method;    /* requests */
    struct span target;    /* requests: exactly as received */
    struct span path;      /* requests: path and query in origin-form; "*" for OPTIONS * */
    struct span authority; /* requests: of an absolute-form target, else of Host; or empty (1.0) */
    uint16_t status;       /* responses: 100..599 */
    struct span reason;    /* responses: may be empty */
    uint8_t minor;         /* HTTP/1.minor as received */
    bool keep_alive;       /* by version and every Connection line */
    bool expects_continue; /* requests: Expect: 100-continue in a 1.1 message */
    bool expects_other;    /* requests: another expectation; the gateway says 417 in its turn */
    enum http1_framing framing;
    uint64_t content_length; /* HTTP1_LENGTH */
    struct http_field *fields;
    uint32_t field_count;
};
void http_head_free(struct http_head *head); /* NULL is fine */
/* A request that was received, kept and is to be sent: spans and fields are borrowed, the
 * array of fields is copied. NULL: out of memory. */
struct http_request_parts {
    struct span method, path, authority;
    const struct http_field *fields;
    uint32_t field_count;
    bool has_body;
    uint64_t body_bytes;
};
struct http_head *http_head_of_request(const struct http_request_parts *parts);
/* The first field of that name, from index `from` on; NULL: none. The index of
 * the found field is (found - head->fields). */
const struct http_field *http_head_find(const struct http_head *head, struct span name,
                                        uint32_t from);
/* Is `token` a member of the comma-separated list in any line of that field? ASCII case ignored. */
bool http_head_lists(const struct http_head *head, struct span name, struct span token);

struct http1_limits {
    uint32_t target_bytes_max; /* request-line target: 414 over it */
    uint32_t head_bytes_max;   /* start line and fields together: 431 over it */
    uint32_t fields_max;       /* 431 over it */
};

enum http1_side { HTTP1_REQUESTS, HTTP1_RESPONSES };

enum http1_event {
    HTTP1_MORE,  /* all bytes consumed; nothing to tell yet */
    HTTP1_HEAD,  /* the head is whole: http1_take_head() */
    HTTP1_BODY,  /* *ret_body holds content bytes (a view of the fed bytes) */
    HTTP1_END,   /* the message is whole; the bytes left belong to nobody yet */
    HTTP1_ERROR, /* parser->fault says why; the connection must not be read as messages again */
};

struct http1_fault {
    uint16_t status;  /* what a server answers: 400, 413, 414, 431, 501, 503, 505; or 502 */
    const char *text; /* a static fragment without bytes of the peer, fit for a problem detail */
};

struct http1_parser {
    enum http1_side side;
    struct http1_limits limits;
    struct http1_fault fault; /* valid after HTTP1_ERROR */
    bool over_limit;          /* likewise: well-formed so far, but larger than the limits */
    /* The rest is the parser's own. */
    uint8_t phase;            /* enum http1_phase */
    uint8_t place;            /* enum http1_place or enum http1_chunk_place, by phase */
    bool to_head;             /* responses: the request was HEAD */
    bool interim;             /* responses: this one is a 1xx */
    bool has_start_line;      /* its line end was seen */
    uint8_t blank_lines;      /* empty lines before a request-line */
    uint8_t size_digits;      /* of the chunk size so far */
    uint32_t part_bytes;      /* of the method, target, version or chunk extension so far */
    uint32_t section_bytes;   /* of the head, then of the trailer section */
    uint32_t fields;          /* begun in this section */
    uint32_t extension_bytes; /* of all chunk extensions of the message */
    uint64_t body_left;
    struct gw_buf head_bytes; /* empty while a head comes in one piece */
    struct http_head *head;
};

/* In place; no allocation before the first byte. */
void http1_parser_init(struct http1_parser *parser, enum http1_side side,
                       const struct http1_limits *limits);
void http1_parser_fini(struct http1_parser *parser);
/* Ready for the next message on the same connection; gives idle memory back. What
 * http1_parser_answers_head() said stays only past a 1xx, which answers nothing. */
void http1_parser_reset(struct http1_parser *parser);
/* Before a response is fed: a response to HEAD has no body whatever it says. */
void http1_parser_answers_head(struct http1_parser *parser, bool is_head);

/* Consumes bytes from the front of *bytes and returns the next event. Call it
 * again until HTTP1_MORE, HTTP1_END or HTTP1_ERROR. For responses every 1xx is
 * its own HTTP1_HEAD followed by HTTP1_END; the caller skips it (bounded) and
 * resets. */
enum http1_event http1_feed(struct http1_parser *parser, struct span *bytes,
                            struct span *ret_body) GW_MUST_CHECK;
/* The peer closed its side: HTTP1_END for a body until close, HTTP1_MORE when no
 * byte of a message had come, else HTTP1_ERROR (cut). */
enum http1_event http1_eof(struct http1_parser *parser) GW_MUST_CHECK;
/* true once a byte of the current message has come. */
bool http1_has_begun(const struct http1_parser *parser);
/* After HTTP1_HEAD, once: the caller owns it. */
struct http_head *http1_take_head(struct http1_parser *parser);

/* Writing. All return false (and write nothing) if a name or value could break
 * the framing: CR, LF, NUL, an invalid name (FWD-12). */
bool http1_write_request_line(struct gw_buf *out, struct span method, struct span target);
bool http1_write_status_line(struct gw_buf *out, uint16_t status, struct span reason);
bool http1_write_field(struct gw_buf *out, struct span name, struct span value);
bool http1_write_number_field(struct gw_buf *out, struct span name, uint64_t value);
bool http1_write_end_of_head(struct gw_buf *out);
/* "5\r\n" before a chunk; after its data comes "\r\n"; "0\r\n\r\n" ends the body. */
bool http1_write_chunk_size(struct gw_buf *out, uint64_t bytes);
/* The registered phrase, or "Status". */
struct span http1_reason(uint16_t status);
bool http1_is_token(struct span text); /* RFC 9110 5.6.2, not empty */

#endif
