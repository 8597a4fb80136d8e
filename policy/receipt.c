/* The life of one receipt: the table of receipt.def, the fence, and what the marks
 * of a row change about a move. Must never read a clock, allocate, or know of a
 * request: whoever calls brings the facts and writes the result. */
#include "policy/receipt.h"

struct state_row {
    const char *name;
    bool may_have_run, key_is_taken;
};

static const struct state_row states[RECEIPT_STATE_COUNT] = {
#define STATE(name, ran, taken, doc) {#name, ran, taken},
#define EVENT(name, doc)
#define MOVE(from, event, to)
#include "policy/receipt.def"
#undef STATE
#undef EVENT
#undef MOVE
};

static const char *const event_names[RECEIPT_EVENT_COUNT] = {
#define STATE(name, ran, taken, doc)
#define EVENT(name, doc) #name,
#define MOVE(from, event, to)
#include "policy/receipt.def"
#undef STATE
#undef EVENT
#undef MOVE
};

/* Target state + 1, so that an entry nobody wrote means: no such move. */
static const uint8_t moves[RECEIPT_STATE_COUNT][RECEIPT_EVENT_COUNT] = {
#define STATE(name, ran, taken, doc)
#define EVENT(name, doc)
#define MOVE(from, event, to) [RECEIPT_##from][RECEIPT_EV_##event] = RECEIPT_##to + 1,
#include "policy/receipt.def"
#undef STATE
#undef EVENT
#undef MOVE
};

static bool is_stale(const struct receipt *cur, const struct receipt_event *ev);
static bool starts_attempt(enum receipt_event_kind kind);
static bool marks_allow(const struct receipt *cur, const struct receipt_event *ev);
static bool says_not_run(enum receipt_state state);
static void keep_times(const struct receipt *cur, struct receipt *next);
static enum receipt_state after_not_run(const struct receipt *cur, enum receipt_event_kind kind);
static bool is_held_by_evidence(const struct receipt *cur, enum receipt_event_kind kind);
static uint32_t marks_after(const struct receipt *cur, const struct receipt_event *ev);
static uint32_t contradict(enum receipt_state state, uint32_t marks);
static void set_time(struct receipt *next, int64_t until_ms);

enum receipt_verdict receipt_step(const struct receipt *cur, const struct receipt_event *ev,
                                  struct receipt *ret_next)
{
    gw_assert(receipt_is_sound(cur));
    gw_assert(ev->kind < RECEIPT_EVENT_COUNT);

    if (is_stale(cur, ev))
        return RECEIPT_STALE;
    const uint8_t target = moves[cur->state][ev->kind];
    if (target == 0 || !marks_allow(cur, ev))
        return RECEIPT_ILLEGAL;

    struct receipt next = {.state = (enum receipt_state)(target - 1),
                           .attempt = cur->attempt,
                           .version = cur->version + 1,
                           .marks = marks_after(cur, ev),
                           .token = cur->token};
    if (next.state == RECEIPT_RELEASED)
        next.state = after_not_run(cur, ev->kind);
    if (says_not_run(next.state) && is_held_by_evidence(cur, ev->kind))
        next.state = RECEIPT_UNKNOWN;
    if (ev->kind == RECEIPT_EV_CONTRADICT)
        next.marks = contradict(next.state, next.marks);
    if (next.state == RECEIPT_CANCELLED) /* what is cancelled promises nothing any more */
        next.marks &= ~(uint32_t)RECEIPT_PROMISED;
    if (next.state == RECEIPT_ABSENT)
        next = (struct receipt){.state = RECEIPT_ABSENT, .version = next.version};
    if (starts_attempt(ev->kind)) {
        gw_assert(ev->token != 0);
        gw_assert(ev->token != cur->token);
        next.token = ev->token;
        next.attempt += next.attempt < UINT32_MAX; /* a number read from a disk may be the last */
    }
    if (ev->kind == RECEIPT_EV_CONTRADICT && next.state == cur->state)
        keep_times(cur, &next);
    else
        set_time(&next, ev->until_ms);
    gw_assert(receipt_is_sound(&next));
    *ret_next = next;
    return RECEIPT_MOVED;
}

