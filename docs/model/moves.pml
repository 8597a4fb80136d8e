/* Printed from policy/receipt.def by tests/golden/receipt_docs.c; do not edit.
 * move(s, e, ok): ok says if state s has a move for event e, and then s is the new
 * state. Marks and tokens are the model's own business: where a move leads to a
 * state that says "not run" they may turn it into another one. */
mtype:state = { ABSENT, DEFERRED, CLAIMED, SENT, COMPLETED, RELEASED, UNKNOWN, CANCELLED, ABANDONED, EXPIRED };
mtype:event = { EV_CLAIM, EV_DEFER, EV_DUE, EV_DISPATCH, EV_ANSWERED, EV_CONTRADICT, EV_REFUSED, EV_LOST, EV_LAPSED, EV_GIVE_UP, EV_CANCEL, EV_PROBED_EXECUTED, EV_PROBED_ABSENT, EV_RESEND, EV_SETTLE_EXECUTED, EV_SETTLE_NOT_EXECUTED, EV_SETTLE_ABANDONED, EV_REOPEN, EV_EXPIRE, EV_FORGET };

inline move(s, e, ok) {
    ok = true;
    if
    :: s == ABSENT && e == EV_CLAIM -> s = CLAIMED
    :: s == ABSENT && e == EV_DEFER -> s = DEFERRED
    :: s == RELEASED && e == EV_CLAIM -> s = CLAIMED
    :: s == RELEASED && e == EV_DEFER -> s = DEFERRED
    :: s == RELEASED && e == EV_CANCEL -> s = CANCELLED
    :: s == RELEASED && e == EV_EXPIRE -> s = ABSENT
    :: s == DEFERRED && e == EV_DUE -> s = CLAIMED
    :: s == DEFERRED && e == EV_CANCEL -> s = CANCELLED
    :: s == DEFERRED && e == EV_GIVE_UP -> s = CANCELLED
    :: s == CLAIMED && e == EV_DISPATCH -> s = SENT
    :: s == CLAIMED && e == EV_REFUSED -> s = RELEASED
    :: s == CLAIMED && e == EV_CANCEL -> s = CANCELLED
    :: s == CLAIMED && e == EV_LAPSED -> s = RELEASED
    :: s == SENT && e == EV_ANSWERED -> s = COMPLETED
    :: s == SENT && e == EV_REFUSED -> s = RELEASED
    :: s == SENT && e == EV_LOST -> s = UNKNOWN
    :: s == SENT && e == EV_LAPSED -> s = UNKNOWN
    :: s == UNKNOWN && e == EV_ANSWERED -> s = COMPLETED
    :: s == RELEASED && e == EV_ANSWERED -> s = COMPLETED
    :: s == DEFERRED && e == EV_ANSWERED -> s = COMPLETED
    :: s == CANCELLED && e == EV_ANSWERED -> s = COMPLETED
    :: s == ABANDONED && e == EV_ANSWERED -> s = COMPLETED
    :: s == COMPLETED && e == EV_ANSWERED -> s = COMPLETED
    :: s == CLAIMED && e == EV_CONTRADICT -> s = CLAIMED
    :: s == SENT && e == EV_CONTRADICT -> s = SENT
    :: s == UNKNOWN && e == EV_CONTRADICT -> s = UNKNOWN
    :: s == RELEASED && e == EV_CONTRADICT -> s = UNKNOWN
    :: s == DEFERRED && e == EV_CONTRADICT -> s = UNKNOWN
    :: s == CANCELLED && e == EV_CONTRADICT -> s = UNKNOWN
    :: s == COMPLETED && e == EV_CONTRADICT -> s = COMPLETED
    :: s == ABANDONED && e == EV_CONTRADICT -> s = ABANDONED
    :: s == UNKNOWN && e == EV_REFUSED -> s = RELEASED
    :: s == UNKNOWN && e == EV_LOST -> s = UNKNOWN
    :: s == UNKNOWN && e == EV_PROBED_EXECUTED -> s = COMPLETED
    :: s == UNKNOWN && e == EV_PROBED_ABSENT -> s = RELEASED
    :: s == UNKNOWN && e == EV_RESEND -> s = SENT
    :: s == UNKNOWN && e == EV_SETTLE_EXECUTED -> s = COMPLETED
    :: s == UNKNOWN && e == EV_SETTLE_NOT_EXECUTED -> s = RELEASED
    :: s == UNKNOWN && e == EV_SETTLE_ABANDONED -> s = ABANDONED
    :: s == ABANDONED && e == EV_SETTLE_EXECUTED -> s = COMPLETED
    :: s == COMPLETED && e == EV_REOPEN -> s = UNKNOWN
    :: s == RELEASED && e == EV_REOPEN -> s = UNKNOWN
    :: s == ABANDONED && e == EV_REOPEN -> s = UNKNOWN
    :: s == COMPLETED && e == EV_EXPIRE -> s = EXPIRED
    :: s == CANCELLED && e == EV_EXPIRE -> s = EXPIRED
    :: s == EXPIRED && e == EV_FORGET -> s = ABSENT
    :: else -> ok = false
    fi
}
