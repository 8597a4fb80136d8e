/* Plans: many verdicts at once (SPEC 4). A plan is made and looked at, then applied by
 * a person, and settles its entries one by one: each only if its version is still the
 * one that the plan was made for. Threads: the admin's loop. */
#ifndef RECIBO_GATEWAY_ADMIN_PLANS_H
#define RECIBO_GATEWAY_ADMIN_PLANS_H

#include "gateway/admin/call.h"
#include "gateway/admin/verdict.h"
#include "store/plan.h"

#define PLANS_LIFE_MS         ((int64_t)30 * 60 * 1000) /* of a draft */
#define PLANS_SAMPLES         5
#define PLANS_LEFT_OUT_MAX    500 /* shown */
#define PLANS_ROUTES_MAX      256 /* counted by name */
#define PLANS_NAMED_MAX       20000
#define PLANS_WHERE_BYTES_MAX ((size_t)16 << 10)
#define PLANS_PAGE_BYTES_MAX  ((size_t)16 << 20)
#define PLANS_LANES           16 /* entries that are settled at once */

/* ---- plans_run.c: who settles ---- */
struct plans;
/* Goes on with what is on record, once the process is ready. NULL: out of memory. */
struct plans *plans_new(struct admin *admin);
void plans_close(struct plans *plans); /* nothing new begins; what is under way ends */
void plans_free(struct plans *plans);  /* NULL is fine; nothing is in the store's hands */
/* A plan was applied: is something due? */
void plans_look(struct plans *plans);
/* Somebody is about to stop a plan. All zero before its first use. */
struct plan_hold {
    struct call *call;
    call_fn *next; /* runs once when nothing is under way any more */
    struct plan_hold *behind;
    bool is_on; /* the plan's run waits for plans_let_go() */
};
/* Nothing more of the plan begins, nor is put on record, until plans_let_go(). false:
 * something is still under way, and hold->next runs when that has ended. */
bool plans_hold(struct plans *plans, const char *plan_id, struct plan_hold *hold) GW_MUST_CHECK;
void plans_let_go(struct plans *plans, struct plan_hold *hold); /* one that is not on is fine */
/* Counts and items become those of this moment, if the hold is on; false: out of memory. */
bool plans_tell(const struct plans *plans, const struct plan_hold *hold, struct plan_entry *entry,
                struct arena *arena) GW_MUST_CHECK;
/* That the plan is stopped is on record. */
void plans_stopped(struct plans *plans, const struct plan_hold *hold,
                   const struct plan_entry *entry);

/* ---- plans_lane.c: one entry ---- */
struct plan_run {
    struct arena *arena;
    const struct admin_options *options;
    struct plan_entry entry;
    struct plan_entry on_record; /* as it was read or saved last, without its parts */
    struct verdict verdict;
    struct plan_item *items;
    uint32_t item_count, next;
    uint32_t in_flight;
    uint32_t hold_count;       /* who are stopping it */
    struct plan_hold *waiting; /* those of them who wait for what is under way */
    bool is_loaded;            /* that it goes on is on record */
    bool has_failed;           /* the store did: the rest is for later */
    bool is_crowded;           /* the store's queue was full */
    bool has_changed;          /* since the last save */
};
struct plan_lane {
    GW_TAG(lane);
#define LANE_TAG 0x4c414e45u
    struct plans *plans;
    struct plan_run *run; /* NULL: free */
    struct arena *arena;
    struct store_op op;
    uint32_t at; /* of the items */
    struct store_row seen, row;
    struct audit_entry audit;
};
/* Begins with the item; false: the store's queue is full, or there is no memory. */
bool lane_start(struct plan_lane *lane, uint32_t at) GW_MUST_CHECK;
/* plans_run.c: the store has taken it; done() will run. */
bool plans_submit(struct plans *plans, struct store_op *op, store_done_fn *done) GW_MUST_CHECK;
void plans_came_back(struct plans *plans);  /* at the begin of each done() */
void plans_lane_ended(struct plans *plans); /* the lane is free again */

/* ---- plans_make.c: a plan on its way ---- */
struct plan_draft {
    struct arena *home; /* of the call; in its place stands that of a page meanwhile */
    struct plan_entry entry;
    struct verdict verdict;
    struct span where_json; /* "null": by operations */
    struct plan_item *items;
    uint32_t count;
    struct {
        struct span name;
        uint32_t count;
    } routes[PLANS_ROUTES_MAX];
    uint32_t route_count;
    uint32_t sees[ADMIT_VERDICT_COUNT];
    struct store_filter filter;
    int64_t cursor; /* of the page that comes next */
    uint32_t rows_max, rounds;
    void *named; /* plans_named.c: its own */
};
/* One more entry; false: the call was answered, as the draft cannot take it. */
bool draft_add(struct call *call, struct plan_draft *draft, const struct store_row *row,
               uint32_t version) GW_MUST_CHECK;
/* All are there: the plan is put on record and the call answered. */
void draft_finish(struct call *call, struct plan_draft *draft);

/* ---- plans_named.c ---- */
/* Looks for the operations that the body names, and finishes the draft. */
void draft_take_named(struct call *call, struct plan_draft *draft, const struct json_doc *doc,
                      uint32_t node);

/* ---- plans_show.c ---- */
/* The members of a plan as a list has it, without brackets. */
void plan_print_members(struct json_writer *json, const struct plan_entry *entry);
/* {"plan": {...}} with samples and what was left out; entry with its items and its answer. */
void plan_show(struct call *call, const struct plan_entry *entry, uint16_t status);
/* A text for entry.where, of what the draft has counted. false: it would be too large. */
bool plan_describe(const struct plan_draft *draft, struct gw_buf *out) GW_MUST_CHECK;
/* The counts of the entry become those of its items. */
void plan_count(struct plan_entry *entry, const struct plan_item *items, uint32_t count);
extern const char *const plan_state_words[PLAN_STATE_COUNT];

#endif