/* The token is the fence. Reports of an attempt must carry the row's own; others
 * may leave it out. New attempts bring a fresh one, so there is nothing to compare. */
static bool is_stale(const struct receipt *cur, const struct receipt_event *ev)
{
    switch (ev->kind) {
    case RECEIPT_EV_CLAIM:
    case RECEIPT_EV_DUE:
    case RECEIPT_EV_RESEND:
    case RECEIPT_EV_CONTRADICT: /* of whichever attempt: it speaks of the operation */
        return false;
    case RECEIPT_EV_DISPATCH:
    case RECEIPT_EV_ANSWERED:
    case RECEIPT_EV_REFUSED:
    case RECEIPT_EV_LOST:
        if (ev->token == 0) /* a row that was never claimed holds 0, and that is no match */
            return true;
        break;
    case RECEIPT_EV_LAPSED:
        if (!ev->lease_is_dead && ev->now_ms < cur->lease_until_ms)
            return true;
        break;
    case RECEIPT_EV_DEFER:
    case RECEIPT_EV_GIVE_UP:
    case RECEIPT_EV_CANCEL:
    case RECEIPT_EV_PROBED_EXECUTED:
    case RECEIPT_EV_PROBED_ABSENT:
    case RECEIPT_EV_SETTLE_EXECUTED:
    case RECEIPT_EV_SETTLE_NOT_EXECUTED:
    case RECEIPT_EV_SETTLE_ABANDONED:
    case RECEIPT_EV_REOPEN:
    case RECEIPT_EV_EXPIRE:
    case RECEIPT_EV_FORGET:
    case RECEIPT_EVENT_COUNT:
        break;
    }
    return ev->token != 0 && ev->token != cur->token;
}

static bool starts_attempt(enum receipt_event_kind kind)
{
    return kind == RECEIPT_EV_CLAIM || kind == RECEIPT_EV_DUE || kind == RECEIPT_EV_RESEND;
}

/* Moves that the table has, but not with these marks: nothing is started after
 * somebody asked to cancel, only a verdict that nobody has seen is taken back, and what
 * callers were told is never replaced. */
static bool marks_allow(const struct receipt *cur, const struct receipt_event *ev)
{
    const uint32_t verdict = cur->marks & (RECEIPT_SETTLED | RECEIPT_CONSUMED);
    if (ev->kind == RECEIPT_EV_REOPEN)
        return verdict == RECEIPT_SETTLED;
    if (ev->kind == RECEIPT_EV_ANSWERED && cur->state == RECEIPT_COMPLETED)
        return verdict == RECEIPT_SETTLED || ev->none_was_told;
    if (starts_attempt(ev->kind) || ev->kind == RECEIPT_EV_DEFER)
        return (cur->marks & RECEIPT_CANCEL_REQUESTED) == 0;
    return true;
}

static bool says_not_run(enum receipt_state state)
{
    return state == RECEIPT_RELEASED || state == RECEIPT_CANCELLED || state == RECEIPT_DEFERRED;
}

/* Something says that the operation ran, and no person has judged since he could see it:
 * what speaks of one attempt only, and what the upstream does not find, free it no more. */
static bool is_held_by_evidence(const struct receipt *cur, enum receipt_event_kind kind)
{
    const uint32_t marks = cur->marks & (RECEIPT_CONTRADICTED | RECEIPT_SETTLED);
    return marks == RECEIPT_CONTRADICTED && kind != RECEIPT_EV_SETTLE_NOT_EXECUTED &&
           kind != RECEIPT_EV_DEFER;
}

/* The one place where "it did not run" is turned into a state. It looks at the
 * marks as they are in the row now, not as somebody saw them when he claimed. */
static enum receipt_state after_not_run(const struct receipt *cur, enum receipt_event_kind kind)
{
    /* A refusal speaks of its own attempt; the one before it is still in doubt. */
    if ((cur->marks & RECEIPT_RESENT) != 0 && kind == RECEIPT_EV_REFUSED)
        return RECEIPT_UNKNOWN;
    if ((cur->marks & RECEIPT_CANCEL_REQUESTED) != 0)
        return RECEIPT_CANCELLED;
    if ((cur->marks & RECEIPT_PROMISED) != 0)
        return RECEIPT_DEFERRED;
    return RECEIPT_RELEASED;
}

