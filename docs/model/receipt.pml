/* The life of one receipt: one key, two gateways on one store, an upstream that
 * may run late, a recovery sweep, a probe, an operator who may think again, a
 * canceller, retention. The moves are those of the product: moves.pml is printed
 * from its table, and step() below is what receipt_step() does with the marks.
 *
 * Without options: the product. -DH_x puts one hole of an earlier table back,
 * -DAS_IS all of them; -DB_x breaks one rule of the product. Each of these must
 * fail, the plain model must not. -DONLY=n looks at property n alone, -DREACH=n
 * shows the way to place n, -DREACHED names the places that are reached. What the
 * numbers mean, and what came out: README.md. */

#include "moves.pml"

#ifdef AS_IS
#define H_RESEND        /* RESEND leads to CLAIMED; the refusal of any attempt frees the key */
#define H_PROMISE       /* only LAPSED and REFUSED look at `promised` */
#define H_GIVEUP        /* a deferred operation out of attempts has no way out */
#define H_CANCEL        /* a recorded cancel request does not change where "it did not run" leads */
#define H_ABANDON       /* ABANDONED expires, is forgotten, and can be released */
#define H_LATE          /* a late answer moves SENT and UNKNOWN only */
#endif

#ifndef ATT
#define ATT 2           /* attempts_max of the route */
#endif
#ifndef CALLS
#define CALLS 2         /* requests of the client that find the key free */
#endif
#ifndef GENS
#define GENS 1          /* lives of the row: 1 + how often it may be forgotten */
#endif
#ifndef PROBES
#define PROBES 1
#endif
#ifndef SETTLES
#define SETTLES 2
#endif
#ifndef REOPENS
#define REOPENS 1
#endif
#ifndef CANCELS
#define CANCELS 1
#endif
#define T (ATT * GENS)  /* claims at most */

#ifdef ONLY
#define CHECK(n, p) assert(n != ONLY || (p))
#else
#define CHECK(n, p) assert(p)
#endif
#ifdef REACHED
c_decl { static unsigned char places[64]; }
#define SEEN(n) c_code { if (!places[n]) { places[n] = 1; printf("reached %d\n", n); } }
#else
#ifdef REACH
#define SEEN(n) if :: (REACH == n) -> assert(false) :: else fi
#else
#define SEEN(n) skip
#endif
#endif

/* The row. Durable; one atomic block is one commit. */
mtype:state st = ABSENT;
byte attempt;           /* claims in this life of the row; attempts_max looks at it */
byte token;             /* the fence: fresh for every claim, never used again */
byte chain;             /* `resent`: the first of the sendings that were in doubt one after the other */
bool promised, cancelq, resent, settled, consumed, contradicted;

/* The world. */
byte fly[T + 1];        /* copies of claim t's request on their way */
byte ans[T + 1];        /* on t's connection: 1 the upstream ran it, 2 it refused */
bool alive[T + 1];      /* a worker still holds claim t */
bool lapsed[T + 1];     /* t's lease is over; its worker knows that from its own clock */
byte flying, armed;     /* requests under way; workers between SENT and the first byte */
byte effects, ran;      /* runs at the upstream: under the promise, and in this life of the row */
bool known;             /* the upstream has seen our key and remembers it (-DDEDUP) */
bool window = true;     /* we may still count on that: measured from the first SENT */
byte claims, calls, gen, probes, settles, reopens, cancels;
bool forced;            /* an operator said "not executed" before it could be known, or wrongly */
bool told_cancelled, gave_up;
bool told, built;       /* the verdict on the row: a caller was answered on it, or claimed on it */
bool final;             /* the upstream's own answer is on record */
bool heard, overruled;  /* an attempt of another token said that it ran; a person freed the key all the same */

/* Within one commit; no part of the state. */
hidden byte ok;          /* 0 or 1; a bit cannot be hidden */
hidden mtype:state was;

#define EXCUSED forced
#define PROVED  (heard && !overruled)
#define LEASED  (st == CLAIMED || st == SENT)
#define MAY_RUN (st == SENT || st == UNKNOWN || st == COMPLETED || st == ABANDONED || st == EXPIRED)
#define FREE    (st == ABSENT || st == RELEASED)
#define ENDED   (st == COMPLETED || st == UNKNOWN || st == CANCELLED || st == ABANDONED || st == EXPIRED)

