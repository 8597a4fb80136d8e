/* The checkers of ends: what frees a key, what is on record as its answer, who said so.
 * They must never change what the story does. */
#include "tests/sim/check.h"

#include <inttypes.h>
#include <stdio.h>

/* What the record of a refusal asks for counts from now on. */
void check_note_wish(struct identity *identity, const struct attempt *attempt)
{
    if (attempt != NULL && attempt->wish_ms > 0)
        identity->not_before_ticks = attempt->wished_ticks + attempt->wish_ms;
}

bool check_is_known_to_have_run(const struct identity *identity)
{
    for (const struct attempt *a = identity->attempts; a != NULL; a = a->older)
        if (a->life == identity->life && a->is_known && !a->is_forgiven)
            return true;
    return false;
}

static void forgive(struct identity *identity, bool is_forgiven)
{
    for (struct attempt *a = identity->attempts; a != NULL; a = a->older)
        if (a->life == identity->life)
            a->is_forgiven = is_forgiven && a->is_known;
}

/* Has a probe's finding come with this version? */
bool check_is_found(const struct version *old, const struct version *next, uint8_t probe)
{
    return next->probe_count > old->probe_count && next->probe == probe;
}

/* Free again: nothing of it ran or can still run, but for what an operator answers for. */
void check_release(struct world *world, struct identity *identity, const struct version *old,
                   const struct version *next)
{
    struct verdict verdict = {0};
    const struct plan *plan = &world->plan;
    const uint32_t both = RECEIPT_SETTLED | RECEIPT_CONSUMED;
    bool by_operator =
        old->receipt.state == RECEIPT_UNKNOWN && (next->receipt.marks & both) == RECEIPT_SETTLED;
    world->counts[COUNT_RELEASES]++;
    if (by_operator && !operator_verdict(world, next->operation_id, old->receipt.version, &verdict))
        check_fail_move(world, identity, old, next, "settled by nobody");
    if (by_operator)
        forgive(identity, true);
    /* Clocks that jump and bytes that outlive the quiet time deceive an honest one too. */
    bool by_probe =
        old->receipt.state == RECEIPT_UNKNOWN && check_is_found(old, next, PROBE_ABSENT);
    world->counts[COUNT_FINDINGS] += by_probe;
    bool excuses = (by_operator && !verdict.is_honest) ||
                   ((by_operator || by_probe) && (plan->clock_steps || plan->rude_network));
    for (struct attempt *a = identity->attempts; a != NULL; a = a->older) {
        if (a->life != identity->life || a->excused || !(a->ran || a->will_run))
            continue;
        a->excused = excuses;
        if (!excuses)
            check_fail_move(world, identity, old, next,
                            a->ran ? "it ran" : "it is still going to run");
    }
}

bool check_same_answer(const struct version *a, const struct version *b)
{
    return a->answer_kept == b->answer_kept && a->answer_status == b->answer_status &&
           span_equal(gw_buf_span(&a->answer), gw_buf_span(&b->answer));
}

/* By a probe: some attempt of the operation ran, and its run is what callers get. */
static void check_found(struct world *world, const struct identity *identity,
                        const struct version *old, const struct version *next)
{
    char body[64];
    world->counts[COUNT_FINDINGS]++;
    for (const struct attempt *a = identity->attempts; a != NULL; a = a->older) {
        int len = snprintf(body, sizeof(body), "{\"found\":%" PRIu64 "}", a->run_id);
        if (a->life == identity->life && a->ran && next->answer_status == 201 &&
            span_equal(gw_buf_span(&next->answer), span_of(body, (size_t)len)))
            return;
    }
    check_fail_move(world, identity, old, next, "by a probe, and no attempt ran so");
}

/* Where the upstream deduplicates, the answer of an earlier sending is the operation's. */
static const struct attempt *
whose_answer(const struct world *world, const struct identity *identity, const struct version *next)
{
    const struct attempt *own = NULL;
    for (const struct attempt *a = identity->attempts; a != NULL; a = a->older) {
        bool is_own = a->token == next->receipt.token;
        own = is_own ? a : own;
        bool may_be = is_own || (world->plan.dedups && a->life == identity->life);
        bool is_same =
            !next->answer_kept || (a->status == next->answer_status &&
                                   span_equal(gw_buf_span(&a->body), gw_buf_span(&next->answer)));
        if (may_be && a->answered && a->ran && is_same)
            return a;
    }
    return own;
}

