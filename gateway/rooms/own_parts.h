/* What the files of the room `own` share; nobody else includes it. */
#ifndef RECIBO_GATEWAY_ROOMS_OWN_PARTS_H
#define RECIBO_GATEWAY_ROOMS_OWN_PARTS_H

#include "gateway/flow.h"

enum own_stage {
    OWN_ENTER,
    OWN_FOUND,         /* the operation whose state is asked for came back */
    OWN_TO_CANCEL,     /* ... that is to be cancelled */
    OWN_CANCELLED,     /* the change was written, or somebody was faster */
    OWN_COMPENSATION,  /* what became of taking back the operation whose state is asked for */
    OWN_TO_COMPENSATE, /* the operation that is to be taken back */
    OWN_MARKED,        /* ... is marked as acted upon */
    OWN_COMPENSATING,  /* its compensation was written, or there is one */
};

/* ---- own.c ---- */
enum flow_next own_send(struct flow *flow, uint16_t status, struct span body);
enum flow_next own_send_document(struct flow *flow, struct span body);
/* Only the owner may see it; everybody else learns nothing, not even that it exists. */
bool own_is_owner(struct flow *flow, const struct store_row *row);

/* ---- own_cancel.c ---- */
enum flow_next cancel_enter(struct flow *flow, struct span operation_id);
enum flow_next cancel_start(struct flow *flow);
enum flow_next cancel_was_written(struct flow *flow);

/* ---- own_compensate.c ---- */
enum flow_next compensate_enter(struct flow *flow, struct span operation_id);
enum flow_next compensate_start(struct flow *flow);
enum flow_next compensate_was_marked(struct flow *flow);
enum flow_next compensate_was_written(struct flow *flow);

#endif
