/* Bugs that are planted on purpose: the stand-ins ask here where they would go wrong.
 * Whatever is wrapped around a function of the product lies in bugs.c alone. */
#ifndef RECIBO_TESTS_SIM_BUGS_H
#define RECIBO_TESTS_SIM_BUGS_H

#include "tests/sim/sim.h"

const char *bug_word(enum sim_bug bug);
const char *bug_doc(enum sim_bug bug);
uint32_t bug_seeds(enum sim_bug bug);
/* BUG_COUNT: no such bug. */
enum sim_bug bug_by_word(const char *word);
bool bug_is_planted(const struct world *world, enum sim_bug bug);
/* Would this op be told its success before the commit? */
bool bug_tells_early(const struct world *world, const struct store_op *op);
/* What a route would say that knows no quiet time. */
void bug_spoils_conf(const struct world *world);
/* Whatever stands there by now, the finding of a probe is written over it. */
void bug_writes_over(struct world *world, struct store_op *op);
/* Of several gateways: before one's heart-beat, and when one has joined. */
void bug_before_beat(struct world *world, const struct store *store);
void bug_at_start(struct world *world);
/* After an operation that was applied for this store. */
void bug_after_apply(struct store *store, const struct store_op *op);
/* How long a repeat waits that does not look for what others run. */
int64_t bug_waits_for_nobody(const struct flow *flow, int64_t ms);
/* What a wrong sweeper does inside the open batch. */
void bug_sweeps(struct world *world);

#endif