#ifdef B_QUIET          /* a probe or a verdict counts at once */
#define QUIET true
#else                   /* the quiet time is as long as a request can live after the lease */
#define QUIET (flying == 0)
#endif
#ifdef B_PURGE          /* retention shorter than the quiet time */
#define AGED true
#else
#define AGED (flying == 0)
#endif
#ifdef B_GUARD          /* a worker that wakes up late writes although its lease is over */
#define MAY_WRITE true
#else
#define MAY_WRITE (!lapsed[my])
#endif
#ifdef B_FENCE          /* fence = attempt number, which starts again when the row is forgotten */
#define MINE (attempt == myatt && (!LEASED || token == my))
#else
#define MINE (token == my)
#endif
/* Where the upstream knows the key, what it says of an earlier sending it says of the operation. */
#define OF_CHAIN (resent && mygen == gen && my >= chain)
#ifdef B_MARKS          /* the worker steps from the marks it saw when it claimed */
#define CANCELQ mycq
#else                   /* compare-and-set on the row's version: it sees the marks of now */
#define CANCELQ cancelq
#endif
#ifdef DEDUP
#define DEDUPS true
#else
#define DEDUPS false
#endif
#ifdef B_REUSE          /* the upstream remembers a key longer than we do, and answers a new operation with the old one's answer */
#define UPSTREAM_FORGOT true
#else                   /* retention + tombstone >= upstream_key.window */
#define UPSTREAM_FORGOT (!DEDUPS || !known)
#endif

#define SETTLES_ROW(ev) (ev == EV_SETTLE_EXECUTED || ev == EV_SETTLE_NOT_EXECUTED || ev == EV_SETTLE_ABANDONED)
#define STARTS(ev)      (ev == EV_CLAIM || ev == EV_DUE || ev == EV_RESEND)
#ifdef B_REOPEN         /* any end can be taken back */
#define MAY_REOPEN true
#else
#define MAY_REOPEN (settled && !consumed)
#endif
#ifdef B_REPLACE        /* the real answer replaces one that callers were told */
#define MAY_REPLACE settled
#else
#define MAY_REPLACE (settled && !consumed)
#endif
#define SAYS_NOT_RUN (st == RELEASED || st == CANCELLED || st == DEFERRED)
#ifdef B_EVIDENCE       /* what speaks of one attempt frees the key, whatever another one has said */
#define IS_HELD(ev) false
#else
#define IS_HELD(ev) (contradicted && !settled && ev != EV_SETTLE_NOT_EXECUTED && ev != EV_DEFER)
#endif
#ifdef H_CANCEL
#define IS_CANCELLED(cq) false
#else
#define IS_CANCELLED(cq) (cq)
#endif
#ifdef H_PROMISE
#define IS_PROMISED(ev) (promised && (ev == EV_LAPSED || ev == EV_REFUSED))
#else
#define IS_PROMISED(ev) promised
#endif
#ifdef H_RESEND
#define IS_IN_DOUBT(ev) false
#else                   /* a refusal proves that one attempt, not the earlier ones */
#define IS_IN_DOUBT(ev) (resent && ev == EV_REFUSED)
#endif

inline sound() {                                   /* after every commit */
    CHECK(2, MAY_RUN || ran == 0 || EXCUSED);
    CHECK(3, !promised || !FREE);
    CHECK(14, !PROVED || !SAYS_NOT_RUN)
}

/* What the event leaves of the marks; verdict and doubt. */
inline mark(ev) {
    if
    :: ev == EV_CLAIM || ev == EV_DUE -> resent = false
    :: ev == EV_RESEND -> resent = true
    :: else
    fi;
    if
#ifndef B_BUILT         /* a claim does not say that it builds on a verdict */
    :: STARTS(ev) || ev == EV_DEFER -> consumed = settled
#endif
#ifndef B_SETTLED       /* the row still counts as settled when the upstream has answered */
    :: ev == EV_ANSWERED || ev == EV_PROBED_EXECUTED -> settled = false; consumed = false
#endif
    :: ev == EV_CONTRADICT ->
        contradicted = true;
        if :: LEASED || st == UNKNOWN -> settled = false; consumed = false :: else fi
    :: ev == EV_REOPEN -> settled = false; consumed = false
    :: SETTLES_ROW(ev) -> settled = true; consumed = false
    :: else
    fi
}

/* An answer against what had been decided. */
inline mark_answer() {
    contradicted = contradicted || was == RELEASED || was == DEFERRED || was == CANCELLED || was == ABANDONED
}

/* The one way to change st: the table, then the marks of the row. `ok` says if
 * there was such a move; if not, nothing has changed. */
