/* What the fields of a head mean for the codec: where the body ends, whether the
 * connection may go on, who is asked, what is expected. Whatever could be read in
 * two ways is refused. Two Content-Length lines of a request are refused even if
 * they are equal; equal ones of a response count as one, since RFC 9110 8.6 lets
 * a recipient fold them and refusing would lose the outcome of a call. */
#include "base/text.h"
#include "gateway/http1/parts.h"

struct meaning {
    uint32_t hosts, lengths, encodings, authorizations;
    struct span host, length, encoding;
    bool lengths_differ;
    bool has_close, has_keep_alive;
    bool names_protected; /* Connection would strip what must reach the other end */
    bool expects_continue, expects_other;
};

static bool fail(struct http1_fault *fault, uint16_t status, const char *text)
{
    *fault = (struct http1_fault){status, text};
    return false;
}

/* Fields that no Connection line may take out of a message: framing, credentials,
 * the meaning of the content, conditions, and what hops before us have said. */
static const struct span protected_names[] = {
    {"Host", 4},
    {"Content-Length", 14},
    {"Transfer-Encoding", 17},
    {"Content-Type", 12},
    {"Content-Encoding", 16},
    {"Content-Range", 13},
    {"Content-Digest", 14},
    {"Authorization", 13},
    {"Cookie", 6},
    {"Client-Cert", 11},
    {"Cache-Control", 13},
    {"Date", 4},
    {"If-Match", 8},
    {"If-None-Match", 13},
    {"If-Modified-Since", 17},
    {"If-Unmodified-Since", 19},
    {"Range", 5},
    {"Origin", 6},
    {"Via", 3},
    {"Forwarded", 9},
    {"X-Forwarded-For", 15},
    {"X-Forwarded-Host", 16},
    {"X-Forwarded-Proto", 17},
    {"X-Forwarded-Port", 16},
    {"X-Forwarded-Prefix", 18},
    {"X-Real-IP", 9},
};

static void read_connection(struct meaning *meaning, struct span value)
{
    struct span member;
    while (http1_next_member(&value, &member)) {
        if (span_equal_nocase(member, SPAN("close")))
            meaning->has_close = true;
        else if (span_equal_nocase(member, SPAN("keep-alive")))
            meaning->has_keep_alive = true;
        else
            for (size_t i = 0; i < GW_COUNT(protected_names); i++)
                if (span_equal_nocase(member, protected_names[i]))
                    meaning->names_protected = true;
    }
}

static void read_expect(struct meaning *meaning, struct span value)
{
    struct span member;
    while (http1_next_member(&value, &member)) {
        if (span_equal_nocase(member, SPAN("100-continue")))
            meaning->expects_continue = true;
        else
            meaning->expects_other = true;
    }
}

/* Two texts of digits are one length if their numbers are. */
static void read_length(struct meaning *meaning, struct span value)
{
    uint64_t old_number, number;
    if (meaning->lengths++ == 0)
        meaning->length = value;
    else if (!gw_parse_u64(meaning->length, &old_number) || !gw_parse_u64(value, &number) ||
             number != old_number)
        meaning->lengths_differ = true;
}

/* The length tells most names apart without a look at them. */
static void read_field(struct meaning *meaning, const struct http_field *field)
{
    struct span name = field->name;
    if (name.len == 4 && span_equal_nocase(name, SPAN("Host"))) {
        meaning->hosts++;
        meaning->host = field->value;
    } else if (name.len == 6 && span_equal_nocase(name, SPAN("Expect"))) {
        read_expect(meaning, field->value);
    } else if (name.len == 10 && span_equal_nocase(name, SPAN("Connection"))) {
        read_connection(meaning, field->value);
    } else if (name.len == 13 && span_equal_nocase(name, SPAN("Authorization"))) {
        meaning->authorizations++;
    } else if (name.len == 14 && span_equal_nocase(name, SPAN("Content-Length"))) {
        read_length(meaning, field->value);
    } else if (name.len == 17 && span_equal_nocase(name, SPAN("Transfer-Encoding"))) {
        meaning->encodings++;
        meaning->encoding = field->value;
    }
}

static struct meaning read_fields(const struct http_head *head)
{
    struct meaning meaning = {0};
    for (uint32_t i = 0; i < head->field_count; i++)
        read_field(&meaning, &head->fields[i]);
    return meaning;
}

static bool is_kept_alive(const struct http_head *head, const struct meaning *meaning)
{
    return !meaning->has_close && (head->minor > 0 || meaning->has_keep_alive);
}

