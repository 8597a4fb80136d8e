/* The 202 of an operation that runs later, and the document that tells an owner how an
 * operation stands: for the rooms `claim`, `record` and `own`. */
#ifndef RECIBO_GATEWAY_ROOMS_ACCEPTED_H
#define RECIBO_GATEWAY_ROOMS_ACCEPTED_H

#include "gateway/flow.h"

/* flow->row is promised and on record: to the room `reply`, with where to ask. */
enum flow_next accepted(struct flow *flow, enum outcome outcome);
/* {"operation_id": ...}; empty: out of memory. */
struct span accepted_document(struct flow *flow, const struct store_row *row);
/* The same, and what the wish to cancel came to. */
struct span cancel_document(struct flow *flow, const struct store_row *row, const char *word);
/* The same, and what became of taking it back; other NULL: nobody asked for that. */
struct span compensated_document(struct flow *flow, const struct store_row *row,
                                 const struct store_row *other);
/* When it is worth asking again, in seconds; 0: it is at rest. */
uint32_t accepted_retry_after_s(const struct flow *flow, const struct store_row *row);

#endif