inline step(ev, cq) {
    d_step {
        was = st;
        if
        :: (STARTS(ev) || ev == EV_DEFER) && cq -> ok = false
        :: ev == EV_REOPEN && !MAY_REOPEN -> ok = false
        :: ev == EV_ANSWERED && st == COMPLETED && !MAY_REPLACE -> ok = false
        :: else -> move(st, ev, ok)
        fi;
        if
        :: ok && st == RELEASED ->
            if
            :: IS_IN_DOUBT(ev) -> st = UNKNOWN
            :: else ->
                if
                :: IS_CANCELLED(cq) -> st = CANCELLED
                :: else ->
                    if
                    :: IS_PROMISED(ev) -> st = DEFERRED
                    :: else
                    fi
                fi
            fi
        :: else
        fi;
        if
        :: ok && SAYS_NOT_RUN && IS_HELD(ev) -> st = UNKNOWN
        :: else
        fi;
        if
        :: ok -> mark(ev); if :: ev == EV_ANSWERED -> mark_answer() :: else fi
        :: else
        fi;
        if
        :: st == CANCELLED -> promised = false
        :: else
        fi;
        if
        :: ok && st != ABSENT -> sound()        /* forget() starts the next life, and looks then */
        :: else
        fi
    }
}

/* A move that the rest of the model takes for granted: the table must have it. */
inline must(ev, cq) { step(ev, cq); CHECK(13, ok) }

inline claimed_by(ev) {
    CHECK(5, !cancelq || EXCUSED);
    CHECK(10, !gave_up || EXCUSED);
    if :: settled -> built = true; SEEN(25) :: else fi;
    if :: ev == EV_RESEND && !resent -> chain = token :: else fi;
    must(ev, cancelq);
    claims++; token = claims; my = claims; attempt++; myatt = attempt; mygen = gen; mycq = cancelq;
    alive[my] = true
}

/* Claim and dispatch in one commit. */
inline fused() { claimed_by(EV_CLAIM); must(EV_DISPATCH, cancelq); armed++ }

/* It did not run. The step itself looks at the marks, not its callers; where the
 * next try is far, the caller is told 202 and the row is deferred. */
inline not_run(ev, cq) {
    step(ev, cq);
    if
    :: ok && st == UNKNOWN && ev == EV_REFUSED -> if :: PROVED -> SEEN(26) :: else -> SEEN(1) fi
    :: ok && st == CANCELLED -> SEEN(2)
    :: ok && st == DEFERRED -> SEEN(3)
    :: ok && st == RELEASED && ev == EV_REFUSED && !(cq) ->
        if
        :: true
        :: step(EV_DEFER, cq); if :: ok -> promised = true; sound() :: else fi
        fi
    :: else
    fi
}

/* A worker reports how its attempt ended. */
inline report(ev) {
    if
#ifdef H_LATE
    :: MINE && ev == EV_ANSWERED && (st == RELEASED || st == DEFERRED || st == CANCELLED || st == ABANDONED) ->
        CHECK(9, false)
#endif
    :: (MINE || OF_CHAIN) && ev == EV_ANSWERED && !LEASED && st != COMPLETED && st != EXPIRED && st != ABSENT ->
        CHECK(7, mygen == gen && ran > 0);
        CHECK(2, forced || st == UNKNOWN || st == ABANDONED);   /* only a forced verdict can be proved wrong */
        if :: st == UNKNOWN -> SEEN(4) :: else -> SEEN(6) fi;
        must(EV_ANSWERED, cancelq); final = true
    :: (MINE || OF_CHAIN) && ev == EV_ANSWERED && st == SENT ->
        CHECK(7, mygen == gen && ran > 0);
        if :: MINE && resent -> SEEN(5) :: !MINE -> SEEN(29) :: else fi;
        must(EV_ANSWERED, cancelq); final = true
    :: (MINE || OF_CHAIN) && ev == EV_ANSWERED && st == COMPLETED -> /* an operator was faster, a probe, another sending */
        CHECK(7, mygen == gen && ran > 0);
        step(EV_ANSWERED, cancelq);
        if
        :: ok -> CHECK(15, !told); final = true; SEEN(28)
        :: !ok && settled -> must(EV_CONTRADICT, cancelq)
        :: else
        fi
    :: !MINE && !OF_CHAIN && ev == EV_ANSWERED && mygen == gen && st != ABSENT && st != EXPIRED ->
        heard = true; overruled = false;
#ifdef B_FREE           /* it is only put on the row: a key that is free stays so */
        contradicted = true;
        sound()
#else
        must(EV_CONTRADICT, cancelq);
        if :: was == RELEASED -> SEEN(27) :: else fi
#endif
    :: MINE && ev == EV_REFUSED -> not_run(EV_REFUSED, CANCELQ)
    :: MINE && ev == EV_LOST -> step(EV_LOST, cancelq)
    :: else -> skip                                         /* stale: kept as evidence */
    fi
}

