/* The simulator: the gateway's own rooms, policy and store logic on a virtual clock
 * with a made-up world around them. One seed draws one world and one story; the same
 * seed tells the same story again. What the product calls threads, loops, sockets and
 * disks are queues of one heap of timers here, and a crash may fall between any two
 * steps of it. Threads: one. */
#ifndef RECIBO_TESTS_SIM_SIM_H
#define RECIBO_TESTS_SIM_SIM_H

#include "gateway/worker.h"
#include "store/backend.h"
#include "store/holding.h"

#define SIM_KEYS_MAX      4
#define SIM_SPACES        3 /* two owners of one key space, and a route of its own */
#define SIM_CALLED        (SIM_KEYS_MAX * SIM_SPACES)
#define SIM_UNDONE_MAX    128 /* compensations of one story: keys of their own */
#define SIM_IDENTITIES    (SIM_CALLED + SIM_UNDONE_MAX)
#define SIM_WORKERS       2
#define SIM_PROCESSES_MAX 4 /* gateways on one store; most stories have one */
#define SIM_CALLERS_MAX   64
#define SIM_OPERATORS_MAX 4
#define SIM_TRAIL_LINES   120
#define SIM_LINE_BYTES    240
#define SIM_HISTORY_MAX   4096 /* versions of one key in one story */
#define SIM_BATCH_MAX     8

struct world;
struct process;
struct version;

/* ---- bugs that are planted to see whether they are found (bugs.c) ---- */
enum sim_bug {
#define BUG(name, word, seeds, doc) BUG_##name,
#include "tests/sim/bugs.def"
#undef BUG
    BUG_COUNT,
};

/* ---- time.c: the clock, the heap of timers ---- */
struct sim_timer {
    int64_t at;
    uint64_t order;
    size_t place;            /* in the heap, from 1; 0: not set */
    struct worker *worker;   /* whose loop it belongs to; NULL: the world's own, or: */
    struct process *process; /* what else stands still with a process */
    void (*fire)(void *ctx);
    void *ctx;
};
void timer_set(struct world *world, struct sim_timer *timer, int64_t delay_ms);
void timer_stop(struct world *world, struct sim_timer *timer); /* fine if it is not set */
/* Runs the next one; false: none is left. */
bool timer_run_next(struct world *world);
int64_t world_ticks(const struct world *world);
int64_t world_wall(const struct world *world);
void world_step_clock(struct world *world, int64_t by_ms);

/* ---- draw.c: the seed ---- */
uint64_t draw(struct world *world);
uint64_t draw_below(struct world *world, uint64_t bound);        /* 0 .. bound - 1 */
int64_t draw_between(struct world *world, int64_t a, int64_t b); /* both included */
bool draw_chance(struct world *world, uint32_t per_mille);
/* Mostly short, sometimes as long as max_ms. */
int64_t draw_delay(struct world *world, int64_t max_ms);

/* ---- plan.c: what this seed's world is like ---- */
struct plan {
    uint32_t keys, arrivals_gap_ms;
    int64_t answer_ms, late_ms, wait_ms, retention_ms, tombstone_ms;
    bool rerun_on_expiry, replace_on_change, breaker;
    uint32_t late_max, waiters, in_flight, bodies_kib, store_queue;
    bool clock_steps;    /* the wall clock jumps by an hour */
    bool rude_network;   /* bytes land after the quiet time as well */
    bool wrong_verdicts; /* operators err, and use force */
    bool worker_stops;   /* a worker stands still for minutes */
    bool store_sick;     /* commits fail for a while */
    bool is_hasty;       /* operators do not wait, and err much */
    bool overlaps;       /* answers are slow, or refusals: attempts of one key meet */
    bool drains;         /* the process is stopped in peace, now and then */
    bool commits_twice;  /* an answer of the database is lost, and the batch applied again */
    bool is_short_of_memory;
    size_t flow_bytes;  /* memory of one flow */
    uint32_t flows_max; /* of a worker */
    bool retries;       /* the routes try again what did not run */
    uint32_t defers;    /* enum defer_when of the routes */
    bool dedups;        /* the upstream remembers keys for a while, and the routes say so */
    bool probes;        /* the routes ask what became of lost calls, and take absence for a proof */
    bool compensates;   /* owners take back what was carried out */
    bool long_gaps;     /* hours without a call: retention and tombstones end */
    bool recovers_late; /* callers are served while the dead leases are still found */
    int64_t commit_max_ms;
    uint32_t crash_per_10000, chaos_gap_ms;
    uint32_t loss_per_mille; /* how rude the upstream is */
    uint32_t gateways;       /* that share the store; what follows is for several */
    int64_t skew_ms;         /* their clocks differ from the database's, either way */
    bool pauses;             /* a whole process stands still, and goes on as if nothing was */
    bool cuts;               /* one of them does not reach the store */
    bool slow_commits;       /* one of them is slow to commit, and loses its transaction */
};
void plan_draw(struct world *world);
struct conf *plan_conf(const struct plan *plan, struct gw_error *err);

