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

#include "store/row.h"

struct store;       /* opaque; thread-safe; one per process */
struct store_inbox; /* where results come back: one per event loop */

enum store_op_kind {
    STORE_CLAIM,   /* in.claim: insert if the identity is absent */
    STORE_LOOKUP,  /* in.lookup: by identity */
    STORE_FIND,    /* in.find: by operation id */
    STORE_ADVANCE, /* in.advance: compare-and-set on (id, version) */
    STORE_TOUCH,   /* in.touch: count a repeat */
    STORE_SCAN,    /* in.scan: rows that time has something to say about */
    STORE_LIST,    /* in.list: a page for an operator */
    STORE_AUDIT,   /* in.find: the audit entries of one operation */
    STORE_PAUSE,   /* in.pause: set or clear */
    STORE_PAUSES,  /* all pauses */
    STORE_TALLY,   /* unknowns by route, with the oldest */
    STORE_OP_COUNT,
};

enum store_scan_kind {
    SCAN_LAPSED,   /* leased by an earlier life, or lease over */
    SCAN_EXPIRED,  /* expire_ms <= now_ms */
    SCAN_EVIDENCE, /* the request is still kept and evidence_until_ms <= now_ms */
};

enum store_found {
    STORE_WON,   /* CLAIM: inserted. ADVANCE: done (rows[0] is the new row). TOUCH, PAUSE: done */
    STORE_HELD,  /* CLAIM, LOOKUP, FIND: rows[0] is there */
    STORE_STALE, /* ADVANCE: somebody was faster; rows[0] as it now stands */
    STORE_NONE,  /* no such row */
    STORE_PAGE,  /* SCAN, LIST, AUDIT, PAUSES, TALLY: what was found */
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

/* Empty spans and zeros mean: any. */
struct store_filter {
    uint32_t states; /* bits 1 << enum receipt_state */
    struct span route, owner, key;
    struct span end; /* a name of ends.def */
    struct span label_name, label_value;
    int64_t created_before_ms, created_after_ms; /* 0: any */
    bool contradicted;
};

#define STORE_PAGE_ROWS_MAX 500

enum store_load { LOAD_REQUEST = 1 << 0, LOAD_ANSWER = 1 << 1 };

struct store_op;
typedef void store_done_fn(struct store_op *op, void *ctx);

/* The caller's until submitted and again from done() on; lives in a flow's arena. */
struct store_op {
    enum store_op_kind kind;
    struct arena *arena; /* borrowed; results are placed here */
    union {
        struct {
            const struct store_row *row; /* receipt: the wished-for state; answer empty */
            bool load_answer;            /* when held and COMPLETED */
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
            const struct audit_entry *audit; /* NULL: none */
        } advance;
        struct {
            int64_t id;
            int64_t now_ms;
        } touch;
        struct {
            enum store_scan_kind kind;
            int64_t now_ms;
            uint32_t rows_max; /* at most STORE_PAGE_ROWS_MAX */
            int64_t after_id;
        } scan;
        struct {
            struct store_filter filter;
            uint32_t rows_max;
            bool oldest_first;
            int64_t cursor; /* 0: from the start; else next_cursor of the page before */
        } list;
        struct {
            struct pause_entry entry;
            bool clear;
            const struct audit_entry *audit;
        } pause;
    } in;
    struct {
        enum gw_status status; /* GW_OK: the rest is valid. GW_IO, GW_BUSY: nothing was changed */
        enum store_found found;
        struct store_row *rows;
        uint32_t row_count;
        int64_t next_cursor; /* LIST: 0: no more */
        struct audit_entry *audit;
        uint32_t audit_count;
        struct pause_entry *pauses;
        uint32_t pause_count;
        struct tally_entry *tally;
        uint32_t tally_count;
    } out;
    struct store_inbox *inbox; /* set by the caller: whose loop done() runs on */
    store_done_fn *done;
    void *ctx;
    struct store_op *next; /* the store's queue link */
};

struct store_options {
    const char *kind;           /* "sqlite", "memory" */
    const char *path;           /* sqlite */
    uint32_t queue_max;         /* operations waiting; submit refuses beyond */
    uint32_t batch_max;         /* operations in one transaction */
    size_t batch_bytes_max;     /* bodies in one transaction */
    int64_t busy_ms;            /* how long a foreign lock on the file is waited for */
    uint32_t checkpoint_frames; /* WAL frames that start a checkpoint */
    int64_t probe_ms;           /* between two tries to write while commits fail */
    struct gw_clock *clock;     /* borrowed */
};
void store_options_default(struct store_options *ret);

/* Opens, locks, migrates, starts the committer. Errors are texts for an operator. */
GW_MUST_CHECK enum gw_status store_open(const struct store_options *options,
                                        struct store **ret_store, struct gw_error *err);
void store_close(struct store *store); /* NULL is fine; finishes what was submitted */

/* From any thread. GW_LIMIT: the queue is full; op was not taken and done() will not run. */
GW_MUST_CHECK enum gw_status store_submit(struct store *store, struct store_op *op);

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
