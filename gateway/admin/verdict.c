/* What a person's verdict does to a row. Must never move a receipt but by
 * receipt_step(), and never call something not run before the quiet time unless told
 * to. */
#include "gateway/admin/verdict.h"

#include "gateway/admin/answer.h"
#include "gateway/admin/operation.h"

static const struct {
    const char *word;
    enum receipt_event_kind event;
} verdicts[VERDICT_COUNT] = {
    [VERDICT_EXECUTED] = {"executed", RECEIPT_EV_SETTLE_EXECUTED},
    [VERDICT_NOT_EXECUTED] = {"not_executed", RECEIPT_EV_SETTLE_NOT_EXECUTED},
    [VERDICT_ABANDONED] = {"abandoned", RECEIPT_EV_SETTLE_ABANDONED},
    [VERDICT_REOPEN] = {"reopen", RECEIPT_EV_REOPEN},
};

const char *settle_word(enum settle_verdict verdict)
{
    gw_assert(verdict < VERDICT_COUNT);
    return verdicts[verdict].word;
}

enum settle_verdict verdict_by_word(struct span word)
{
    uint32_t at = 0;
    while (at < VERDICT_COUNT && !span_equal(word, span_str(verdicts[at].word)))
        at++;
    return (enum settle_verdict)at;
}

enum receipt_verdict settle_step(const struct store_row *row, const struct route_policy *route,
                                 enum settle_verdict verdict, int64_t now_ms,
                                 struct receipt *ret_next)
{
    int64_t retention_ms = route == NULL ? SETTLE_RETENTION_MS : route->retention_ms;
    /* What was promised runs again at once; everything else is kept for its time. */
    bool runs_again = verdict == VERDICT_NOT_EXECUTED &&
                      (row->receipt.marks & RECEIPT_PROMISED) != 0 &&
                      (row->receipt.marks & RECEIPT_CANCEL_REQUESTED) == 0;
    gw_assert(verdict < VERDICT_COUNT);
    struct receipt_event event = {.kind = verdicts[verdict].event,
                                  .now_ms = now_ms,
                                  .until_ms = runs_again ? now_ms : now_ms + retention_ms};
    return receipt_step(&row->receipt, &event, ret_next);
}

/* Bytes of a paused upstream may still land: "it did not run" is too early to say. */
static int64_t quiet_until_ms(const struct verdict_facts *facts)
{
    struct attempt_record *attempts = NULL;
    const struct store_row *row = facts->row;
    uint32_t count = 0;
    if (row->attempts.len > 0 &&
        attempts_decode(facts->arena, row->attempts, &attempts, &count) != GW_OK)
        count = 0;
    int64_t quiet_ms = facts->route == NULL ? SETTLE_QUIET_MS : facts->route->quiet_ms;
    int64_t last_ms = operation_last_end_ms(attempts, count);
    /* Without evidence of an attempt the row's own last change is the latest it can be. */
    return (last_ms == 0 ? row->updated_ms : last_ms) + quiet_ms + facts->skew_ms;
}

enum verdict_fit verdict_judge(const struct verdict *verdict, const struct verdict_facts *facts,
                               struct receipt *ret_next, int64_t *ret_quiet_until_ms)
{
    struct receipt next;
    if (verdict->has_answer && facts->route != NULL &&
        answer_fault(facts->route, &verdict->answer) != ANSWER_FITS)
        return VERDICT_ANSWER_UNFIT;
    if (settle_step(facts->row, facts->route, verdict->kind, facts->now_ms, &next) != RECEIPT_MOVED)
        return VERDICT_NO_MOVE;
    int64_t until_ms = 0;
    if (verdict->kind == VERDICT_NOT_EXECUTED && !verdict->force)
        until_ms = quiet_until_ms(facts);
    if (facts->now_ms < until_ms) {
        *ret_quiet_until_ms = until_ms;
        return VERDICT_TOO_EARLY;
    }
    *ret_next = next;
    return VERDICT_FITS;
}

/* The last attempt is what the verdict speaks of. */
static bool mark_basis(const struct verdict *verdict, struct arena *arena, struct store_row *row)
{
    struct attempt_record *attempts = NULL;
    uint32_t count = 0;
    bool is_said = verdict->kind == VERDICT_NOT_EXECUTED;
    if (row->attempts.len == 0 || (!is_said && verdict->kind != VERDICT_REOPEN))
        return true;
    if (attempts_decode(arena, row->attempts, &attempts, &count) != GW_OK || count == 0)
        return true; /* the evidence stays as it is */
    uint8_t *basis = &attempts[count - 1].basis;
    if (is_said || *basis == BASIS_ASSERTED)
        *basis = is_said ? BASIS_ASSERTED : BASIS_NONE;
    struct gw_buf packed;
    gw_buf_init(&packed, CALL_BODY_BYTES_MAX);
    bool ok = attempts_encode(&packed, attempts, count) &&
              arena_copy(arena, gw_buf_span(&packed), &row->attempts);
    gw_buf_fini(&packed);
    return ok;
}

bool verdict_sets_answer(const struct verdict *verdict)
{
    return verdict->kind == VERDICT_EXECUTED || verdict->kind == VERDICT_REOPEN;
}

bool verdict_pack(const struct verdict *verdict, struct arena *arena, struct span *ret_packed)
{
    struct gw_buf packed;
    if (!verdict->has_answer) {
        *ret_packed = SPAN("");
        return true;
    }
    gw_buf_init(&packed, verdict->answer.body.len + CALL_BODY_BYTES_MAX);
    bool ok = message_encode(&packed, &verdict->answer) &&
              arena_copy(arena, gw_buf_span(&packed), ret_packed);
    gw_buf_fini(&packed);
    return ok;
}

bool verdict_write(const struct verdict *verdict, struct span packed, int64_t now_ms,
                   struct arena *arena, struct store_row *row)
{
    gw_implies(packed.len > 0, verdict->has_answer);
    if (!mark_basis(verdict, arena, row))
        return false;
    if (verdict_sets_answer(verdict)) {
        row->answer = packed;
        row->answer_kept = verdict->has_answer;
    }
    row->updated_ms = now_ms;
    return true;
}

struct span verdict_describe(const struct verdict *verdict, uint32_t version, struct arena *arena)
{
    struct span answer = SPAN("");
    bool is_planned = verdict->plan_id.len > 0;
    if (verdict->has_answer)
        answer = arena_print(arena, " response=%u", verdict->answer.status);
    else if (verdict->kind == VERDICT_EXECUTED)
        answer = SPAN(" response=none");
    return arena_print(arena, "verdict=%s version=%u%.*s%s%s%.*s", settle_word(verdict->kind),
                       version, (int)answer.len, answer.ptr, verdict->force ? " force" : "",
                       is_planned ? " plan=" : "", (int)verdict->plan_id.len, verdict->plan_id.ptr);
}
