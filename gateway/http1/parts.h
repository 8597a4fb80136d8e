/* What the files of the codec share among themselves; nobody else includes it.
 * Faults are named by their request status: http1_fail() makes a 502 of every
 * fault of a response. Threads: as in http1.h. */
#ifndef RECIBO_GATEWAY_HTTP1_PARTS_H
#define RECIBO_GATEWAY_HTTP1_PARTS_H

#include "gateway/http1/http1.h"

#define HTTP1_BLANK_LINES_MAX             4
#define HTTP1_METHOD_BYTES_MAX            32
#define HTTP1_CHUNK_DIGITS_MAX            16
#define HTTP1_EXTENSION_LINE_BYTES_MAX    256
#define HTTP1_EXTENSION_MESSAGE_BYTES_MAX (16 * 1024)
/* A request is kept whole before it is forwarded, so one chunk of this size can
 * never be served; refusing it at its size line spares the wait for its bytes. */
#define HTTP1_REQUEST_CHUNK_BYTES_MAX ((uint64_t)1 << 30)
#define HTTP1_CONTENT_LENGTH_MAX      ((uint64_t)INT64_MAX)
#define HTTP1_IPV6_BYTES_MAX          45
#define HTTP1_PORT_MAX                65535

enum http1_phase {
    HTTP1_PHASE_BEFORE, /* no byte of a message yet */
    HTTP1_PHASE_HEAD,
    HTTP1_PHASE_LENGTH,
    HTTP1_PHASE_UNTIL_CLOSE,
    HTTP1_PHASE_CHUNKS,
    HTTP1_PHASE_TRAILERS,
    HTTP1_PHASE_DONE,
    HTTP1_PHASE_FAILED,
};

/* Where in a head or a trailer section the next byte falls. */
enum http1_place {
    HTTP1_PLACE_METHOD, /* requests begin here */
    HTTP1_PLACE_TARGET,
    HTTP1_PLACE_VERSION,
    HTTP1_PLACE_STATUS, /* responses begin here: the version and the three digits */
    HTTP1_PLACE_REASON,
    HTTP1_PLACE_LINE, /* the first byte of a line after the start line */
    HTTP1_PLACE_NAME,
    HTTP1_PLACE_GAP, /* responses: white space before the colon */
    HTTP1_PLACE_VALUE,
    HTTP1_PLACE_LINE_LF,
    HTTP1_PLACE_SECTION_LF,
};

enum http1_chunk_place {
    HTTP1_CHUNK_SIZE,
    HTTP1_CHUNK_EXTENSION,
    HTTP1_CHUNK_SIZE_LF,
    HTTP1_CHUNK_DATA,
    HTTP1_CHUNK_DATA_CR,
    HTTP1_CHUNK_DATA_LF,
};

/* Why the scanner stopped. */
enum http1_stop {
    HTTP1_STOP_MORE,       /* out of bytes */
    HTTP1_STOP_START_LINE, /* the start line has just ended */
    HTTP1_STOP_END,        /* the section has just ended */
    HTTP1_STOP_FAILED,
};

/* bytes.c: which bytes may stand where. */
enum http1_class {
    HTTP1_TOKEN = 1,
    HTTP1_TARGET = 2, /* of RFC 3986 without '#' */
    HTTP1_VALUE = 4,  /* field values and reasons of requests */
    HTTP1_LOOSE = 8,  /* the same of responses: all but NUL, CR and LF */
    HTTP1_HOST = 16,  /* a registered name or an IPv4 address, and '%' */
};
/* How many bytes at the front of text are all of that class. */
size_t http1_run(struct span text, enum http1_class class);
bool http1_is_hex(char c);
/* Every '%' begins an escape of two hex digits that is not %00. */
bool http1_escapes_are_sound(struct span text);
struct span http1_trim(struct span text); /* SP and HTAB at both ends */
/* The next non-empty member of a comma-separated list, trimmed; false: no more. */
bool http1_next_member(struct span *list, struct span *ret_member);

/* scan.c: consumes bytes of a head or trailer section up to the next stop. */
enum http1_stop http1_scan(struct http1_parser *parser, struct span *bytes);

/* chunk.c: consumes bytes of a chunked body; the phase is HTTP1_PHASE_TRAILERS
 * once the last chunk's size line was read. */
enum http1_event http1_feed_chunks(struct http1_parser *parser, struct span *bytes,
                                   struct span *ret_body);

/* target.c */
struct http1_target {
    struct span authority; /* empty unless the target is in absolute-form */
    struct span path;      /* origin-form, or "*" */
    bool lacks_slash;      /* path begins with '?' and wants a '/' in front */
};
/* NULL if it is one, else what is wrong with it. */
const char *http1_split_target(struct span method, struct span target, struct http1_target *ret);
bool http1_is_authority(struct span text); /* uri-host [":" port], host not empty */

/* start.c: a whole start line without its CRLF, after the scanner let it pass. */
struct http1_request_line {
    struct span method, target;
};
struct http1_request_line http1_split_request_line(struct span line);
bool http1_check_start_line(enum http1_side side, struct span line, struct http1_fault *ret_fault);

/* head.c: from all the bytes of a head, after the scanner let them pass. NULL: ret_fault says why.
 */
struct http_head *http1_head_new(const struct http1_parser *parser, struct span bytes,
                                 struct http1_fault *ret_fault);

/* fields.c: gives the fields of a split head their meaning. false: ret_fault says why. */
bool http1_apply_request_fields(struct http_head *head, struct http1_fault *ret_fault);
bool http1_apply_response_fields(struct http_head *head, bool to_head,
                                 struct http1_fault *ret_fault);

/* parser.c: always HTTP1_ERROR. */
enum http1_event http1_fail(struct http1_parser *parser, uint16_t status, const char *text);

#endif
