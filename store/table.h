/* Between the meaning of an operation (apply.c, the same for every backend) and
 * the rows of one database. A backend reads and writes rows here; it never
 * compares versions, tokens or states. Threads: the committer's alone. */
#ifndef RECIBO_STORE_TABLE_H
#define RECIBO_STORE_TABLE_H

#include "store/backend.h"

#define STORE_PAUSES_MAX       1024
#define STORE_TALLY_ROUTES_MAX 1024
/* Rows looked at in one go by a page; the committer then serves others before it goes on. */
#define STORE_PAGE_EXAMINED_MAX 10000

enum row_by { ROW_BY_ID, ROW_BY_IDENTITY, ROW_BY_OPERATION };
struct row_key {
    enum row_by by;
    int64_t id;
    struct store_identity identity;
    struct span operation_id;
};

/* Where a change goes from and to. `row` was made from `old` by apply.c. */
struct row_change {
    const struct store_row *old, *row;
    bool set_answer, set_request, set_kept;
    bool set_identity; /* and the key; else both stay */
};

/* Which plans: the last STORE_PLANS_MAX, newest first, or one. */
struct plans_query {
    const char *plan_id; /* NULL: the last ones */
    bool with_parts;     /* answer and items too */
};

enum walk_by {
    WALK_ID,            /* every row, by id */
    WALK_STATE,         /* rows of one open state, by id */
    WALK_CONTRADICTED,  /* marked rows, by id */
    WALK_LABEL,         /* rows that bear this label, by id */
    WALK_LEASED,        /* CLAIMED and SENT, by id */
    WALK_EXPIRE,        /* expire_ms <= until_ms, by (expire_ms, id) after (after_ms, after_id) */
    WALK_EVIDENCE,      /* likewise by evidence_until_ms, while the request is kept */
    WALK_PROBES,        /* likewise by probe_due_ms, of unknown rows */
    WALK_DUE,           /* likewise by due_ms, of deferred rows */
    WALK_GROUP,         /* unknown rows of one route, end and status, by id */
    WALK_UNKNOWN_KEY,   /* unknown rows with this key, by id */
    WALK_UNKNOWN_OWNER, /* unknown rows of this owner, by id */
    WALK_UNKNOWN_ROUTE, /* unknown rows of this route, by id */
    WALK_CLAIMED,       /* unknown rows that somebody is on, by id */
    WALK_PROBED,        /* unknown rows whose last probe said this, by id; not PROBE_NONE */
};
struct walk {
    enum walk_by by;
    bool oldest_first;
    int64_t after_id; /* exclusive; 0: from the start */
    int64_t after_ms, until_ms;
    enum receipt_state state;
    struct span label_name, label_value;
    struct span route, key, owner;
    uint8_t end, probe;
    uint16_t status;
    /* row NULL: it is damaged. Its spans live until visit() returns. false: stop. */
    bool (*visit)(void *ctx, int64_t id, const struct store_row *row);
    void *ctx;
};
/* States that WALK_STATE has an index for. */
bool walk_has_state(enum receipt_state state);

