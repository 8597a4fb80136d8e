/* What `recibo init` takes from an OpenAPI description (3.0 or 3.1, JSON or YAML): the
 * operations that change something. It never resolves a reference and fetches nothing.
 * Threads: pure. */
#ifndef RECIBO_CONF_OPENAPI_H
#define RECIBO_CONF_OPENAPI_H

#include "base/arena.h"

#define OPENAPI_TEXT_BYTES_MAX ((size_t)16 << 20)
#define OPENAPI_OPERATIONS_MAX 1000

struct openapi_operation {
    struct span method;   /* "POST" */
    struct span path;     /* as written: "/orders/{id}" */
    struct span id;       /* operationId; empty: none */
    struct span key_name; /* a header parameter that looks like an idempotency key; empty: none */
    bool key_is_required;
    uint32_t line;
};
struct openapi {
    struct span title;
    struct span server; /* the first server's url; empty: none */
    struct openapi_operation *operations;
    uint32_t count;
    uint32_t references; /* path items and operations that are a $ref or an alias */
    bool is_cut;         /* there are more than OPENAPI_OPERATIONS_MAX */
};
/* GW_INVALID: it is no OpenAPI 3 description; err says where. */
GW_MUST_CHECK enum gw_status openapi_read(struct arena *arena, struct span text,
                                          struct openapi *ret, struct gw_error *err);

#endif
