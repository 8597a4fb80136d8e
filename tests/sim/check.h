/* What the checkers of rows share. */
#ifndef RECIBO_TESTS_SIM_CHECK_H
#define RECIBO_TESTS_SIM_CHECK_H

#include "tests/sim/sim.h"

/* check.c: from one committed version of a key to the next */
void check_move(struct world *world, struct identity *identity, struct version *next);
void check_fail_move(struct world *world, const struct identity *identity,
                     const struct version *old, const struct version *next, const char *why);

/* check_outcome.c: how attempts end, and what is said of them */
void check_note_wish(struct identity *identity, const struct attempt *attempt);
bool check_is_known_to_have_run(const struct identity *identity);
bool check_is_found(const struct version *old, const struct version *next, uint8_t probe);
bool check_says_not_run(enum receipt_state state);
void check_release(struct world *world, struct identity *identity, const struct version *old,
                   const struct version *next);
void check_completion(struct world *world, struct identity *identity, const struct version *old,
                      const struct version *next);
void check_replacement(struct world *world, struct identity *identity, const struct version *old,
                       const struct version *next);
void check_reopen(struct world *world, struct identity *identity, const struct version *old,
                  const struct version *next);
bool check_not_run(struct world *world, struct identity *identity, const struct version *old,
                   const struct version *next);

#endif
