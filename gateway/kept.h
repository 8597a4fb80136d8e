/* A request that is run later, when its caller is gone: whole, but without credentials,
 * which are never kept. Threads: the flow's worker. */
#ifndef RECIBO_GATEWAY_KEPT_H
#define RECIBO_GATEWAY_KEPT_H

#include "gateway/flow.h"

/* flow->row.kept becomes the caller's request; false: out of memory. */
bool kept_pack(struct flow *flow) GW_MUST_CHECK;
/* A request of Recibo's own, without a body and without anybody behind it; false: out of
 * memory. */
bool kept_pack_bare(struct arena *arena, size_t bytes_max, struct span method,
                    struct span *ret) GW_MUST_CHECK;

enum kept_state {
    KEPT_READY,
    KEPT_GONE,  /* there is none, or it cannot be read: it will never run */
    KEPT_LATER, /* no memory, or no room for its body, now */
};
/* flow->head, flow->body, flow->peer and flow->splice become those of flow->row. */
GW_MUST_CHECK enum kept_state kept_restore(struct flow *flow);

#endif
