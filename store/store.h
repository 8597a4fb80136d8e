/* The store remembers receipts. It decides nothing: every change is the claim of
 * an absent key or a compare-and-set on the row's version. One committer thread
 * gathers what is queued into one transaction (group commit); it never waits for
 * more. Durable before done(): a reply may follow, and only then.
 *
 * While an operation is submitted, it and its arena belong to the store.
 * Operations are idempotent: one that finds its own result in place (same token,
 * state and version) reports success. */
#ifndef RECIBO_STORE_STORE_H
#define RECIBO_STORE_STORE_H

#include "store/effect.h"
#include "store/row.h"

struct store;       /* opaque; thread-safe; one per process */
struct store_inbox; /* where results come back: one per event loop */

enum store_op_kind {
    STORE_CLAIM,    /* in.claim: insert if the identity is absent */
    STORE_LOOKUP,   /* in.lookup: by identity */
    STORE_FIND,     /* in.find: by operation id */
    STORE_ADVANCE,  /* in.advance: compare-and-set on (id, version) */
    STORE_TOUCH,    /* in.touch: count a repeat */
    STORE_SCAN,     /* in.scan: rows that time has something to say about */
    STORE_LIST,     /* in.list: a page for an operator */
    STORE_AUDIT,    /* in.find: the audit entries of one operation */
    STORE_PAUSE,    /* in.pause: set or clear */
    STORE_PAUSES,   /* all pauses */
    STORE_TALLY,    /* unknowns by route, with the oldest */
    STORE_NOTE,     /* in.note: one more audit entry of an operation, which stays as it is */
    STORE_GROUPS,   /* in.groups: unknowns by route, end and status, the largest first */
    STORE_PLAN_SET, /* in.plan: insert or replace */
    STORE_PLAN_GET, /* in.find: by plan id, with its entries and its answer */
    STORE_PLANS,    /* the last ones, newest first, without entries and answers */
    STORE_OBSERVE,  /* in.observe: what observe mode saw, many at once; submitted twice it
                     * counts twice: what fails is lost, never repeated */
    STORE_OBSERVED, /* in.observed: a page of it */
    STORE_LOCAL,    /* in.local: a claim, its effect and its answer, all or nothing */
    STORE_ASIDE,    /* in.aside: compare-and-set; the identity is free again, and the row stays,
                     * found by its operation id and in lists, under KEY/OPERATION_ID. Of what is
                     * over alone, COMPLETED or CANCELLED, else STORE_STALE (ADR 0020) */
    STORE_OP_COUNT,
};

enum store_scan_kind {
    SCAN_LAPSED,   /* whose holder is gone, or whose own lease is over: row_lease_is_over() */
    SCAN_EXPIRED,  /* expire_ms <= now_ms */
    SCAN_EVIDENCE, /* the request is still kept and evidence_until_ms <= now_ms */
    SCAN_PROBES,   /* UNKNOWN and 0 < probe_due_ms <= now_ms */
    SCAN_DUE,      /* DEFERRED and due_ms <= now_ms */
};

enum store_found {
    STORE_WON,     /* CLAIM: inserted. ADVANCE, LOCAL: done (rows[0] is the new row). Other
                    * writes: done */
    STORE_HELD,    /* CLAIM, LOCAL, LOOKUP, FIND: rows[0] is there. PLAN_GET: plans[0] */
    STORE_STALE,   /* ADVANCE, LOCAL: somebody was faster; rows[0] as it now stands */
    STORE_NONE,    /* no such row */
    STORE_PAGE,    /* the kinds that read lists: what was found */
    STORE_REFUSED, /* LOCAL: the effect could not be; nothing was kept. out.refusal says why */
};

/* A line of the audit, written in the transaction of the change it tells of. */
struct audit_entry {
    int64_t at_ms;
    struct span actor;   /* "token:ana" */
    struct span action;  /* "settle", "pause" */
    struct span subject; /* operation id, or "route:NAME" */
    struct span note;    /* never empty for changes */
    struct span detail;  /* "verdict=executed version=3" */
};

enum pause_subject { PAUSE_ROUTE, PAUSE_UPSTREAM };
struct pause_entry {
    enum pause_subject subject;
    struct span name;
    struct span actor, note;
    int64_t at_ms;
};

struct tally_entry {
    struct span route;
    uint64_t unknown;
    int64_t oldest_ms;
};