static bool apply_encoding(struct http_head *head, const struct meaning *meaning,
                           struct http1_fault *fault)
{
    if (meaning->lengths > 0)
        return fail(fault, 400, "both Transfer-Encoding and Content-Length are given");
    if (head->minor == 0)
        return fail(fault, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (meaning->encodings > 1)
        return fail(fault, 400, "Transfer-Encoding is given more than once");
    if (!http1_is_token(meaning->encoding))
        return fail(fault, 400, "Transfer-Encoding is not the one word chunked");
    if (!span_equal_nocase(meaning->encoding, SPAN("chunked")))
        return fail(fault, 501, "no transfer coding but chunked is known here");
    head->framing = HTTP1_CHUNKED;
    return true;
}

static bool apply_length(struct http_head *head, const struct meaning *meaning,
                         struct http1_fault *fault)
{
    uint64_t length = 0;
    for (size_t i = 0; i < meaning->length.len; i++)
        if (meaning->length.ptr[i] < '0' || meaning->length.ptr[i] > '9')
            return fail(fault, 400, "Content-Length is not a number");
    if (meaning->length.len == 0)
        return fail(fault, 400, "Content-Length is empty");
    if (!gw_parse_u64(meaning->length, &length) || length > HTTP1_CONTENT_LENGTH_MAX)
        return fail(fault, 413, "Content-Length is beyond every limit");
    head->framing = HTTP1_LENGTH;
    head->content_length = length;
    return true;
}

static bool apply_host(struct http_head *head, const struct meaning *meaning,
                       struct http1_fault *fault)
{
    if (meaning->hosts > 1)
        return fail(fault, 400, "Host is given more than once");
    if (meaning->hosts == 0)
        return head->minor == 0 || fail(fault, 400, "Host is missing");
    if (!http1_is_authority(meaning->host))
        return fail(fault, 400, "Host is not a valid host and port");
    if (head->authority.len == 0) /* a target in absolute-form has the last word */
        head->authority = meaning->host;
    return true;
}

bool http1_apply_request_fields(struct http_head *head, struct http1_fault *ret_fault)
{
    struct meaning meaning = read_fields(head);
    if (!apply_host(head, &meaning, ret_fault))
        return false;
    if (meaning.encodings > 0) {
        if (!apply_encoding(head, &meaning, ret_fault))
            return false;
    } else if (meaning.lengths > 1) {
        return fail(ret_fault, 400, "Content-Length is given more than once");
    } else if (meaning.lengths == 1 && !apply_length(head, &meaning, ret_fault)) {
        return false;
    }
    if (meaning.names_protected)
        return fail(ret_fault, 400, "Connection names a field that must not be removed");
    if (meaning.authorizations > 1)
        return fail(ret_fault, 400, "Authorization is given more than once");
    head->expects_other = head->minor > 0 && meaning.expects_other;
    head->expects_continue = head->minor > 0 && meaning.expects_continue;
    head->keep_alive = is_kept_alive(head, &meaning);
    return true;
}

static bool never_has_body(uint16_t status)
{
    return status < 200 || status == 204 || status == 304;
}

/* A 1xx, 204 or 304 and an answer to HEAD end with their head, whatever the
 * fields say. What they say still tells whether the peer knows it as well. */
static void apply_no_body(struct http_head *head, const struct meaning *meaning)
{
    struct http_head said = *head;
    struct http1_fault ignored;
    bool is_sound = true;
    if (meaning->encodings > 0)
        is_sound = apply_encoding(&said, meaning, &ignored);
    else if (meaning->lengths > 0)
        is_sound = !meaning->lengths_differ && apply_length(&said, meaning, &ignored);
    bool declares_body = said.framing == HTTP1_CHUNKED || said.content_length > 0;
    if (!is_sound || (declares_body && never_has_body(head->status)))
        head->keep_alive = false;
}

bool http1_apply_response_fields(struct http_head *head, bool to_head,
                                 struct http1_fault *ret_fault)
{
    struct meaning meaning = read_fields(head);
    head->keep_alive = is_kept_alive(head, &meaning);
    if (to_head || never_has_body(head->status)) {
        apply_no_body(head, &meaning);
        return true;
    }
    if (meaning.encodings > 0)
        return apply_encoding(head, &meaning, ret_fault);
    if (meaning.lengths_differ)
        return fail(ret_fault, 400, "Content-Length is given more than once");
    if (meaning.lengths > 0)
        return apply_length(head, &meaning, ret_fault);
    head->framing = HTTP1_UNTIL_CLOSE;
    head->keep_alive = false;
    return true;
}
