/* Late answers (RCP-12): after a caller was told "unknown" the connection is still
 * read for a while. Whoever takes the answer then is a flow of its own, without a
 * client, that enters at `classify`. */
#ifndef RECIBO_GATEWAY_LATE_H
#define RECIBO_GATEWAY_LATE_H

#include "gateway/flow.h"

/* Inside the done() of a call that still listens: makes the flow that will take the
 * answer, or stops the listening if there can be none. */
void late_begin(struct flow *flow);
/* The upstream port's late(): ctx is the flow made by late_begin(). */
void late_arrives(const struct upstream_facts *facts, struct upstream_answer *answer, void *ctx);
/* The outcome could not be put on record: a flow of its own takes attempt, facts and
 * answer over and goes on trying while the lease lasts. NULL: out of memory. */
struct flow *late_take_over(struct flow *flow);
/* Listening stops (drain). */
void late_cancel(struct flow *late);

#endif
