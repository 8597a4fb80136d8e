/* The checkers of rows and runs. They know the truth, and rules of their own: what may
 * follow what is written here once more, not taken from the table of the product. They
 * must never change what the story does. */
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ATTEMPTS_MAX 100000

static const struct version no_version = {.receipt = {.state = RECEIPT_ABSENT}};

const struct version *check_last(const struct identity *identity)
{
    return identity->version_count == 0 ? &no_version
                                        : &identity->versions[identity->version_count - 1];
}

static const char *state_of(const struct version *version)
{
    return receipt_state_name(version->receipt.state);
}

/* ---- what may follow what ---- */

bool check_is_over(const struct world *world, const struct version *old)
{
    const struct receipt *receipt = &old->receipt;
    int64_t now = world->wall_high;
    bool is_over = receipt->expire_ms != 0 && now >= receipt->expire_ms;
    switch (receipt->state) {
    case RECEIPT_ABSENT:
        return true;
    case RECEIPT_RELEASED:
        return is_over;
    case RECEIPT_EXPIRED:
        return is_over || world->plan.rerun_on_expiry;
    case RECEIPT_COMPLETED:
    case RECEIPT_CANCELLED:
        return is_over && (world->plan.rerun_on_expiry ||
                           now - receipt->expire_ms >= world->plan.tombstone_ms);
    case RECEIPT_DEFERRED:
    case RECEIPT_CLAIMED:
    case RECEIPT_SENT:
    case RECEIPT_UNKNOWN:
    case RECEIPT_ABANDONED:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return false;
}

static void fail_move(struct world *world, const struct identity *identity,
                      const struct version *old, const struct version *next, const char *why)
{
    world_fail(world, "key %.*s of %.*s goes from %s to %s: %s", (int)identity->key.len,
               identity->key.ptr, (int)identity->owner.len, identity->owner.ptr, state_of(old),
               state_of(next), why);
}

static void check_release(struct world *world, struct identity *identity, const struct version *old,
                          const struct version *next);

/* The same operation, and what it was left room for another attempt. */
static bool may_go_on(const struct world *world, const struct version *old,
                      const struct version *next)
{
    switch (old->receipt.state) {
    case RECEIPT_RELEASED:
        return true;
    case RECEIPT_DEFERRED:
        return next->receipt.state == RECEIPT_SENT;
    case RECEIPT_UNKNOWN:
        return world->plan.dedups && world->plan.retries && next->receipt.state == RECEIPT_SENT &&
               (next->receipt.marks & RECEIPT_RESENT) != 0;
    case RECEIPT_SENT: /* refused, and claimed ahead in the same commit */
        return world->plan.retries && next->receipt.state == RECEIPT_CLAIMED;
    case RECEIPT_ABSENT:
    case RECEIPT_CLAIMED:
    case RECEIPT_COMPLETED:
    case RECEIPT_CANCELLED:
    case RECEIPT_ABANDONED:
    case RECEIPT_EXPIRED:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return false;
}

static bool is_same_operation(const struct version *old, const struct version *next)
{
    return old->receipt.state != RECEIPT_ABSENT &&
           strcmp(old->operation_id, next->operation_id) == 0;
}

/* What the record of a refusal asks for counts from now on. */
static void note_wish(struct identity *identity, const struct attempt *attempt)
{
    if (attempt != NULL && attempt->wish_ms > 0)
        identity->not_before_ticks = attempt->wished_ticks + attempt->wish_ms;
}

static void check_first(struct world *world, struct identity *identity, const struct version *old,
                        const struct version *next)
{
    if (!check_is_over(world, old))
        fail_move(world, identity, old, next, "a new operation before the old one is over");
    world->counts[COUNT_RENEWALS] += identity->life > 0;
    identity->life += old->receipt.state != RECEIPT_ABSENT;
    identity->not_before_ticks = 0;
    if (is_same_operation(old, next))
        fail_move(world, identity, old, next, "a new operation has the id of the old one");
}

static void check_claim(struct world *world, struct identity *identity, const struct version *old,
                        struct version *next)
{
    enum receipt_state to = next->receipt.state;
    if (to != RECEIPT_SENT && !(to == RECEIPT_CLAIMED && world->plan.retries))
        fail_move(world, identity, old, next, "a claim that is not SENT");
    if (!is_same_operation(old, next)) {
        check_first(world, identity, old, next);
    } else if (!may_go_on(world, old, next)) {
        fail_move(world, identity, old, next, "claimed again, and was not free");
    } else {
        if ((old->receipt.marks & RECEIPT_CANCEL_REQUESTED) != 0)
            fail_move(world, identity, old, next, "claimed after somebody asked to cancel");
        if (old->receipt.state == RECEIPT_SENT) {
            check_release(world, identity, old, next);
            note_wish(identity, check_attempt(world, old->receipt.token));
        }
    }
    next->life = identity->life;
    check_add_attempt(world, identity, &next->receipt);
}

/* The key is taken for later: nothing is leased, and nothing sent. */
static void check_promise(struct world *world, struct identity *identity, const struct version *old,
                          struct version *next)
{
    world->counts[COUNT_PROMISES] += !identity->undoes;
    if (world->plan.defers == DEFER_NEVER && !identity->undoes)
        fail_move(world, identity, old, next, "no route defers");
    check_first(world, identity, old, next);
    next->life = identity->life;
}

/* ---- what the rows know ---- */

/* By the configuration of plan.c; the network draws from these. */
static bool says_it_ran(uint16_t status)
{
    return status == 200 || status == 201 || status == 204 || status == 404 || status == 409;
}

static void read_evidence(struct world *world, const struct identity *identity,
                          const struct store_row *row)
{
    struct attempt_record *records = NULL;
    uint32_t count = 0;
    struct arena *arena = arena_new((size_t)1 << 20);
    gw_assert(arena != NULL);
    enum gw_status status = attempts_decode(arena, row->attempts, &records, &count);
    gw_assert(status == GW_OK);
    for (uint32_t i = 0; i < count; i++) {
        struct attempt *attempt = check_attempt(world, records[i].token);
        if (attempt != NULL && attempt->life == identity->life && attempt->ran &&
            records[i].end == END_answered && says_it_ran(records[i].status))
            attempt->is_known = true;
    }
    arena_free(arena);
}

static bool is_known_to_have_run(const struct identity *identity)
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
static bool is_found(const struct version *old, const struct version *next, uint8_t probe)
{
    return next->probe_count > old->probe_count && next->probe == probe;
}

/* Free again: nothing of it ran or can still run, but for what an operator answers for. */
static void check_release(struct world *world, struct identity *identity, const struct version *old,
                          const struct version *next)
{
    struct verdict verdict = {0};
    const struct plan *plan = &world->plan;
    const uint32_t both = RECEIPT_SETTLED | RECEIPT_CONSUMED;
    bool by_operator =
        old->receipt.state == RECEIPT_UNKNOWN && (next->receipt.marks & both) == RECEIPT_SETTLED;
    world->counts[COUNT_RELEASES]++;
    if (by_operator && !operator_verdict(world, next->operation_id, old->receipt.version, &verdict))
        fail_move(world, identity, old, next, "settled by nobody");
    if (by_operator)
        forgive(identity, true);
    /* Clocks that jump and bytes that outlive the quiet time deceive an honest one too. */
    bool by_probe = old->receipt.state == RECEIPT_UNKNOWN && is_found(old, next, PROBE_ABSENT);
    world->counts[COUNT_FINDINGS] += by_probe;
    bool excuses = (by_operator && !verdict.is_honest) ||
                   ((by_operator || by_probe) && (plan->clock_steps || plan->rude_network));
    for (struct attempt *a = identity->attempts; a != NULL; a = a->older) {
        if (a->life != identity->life || a->excused || !(a->ran || a->will_run))
            continue;
        a->excused = excuses;
        if (!excuses)
            fail_move(world, identity, old, next, a->ran ? "it ran" : "it is still going to run");
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
    fail_move(world, identity, old, next, "by a probe, and no attempt ran so");
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

static void check_completion(struct world *world, struct identity *identity,
                             const struct version *old, const struct version *next)
{
    if (old->receipt.state == RECEIPT_UNKNOWN && is_found(old, next, PROBE_EXECUTED)) {
        check_found(world, identity, old, next);
        return;
    }
    if ((next->receipt.marks & RECEIPT_SETTLED) != 0)
        return; /* the answer, if there is one, is the operator's */
    const struct attempt *attempt = whose_answer(world, identity, next);
    if (attempt == NULL || attempt->life != identity->life)
        fail_move(world, identity, old, next, "by an attempt that is not its own");
    else if (!attempt->ran || !attempt->answered)
        fail_move(world, identity, old, next, "by an answer that was never given");
    else if (next->answer_kept &&
             (attempt->status != next->answer_status ||
              !span_equal(gw_buf_span(&attempt->body), gw_buf_span(&next->answer))))
        fail_move(world, identity, old, next, "with another answer than the attempt's own");
    bool was_decided =
        old->receipt.state == RECEIPT_RELEASED || old->receipt.state == RECEIPT_DEFERRED ||
        old->receipt.state == RECEIPT_CANCELLED || old->receipt.state == RECEIPT_ABANDONED;
    if (was_decided && (next->receipt.marks & RECEIPT_CONTRADICTED) == 0)
        fail_move(world, identity, old, next, "against a verdict, and is not marked so");
}

/* The real answer in the place of an operator's: only of a verdict, and only while no
 * caller was told another one. */
static void check_replacement(struct world *world, struct identity *identity,
                              const struct version *old, const struct version *next)
{
    if ((old->receipt.marks & RECEIPT_SETTLED) == 0 || (next->receipt.marks & RECEIPT_SETTLED) != 0)
        fail_move(world, identity, old, next, "the answer on record has changed");
    check_completion(world, identity, old, next);
    for (uint32_t i = identity->version_count; i > 0; i--) {
        const struct version *version = &identity->versions[i - 1];
        if (version->life == identity->life && version->was_replayed &&
            !check_same_answer(version, next))
            fail_move(world, identity, old, next, "callers were told another answer");
    }
}

static void check_reopen(struct world *world, struct identity *identity, const struct version *old,
                         const struct version *next)
{
    if ((old->receipt.marks & (RECEIPT_SETTLED | RECEIPT_CONSUMED)) != RECEIPT_SETTLED)
        fail_move(world, identity, old, next, "a verdict is taken back that was none or was told");
    forgive(identity, false);
    /* What was said of older attempts has been acted on since. */
    struct attempt *attempt = check_attempt(world, old->receipt.token);
    if (attempt != NULL)
        attempt->excused = false;
}

static bool says_it_did_not_run(enum receipt_state state)
{
    return state == RECEIPT_RELEASED || state == RECEIPT_CANCELLED || state == RECEIPT_DEFERRED;
}

/* To RELEASED, CANCELLED or DEFERRED: by a refusal, a verdict, a lapse or a cancel. What
 * was promised is never just free. */
static bool check_not_run(struct world *world, struct identity *identity, const struct version *old,
                          const struct version *next)
{
    enum receipt_state from = old->receipt.state, to = next->receipt.state;
    bool was_promised = (old->receipt.marks & RECEIPT_PROMISED) != 0;
    bool was_told_to_stop = (old->receipt.marks & RECEIPT_CANCEL_REQUESTED) != 0;
    if (to == RECEIPT_RELEASED && was_promised)
        fail_move(world, identity, old, next, "it was promised, and is released without a word");
    bool is_promised = (next->receipt.marks & RECEIPT_PROMISED) != 0;
    if (to == RECEIPT_DEFERRED && is_promised == identity->undoes)
        fail_move(world, identity, old, next, "deferred, and nobody was promised it");
    if (to == RECEIPT_CANCELLED && from == RECEIPT_SENT && !was_told_to_stop && !was_promised)
        fail_move(world, identity, old, next, "nobody asked to cancel it");
    if (from == RECEIPT_SENT || from == RECEIPT_UNKNOWN || from == RECEIPT_CLAIMED)
        check_release(world, identity, old, next);
    if (from == RECEIPT_SENT || from == RECEIPT_UNKNOWN)
        note_wish(identity, check_attempt(world, old->receipt.token));
    world->counts[COUNT_PROMISES] += from == RECEIPT_RELEASED && to == RECEIPT_DEFERRED;
    world->counts[COUNT_CANCELS] += to == RECEIPT_CANCELLED;
    switch (from) {
    case RECEIPT_SENT:
    case RECEIPT_UNKNOWN:
        return true;
    case RECEIPT_CLAIMED:
        return world->plan.retries;
    case RECEIPT_RELEASED:
        return to == RECEIPT_DEFERRED && !was_told_to_stop;
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

static void renew_lease(struct world *world, const struct receipt *receipt)
{
    struct attempt *attempt = check_attempt(world, receipt->token);
    if (attempt != NULL)
        attempt->lease_until_ticks = world->ticks + receipt->lease_until_ms - world_wall(world);
}

static void check_same_attempt(struct world *world, struct identity *identity,
                               const struct version *old, const struct version *next)
{
    enum receipt_state from = old->receipt.state, to = next->receipt.state;
    bool legal = false;
    if (from == to) {
        legal = true;
        if (from == RECEIPT_COMPLETED && !check_same_answer(old, next))
            check_replacement(world, identity, old, next);
        return;
    }
    bool is_spoken_against = is_known_to_have_run(identity) || is_found(old, next, PROBE_EXECUTED);
    if (to == RECEIPT_UNKNOWN && says_it_did_not_run(from) && is_spoken_against) {
        legal = (next->receipt.marks & RECEIPT_CONTRADICTED) != 0;
    } else if (to == RECEIPT_UNKNOWN && from != RECEIPT_SENT) {
        check_reopen(world, identity, old, next);
        legal = from == RECEIPT_COMPLETED || from == RECEIPT_RELEASED || from == RECEIPT_ABANDONED;
    } else if (to == RECEIPT_UNKNOWN) {
        legal = true;
    } else if (to == RECEIPT_COMPLETED) {
        check_completion(world, identity, old, next);
        legal = from == RECEIPT_SENT || from == RECEIPT_UNKNOWN || says_it_did_not_run(from) ||
                from == RECEIPT_ABANDONED;
    } else if (says_it_did_not_run(to)) {
        legal = check_not_run(world, identity, old, next);
    } else if (to == RECEIPT_SENT) {
        legal = from == RECEIPT_CLAIMED;
        renew_lease(world, &next->receipt);
    } else if (to == RECEIPT_ABANDONED) {
        legal = from == RECEIPT_UNKNOWN;
    } else if (to == RECEIPT_EXPIRED) {
        legal = (from == RECEIPT_COMPLETED || from == RECEIPT_CANCELLED) &&
                world->wall_high >= old->receipt.expire_ms;
        if (next->receipt.expire_ms != old->receipt.expire_ms + world->plan.tombstone_ms)
            fail_move(world, identity, old, next, "its tombstone has not the route's length");
    }
    if (!legal)
        fail_move(world, identity, old, next, "there is no such move");
}

static bool has_come_to_rest(const struct version *next)
{
    return next->receipt.state != RECEIPT_SENT && next->receipt.state != RECEIPT_CLAIMED;
}

static void check_move(struct world *world, struct identity *identity, struct version *next)
{
    const struct version *old = check_last(identity);
    next->life = identity->life;
    if (next->receipt.state == RECEIPT_ABSENT) {
        if (!check_is_over(world, old))
            fail_move(world, identity, old, next, "it vanished before its time");
        identity->life++;
    } else if (next->receipt.state == RECEIPT_DEFERRED && !is_same_operation(old, next)) {
        check_promise(world, identity, old, next);
    } else if (old->receipt.state == RECEIPT_ABSENT || next->receipt.token != old->receipt.token) {
        check_claim(world, identity, old, next);
    } else {
        check_same_attempt(world, identity, old, next);
    }
    if (says_it_did_not_run(next->receipt.state) && is_known_to_have_run(identity))
        fail_move(world, identity, old, next, "it is free, and an answer on record says it ran");
    bool moved = old->receipt.state != next->receipt.state;
    if (moved && has_come_to_rest(next))
        identity->moved_ticks = world->ticks;
    world->counts[COUNT_UNKNOWNS] += moved && next->receipt.state == RECEIPT_UNKNOWN;
    world_say(world, "  key %.*s of %.*s in %.*s: %s -> %s, version %" PRIu32 ", attempt %llx",
              (int)identity->key.len, identity->key.ptr, (int)identity->owner.len,
              identity->owner.ptr, (int)identity->scope.len, identity->scope.ptr, state_of(old),
              state_of(next), next->receipt.version, (unsigned long long)next->receipt.token >> 40);
}

/* ---- the rows after a commit ---- */

static void read_answer(const struct store_row *row, struct version *version)
{
    struct stored_message message;
    if (row->answer.len == 0)
        return;
    struct arena *arena = arena_new((size_t)1 << 20);
    gw_assert(arena != NULL);
    enum gw_status status = message_decode(arena, row->answer, &message);
    gw_assert(status == GW_OK);
    version->answer_status = message.status;
    bool ok = gw_buf_add(&version->answer, message.body);
    gw_assert(ok);
    arena_free(arena);
}

static void add_version(struct world *world, struct identity *identity, const struct store_row *row)
{
    struct version next = {.from_ticks = world->ticks};
    gw_buf_init(&next.answer, 16384);
    if (row != NULL) {
        next.receipt = row->receipt;
        next.print = row->print;
        next.answer_kept = row->answer_kept;
        next.probe = row->probe;
        next.probe_count = row->probe_count;
        memcpy(next.operation_id, row->operation_id, sizeof(next.operation_id));
        read_answer(row, &next);
        read_evidence(world, identity, row);
    }
    check_move(world, identity, &next);
    gw_assert(identity->version_count < SIM_HISTORY_MAX);
    if (identity->version_count == identity->version_cap) {
        identity->version_cap = identity->version_cap == 0 ? 16 : 2 * identity->version_cap;
        struct version *more = realloc(identity->versions, identity->version_cap * sizeof(*more));
        gw_assert(more != NULL);
        identity->versions = more;
    }
    identity->versions[identity->version_count++] = next;
}

static const struct store_row *find_row(struct world *world, const struct identity *identity)
{
    const struct store_row *row;
    for (size_t i = 0; i <= SIM_IDENTITIES && (row = disk_row(world, i)) != NULL; i++)
        if (span_equal(row->owner, identity->owner) && span_equal(row->scope, identity->scope) &&
            span_equal(row->key, identity->key))
            return row;
    return NULL;
}

static bool is_as_before(const struct version *last, const struct store_row *row)
{
    if (row == NULL)
        return last->receipt.state == RECEIPT_ABSENT;
    return last->receipt.state == row->receipt.state &&
           last->receipt.version == row->receipt.version &&
           last->receipt.token == row->receipt.token;
}

void check_commit(struct world *world)
{
    undo_look(world);
    for (uint32_t i = 0; i < SIM_IDENTITIES; i++) {
        struct identity *identity = &world->identities[i];
        if (identity->owner.len == 0)
            continue;
        const struct store_row *row = find_row(world, identity);
        if (!is_as_before(check_last(identity), row))
            add_version(world, identity, row);
    }
}

void check_free(struct world *world)
{
    for (uint32_t i = 0; i < SIM_IDENTITIES; i++) {
        struct identity *identity = &world->identities[i];
        for (uint32_t v = 0; v < identity->version_count; v++)
            gw_buf_fini(&identity->versions[v].answer);
        free(identity->versions);
        for (uint32_t n = 0; n < ATTEMPTS_MAX && identity->attempts != NULL; n++) {
            struct attempt *attempt = identity->attempts;
            identity->attempts = attempt->older;
            gw_buf_fini(&attempt->body);
            free(attempt);
        }
    }
}
