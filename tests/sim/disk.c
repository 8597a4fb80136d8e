/* The store as the product sees it, over its own memory backend: a queue, a batch that
 * is open for a drawn time, a commit that may fail or be cut off by a crash. Results
 * come back through inboxes. It must never tell anybody anything of a batch that is
 * not committed, but for a planted bug. */
#include "store/memory.h"
#include "tests/sim/bugs.h"

#include <stdlib.h>

#define INBOX_DELAY_MAX 3
#define DEAD_ROWS_MAX   100000

static const char *const op_words[STORE_OP_COUNT] = {
    "claim",  "look-up", "find", "advance", "touch",    "scan", "list",  "audit",   "pause",
    "pauses", "tally",   "note", "groups",  "plan-set", "plan", "plans", "observe", "observed"};

static void batch_starts(void *ctx);
static void batch_commits(void *ctx);
static void inbox_drains(void *ctx);

bool disk_open(struct world *world)
{
    struct gw_error err = {0};
    const struct store_options options = {.kind = "memory"};
    if (store_memory_ops.open(&options, &world->backend, &err) != GW_OK)
        return false;
    struct memory_store *memory = (struct memory_store *)world->backend;
    for (size_t i = 0; i < sizeof(memory->secret); i++)
        memory->secret[i] = (uint8_t)draw(world);
    if (world->plan.gateways > 1)
        memory_share(world->backend, &world->clock);
    return true;
}

void disk_close(struct world *world)
{
    if (world->backend != NULL)
        world->backend->ops->close(world->backend);
    world->backend = NULL;
}

struct store_row *disk_row(struct world *world, size_t index)
{
    struct memory_store *memory = (struct memory_store *)world->backend;
    size_t seen = 0;
    for (size_t slot = 0; slot < memory->slot_count; slot++)
        if (memory->slots[slot] != NULL && seen++ == index)
            return &memory->slots[slot]->row;
    return NULL;
}

/* What a database notes with its epoch: whoever leased a row before is gone. */
void disk_new_life(struct world *world)
{
    if (bug_is_planted(world, BUG_LEASE_ALIVE))
        return;
    struct store_row *row;
    for (size_t i = 0; i < DEAD_ROWS_MAX && (row = disk_row(world, i)) != NULL; i++)
        if (receipt_is_leased(row->receipt.state))
            row->lease_is_dead = true;
}

/* As the boot does it, before anybody is served. */
void disk_pauses(struct world *world, struct board *board)
{
    const struct store_backend_ops *ops = world->backend->ops;
    struct store_op op = {.kind = STORE_PAUSES, .arena = arena_new((size_t)1 << 20)};
    bool ok = op.arena != NULL && ops->begin(world->backend, false, NULL) == GW_OK &&
              ops->apply(world->backend, &op, NULL) == GW_OK &&
              ops->commit(world->backend, NULL) == GW_OK;
    gw_assert(ok);
    for (uint32_t i = 0; i < op.out.pause_count; i++)
        (void)board_pause(board, op.out.pauses[i].subject, op.out.pauses[i].name,
                          true); /* the names are those of the one configuration */
    arena_free(op.arena);
}

/* ---- the queue ---- */

struct span store_secret(const struct store *store)
{
    return store->world->backend->ops->secret(store->world->backend);
}

void store_stats(struct store *store, struct store_stats *ret)
{
    *ret = (struct store_stats){.queue_length = store->count,
                                .is_failing = store->world->ticks < store->world->sick_until};
}

enum gw_status store_submit(struct store *store, struct store_op *op)
{
    struct world *world = store->world;
    gw_assert(op->inbox != NULL && op->done != NULL && op->arena != NULL);
    if (store->count >= world->plan.store_queue)
        return GW_LIMIT;
    op->next = NULL;
    if (store->first == NULL)
        store->first = op;
    else
        store->last->next = op;
    store->last = op;
    store->count++;
    store->start_timer.process = store->process;
    store->start_timer.fire = batch_starts;
    store->start_timer.ctx = store;
    if (store->batch_count == 0 && store->start_timer.place == 0)
        timer_set(world, &store->start_timer, draw_between(world, 0, 1));
    return GW_OK;
}

static void take_batch(struct store *store)
{
    uint32_t wanted = (uint32_t)draw_between(store->world, 1, SIM_BATCH_MAX);
    while (store->first != NULL && store->batch_count < wanted) {
        struct store_op *op = store->first;
        store->first = op->next;
        op->next = NULL;
        store->batch_told[store->batch_count] = false;
        store->batch[store->batch_count++] = op;
        store->count--;
    }
}