/* Unknown operations that look alike. */
struct group_entry {
    struct span route;
    uint8_t end;     /* enum attempt_end */
    uint16_t status; /* 0: no answer came */
    uint64_t count;
    uint64_t asked;   /* of them: a caller has asked again and waits for an outcome */
    uint64_t claimed; /* of them: somebody is on it */
    uint64_t probes[PROBE_RESULT_COUNT]; /* by the result of the last probe */
    uint64_t grown;            /* created after in.groups.since_ms; stops at STORE_GROWN_MAX, and
                                * where all groups together have STORE_GROWN_SUM_MAX */
    bool grown_is_cut;         /* it stopped: there are more */
    int64_t first_ms, last_ms; /* when the first and the last row were created */
};
#define STORE_GROUPS_MAX    1024
#define STORE_GROWN_MAX     10000
#define STORE_GROWN_SUM_MAX 20000 /* rows that one operation looks at for this, in all groups */

/* Many verdicts at once (SPEC 4): made first, looked at, then applied. */
enum plan_state {
    PLAN_DRAFT,    /* nothing was settled yet */
    PLAN_WAITING,  /* applied; takes effect at apply_at_ms */
    PLAN_APPLYING, /* settles one entry after another */
    PLAN_DONE,
    PLAN_STOPPED, /* by a person; what was settled before stays */
    PLAN_STATE_COUNT,
};
#define PLAN_ID_BYTES    31 /* "plan_" and 26 characters */
#define PLAN_ENTRIES_MAX 100000
enum plan_outcome { PLAN_OPEN, PLAN_SETTLED, PLAN_CHANGED, PLAN_REFUSED };
struct plan_item {
    int64_t id;       /* of the row */
    uint32_t version; /* that the plan was made for */
    uint8_t outcome;  /* enum plan_outcome */
};
struct plan_entry {
    char plan_id[PLAN_ID_BYTES + 1];
    enum plan_state state;
    int64_t created_ms, expires_ms, apply_at_ms, ended_ms; /* 0: not yet */
    struct span actor;                                     /* who made it */
    struct span applied_by;                                /* who applied or stopped it last */
    struct span where;                                     /* the filter as it was written */
    struct span verdict;                                   /* a word of settle */
    struct span note;
    struct span answer; /* packed message to replay; empty: none, or not loaded */
    bool force;
    uint32_t count, settled, changed, refused; /* of the entries */
    struct span items;                         /* packed: plan_items_encode(); empty: not loaded */
};
#define STORE_PLANS_MAX                                                                            \
    200 /* kept; for one more the oldest that is over or has expired gives                         \
         * way, else the oldest draft of the same actor that is so old: */
#define PLAN_DRAFT_STAYS_MS 60000

/* One exchange on an observed route. Owner and key are digests here: nothing that is
 * seen on the side is kept in clear but what a report must name. */
struct observation {
    int64_t id; /* set by the store */
    int64_t at_ms;
    struct span route;
    struct store_identity identity; /* zeros: no key could be read */
    struct fingerprint print;
    struct span members;        /* packed digests */
    struct span method, target; /* target cut to OBSERVED_TARGET_BYTES */
    struct span fault; /* why an enforced route would have refused it; empty: it would not */
    uint8_t end;       /* enum attempt_end; END_none: the caller left before its end */
    uint8_t means;     /* enum answer_means, by the route's outcome */
    uint16_t status;
    int64_t answered_ms; /* how long the answer took */
    uint64_t request_bytes, answer_bytes;
};
#define OBSERVED_TARGET_BYTES 200
#define OBSERVED_ROWS_MAX     1000000 /* kept; the oldest give way */
/* Spans into the arena; false: it is full, and what was copied of it is its loss. */
GW_MUST_CHECK bool observation_copy(struct arena *arena, const struct observation *from,
                                    struct observation *ret);

/* Empty spans and zeros mean: any. */
enum filter_claim { CLAIM_ANY, CLAIM_SOME, CLAIM_NONE };
struct store_filter {
    uint32_t states; /* bits 1 << enum receipt_state */
    struct span route, owner, key;
    struct span end; /* a name of ends.def */
    uint32_t status; /* of the last answer; STORE_STATUS_NONE: no answer came */
    enum filter_claim claimed;
    uint32_t probes; /* bits 1 << enum probe_result */
    struct span label_name, label_value;
    int64_t created_before_ms, created_after_ms; /* 0: any */
    bool contradicted;
};

#define STORE_STATUS_NONE   1000
#define STORE_PAGE_ROWS_MAX 500