void check_completion(struct world *world, struct identity *identity, const struct version *old,
                      const struct version *next)
{
    if (old->receipt.state == RECEIPT_UNKNOWN && check_is_found(old, next, PROBE_EXECUTED)) {
        check_found(world, identity, old, next);
        return;
    }
    if ((next->receipt.marks & RECEIPT_SETTLED) != 0)
        return; /* the answer, if there is one, is the operator's */
    const struct attempt *attempt = whose_answer(world, identity, next);
    if (attempt == NULL || attempt->life != identity->life)
        check_fail_move(world, identity, old, next, "by an attempt that is not its own");
    else if (!attempt->ran || !attempt->answered)
        check_fail_move(world, identity, old, next, "by an answer that was never given");
    else if (next->answer_kept &&
             (attempt->status != next->answer_status ||
              !span_equal(gw_buf_span(&attempt->body), gw_buf_span(&next->answer))))
        check_fail_move(world, identity, old, next, "with another answer than the attempt's own");
    bool was_decided =
        old->receipt.state == RECEIPT_RELEASED || old->receipt.state == RECEIPT_DEFERRED ||
        old->receipt.state == RECEIPT_CANCELLED || old->receipt.state == RECEIPT_ABANDONED;
    if (was_decided && (next->receipt.marks & RECEIPT_CONTRADICTED) == 0)
        check_fail_move(world, identity, old, next, "against a verdict, and is not marked so");
}

/* The real answer in the place of an operator's: only of a verdict, and only while no
 * caller was told another one. */
void check_replacement(struct world *world, struct identity *identity, const struct version *old,
                       const struct version *next)
{
    if ((old->receipt.marks & RECEIPT_SETTLED) == 0 || (next->receipt.marks & RECEIPT_SETTLED) != 0)
        check_fail_move(world, identity, old, next, "the answer on record has changed");
    check_completion(world, identity, old, next);
    for (uint32_t i = identity->version_count; i > 0; i--) {
        const struct version *version = &identity->versions[i - 1];
        if (version->life == identity->life && version->was_replayed &&
            !check_same_answer(version, next))
            check_fail_move(world, identity, old, next, "callers were told another answer");
    }
}

void check_reopen(struct world *world, struct identity *identity, const struct version *old,
                  const struct version *next)
{
    if ((old->receipt.marks & (RECEIPT_SETTLED | RECEIPT_CONSUMED)) != RECEIPT_SETTLED)
        check_fail_move(world, identity, old, next,
                        "a verdict is taken back that was none or was told");
    forgive(identity, false);
    /* What was said of older attempts has been acted on since. */
    struct attempt *attempt = check_attempt(world, old->receipt.token);
    if (attempt != NULL)
        attempt->excused = false;
}

bool check_says_not_run(enum receipt_state state)
{
    return state == RECEIPT_RELEASED || state == RECEIPT_CANCELLED || state == RECEIPT_DEFERRED;
}

/* To RELEASED, CANCELLED or DEFERRED: by a refusal, a verdict, a lapse or a cancel. What
 * was promised is never just free. */
bool check_not_run(struct world *world, struct identity *identity, const struct version *old,
                   const struct version *next)
{
    enum receipt_state from = old->receipt.state, to = next->receipt.state;
    bool was_promised = (old->receipt.marks & RECEIPT_PROMISED) != 0;
    bool was_told_to_stop = (old->receipt.marks & RECEIPT_CANCEL_REQUESTED) != 0;
    if (to == RECEIPT_RELEASED && was_promised)
        check_fail_move(world, identity, old, next,
                        "it was promised, and is released without a word");
    bool is_promised = (next->receipt.marks & RECEIPT_PROMISED) != 0;
    if (to == RECEIPT_DEFERRED && is_promised == identity->undoes)
        check_fail_move(world, identity, old, next, "deferred, and nobody was promised it");
    if (to == RECEIPT_CANCELLED && from == RECEIPT_SENT && !was_told_to_stop && !was_promised)
        check_fail_move(world, identity, old, next, "nobody asked to cancel it");
    if (from == RECEIPT_SENT || from == RECEIPT_UNKNOWN || from == RECEIPT_CLAIMED)
        check_release(world, identity, old, next);
    if (from == RECEIPT_SENT || from == RECEIPT_UNKNOWN)
        check_note_wish(identity, check_attempt(world, old->receipt.token));
    world->counts[COUNT_PROMISES] += from == RECEIPT_RELEASED && to == RECEIPT_DEFERRED;
    world->counts[COUNT_CANCELS] += to == RECEIPT_CANCELLED;
    switch (from) {
    case RECEIPT_SENT:
    case RECEIPT_UNKNOWN:
        return true;
    case RECEIPT_CLAIMED:
        return world->plan.retries;
    case RECEIPT_RELEASED:
        return to == RECEIPT_CANCELLED || (to == RECEIPT_DEFERRED && !was_told_to_stop);
    case RECEIPT_DEFERRED:
        return to == RECEIPT_CANCELLED;
    case RECEIPT_ABSENT:
    case RECEIPT_COMPLETED:
    case RECEIPT_CANCELLED:
    case RECEIPT_ABANDONED:
    case RECEIPT_EXPIRED:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return false;
}