/* A new attempt builds on the verdict that made it possible. */
static uint32_t consume(uint32_t marks)
{
    return (marks & RECEIPT_SETTLED) != 0 ? marks | RECEIPT_CONSUMED : marks;
}

static uint32_t without_verdict(uint32_t marks)
{
    return marks & ~(uint32_t)(RECEIPT_SETTLED | RECEIPT_CONSUMED);
}

/* A row in doubt, or whose attempt is under way, rests no longer on a verdict that is
 * spoken against. What is settled stays so: a person may still take it back. */
static uint32_t contradict(enum receipt_state state, uint32_t marks)
{
    bool is_open = receipt_is_leased(state) || state == RECEIPT_UNKNOWN;
    return (is_open ? without_verdict(marks) : marks) | RECEIPT_CONTRADICTED;
}

static uint32_t marks_after(const struct receipt *cur, const struct receipt_event *ev)
{
    const uint32_t marks = cur->marks;
    switch (ev->kind) {
    case RECEIPT_EV_CLAIM:
    case RECEIPT_EV_DUE:
        /* Only here the earlier doubt is over for good: REOPEN may still bring it back. */
        return consume(marks & ~(uint32_t)RECEIPT_RESENT);
    case RECEIPT_EV_DEFER:
        return consume(marks) | (ev->promises ? RECEIPT_PROMISED : 0);
    case RECEIPT_EV_RESEND:
        return consume(marks) | RECEIPT_RESENT;
    case RECEIPT_EV_ANSWERED:
        if (says_not_run(cur->state) || cur->state == RECEIPT_ABANDONED)
            return without_verdict(marks) | RECEIPT_CONTRADICTED;
        return without_verdict(marks);
    case RECEIPT_EV_PROBED_EXECUTED:
    case RECEIPT_EV_REOPEN:
        return without_verdict(marks);
    case RECEIPT_EV_SETTLE_EXECUTED:
    case RECEIPT_EV_SETTLE_NOT_EXECUTED:
    case RECEIPT_EV_SETTLE_ABANDONED:
        return without_verdict(marks) | RECEIPT_SETTLED;
    case RECEIPT_EV_CONTRADICT: /* the new state decides: contradict() */
    case RECEIPT_EV_DISPATCH:
    case RECEIPT_EV_REFUSED:
    case RECEIPT_EV_LOST:
    case RECEIPT_EV_LAPSED:
    case RECEIPT_EV_GIVE_UP:
    case RECEIPT_EV_CANCEL:
    case RECEIPT_EV_PROBED_ABSENT:
    case RECEIPT_EV_EXPIRE:
    case RECEIPT_EV_FORGET:
    case RECEIPT_EVENT_COUNT:
        break;
    }
    return marks;
}

/* News of another attempt changes nothing about how long this one may take. */
static void keep_times(const struct receipt *cur, struct receipt *next)
{
    next->lease_until_ms = cur->lease_until_ms;
    next->due_ms = cur->due_ms;
    next->expire_ms = cur->expire_ms;
}

/* until_ms means what the new state needs it for; a doubt needs none: it does not
 * end by time. */
static void set_time(struct receipt *next, int64_t until_ms)
{
    switch (next->state) {
    case RECEIPT_CLAIMED:
    case RECEIPT_SENT:
        next->lease_until_ms = until_ms;
        break;
    case RECEIPT_DEFERRED:
        next->due_ms = until_ms;
        break;
    case RECEIPT_COMPLETED:
    case RECEIPT_RELEASED:
    case RECEIPT_CANCELLED:
    case RECEIPT_EXPIRED:
        gw_assert(until_ms > 0); /* else the row would stay for ever, and nobody would notice */
        next->expire_ms = until_ms;
        break;
    case RECEIPT_ABSENT:
    case RECEIPT_UNKNOWN:
    case RECEIPT_ABANDONED:
    case RECEIPT_STATE_COUNT:
        break;
    }
}

