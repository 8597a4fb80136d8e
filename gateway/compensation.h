/* The request that takes an operation back, as a row of its own (SPEC 3): its identity,
 * its target out of the recorded answer, and who asked for it. For the room `own` and the
 * operator's plane; whether it may be is policy/compensate.h's to say. Threads: the
 * caller's; it reads and writes nothing but the arena. */
#ifndef RECIBO_GATEWAY_COMPENSATION_H
#define RECIBO_GATEWAY_COMPENSATION_H

#include "policy/compensate.h"
#include "store/store.h"

/* The operation that this one takes back; empty: it is no compensation. */
struct span compensation_of(const struct store_row *row);
/* Can there be a compensation of this operation? */
bool compensation_may_be(const struct store_row *operation);
/* Under which owner, scope, key and identity it stands, whatever the configuration says by
 * now; false: out of memory. */
bool compensation_identify(struct arena *arena, const struct store_row *operation,
                           struct store_row *ret) GW_MUST_CHECK;
/* compensate_judge() of a row that was read with its answer. */
GW_MUST_CHECK enum compensate_says compensation_judge(struct arena *arena,
                                                      const struct route_policy *route,
                                                      const struct store_row *operation,
                                                      enum compensate_by by, int64_t now_ms);

struct compensation_wish {
    const struct route_policy *route;  /* of the operation; it has a compensation */
    const struct store_row *operation; /* with its answer, if that is kept */
    struct span actor, note;
    int64_t now_ms;
    struct arena *arena;
    size_t bytes_max; /* of what is packed */
    void (*random)(void *ret_bytes, size_t len);
    /* Room for the nodes of the recorded answer; NULL: there is none. */
    struct json_node *(*nodes)(void *ctx, uint32_t count, uint32_t **ret_order);
    void *nodes_ctx;
};
enum compensation_fit {
    COMPENSATION_FITS,
    COMPENSATION_UNFIT,     /* a value is missing, or would make the target another one */
    COMPENSATION_NO_MEMORY, /* not now */
};
struct compensation {
    struct store_row row;        /* DEFERRED and due: the claim of its key */
    struct audit_entry audit[2]; /* of the operation, and of the compensation */
    struct span fault;           /* COMPENSATION_UNFIT: a sentence for people */
};
GW_MUST_CHECK enum compensation_fit compensation_make(const struct compensation_wish *wish,
                                                      struct compensation *ret);
/* `made` becomes the successor of `there`, a compensation of which nothing ran; false: it
 * does not take it. */
bool compensation_renew(const struct compensation_wish *wish, const struct store_row *there,
                        struct compensation *made) GW_MUST_CHECK;

#endif
