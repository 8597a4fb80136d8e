/* Moving about in a JSON document by name: the sorted order of an object's
 * members and one step of a pointer. Between json.c and canonical.c. Threads: pure. */
#ifndef RECIBO_POLICY_JSON_ORDER_H
#define RECIBO_POLICY_JSON_ORDER_H

#include "policy/json.h"

/* In `links`: this node does not take part. Above every node index. */
#define JSON_LEFT_OUT (JSON_NONE - 1)
/* So that every offset and index lies below JSON_LEFT_OUT. */
#define JSON_TEXT_BYTES_MAX (JSON_LEFT_OUT - 1)

/* Links the children of an object in the order of their decoded names: returns the
 * first, links[i] is the one after i, JSON_NONE ends. Children marked JSON_LEFT_OUT
 * in `links` are passed over and keep the mark. Equal names keep their order. */
uint32_t json_order_members(const struct json_doc *doc, uint32_t object, uint32_t *links);

int json_names_compare(const struct json_doc *doc, uint32_t a, uint32_t b);
struct span json_name(const struct json_doc *doc, uint32_t node);
struct span json_value(const struct json_doc *doc, uint32_t node);
/* The child that one step of a pointer leads to; JSON_NONE: there is none. */
uint32_t json_step(const struct json_doc *doc, uint32_t node, struct span step);

#endif