struct receipt receipt_mark(const struct receipt *cur, uint32_t marks)
{
    gw_assert(receipt_is_sound(cur));
    gw_assert((marks & ~(uint32_t)RECEIPT_MARKS_ALL) == 0);
    struct receipt next = *cur;
    next.marks |= marks;
    if ((marks & RECEIPT_CONTRADICTED) != 0)
        next.marks = contradict(cur->state, next.marks);
    next.version++;
    gw_assert(receipt_is_sound(&next));
    return next;
}

static bool may_expire(enum receipt_state s)
{
    return s == RECEIPT_COMPLETED || s == RECEIPT_RELEASED || s == RECEIPT_CANCELLED ||
           s == RECEIPT_EXPIRED;
}

bool receipt_is_sound(const struct receipt *r)
{
    if (r->state >= RECEIPT_STATE_COUNT || (r->marks & ~(uint32_t)RECEIPT_MARKS_ALL) != 0)
        return false;
    if (receipt_is_leased(r->state) ? r->lease_until_ms <= 0 : r->lease_until_ms != 0)
        return false;
    if (r->state == RECEIPT_DEFERRED ? r->due_ms <= 0 : r->due_ms != 0)
        return false;
    if (may_expire(r->state) ? r->expire_ms < 0 : r->expire_ms != 0)
        return false;
    if (receipt_is_leased(r->state) && (r->token == 0 || r->attempt == 0))
        return false;
    /* A promise keeps the key: a free row that still promises would have lost it. */
    if (r->state == RECEIPT_RELEASED && (r->marks & RECEIPT_PROMISED) != 0)
        return false;
    if (r->state == RECEIPT_ABSENT)
        return r->attempt == 0 && r->marks == 0 && r->token == 0;
    return true;
}

bool receipt_may_have_run(enum receipt_state s)
{
    gw_assert(s < RECEIPT_STATE_COUNT);
    return states[s].may_have_run;
}

bool receipt_key_is_taken(enum receipt_state s)
{
    gw_assert(s < RECEIPT_STATE_COUNT);
    return states[s].key_is_taken;
}

bool receipt_is_leased(enum receipt_state s)
{
    return s == RECEIPT_CLAIMED || s == RECEIPT_SENT;
}

const char *receipt_state_name(enum receipt_state s)
{
    gw_assert(s < RECEIPT_STATE_COUNT);
    return states[s].name;
}

const char *receipt_event_name(enum receipt_event_kind e)
{
    gw_assert(e < RECEIPT_EVENT_COUNT);
    return event_names[e];
}

const char *receipt_public_state(enum receipt_state s)
{
    gw_assert(s < RECEIPT_STATE_COUNT);
    switch (s) {
    case RECEIPT_DEFERRED:
    case RECEIPT_CLAIMED:
    case RECEIPT_SENT:
        return "pending";
    case RECEIPT_COMPLETED:
        return "completed";
    case RECEIPT_RELEASED:
        return "released";
    case RECEIPT_UNKNOWN:
        return "unknown";
    case RECEIPT_CANCELLED:
        return "cancelled";
    case RECEIPT_ABANDONED:
        return "abandoned";
    case RECEIPT_EXPIRED:
        return "expired";
    case RECEIPT_ABSENT:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return "none";
}

const char *receipt_phase(enum receipt_state s)
{
    gw_assert(s < RECEIPT_STATE_COUNT);
    switch (s) {
    case RECEIPT_DEFERRED:
        return "deferred";
    case RECEIPT_CLAIMED:
        return "claimed";
    case RECEIPT_SENT:
        return "sent";
    case RECEIPT_ABSENT:
    case RECEIPT_COMPLETED:
    case RECEIPT_RELEASED:
    case RECEIPT_UNKNOWN:
    case RECEIPT_CANCELLED:
    case RECEIPT_ABANDONED:
    case RECEIPT_EXPIRED:
    case RECEIPT_STATE_COUNT:
        break;
    }
    return "";
}