inline die() {                                             /* the walk is over, or its process is */
    alive[my] = false; ans[my] = 0; lapsed[my] = false; my = 0; myatt = 0; mygen = 0; mycq = false
}

/* It did not run, and the next attempt is near: its claim is in the same commit, and rests
 * until then like any claim. */
inline report_refusal() {
    report(EV_REFUSED);
    if
    :: ok && st == RELEASED && attempt < ATT && !cancelq && mygen == gen ->
        if
        :: true
        :: die(); claimed_by(EV_CLAIM); SEEN(30)
        fi
    :: else
    fi
}

inline tell_answer() { CHECK(6, mygen != gen || st == COMPLETED || st == EXPIRED) }

proctype flow() {
    byte my, myatt, mygen; bool mycq;
end_idle:
    if
    :: atomic { calls < CALLS && FREE && attempt < ATT && !cancelq -> calls++; claimed_by(EV_CLAIM) } -> goto claimed
    :: atomic { calls < CALLS && FREE && attempt < ATT && !cancelq -> calls++; fused() } -> goto sent
    :: atomic { calls < CALLS && FREE && attempt < ATT && !cancelq -> calls++;
           if :: settled -> built = true :: else fi;
           must(EV_DEFER, cancelq); promised = true; mygen = gen } -> goto accepted
    :: atomic { st == DEFERRED && attempt < ATT && !cancelq -> claimed_by(EV_DUE); SEEN(7) } -> goto claimed
#ifndef H_GIVEUP
    :: atomic { st == DEFERRED && attempt >= ATT -> must(EV_GIVE_UP, cancelq); SEEN(8) } -> goto end_idle
#endif
#ifdef DEDUP
#ifdef H_RESEND
    :: atomic { st == UNKNOWN && window && attempt < ATT && !cancelq -> st = RELEASED; claimed_by(EV_CLAIM) } -> goto claimed
#else
    :: atomic { st == UNKNOWN && window && attempt < ATT && !cancelq -> claimed_by(EV_RESEND); armed++; SEEN(9) } -> goto sent
#endif
#endif
#ifdef B_HOLDER         /* holder names the worker, and "an operation that finds its own result in place reports success" */
    :: atomic { calls < CALLS && st == SENT && attempt == 1 ->
           calls++; my = token; myatt = 1; mygen = gen; armed++ } -> goto sent
#endif
#ifdef B_NEWKEY         /* an error before the look-up says safe_new_key, and the client believes it */
    :: atomic { calls < CALLS -> calls++; effects++; CHECK(1, effects <= 1 || EXCUSED) } -> goto end_idle
#endif
    /* A repeat is answered on an operator's word: first that is put on record. */
#ifdef B_TOLD           /* it is never put on record */
    :: atomic { st == COMPLETED && settled && !told -> mygen = gen } -> goto marked
#else
#ifdef B_TELL_FIRST     /* it is put on record when the caller has been answered */
    :: atomic { st == COMPLETED && settled && !consumed -> told = true; mygen = gen; SEEN(24) } -> goto told_first
#else
    :: atomic { st == COMPLETED && settled && !consumed -> consumed = true; mygen = gen } -> goto marked
#endif
#endif
    fi;

#ifdef B_TELL_FIRST
told_first:
    atomic { if :: st == COMPLETED && settled && mygen == gen -> consumed = true :: else fi; die() } -> goto end_idle;
#endif

marked:
    if
    :: skip                                                 /* crash: nobody was told */
    :: atomic { st == COMPLETED && mygen == gen -> told = true; SEEN(24) }
    :: atomic { st != COMPLETED || mygen != gen -> skip }   /* it looks again: the row has gone on */
    fi;
    atomic { die() } -> goto end_idle;

accepted:
    if
    :: skip                                                 /* crash: nobody was told */
    :: CHECK(6, mygen != gen || promised || ENDED)          /* 202 */
    fi;
    atomic { die() } -> goto end_idle;

claimed:                                                    /* leased, nothing has left */
    if
    :: skip                                                 /* crash */
    :: atomic { MINE && st == CLAIMED -> must(EV_DISPATCH, cancelq); armed++ } -> goto sent
    :: atomic { !(MINE && st == CLAIMED) -> SEEN(17) }      /* lost the lease, or cancelled */
    :: atomic { report_refusal() } -> goto refused          /* no connection */
    fi;
    atomic { die() } -> goto end_idle;

sent:                                                       /* SENT is durable, no byte has left */
    if
    :: atomic { armed-- }                                   /* crash */
    :: atomic { MAY_WRITE -> armed--; lapsed[my] = false; fly[my]++; flying++ } -> goto waiting
    :: atomic { armed--; report_refusal() } -> goto refused /* 0 bytes, exactly counted */
    fi;
    atomic { die() } -> goto end_idle;

waiting:
    if
    :: skip                                                 /* crash */
#ifdef B_SPEAK          /* the answer is told before it is on record */
    :: ans[my] == 1 -> tell_answer(); atomic { report(EV_ANSWERED) }
#else
    :: ans[my] == 1 -> atomic { report(EV_ANSWERED) } -> goto answered
#endif
    :: ans[my] == 2 -> atomic { report_refusal() } -> goto refused
    :: atomic { report(EV_LOST) } -> goto late              /* timeout, cut, reset */
    fi;
    atomic { die() } -> goto end_idle;

late:                                                       /* the caller has its 504; we still listen */
    if
    :: skip
    :: ans[my] == 1 -> atomic { report(EV_ANSWERED) }
    :: ans[my] == 2 -> atomic { report(EV_REFUSED) }
    fi;
    atomic { die() } -> goto end_idle;

answered:
    if
    :: skip                                                 /* crash between commit and reply */
    :: atomic { st == COMPLETED && mygen == gen -> tell_answer(); SEEN(10) }
    fi;
    atomic { die() } -> goto end_idle;

refused:
    if
    :: atomic { MINE && st == CLAIMED } -> goto claimed
    :: else
    fi;
#ifdef B_NEWKEY2        /* a released operation is answered safe_new_key, and the client believes it */
    if
    :: skip
    :: atomic { st == RELEASED -> effects++; CHECK(1, effects <= 1 || EXCUSED) }
    fi;
#endif
    atomic { die() } -> goto end_idle
}