enum store_load { LOAD_REQUEST = 1 << 0, LOAD_ANSWER = 1 << 1, LOAD_KEPT = 1 << 2 };

struct store_op;
typedef void store_done_fn(struct store_op *op, void *ctx);

/* The caller's until submitted and again from done() on; lives in a flow's arena. */
struct store_op {
    enum store_op_kind kind;
    struct arena *arena; /* borrowed; results are placed here */
    union {
        struct {
            const struct store_row *row;     /* receipt: the wished-for state; answer empty */
            bool load_answer;                /* when held and COMPLETED */
            const struct audit_entry *audit; /* written with it; NULL: none */
            uint32_t audit_count;
        } claim;
        struct {
            struct store_identity identity;
            struct span owner, scope, key;
            uint32_t load; /* enum store_load */
        } lookup;
        struct {
            struct span operation_id;
            uint32_t load;
        } find;
        struct {
            int64_t id;
            uint32_t expect_version;
            const struct store_row *next; /* every changeable field; receipt.state ABSENT: delete */
            bool set_answer;              /* store next->answer (empty: drop what is there) */
            bool set_request;             /* likewise the request evidence */
            bool set_kept; /* likewise what is to be run later; it goes by itself with the end of
                            * the promise */
            const struct audit_entry *audit; /* NULL: none */
        } advance;
        struct {
            int64_t id;
            int64_t now_ms;
        } touch;
        struct {
            int64_t id;
            uint32_t expect_version;
        } aside;
        struct {
            enum store_scan_kind kind;
            int64_t now_ms;
            uint32_t rows_max; /* at most STORE_PAGE_ROWS_MAX */
            int64_t after_id;  /* of the page before: where its last row stood */
            int64_t after_ms;  /* likewise, for the kinds that go by time: that row's time */
        } scan;
        struct {
            struct store_filter filter;
            uint32_t rows_max;
            bool oldest_first;
            bool is_short;  /* looks at STORE_PAGE_EXAMINED_MAX rows at most, and answers: the
                             * page may be short or empty, and next_cursor says where to go on */
            int64_t cursor; /* 0: from the start; else next_cursor of the page before */
        } list;
        struct {
            struct pause_entry entry;
            bool clear;
            const struct audit_entry *audit;
        } pause;
        struct {
            const struct audit_entry *audit; /* its subject is the operation id; NONE if unknown */
        } note;
        struct {
            int64_t since_ms;
        } groups;
        struct {
            const struct plan_entry *entry;  /* items or answer empty: those on record stay.
                                              * STALE: the plan on record is over (plans[0])
                                              * and this one is not */
            const struct audit_entry *audit; /* NULL: none */
            /* NULL: as above. Else compare-and-set: only a plan that still is as it was seen
             * (state, times, persons, counts) is replaced. NONE: it is gone, and is not made
             * again. STALE: plans[0] is how it is now, be it by this very entry before */
            const struct plan_entry *seen;
        } plan;
        struct {
            const struct observation *seen;
            uint32_t count; /* at most STORE_PAGE_ROWS_MAX */
        } observe;
        struct {
            struct span route; /* empty: all */
            int64_t since_ms;
            struct store_identity after_identity; /* pages go by (identity, id) */
            int64_t after_id;
            uint32_t rows_max;
        } observed;
        struct {
            const struct store_row *row; /* COMPLETED already; its answer is made by the effect */
            int64_t id;              /* 0: the identity must be absent. Else a compare-and-set */
            uint32_t expect_version; /* ... on this */
            uint32_t effect;         /* of store_options.effects */
            const struct store_value *values; /* one for each of its parameters */
            bool is_slow; /* the store's own: it has run into its time once; false at first */
        } local;
    } in;
    struct {
        enum gw_status status; /* GW_OK: the rest is valid. GW_IO, GW_BUSY: nothing was changed */
        enum store_found found;
        struct store_row *rows;
        uint32_t row_count;
        int64_t next_cursor; /* LIST: 0: no more. OBSERVED: not 0: cut short, the rest is behind
                              * (next_identity, next_cursor) */
        struct store_identity next_identity;
        struct audit_entry *audit;
        uint32_t audit_count;
        struct pause_entry *pauses;
        uint32_t pause_count;
        struct tally_entry *tally;
        uint32_t tally_count;
        struct group_entry *groups;
        uint32_t group_count;
        struct plan_entry *plans;
        uint32_t plan_count;
        struct observation *observed; /* a full page may have more behind it */
        uint32_t observed_count;
        enum effect_refusal refusal; /* LOCAL */
        struct span reason;          /* what the database said of it, for the log; may be empty */
    } out;
    struct store_inbox *inbox; /* set by the caller: whose loop done() runs on */
    store_done_fn *done;
    void *ctx;
    struct store_op *next; /* the store's queue link */
};

