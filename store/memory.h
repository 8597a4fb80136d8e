/* The memory backend's own structures, shared by its files alone. Threads: the
 * committer's. */
#ifndef RECIBO_STORE_MEMORY_H
#define RECIBO_STORE_MEMORY_H

#include "store/table.h"

struct memory_row {
    struct store_row row;
    bool request_kept;
    char bytes[]; /* what the spans of `row` point at */
};
struct memory_audit {
    struct audit_entry entry;
    char bytes[];
};
struct memory_pause {
    struct pause_entry entry;
    char bytes[];
};

struct memory_plan {
    struct plan_entry entry;
    int64_t number; /* in the order of their making */
    char bytes[];
};
struct memory_observed {
    struct observation seen;
    char bytes[];
};

enum memory_undo_kind {
    MEMORY_UNDO_INSERT,
    MEMORY_UNDO_ROW,
    MEMORY_UNDO_AUDIT,
    MEMORY_UNDO_PAUSE,
    MEMORY_UNDO_PLAN,
    MEMORY_UNDO_OBSERVED,
};
struct memory_undo {
    enum memory_undo_kind kind;
    size_t index;
    void *old; /* owned until commit or rollback; NULL: there was none */
};

struct memory_holder {
    int64_t id, until_ms, since_ms; /* by the database's clock; since: heard of without a gap */
};
#define MEMORY_HOLDERS_MAX 64

#define MEMORY_NO_SLOT SIZE_MAX

struct memory_store {
    struct store_backend base;
    struct memory_row **slots; /* in the order of their ids; NULL: removed */
    size_t slot_count, slot_cap, empty_slots;
    size_t *buckets; /* of identities: the newest slot, or MEMORY_NO_SLOT */
    size_t *chain;   /* per slot: the next older slot of its bucket */
    size_t bucket_count, chain_cap;
    int64_t next_id; /* never given out twice, like a database's */
    struct memory_audit **audits;
    size_t audit_count, audit_cap;
    struct memory_pause *pauses[STORE_PAUSES_MAX];
    struct memory_plan *plans[STORE_PLANS_MAX];
    int64_t plan_next;                 /* number of the next plan */
    struct memory_observed **observed; /* a ring of OBSERVED_ROWS_MAX; NULL until the first */
    int64_t observed_next;             /* id of the next; its place is the rest */
    struct memory_undo *journal;
    size_t journal_count, journal_cap;
    uint8_t secret[32];
    /* memory_shared.c, if base.is_shared: */
    struct gw_clock *clock;
    struct memory_holder holders[MEMORY_HOLDERS_MAX];
    size_t holder_count;
    int64_t holder_next;
};

extern const struct table_ops memory_table_ops;

/* memory.c */
struct span memory_row_bytes(char **at, struct span from);
struct memory_row *memory_row_new(const struct store_row *from);
GW_MUST_CHECK void *memory_grow(void *array, size_t *cap, size_t count, size_t item_bytes);
GW_MUST_CHECK bool memory_journal(struct memory_store *m, const struct memory_undo *undo);

/* memory_index.c */
GW_MUST_CHECK bool memory_index_init(struct memory_store *m);
void memory_index_fini(struct memory_store *m);
/* Takes the row into a new slot. false: out of memory, the row is still the caller's. */
GW_MUST_CHECK bool memory_index_push(struct memory_store *m, struct memory_row *row);
void memory_index_pop(struct memory_store *m); /* frees the newest slot's row */
size_t memory_index_by_identity(const struct memory_store *m,
                                const struct store_identity *identity);
size_t memory_index_by_id(const struct memory_store *m, int64_t id);
/* Forgets empty slots. */
void memory_index_compact(struct memory_store *m);

/* memory_groups.c: the counts of what is unknown */
enum gw_status memory_tally_read(struct store_backend *backend, struct store_op *op,
                                 struct gw_error *err);
enum gw_status memory_groups_read(struct store_backend *backend, struct store_op *op,
                                  struct gw_error *err);

/* memory_more.c: plans and what was observed */
enum gw_status memory_plan_set(struct store_backend *backend, const struct plan_entry *entry,
                               struct gw_error *err);
enum gw_status memory_plans_read(struct store_backend *backend, const struct plans_query *query,
                                 struct store_op *op, struct gw_error *err);
enum gw_status memory_observe_add(struct store_backend *backend, const struct observation *seen,
                                  struct gw_error *err);
enum gw_status memory_observed_read(struct store_backend *backend, struct store_op *op,
                                    struct gw_error *err);
void memory_more_fini(struct memory_store *m);
void memory_more_undo(struct memory_store *m, const struct memory_undo *change);

/* memory_shared.c: several gateways take turns on one memory, each as a holder of its own.
 * Whoever owns the backend says before each call whose turn it is: base.holder, 0 for one
 * that has not joined yet; beat() gives it its number there. clock: the database's. */
void memory_share(struct store_backend *backend, struct gw_clock *clock);
bool memory_holder_lives(const struct memory_store *m, int64_t holder);
/* What a reader sees of the row's lease. */
void memory_view(const struct memory_store *m, struct store_row *row);
enum gw_status memory_may_write(const struct memory_store *m, struct gw_error *err);
enum gw_status memory_beat(struct store_backend *backend, int64_t hold_ms, struct store_beat *ret,
                           struct gw_error *err);
void memory_leave(struct store_backend *backend);

/* memory_walk.c */
enum gw_status memory_walk(struct store_backend *backend, const struct walk *walk,
                           struct gw_error *err);

#endif
