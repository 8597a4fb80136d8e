/* Strict JSON (RFC 8259 text in UTF-8, unique member names) as a flat table of
 * nodes over the received bytes; nothing is converted. STANDARDS JSON-1..10.
 * Pure: the caller brings the memory. */
#ifndef RECIBO_POLICY_JSON_H
#define RECIBO_POLICY_JSON_H

#include "base/base.h"

enum json_kind {
    JSON_KIND_NULL,
    JSON_KIND_FALSE,
    JSON_KIND_TRUE,
    JSON_KIND_NUMBER,
    JSON_KIND_STRING,
    JSON_KIND_ARRAY,
    JSON_KIND_OBJECT,
};

#define JSON_NONE UINT32_MAX

struct json_node {
    uint8_t kind;        /* enum json_kind */
    uint8_t has_escapes; /* the string holds a backslash */
    uint8_t name_has_escapes;
    uint32_t start, end;           /* of the value in the text; strings without their quotes */
    uint32_t name_start, name_end; /* of the member's name without quotes; 0,0 in arrays */
    uint32_t child;                /* first element or member; JSON_NONE */
    uint32_t next;                 /* sibling; JSON_NONE */
};

struct json_limits {
    uint32_t depth_max; /* 1..JSON_DEPTH_MAX */
    uint32_t nodes_max;
};
#define JSON_DEPTH_MAX 256

struct json_doc {
    struct span text;
    const struct json_node *nodes; /* borrowed; nodes[0] is the root */
    uint32_t node_count;
};

struct json_fault {
    size_t offset;    /* of the first byte that is wrong */
    const char *text; /* static, without bytes of the document */
};

/* Checks the text (all but the uniqueness of names) and counts its nodes, so that
 * the caller can bring room for exactly that many. */
bool json_count(struct span text, const struct json_limits *limits, uint32_t *ret_nodes,
                struct json_fault *ret_fault) GW_MUST_CHECK;
/* Fills `nodes` (room for the counted number); refuses duplicate names at any
 * depth, compared after unescaping. `order` is scratch room of the same length. */
bool json_parse(struct span text, const struct json_limits *limits, struct json_node *nodes,
                uint32_t *order, uint32_t nodes_len, struct json_doc *ret_doc,
                struct json_fault *ret_fault) GW_MUST_CHECK;

/* A JSON pointer (RFC 6901) split and unescaped once, when the configuration is read. */
struct json_pointer {
    struct span text; /* as written: "/order/id" */
    const struct span *steps;
    uint32_t step_count; /* 0: the whole document */
};
/* Node index, or JSON_NONE. */
uint32_t json_find(const struct json_doc *doc, const struct json_pointer *pointer);

/* The member of this object; JSON_NONE: there is none, or the node is no object. */
uint32_t json_member(const struct json_doc *doc, uint32_t object, struct span name);

/* Decodes a string (value or name) piece by piece into a sink. */
typedef void json_put_fn(void *ctx, struct span piece);
void json_decode(struct span raw, bool has_escapes, json_put_fn *put, void *ctx);
/* Does the decoded string equal `text`? */
bool json_string_equals(struct span raw, bool has_escapes, struct span text);
/* Order of the decoded bytes: <0, 0, >0 (JSON-9). */
int json_string_compare(struct span a, bool a_escapes, struct span b, bool b_escapes);

#endif
