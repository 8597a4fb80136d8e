/* A person's verdict on a row: may it be given now, and what does the row become? For
 * one operation (settle.c) and for many (plans). Pure but for memory: it reads and
 * writes nothing. Threads: the admin's loop. */
#ifndef RECIBO_GATEWAY_ADMIN_VERDICT_H
#define RECIBO_GATEWAY_ADMIN_VERDICT_H

#include "gateway/board.h"

struct verdict {
    enum settle_verdict kind;
    bool force; /* although the quiet time is not over */
    bool has_answer;
    struct stored_message answer; /* has_answer: what repeats will get */
    struct span plan_id;          /* empty: given to this operation alone */
};

enum verdict_fit {
    VERDICT_FITS,
    VERDICT_NO_MOVE,      /* the state does not take it */
    VERDICT_TOO_EARLY,    /* *ret_quiet_until_ms says when it can be given */
    VERDICT_ANSWER_UNFIT, /* the route would not keep this answer */
};
struct verdict_facts {
    const struct store_row *row;
    const struct route_policy *route; /* NULL: no longer configured */
    int64_t now_ms;
    int64_t skew_ms; /* of the clocks that may have written the row: store_skew_ms() */
    struct arena *arena;
};
/* VERDICT_FITS: *ret_next is the row's next receipt. */
GW_MUST_CHECK enum verdict_fit verdict_judge(const struct verdict *verdict,
                                             const struct verdict_facts *facts,
                                             struct receipt *ret_next, int64_t *ret_quiet_until_ms);
/* The rest of the row, whose receipt is the next one already: basis of the last attempt,
 * answer, time. `packed` is the answer of verdict_pack(). false: out of memory. */
bool verdict_write(const struct verdict *verdict, struct span packed, int64_t now_ms,
                   struct arena *arena, struct store_row *row) GW_MUST_CHECK;
/* The answer as it is kept; empty without one. false: out of memory. */
bool verdict_pack(const struct verdict *verdict, struct arena *arena,
                  struct span *ret_packed) GW_MUST_CHECK;
/* Does the change touch the row's answer? */
bool verdict_sets_answer(const struct verdict *verdict);
/* "verdict=executed version=3 response=201 plan=plan_..." */
struct span verdict_describe(const struct verdict *verdict, uint32_t version, struct arena *arena);
/* VERDICT_COUNT: there is no such word. */
enum settle_verdict verdict_by_word(struct span word);

#endif