/* ---- truth: what really happened, known to the checkers alone (check.c) ---- */
struct attempt {
    struct attempt *older;
    struct identity *identity;
    uint64_t token;
    uint32_t life;
    int64_t claimed_ticks, lease_until_ticks;
    int64_t holder; /* the gateway's number */
    bool will_run;  /* bytes are under way and the upstream is going to carry it out */
    bool ran;
    bool excused;     /* an operator said that it did not run, and it was his to say */
    bool is_known;    /* its answer is in the row's evidence, and says that it ran */
    bool is_forgiven; /* ... and an operator has freed the key since all the same */
    bool answered;    /* the answer below was made */
    bool was_started; /* a call of it was begun */
    int64_t started_ticks, ran_ticks;
    int64_t wish_ms, wished_ticks; /* its refusal's Retry-After, and when that came */
    uint64_t run_id;               /* 0: it did not run */
    uint16_t status;
    struct gw_buf body;
};

/* One committed state of a key's row. */
struct version {
    int64_t from_ticks;
    uint32_t life;
    struct receipt receipt; /* state ABSENT: no row */
    struct fingerprint print;
    char operation_id[OPERATION_ID_BYTES + 1];
    bool answer_kept, was_replayed;
    int64_t holder;
    uint8_t end; /* of the last attempt */
    uint16_t answer_status;
    uint8_t probe; /* what the last probe found, of so many */
    uint32_t probe_count;
    struct gw_buf answer; /* the stored answer's body */
};

struct identity {
    struct span owner, scope, key;
    bool undoes; /* it takes another operation back; its key lies in undo_key */
    char undo_key[64];
    struct version *versions;
    uint32_t version_count, version_cap;
    uint32_t life; /* counts the operations that the key has been */
    struct attempt *attempts;
    int64_t moved_ticks;      /* when it last came to rest */
    int64_t not_before_ticks; /* a refusal on record asks for no attempt before */
};
#define SIM_ATTEMPTS_MAX    3 /* of a window, by the configuration of plan.c */
#define SIM_WINDOW_MS       20000
#define SIM_DEDUP_WINDOW_MS 20000

/* ---- caller.c ---- */
struct client {
    struct world *world;
    struct process *process;
    struct worker *worker;
    struct client *next; /* of the worker's graveyard */
    uint32_t slot;
    uint64_t id;
    struct flow *flow; /* NULL: over */
    struct identity *identity;
    uint32_t variant; /* of the body */
    int64_t start_ticks, applied_ticks;
    bool reads_slowly, answered, waits_for_body, waits_for_write, has_waited;
    uint64_t space;
    bool is_buried;
    struct sim_timer connect_timer, body_timer, leave_timer, write_timer;
    char body[96];
    size_t body_len;
    char cancels[OPERATION_ID_BYTES + 1]; /* the operation that he asks to cancel; empty: none */
    bool undoes;                          /* ... to compensate */
};
void caller_arrives(void *ctx); /* the world's timer */
/* He was told 202, and may think better of it. */
void caller_was_promised(const struct client *client, struct span operation_id);
void caller_asks_to_undo(const struct client *client, struct span operation_id, int64_t delay_ms);
void caller_dies(struct client *client); /* its process is gone */
void caller_free(struct client *client);
extern const struct client_ops caller_ops;

/* ---- upstream.c ---- */
struct delivery;
struct upstream_port {
    struct world *world;
    struct worker *worker;
    struct upstream_call *calls;
    uint32_t late_listening;
};
extern const struct upstream_ops sim_upstream_ops;
void upstream_crash(struct upstream_port *port); /* the process is gone; its bytes may still land */
void upstream_free_all(struct world *world);

