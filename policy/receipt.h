/* The life of one receipt, one step at a time (SPEC 1, ARCHITECTURE 5.2 and 6.11).
 * Pure: no I/O, no clock, no memory. */
#ifndef RECIBO_POLICY_RECEIPT_H
#define RECIBO_POLICY_RECEIPT_H

#include "base/base.h"

enum receipt_state {
#define STATE(name, ran, taken, doc) RECEIPT_##name,
#define EVENT(name, doc)
#define MOVE(from, event, to)
#include "policy/receipt.def"
#undef STATE
#undef EVENT
#undef MOVE
    RECEIPT_STATE_COUNT,
};

enum receipt_event_kind {
#define STATE(name, ran, taken, doc)
#define EVENT(name, doc) RECEIPT_EV_##name,
#define MOVE(from, event, to)
#include "policy/receipt.def"
#undef STATE
#undef EVENT
#undef MOVE
    RECEIPT_EVENT_COUNT,
};

enum receipt_mark {
    RECEIPT_CANCEL_REQUESTED = 1 << 0,
    RECEIPT_PROMISED = 1 << 1,     /* answered 202: may never be lost */
    RECEIPT_RESENT = 1 << 2,       /* an earlier attempt is still in doubt */
    RECEIPT_SETTLED = 1 << 3,      /* an operator's verdict */
    RECEIPT_CONSUMED = 1 << 4,     /* ... that a caller has been told, or a new claim built on;
                                    * of content keys: any outcome that a caller was told */
    RECEIPT_CONTRADICTED = 1 << 5, /* evidence against a verdict */
    RECEIPT_MARKS_ALL = (1 << 6) - 1,
};

struct receipt {
    enum receipt_state state;
    uint32_t attempt; /* claims in this life of the row */
    uint32_t version; /* changes with every step; what a compare-and-set compares */
    uint32_t marks;   /* enum receipt_mark */
    uint64_t token;   /* the fence: fresh for every claim, never used again; 0: no claim yet */
    int64_t lease_until_ms; /* wall clock; 0 unless CLAIMED or SENT */
    int64_t due_ms;         /* wall clock; 0 unless DEFERRED */
    int64_t expire_ms;      /* wall clock; 0 while the row must stay */
};

struct receipt_event {
    enum receipt_event_kind kind;
    int64_t now_ms;
    uint64_t token;     /* CLAIM, DUE, RESEND: the fresh one. Reports of an attempt: its own.
                         * 0: recovery, probe, operator, retention */
    int64_t until_ms;   /* lease end (CLAIM, DUE, DISPATCH, RESEND), due time (DEFER and where a
                         * promised operation is deferred again), end of retention (moves to
                         * COMPLETED,   RELEASED, CANCELLED), end of the tombstone (EXPIRE) */
    bool lease_is_dead; /* LAPSED: the holder is known to be gone, whatever the clock says */
    bool promises;      /* DEFER: the caller is told 202 */
    bool none_was_told; /* ANSWERED: the row has no answer that a caller could have been told */
};

enum receipt_verdict {
    RECEIPT_MOVED,   /* *ret_next holds the successor, version + 1 */
    RECEIPT_STALE,   /* the event is of another attempt, or the lease is not over */
    RECEIPT_ILLEGAL, /* no such move from this state; the caller says if that is a bug */
};

/* Staleness is judged before legality: a late writer never looks like a bug.
 * *ret_next is written only for RECEIPT_MOVED. ANSWERED from RELEASED, DEFERRED,
 * CANCELLED or ABANDONED sets RECEIPT_CONTRADICTED, CONTRADICT does always; settle events set
 * RECEIPT_SETTLED and clear RECEIPT_CONSUMED; REOPEN is legal only while SETTLED
 * and not CONSUMED, and clears both. A CLAIM of a SETTLED row sets CONSUMED (so do
 * DEFER, DUE and RESEND); ANSWERED and PROBED_EXECUTED clear both, since the row then
 * rests on no verdict. ANSWERED from COMPLETED is legal only while no caller was told
 * another answer: SETTLED and not CONSUMED, or none_was_told. A row that is CONTRADICTED,
 * and not SETTLED since, becomes UNKNOWN where an event would call it not run, unless a
 * person does (SETTLE_NOT_EXECUTED). CLAIM, DEFER, DUE and RESEND are ILLEGAL once a cancel
 * was requested. DISPATCH, ANSWERED, REFUSED and LOST without a token are STALE. */
GW_MUST_CHECK enum receipt_verdict
receipt_step(const struct receipt *cur, const struct receipt_event *ev, struct receipt *ret_next);
/* Adds marks without a move: version + 1. A contradiction of a row in doubt or under way
 * takes the verdict away that its attempt was built on. */
struct receipt receipt_mark(const struct receipt *cur, uint32_t marks);
/* May this come from a disk? Refuses unknown states, marks, times that do not fit the state. */
bool receipt_is_sound(const struct receipt *r);
bool receipt_may_have_run(enum receipt_state s);
bool receipt_key_is_taken(enum receipt_state s);
bool receipt_is_leased(enum receipt_state s);
const char *receipt_state_name(enum receipt_state s); /* "UNKNOWN" */
const char *receipt_event_name(enum receipt_event_kind e);
/* What callers and operators read: pending, completed, released, unknown,
 * cancelled, abandoned, expired (SPEC 1); ABSENT is "none". */
const char *receipt_public_state(enum receipt_state s);
/* deferred, claimed, sent; "" for the others. */
const char *receipt_phase(enum receipt_state s);

#endif