/* The caller whose flow asked: he cannot have seen anything older than this moment. */
static void note_applied(struct store *store, const struct store_op *op)
{
    for (uint32_t i = 0; i < SIM_CALLERS_MAX; i++) {
        struct client *client = store->world->callers[i];
        if (client != NULL && client->flow != NULL && op == &client->flow->op)
            client->applied_ticks = store->world->ticks;
    }
}

static void apply(struct store *store, struct store_op *op)
{
    struct world *world = store->world;
    struct gw_error err = {0};
    memset(&op->out, 0, sizeof(op->out));
    bug_writes_over(world, op);
    enum gw_status status = world->backend->ops->apply(world->backend, op, &err);
    if (status != GW_OK)
        world_fail(world, "an operation condemned its batch: %s", err.text);
    bug_after_apply(store, op);
    /* A flow's memory is bounded, and some worlds have little of it. */
    if (op->out.status != GW_OK && op->out.status != GW_NOMEM)
        world_fail(world, "an operation failed alone: %s", err.text);
    if (op->kind == STORE_SCAN && op->in.scan.kind == SCAN_LAPSED &&
        bug_is_planted(world, BUG_LEASE_ALIVE))
        op->out.row_count = 0;
    if (op->kind == STORE_SCAN && op->in.scan.kind == SCAN_DUE &&
        bug_is_planted(world, BUG_NEVER_DUE))
        op->out.row_count = 0;
    note_applied(store, op);
    if (op->kind != STORE_SCAN || op->out.row_count > 0)
        world_say(world, "    store: %s, found %d", op_words[op->kind], (int)op->out.found);
}

enum gw_status disk_begin(struct store *store, bool writes)
{
    struct world *world = store->world;
    world->committing = store->process;
    world->backend->holder = store->holder;
    return world->backend->ops->begin(world->backend, writes, NULL);
}

static bool batch_writes(const struct store *store)
{
    for (uint32_t i = 0; i < store->batch_count; i++)
        if (op_writes(store->batch[i]))
            return true;
    return false;
}

/* Nothing of it was changed; what only reads is read once more, unless nobody answers. */
static void fail_batch(struct store *store)
{
    struct world *world = store->world;
    world_say(world, "a batch fails");
    if (store->batch_open)
        world->backend->ops->rollback(world->backend);
    store->batch_open = false;
    for (uint32_t i = 0; i < store->batch_count; i++) {
        struct store_op *op = store->batch[i];
        if (store->batch_told[i])
            continue;
        if (op_writes(op) || shared_is_cut(store) || store->batch_lost) {
            memset(&op->out, 0, sizeof(op->out));
            op->out.status = draw_chance(world, 500) ? GW_IO : GW_BUSY;
            continue;
        }
        enum gw_status status = disk_begin(store, false);
        gw_assert(status == GW_OK);
        apply(store, op);
        status = world->backend->ops->commit(world->backend, NULL);
        gw_assert(status == GW_OK);
    }
    store->batch_lost = false;
}

/* What was in it is told, and the next one may begin. */
static void end_batch(struct store *store)
{
    uint32_t count = store->batch_count;
    store->batch_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!store->batch_told[i])
            store_inbox_deliver(store->batch[i]);
    shared_let_go(store);
    if (store->first != NULL && store->start_timer.place == 0)
        timer_set(store->world, &store->start_timer, draw_between(store->world, 0, 1));
}

static void batch_starts(void *ctx)
{
    struct store *store = ctx;
    struct world *world = store->world;
    gw_assert(store->batch_count == 0);
    if (!shared_take_lock(store))
        return;
    take_batch(store);
    bool writes = batch_writes(store);
    if (shared_is_cut(store) || disk_begin(store, writes) != GW_OK) {
        fail_batch(store);
        end_batch(store);
        return;
    }
    store->batch_open = true;
    if (writes)
        bug_sweeps(world);
    for (uint32_t i = 0; i < store->batch_count; i++)
        apply(store, store->batch[i]);
    for (uint32_t i = 0; i < store->batch_count; i++) {
        if (!bug_tells_early(world, store->batch[i]))
            continue;
        store->batch_told[i] = true;
        store_inbox_deliver(store->batch[i]);
    }
    store->commit_timer.process = store->process;
    store->commit_timer.fire = batch_commits;
    store->commit_timer.ctx = store;
    int64_t delay_ms = writes ? 1 + draw_delay(world, world->plan.commit_max_ms) : 0;
    timer_set(world, &store->commit_timer, delay_ms + shared_delay(store));
}

/* The commit was done and its answer was lost: every operation must find its own result
 * in place and say the same again. */