/* ---- disk.c: the store ---- */
struct store {
    struct world *world;
    struct process *process;
    struct store_op *first, *last; /* waiting */
    uint32_t count;
    struct store_op *batch[SIM_BATCH_MAX];
    bool batch_told[SIM_BATCH_MAX]; /* by a planted bug: delivered too early */
    uint32_t batch_count;
    bool batch_open;
    struct sim_timer start_timer, commit_timer;
    /* shared.c, where several gateways share it: */
    struct holding holding;
    int64_t holder;
    struct sim_timer beat_timer;
    bool waits;      /* for another one's transaction to end */
    bool batch_lost; /* the database has taken its transaction back */
    int64_t cut_until, slow_until;
};
struct store_inbox {
    struct world *world;
    struct worker *worker; /* whose loop drains it; NULL: the operators' */
    struct store_op *first, *last;
    struct sim_timer timer;
};
GW_MUST_CHECK bool disk_open(struct world *world);
void disk_close(struct world *world);
void disk_new_life(struct world *world); /* every lease of before is dead */
void disk_crash(struct store *store);
/* What a committer does first: the session of this process is the one that speaks. */
GW_MUST_CHECK enum gw_status disk_begin(struct store *store, bool writes);
struct store_row *disk_row(struct world *world, size_t index); /* NULL: none any more */
void disk_pauses(struct world *world, struct board *board);
void inbox_init(struct store_inbox *inbox, struct world *world, struct worker *worker);
void inbox_drop(struct store_inbox *inbox);
/* What an op that never comes back leaves behind: scans and operators give up. */
void disk_drop_op(struct store_op *op);

/* ---- shared.c: one database, several gateways ---- */
bool shared_join(struct process *process); /* false: it cannot be reached */
void shared_leave(struct process *process);
/* false: another one's transaction is open; the start timer is set when it ends. */
bool shared_take_lock(struct store *store);
void shared_let_go(struct store *store);
bool shared_is_cut(const struct store *store);
int64_t shared_delay(struct store *store);  /* of a slow committer, before its commit */
void shared_committed(struct store *store); /* and its answer is on its way */
void shared_crash(struct store *store);
/* Something befalls one of several gateways. */
void shared_trouble(struct world *world);

/* ---- worker.c, process.c ---- */
struct sources;
struct worker {
    struct world *world;
    struct process *process;
    uint32_t index;
    struct worker_ports ports;
    struct conf *conf;
    struct store_inbox inbox;
    struct upstream_port upstream;
    struct sources *sources;
    struct flow *flows, *flow_grave;
    struct client *client_grave;
    uint32_t flow_count, flows_max;
    uint64_t flow_id;
    size_t flow_bytes_max;
    struct gw_sha256 *sha256[WORKER_DIGESTS];
    struct json_node *json_nodes;
    uint32_t *json_order;
    uint32_t json_room;
    bool draining;
    int64_t stopped_until; /* it stands still: nothing of its loop runs before */
    struct sim_timer grace_timer;
};
void worker_init(struct worker *worker, struct process *process, uint32_t index);
void worker_crash(struct worker *worker);
void worker_bury_the_dead(struct worker *worker);
bool worker_is_done(const struct worker *worker);
void worker_begin_drain(struct worker *worker, int64_t grace_ms);
void worker_bury_caller(struct worker *worker, struct client *client);

/* The wall clock of one machine. */
struct process_clock {
    struct gw_clock clock; /* first: the one is found from the other */
    int64_t skew_ms;
};
/* Where a gateway stands: it is started again there when it has ended. */
struct place {
    struct world *world;
    uint32_t index;
    struct process_clock clock;
    struct sim_timer start_timer;
};
enum process_phase { PROCESS_RECOVERS, PROCESS_SERVES, PROCESS_DRAINS };
struct process {
    struct world *world;
    struct place *place;
    uint32_t life;
    enum process_phase phase;
    int64_t stopped_until; /* all of it stands still */
    struct board *board;
    struct store store;
    struct store_inbox operator_inbox;
    struct worker workers[SIM_WORKERS];
};
void process_start(struct world *world, struct place *place);
int64_t process_wall(const struct process *process); /* by its own clock */
void process_crash(struct world *world, struct process *process);
void process_drain(struct process *process);
/* After every step: recovery may be over, or a drain. */
void process_look(struct world *world, struct process *process);
void process_free(struct process *process);

/* ---- operator.c ---- */
void operator_acts(struct world *world);
/* Whose verdict is it that this row was moved by? false: nobody's. */
struct verdict {
    bool is_honest; /* he looked, saw that it had not run, and used no force */
};
bool operator_verdict(struct world *world, const char *operation_id, uint32_t version,
                      struct verdict *ret);
void operator_crash(struct world *world, struct process *process);
void operator_bury(struct world *world);
void operator_gives_up(struct store_op *op);
bool operator_is_busy(const struct world *world, const struct process *process);

/* ---- check.c, told.c: the checkers ---- */
void check_commit(struct world *world); /* the rows as they stand after a commit */
/* The newest version of a key's row. */
const struct version *check_last(const struct identity *identity);
void check_add_attempt(struct world *world, struct identity *identity,
                       const struct version *version);