struct store_options {
    const char *kind;                   /* "sqlite", "memory" */
    const char *path;                   /* sqlite */
    uint32_t queue_max;                 /* operations waiting; submit refuses beyond */
    uint32_t batch_max;                 /* operations in one transaction */
    size_t batch_bytes_max;             /* bodies in one transaction */
    int64_t busy_ms;                    /* how long a foreign lock on the file is waited for */
    uint32_t checkpoint_frames;         /* WAL frames that start a checkpoint */
    int64_t probe_ms;                   /* between two tries to write while commits fail */
    struct gw_clock *clock;             /* borrowed */
    const struct store_effect *effects; /* sqlite only; borrowed until the store is closed */
    uint32_t effect_count;
};
void store_options_default(struct store_options *ret);

/* Opens, locks, migrates, starts the committer. Errors are texts for an operator. */
GW_MUST_CHECK enum gw_status store_open(const struct store_options *options,
                                        struct store **ret_store, struct gw_error *err);
void store_close(struct store *store); /* NULL is fine; finishes what was submitted */

/* From any thread. GW_LIMIT: the queue is full; op was not taken and done() will not run. */
GW_MUST_CHECK enum gw_status store_submit(struct store *store, struct store_op *op);

/* Several gateways on one store (SPEC 8). A row's `holder` says whose lease it is; a gateway
 * that is not heard of for STORE_HOLD_MS is taken for gone, and what it leased is found by the
 * others: claims are released, and what was sent is in doubt. It learns of that last, so it
 * counts its own time from before it asked, and ends it earlier: no first byte may leave
 * after. true: what `holder` leased is still this process's at `ticks`, of options.clock.
 * From any thread; where one process owns the store, always. */
bool store_holds(const struct store *store, int64_t holder, int64_t ticks);
/* As much may the clocks of two gateways on this store differ: whatever compares a time that
 * another one may have written allows for it. 0: one process owns the store. */
int64_t store_skew_ms(const struct store *store);
#define STORE_HOLD_MS   15000
#define STORE_BEAT_MS   4000 /* three may be lost */
#define STORE_MARGIN_MS 1000 /* that its own count ends earlier */
#define STORE_SKEW_MS   2000 /* from the database's clock; a gateway beyond it holds nothing */

/* The identity's digest; pure. */
void store_identity(struct span owner, struct span scope, struct span key,
                    struct store_identity *ret);
/* 32 secret bytes made when the store was created: keys the member digests. */
struct span store_secret(const struct store *store);

/* An inbox's fd turns readable when results wait; the loop then drains it, which
 * runs the done() callbacks there. No lock is held while they run. */
GW_MUST_CHECK enum gw_status store_inbox_new(struct store_inbox **ret, struct gw_error *err);
void store_inbox_free(struct store_inbox *inbox); /* NULL is fine; must be empty */
int store_inbox_fd(const struct store_inbox *inbox);
void store_inbox_drain(struct store_inbox *inbox);
/* Puts an op that was never submitted into its op->inbox, from any thread: a wake-up
 * for the loop that owns it; its done() runs there. */
void store_inbox_deliver(struct store_op *op);

#define STORE_HISTOGRAM_BUCKETS 14
struct store_stats {
    uint64_t commits, operations, failed_commits, busy;
    uint64_t commit_count[STORE_HISTOGRAM_BUCKETS]; /* by store_commit_bounds_us[] */
    uint64_t commit_us_sum;
    uint64_t batch_count[STORE_HISTOGRAM_BUCKETS]; /* by powers of two: 1, 2, 4 ... */
    uint64_t queue_length;
    uint64_t wal_frames;
    bool is_failing;            /* the last commit failed; probes tell when it works again */
    uint64_t probes;            /* commits tried without work, while it was failing */
    struct gw_error last_error; /* what last went wrong, for an operator; GW_OK: nothing */
};
extern const uint32_t store_commit_bounds_us[STORE_HISTOGRAM_BUCKETS];
void store_stats(struct store *store, struct store_stats *ret);

#endif