static void apply_again(struct store *store)
{
    struct world *world = store->world;
    world_say(world, "a commit is lost from sight, and made again");
    enum gw_status status = disk_begin(store, true);
    gw_assert(status == GW_OK);
    for (uint32_t i = 0; i < store->batch_count; i++) {
        struct store_op *op = store->batch[i];
        enum store_found before = op->out.found;
        if (store->batch_told[i])
            continue;
        apply(store, op);
        bool is_gone = op->out.found == STORE_NONE; /* what was removed stays removed */
        if (before == STORE_WON && op->out.found != STORE_WON && !is_gone)
            world_fail(world, "an operation that is applied again does not know its own result");
    }
    status = world->backend->ops->commit(world->backend, NULL);
    gw_assert(status == GW_OK);
    check_commit(world);
}

static void batch_commits(void *ctx)
{
    struct store *store = ctx;
    struct world *world = store->world;
    bool writes = batch_writes(store);
    bool is_sick = writes && world->ticks < world->sick_until;
    if (store->batch_lost && bug_is_planted(world, BUG_LOST_BATCH))
        store->batch_lost = false;
    else if (is_sick || shared_is_cut(store) || store->batch_lost) {
        fail_batch(store);
    } else {
        enum gw_status status = world->backend->ops->commit(world->backend, NULL);
        gw_assert(status == GW_OK);
        store->batch_open = false;
        check_commit(world);
        if (writes && world->plan.commits_twice && draw_chance(world, 50))
            apply_again(store);
        if (writes)
            shared_committed(store);
    }
    end_batch(store);
}

/* ---- a crash ---- */

void disk_drop_op(struct store_op *op)
{
    bool is_operators = op->inbox->worker == NULL;
    if (is_operators) {
        operator_gives_up(op);
    } else if (op->kind == STORE_SCAN && op->ctx != NULL) {
        memset(&op->out, 0, sizeof(op->out));
        op->out.status = GW_IO;
        op->done(op, op->ctx); /* the scan frees its page and asks for no other */
    }
}

void disk_crash(struct store *store)
{
    struct world *world = store->world;
    timer_stop(world, &store->start_timer);
    timer_stop(world, &store->commit_timer);
    if (store->batch_open) {
        /* The commit may have reached the disk although nobody heard of it. */
        bool kept = draw_chance(world, 300) && world->ticks >= world->sick_until;
        store->batch_open = false;
        world_say(world, "the open batch is %s", kept ? "kept, its answers are lost" : "lost");
        if (kept && world->backend->ops->commit(world->backend, NULL) == GW_OK)
            check_commit(world);
        else
            world->backend->ops->rollback(world->backend);
    }
    shared_crash(store);
    for (uint32_t i = 0; i < store->batch_count; i++)
        if (!store->batch_told[i])
            disk_drop_op(store->batch[i]);
    store->batch_count = 0;
    while (store->first != NULL) {
        struct store_op *op = store->first;
        store->first = op->next;
        store->count--;
        disk_drop_op(op);
    }
    store->waits = store->batch_lost = false;
}

/* ---- inboxes ---- */

void inbox_init(struct store_inbox *inbox, struct world *world, struct worker *worker)
{
    *inbox = (struct store_inbox){.world = world, .worker = worker};
    inbox->timer = (struct sim_timer){.worker = worker, .fire = inbox_drains, .ctx = inbox};
}

void store_inbox_deliver(struct store_op *op)
{
    struct store_inbox *inbox = op->inbox;
    struct world *world = inbox->world;
    bool is_wake = op->kind == STORE_CLAIM && op->in.claim.row == NULL;
    if (is_wake && bug_is_planted(world, BUG_LOST_WAKE) && draw_chance(world, 300))
        return;
    op->next = NULL;
    if (inbox->first == NULL)
        inbox->first = op;
    else
        inbox->last->next = op;
    inbox->last = op;
    if (inbox->timer.place == 0)
        timer_set(world, &inbox->timer, draw_between(world, 0, INBOX_DELAY_MAX));
}

static void inbox_drains(void *ctx)
{
    struct store_inbox *inbox = ctx;
    struct store_op *op = inbox->first;
    inbox->first = inbox->last = NULL;
    while (op != NULL) {
        /* done() may free the op or submit it again. */
        struct store_op *next = op->next;
        op->next = NULL;
        op->done(op, op->ctx);
        op = next;
    }
}

void inbox_drop(struct store_inbox *inbox)
{
    timer_stop(inbox->world, &inbox->timer);
    while (inbox->first != NULL) {
        struct store_op *op = inbox->first;
        inbox->first = op->next;
        disk_drop_op(op);
    }
    inbox->last = NULL;
}