inline execute() {
    if
    :: DEDUPS && known -> skip                              /* the upstream answers from its own record */
    :: else ->
        effects++; ran++; known = true;
        CHECK(1, effects <= 1 || EXCUSED);
        CHECK(2, MAY_RUN || EXCUSED);
        CHECK(4, !told_cancelled || EXCUSED);
        if :: effects == 2 -> SEEN(11) :: else fi
    fi
}

#ifdef B_STATUS         /* a status listed as "not executed" that the upstream also gives after running */
#define REFUSE if :: true -> execute() :: true fi
#else
#define REFUSE true
#endif
#define LAND(t)                                                        \
    :: atomic { fly[t] > 0 -> fly[t]--; flying--;                      \
           if                                                          \
           :: true -> execute(); if :: alive[t] -> ans[t] = 1 :: else fi \
           :: true -> REFUSE;    if :: alive[t] -> ans[t] = 2 :: else fi \
           :: true                                                     \
           fi }

active proctype upstream() {
end:
    do
    LAND(1)
    LAND(2)
#if (ATT * GENS) > 2
    LAND(3)
#endif
#if (ATT * GENS) > 3
    LAND(4)
#endif
#ifdef DEDUP
#ifdef B_WINDOW         /* the window is looked at when the resend is planned, not so that its bytes land inside */
    :: atomic { window || known -> window = false; known = false }
#else
    :: atomic { (window || known) && flying == 0 && armed == 0 -> window = false; known = false }
#endif
#endif
    od
}

active proctype recovery() {                               /* of either gateway; a lease may end at any time */
end:
    do
    :: atomic { LEASED ->
           if :: alive[token] -> lapsed[token] = true :: else fi;
           not_run(EV_LAPSED, cancelq);
           CHECK(13, ok);
           if :: was == SENT -> SEEN(12) :: else fi }
    od
}