struct attempt *check_attempt(struct world *world, uint64_t token); /* NULL: never committed */
void check_start(struct world *world, const struct flow *flow);     /* a call is about to begin */
void check_first_byte(struct world *world, const struct attempt *attempt); /* is about to leave */
/* Several gateways: whose lease it is, and whether somebody may take it from him. */
void check_lease(struct world *world, const struct identity *identity, const struct version *old,
                 const struct version *next);
void check_run(struct world *world, struct attempt *attempt); /* the upstream carries it out */
/* What the upstream finds when it is asked for an operation: a run; 0: none. */
uint64_t check_find_run(struct world *world, const char *operation_id);
/* The run that the upstream remembers of this key; NULL: none. */
const struct attempt *check_remembered(const struct attempt *attempt, int64_t since_ticks);
/* Time has run out for what the key was: it may become another operation. */
bool check_is_over(const struct world *world, const struct version *version);
bool check_same_answer(const struct version *a, const struct version *b);
void check_told(struct client *client, const struct reply *reply);
void check_quiet(struct world *world); /* nothing is left to happen */
void check_process_quiet(struct world *world, const struct process *process);
void check_free(struct world *world);

/* ---- undo.c ---- */
/* He was told that it was carried out, and may want it taken back. */
void undo_may_follow(const struct client *client, struct span operation_id);
void undo_look(struct world *world); /* the rows as they stand after a commit */
void undo_told(const struct client *client, uint16_t status);

/* ---- world.c ---- */
struct world_options {
    uint64_t seed;
    uint64_t steps;
    bool is_verbose; /* the story on standard output */
    bool keeps_trail;
    bool expects_bug; /* then an assertion of the product is a find like any other */
    enum sim_bug bug;
    bool is_several; /* each story has several gateways */
    /* life.c: the story of one deferred operation, and of nothing else */
    bool is_one_life;
    uint32_t crash_place;
    uint64_t crash_at; /* the step after which the gateway there dies; 0: none */
};
enum sim_count {
    COUNT_CALLS,
    COUNT_RUNS,
    COUNT_CRASHES,
    COUNT_DRAINS,
    COUNT_REPLAYS,
    COUNT_UNKNOWNS,
    COUNT_RELEASES,
    COUNT_LATE,
    COUNT_VERDICTS,
    COUNT_RENEWALS,
    COUNT_FINDINGS,
    COUNT_RETRIES,
    COUNT_PROMISES,
    COUNT_CANCELS,
    COUNT_UNDONE,
    COUNT_TAKEN_OVER, /* leases of a gateway that was gone, by another one */
    COUNT_ELSEWHERE,  /* replays by another gateway than the one that ran it */
    COUNT_SIM,
};

struct world {
    struct world_options options;
    uint64_t random[4];
    struct gw_clock clock;
    int64_t ticks, wall_offset, wall_high;
    struct sim_timer **heap;
    size_t heap_count, heap_cap;
    uint64_t timer_order, step;
    struct plan plan;
    struct conf *conf;
    struct store_backend *backend;
    int64_t sick_until;
    struct place places[SIM_PROCESSES_MAX];
    struct process *processes[SIM_PROCESSES_MAX]; /* NULL: down */
    struct process *committing;                   /* whose transaction was the last */
    struct store *locked_by;                      /* whose is open; NULL: none, or there is one */
    struct sim_timer transaction_timer;
    uint32_t lives;
    struct identity identities[SIM_IDENTITIES];
    struct client *callers[SIM_CALLERS_MAX];
    uint64_t caller_id, run_id;
    struct delivery *deliveries;
    struct operator_call *operators[SIM_OPERATORS_MAX];
    struct sim_timer arrival_timer, chaos_timer;
    uint64_t moved_step;  /* after which a row moved last */
    bool is_winding_down; /* no new trouble: what is under way comes to its end */
    bool has_failed;
    char violation[512];
    char trail[SIM_TRAIL_LINES][SIM_LINE_BYTES];
    uint64_t trail_count;
    uint64_t counts[COUNT_SIM];
};
/* true: the story ended well. */
bool world_run(struct world *world, const struct world_options *options);
void world_fini(struct world *world);
/* life.c: true: whichever gateway dies after whichever step of it, the operation ends well. */
bool life_is_safe(struct world *world, const struct world_options *options, uint64_t *ret_stories);
/* ... as this story shows. */
void life_check_end(struct world *world);
/* One of the gateways, as chance will have it; NULL: that one is down. */
struct process *world_any_process(struct world *world);
/* The one world of this process: the product's ports carry no context. */
struct world *world_now(void);
void world_say(struct world *world, const char *fmt, ...) GW_PRINTF(2, 3);
/* The first violation counts. */
void world_fail(struct world *world, const char *fmt, ...) GW_PRINTF(2, 3);
void world_print_trail(const struct world *world);

#endif