struct table_ops {
    /* The row without its bodies, in the arena. Not there: *ret_found false. */
    enum gw_status (*get)(struct store_backend *backend, const struct row_key *key,
                          struct arena *arena, struct store_row *ret, bool *ret_found,
                          struct gw_error *err);
    /* Adds the bodies that `load` names to a row that get() returned. */
    enum gw_status (*load)(struct store_backend *backend, uint32_t load, struct arena *arena,
                           struct store_row *row, struct gw_error *err);
    /* *ret_id 0: the identity is taken, nothing was written. */
    enum gw_status (*insert)(struct store_backend *backend, const struct store_row *row,
                             int64_t *ret_id, struct gw_error *err);
    enum gw_status (*update)(struct store_backend *backend, const struct row_change *change,
                             struct gw_error *err);
    enum gw_status (*remove)(struct store_backend *backend, const struct store_row *old,
                             struct gw_error *err);
    enum gw_status (*touch)(struct store_backend *backend, int64_t id, int64_t now_ms,
                            bool *ret_found, struct gw_error *err);
    enum gw_status (*walk)(struct store_backend *backend, const struct walk *walk,
                           struct gw_error *err);
    enum gw_status (*audit_add)(struct store_backend *backend, const struct audit_entry *entry,
                                struct gw_error *err);
    enum gw_status (*audit_has)(struct store_backend *backend, const struct audit_entry *entry,
                                bool *ret_has, struct gw_error *err);
    /* The last STORE_PAGE_ROWS_MAX entries of the subject (empty: of all), oldest first. */
    enum gw_status (*audit_read)(struct store_backend *backend, struct span subject,
                                 struct store_op *op, struct gw_error *err);
    enum gw_status (*pause_set)(struct store_backend *backend, const struct pause_entry *entry,
                                struct gw_error *err);
    enum gw_status (*pause_clear)(struct store_backend *backend, const struct pause_entry *entry,
                                  struct gw_error *err);
    enum gw_status (*pauses_read)(struct store_backend *backend, struct store_op *op,
                                  struct gw_error *err);
    enum gw_status (*tally_read)(struct store_backend *backend, struct store_op *op,
                                 struct gw_error *err);
    enum gw_status (*groups_read)(struct store_backend *backend, struct store_op *op,
                                  struct gw_error *err);
    /* Inserts or replaces. Answer or items empty: those on record stay. For a new one the
     * oldest that is over gives way; GW_LIMIT: none is, and nothing was written. */
    enum gw_status (*plan_set)(struct store_backend *backend, const struct plan_entry *entry,
                               struct gw_error *err);
    enum gw_status (*plans_read)(struct store_backend *backend, const struct plans_query *query,
                                 struct store_op *op, struct gw_error *err);
    /* The oldest beyond OBSERVED_ROWS_MAX give way. */
    enum gw_status (*observe_add)(struct store_backend *backend, const struct observation *seen,
                                  struct gw_error *err);
    enum gw_status (*observed_read)(struct store_backend *backend, struct store_op *op,
                                    struct gw_error *err);
    /* Writes out.rows[0] (`old` is what stands there; NULL: nothing), runs the effect and
     * makes its row the answer, or takes all of that back and says why in out.refusal, or
     * in out.status. NULL: this backend has no local effects. */
    enum gw_status (*local)(struct store_backend *backend, struct store_op *op,
                            const struct store_row *old, struct gw_error *err);
};

/* What every backend begins with. */
struct store_backend {
    const struct store_backend_ops *ops;
    const struct table_ops *table;
    bool is_shared; /* several gateways: this one beats, and leases as: */
    int64_t holder; /* 0 where one process owns the store */
};

/* One operation inside the open transaction. GW_OK with op->out.status set: the
 * operation failed alone and changed nothing, the batch may go on. Any other
 * result condemns the batch. */
enum gw_status apply_op(struct store_backend *backend, struct store_op *op, struct gw_error *err);
bool op_writes(const struct store_op *op);
/* A page that ran into STORE_PAGE_EXAMINED_MAX before it was full: apply again. */
bool op_is_cut(const struct store_op *op);
void op_continue(struct store_op *op);

/* Helpers that backends share. */
struct row_span {
    const char *name;
    size_t offset; /* of the span in struct store_row */
    size_t len_max;
};
extern const struct row_span row_spans[];
extern const size_t row_span_count;
#define ROW_SPAN_REQUEST 0 /* the bodies come first */
#define ROW_SPAN_ANSWER  1
#define ROW_SPAN_KEPT    2
const struct span *row_span_at(const struct store_row *row, size_t index);
struct span *row_span_of(struct store_row *row, size_t index);
/* NULL: the arena is full. Zeroed. */
struct store_row *op_add_row(struct store_op *op);
struct audit_entry *op_add_audit(struct store_op *op);
struct pause_entry *op_add_pause(struct store_op *op);
struct tally_entry *op_add_tally(struct store_op *op);
struct group_entry *op_add_group(struct store_op *op);
/* GROUPS: how far `grown` of the group at this place is counted, when those before it have
 * `counted` together. Each group behind it keeps a share: a small one is never left out
 * because a large one grows. */
uint64_t op_grown_max(const struct store_op *op, uint32_t at, uint64_t counted);
struct plan_entry *op_add_plan(struct store_op *op);
struct observation *op_add_observation(struct store_op *op);
GW_MUST_CHECK bool audit_copy(struct arena *arena, const struct audit_entry *from,
                              struct audit_entry *ret);
GW_MUST_CHECK bool pause_copy(struct arena *arena, const struct pause_entry *from,
                              struct pause_entry *ret);
GW_MUST_CHECK bool plan_copy(struct arena *arena, const struct plan_entry *from,
                             struct plan_entry *ret);
/* May this observation come from a disk, or go to one? */
GW_MUST_CHECK enum gw_status observation_check(const struct observation *seen,
                                               struct gw_error *err);
/* OBSERVED: behind the page's start? Of the route and time that were asked for? How
 * many make a page? */
bool observed_is_behind(const struct store_op *op, const struct observation *seen);
bool observed_fits(const struct store_op *op, const struct observation *seen);
uint32_t observed_rows_max(const struct store_op *op);
enum gw_status op_no_memory(struct gw_error *err);

#endif
