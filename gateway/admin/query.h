/* The query of a call: names and values, decoded, each at most once. And the
 * grammar of ids. Threads: pure. */
#ifndef RECIBO_GATEWAY_ADMIN_QUERY_H
#define RECIBO_GATEWAY_ADMIN_QUERY_H

#include "base/arena.h"

#define QUERY_PAIRS_MAX 32

struct query_pair {
    struct span name, value;
};
struct query {
    struct query_pair pairs[QUERY_PAIRS_MAX];
    uint32_t count;
    char fault[200]; /* why it is refused */
};

/* %XX, and "+" for a space in a query; false: broken, or out of memory. */
bool query_decode(struct arena *arena, struct span text, bool is_query,
                  struct span *ret) GW_MUST_CHECK;
/* false: query->fault says why. */
bool query_parse(struct arena *arena, struct span text, struct query *query) GW_MUST_CHECK;
/* "op_" and 26 characters of the alphabet of ids. */
bool operation_id_is_sound(struct span id);
/* "plan_" and 26 of them. */
bool plan_id_is_sound(struct span id);

#endif