active proctype prober() {
    byte t; bool seen;
end:
    do
#ifdef B_PROBE          /* the quiet time is looked at when the answer is in, not when the question goes out */
    :: atomic { probes < PROBES && st == UNKNOWN -> probes++; t = token; seen = (ran > 0) };
#else
    :: atomic { probes < PROBES && st == UNKNOWN && QUIET -> probes++; t = token; seen = (ran > 0) };
#endif
       atomic {
           if
           :: st == UNKNOWN && token == t && QUIET ->
               if
               :: seen -> must(EV_PROBED_EXECUTED, cancelq); final = true; SEEN(13)
               :: else -> not_run(EV_PROBED_ABSENT, cancelq); CHECK(13, ok); SEEN(14)
               fi
           :: else
           fi;
           t = 0; seen = false }
    od
}

/* A new verdict: nobody knows of it yet. */
inline verdict(ev) {
    overruled = (ev == EV_SETTLE_NOT_EXECUTED && st == UNKNOWN);
    not_run(ev, cancelq);
    if :: ok -> told = false; built = false :: else fi
}

inline settle_not_executed() {
#ifdef H_ABANDON
    if
    :: st == ABANDONED -> st = RELEASED; promised = false
    :: else -> verdict(EV_SETTLE_NOT_EXECUTED)
    fi
#else
    verdict(EV_SETTLE_NOT_EXECUTED)
#endif
}

active proctype operator() {
end:
    do
    :: atomic { settles < SETTLES && (st == UNKNOWN || st == ABANDONED) -> settles++;
           if
           :: verdict(EV_SETTLE_EXECUTED); CHECK(13, ok)
           :: QUIET && ran == 0 -> settle_not_executed()    /* looked, and is right */
           :: st == UNKNOWN -> verdict(EV_SETTLE_ABANDONED); CHECK(13, ok); gave_up = true; SEEN(15)
#ifdef FORCE
           :: forced = true; settle_not_executed(); SEEN(16)
#endif
           fi }
    :: atomic { reopens < REOPENS && (st == COMPLETED || st == RELEASED || st == ABANDONED) && MAY_REOPEN ->
           reopens++;
           CHECK(11, !told && !built);                      /* nobody has acted on what is taken back */
           CHECK(12, !final);                               /* an operator's word goes, never the upstream's */
           overruled = false;
           step(EV_REOPEN, cancelq);
           CHECK(13, ok);
           gave_up = false;
           if
           :: was == COMPLETED -> SEEN(21)
           :: was == RELEASED -> SEEN(22)
           :: was == ABANDONED -> SEEN(23)
           fi }
    od
}

active proctype canceller() {
    bool yes; byte g;
end:
    do
    :: atomic { cancels < CANCELS -> cancels++; g = gen;
           if
           :: st == SENT || st == UNKNOWN -> cancelq = true; SEEN(18)
           :: else -> step(EV_CANCEL, cancelq); yes = (ok && st == CANCELLED)
           fi };
       if
       :: atomic { yes && g == gen -> told_cancelled = true; CHECK(4, ran == 0 || EXCUSED) }
       :: skip                                              /* crash, or 202/409: asked, not stopped */
       fi;
       atomic { yes = false; g = 0 }
    od
}

inline forget() {
    gen++; attempt = 0; token = 0; ran = 0;
    resent = false; cancelq = false; promised = false; settled = false; consumed = false;
    told = false; built = false; final = false; window = true;
    contradicted = false; heard = false; overruled = false;
    CHECK(13, st == ABSENT);
    sound()
}

active proctype retention() {
    bool doubt;
end:
    do
#ifdef H_ABANDON
    :: atomic { AGED && (st == COMPLETED || st == CANCELLED || st == ABANDONED) -> doubt = (st == ABANDONED); st = EXPIRED }
#else
    :: atomic { AGED && (st == COMPLETED || st == CANCELLED) -> must(EV_EXPIRE, cancelq) }
#endif
    :: atomic { AGED && gen + 1 < GENS && st == RELEASED && UPSTREAM_FORGOT -> step(EV_EXPIRE, cancelq); forget(); SEEN(19) }
    :: atomic { AGED && gen + 1 < GENS && st == EXPIRED && UPSTREAM_FORGOT ->
#ifndef STRICT          /* the promise ends with the tombstone, as published; never with a doubt */
           if :: !doubt -> effects = 0; gave_up = false; told_cancelled = false :: else fi;
#endif
           step(EV_FORGET, cancelq); forget(); SEEN(20) }
    od
}

active proctype end_of_world() {                           /* nothing can move any more */
    atomic { timeout -> CHECK(8, !LEASED && st != DEFERRED);
    CHECK(3, !promised || ENDED) }
}

init { atomic { run flow(); run flow() } }
