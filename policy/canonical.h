/* What counts for the fingerprint: the canonical form of a body, written piece by
 * piece into a sink, and the list of its members so that a refusal can name what
 * changed. STANDARDS part 3. Never used to send: the received bytes go upstream
 * (JSON-11). Pure: the caller brings the memory and the hash.
 *
 * The encoding. A number is written in base 128, lowest seven bits first, the top
 * bit set on all bytes but the last. A text is the number of its bytes and then the
 * bytes. So each item tells where it ends, and no two different lists of items give
 * the same bytes. The first byte names the mode:
 *
 *   json       'J', then 'a' and the value of the document, or 'o', the number of
 *              `only` pointers and for each of them in their order a value.
 *              value: 'n' null, 'f' false, 't' true, '#' and the number's text as it
 *              was received, '"' and the decoded text, '[', the count and the
 *              values, '{', the count and for each member, in the order of the
 *              decoded bytes of the names, name and value; '-' nothing is there.
 *              An ignored member is not written and not counted.
 *   form       'F', the count of pairs, for each pair in the order of the decoded
 *              names the decoded name and '-' (no "=") or '=' and the decoded value.
 *   raw        'R' and the body.
 *   multipart  'M', the preamble; for each part 'P' and its name, and then, each as
 *              '-' or '=' and a text: filename, filename*, Content-Type,
 *              Content-Transfer-Encoding; 'p' with name and value for each other
 *              parameter of its Content-Disposition; 'b' and the bytes ('-' or '='
 *              again: a part may end without the empty line); after the last part
 *              'Z' and the epilogue. Other header fields of a part do not count
 *              (RFC 7578 4.8). Parameter values are taken as they stand between
 *              their quotes. Preamble and epilogue count although RFC 2046 ignores
 *              them, because a lenient reader might not; usually both are empty.
 *
 * Whoever changes the encoding counts CANONICAL_VERSION up: it belongs to the
 * fingerprint, as do the options. */
#ifndef RECIBO_POLICY_CANONICAL_H
#define RECIBO_POLICY_CANONICAL_H

#include "policy/json.h"

#define CANONICAL_VERSION 1

enum fingerprint_mode {
    FINGERPRINT_JSON,
    FINGERPRINT_FORM,
    FINGERPRINT_RAW,
    FINGERPRINT_MULTIPART,
    FINGERPRINT_MODE_COUNT,
};
const char *fingerprint_mode_name(enum fingerprint_mode mode);

struct canonical_sink {
    /* Bytes of the canonical form. Length prefixes are part of it: no two
     * different bodies of one mode give the same bytes. */
    void (*put)(void *ctx, struct span bytes);
    /* Around the bytes of one member of the first two levels; `pointer` is a JSON
     * pointer, a form name ("/name") or a part name. Called for at most
     * CANONICAL_MEMBERS_MAX members, in a fixed order; nested: a member of the
     * second level lies inside one of the first. Both NULL: not wanted.
     * The pointer is fit to be shown: a control character of a name is written as
     * \u00XX, a byte that is not UTF-8 as \xHH, "~" and "/" as ~0 and ~1. With `only`
     * the first level are those pointers, the second what lies directly in them. */
    void (*member_begin)(void *ctx, struct span pointer);
    void (*member_end)(void *ctx);
    void *ctx;
};
#define CANONICAL_MEMBERS_MAX       32
#define CANONICAL_POINTER_BYTES_MAX 128 /* a longer pointer is cut at the end with "..." */

struct canonical_options {
    const struct json_pointer *ignore; /* left out; json mode */
    uint32_t ignore_count;
    const struct json_pointer *only; /* nothing else counts; json mode */
    uint32_t only_count;
};

/* `order` is scratch room for doc->node_count numbers. */
void canonical_json(const struct json_doc *doc, const struct canonical_options *options,
                    uint32_t *order, const struct canonical_sink *sink);

/* One name and value of a form, as offsets into the body, still encoded. */
struct form_pair {
    uint32_t name, name_end, value, value_end;
    bool has_value; /* false: no "=" at all */
};
/* Splits; false with a fault for a bad % escape or more than pairs_max. */
bool form_parse(struct span body, struct form_pair *pairs, uint32_t pairs_max, uint32_t *ret_count,
                struct json_fault *ret_fault) GW_MUST_CHECK;
uint32_t form_count(struct span body); /* upper bound for the room form_parse needs */
/* Index of the first pair whose decoded name equals `name`; JSON_NONE: none. */
uint32_t form_find(struct span body, const struct form_pair *pairs, uint32_t count,
                   struct span name);
/* Decodes one part of a pair ("+" is a space, %HH a byte) into a sink. */
void form_decode(struct span raw, json_put_fn *put, void *ctx);
/* Sorts `pairs` in place (stable, by decoded name; FORM-2). */
void canonical_form(struct span body, struct form_pair *pairs, uint32_t count,
                    const struct canonical_sink *sink);

void canonical_raw(struct span body, const struct canonical_sink *sink);

/* Parts in order: name, filename, type, bytes; the boundary does not count
 * (MPF-1). `boundary` is the parameter of the Content-Type, unquoted. false with a
 * fault when the body is not well-formed (RFC 2046 5.1, RFC 7578). */
bool canonical_multipart(struct span body, struct span boundary, const struct canonical_sink *sink,
                         struct json_fault *ret_fault) GW_MUST_CHECK;

#endif
