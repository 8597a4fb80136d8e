/* The store's thread: takes all that is queued, makes it one transaction, delivers
 * the results, and looks again. There is no timer: while a commit is synced, the
 * next batch gathers. Only while commits fail it tries to write from time to time,
 * since nobody else may try, and on a shared store the other gateways hear of it. It must never
 * hold its lock while it calls a backend, the checkpointer or an inbox. */
#include <errno.h>
#include <time.h>

#include "store/committer.h"
#include "store/inbox.h"

const uint32_t store_commit_bounds_us[STORE_HISTOGRAM_BUCKETS] = {
    100,   200,   500,    1000,   2000,   5000,    10000,
    20000, 50000, 100000, 200000, 500000, 1000000, UINT32_MAX,
};

void op_list_add(struct op_list *list, struct store_op *op)
{
    op->next = NULL;
    if (list->first == NULL)
        list->first = op;
    else
        list->last->next = op;
    list->last = op;
    list->count++;
}

struct store_op *op_list_take(struct op_list *list)
{
    struct store_op *op = list->first;
    if (op == NULL)
        return NULL;
    list->first = op->next;
    if (list->first == NULL)
        list->last = NULL;
    op->next = NULL;
    list->count--;
    return op;
}

static void lock(struct store *store)
{
    int rc = pthread_mutex_lock(&store->lock);
    gw_assert(rc == 0);
}

static void unlock(struct store *store)
{
    int rc = pthread_mutex_unlock(&store->lock);
    gw_assert(rc == 0);
}

/* What an op adds to the transaction's size, as far as it can be large. */
static size_t bytes_of(const struct store_op *op)
{
    if (op->kind == STORE_CLAIM)
        return op->in.claim.row->request.len;
    if (op->kind == STORE_LOCAL)
        return op->in.local.row->request.len;
    if (op->kind == STORE_PLAN_SET)
        return op->in.plan.entry->answer.len + op->in.plan.entry->items.len;
    if (op->kind != STORE_ADVANCE)
        return 0;
    const struct store_row *next = op->in.advance.next;
    return (op->in.advance.set_answer ? next->answer.len : 0) +
           (op->in.advance.set_request ? next->request.len : 0) +
           (op->in.advance.set_kept ? next->kept.len : 0);
}

/* Under the lock. At least one op, however large. */
static void take_batch(struct store *store, struct op_list *batch)
{
    size_t bytes = 0;
    while (store->queue.first != NULL && batch->count < store->options.batch_max) {
        bytes += bytes_of(store->queue.first);
        if (batch->count > 0 && bytes > store->options.batch_bytes_max)
            break;
        op_list_add(batch, op_list_take(&store->queue));
    }
}

static int64_t now_ms(void)
{
    struct timespec ts;
    int rc = clock_gettime(CLOCK_MONOTONIC, &ts);
    gw_assert(rc == 0);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Under the lock. */
static bool is_probe_due(const struct store *store)
{
    return store->stats.is_failing && now_ms() >= store->probe_at_ms;
}

/* Under the lock. */
static bool is_beat_due(const struct store *store)
{
    return store->backend->is_shared && now_ms() >= store->beat_at_ms;
}

/* Under the lock. Until something changes, or the next probe or heart-beat is due. */
static void sleep_a_while(struct store *store)
{
    int64_t at_ms = store->stats.is_failing ? store->probe_at_ms : INT64_MAX;
    if (store->backend->is_shared && store->beat_at_ms < at_ms)
        at_ms = store->beat_at_ms;
    const struct timespec until = {.tv_sec = (time_t)(at_ms / 1000),
                                   .tv_nsec = (long)(at_ms % 1000) * 1000000};
    int rc = at_ms < INT64_MAX ? pthread_cond_timedwait(&store->changed, &store->lock, &until)
                               : pthread_cond_wait(&store->changed, &store->lock);
    gw_assert(rc == 0 || rc == ETIMEDOUT);
}

/* What a round of the committer has to do, beside its batch. */
struct round {
    bool wants_last;
    bool probes;
    bool beats;
};

/* Waits for work. false: stopped, and nothing is left. */
static bool wait_for_work(struct store *store, struct op_list *batch, struct round *ret_round)
{
    lock(store);
    while (store->queue.first == NULL && !store->is_stopping && !store->wants_last &&
           store->cut.first == NULL && !is_probe_due(store) && !is_beat_due(store))
        sleep_a_while(store);
    take_batch(store, batch);
    *ret_round = (struct round){
        .wants_last = store->wants_last,
        .probes = !store->is_stopping && is_probe_due(store),
        .beats = is_beat_due(store),
    };
    store->wants_last = false;
    if (store->pass_failed) /* not again with every commit */
        store->wake_frames += store->options.checkpoint_frames;
    store->pass_failed = false;
    bool goes_on = batch->first != NULL || store->cut.first != NULL || !store->is_stopping;
    unlock(store);
    return goes_on;
}

/* Runs of neighbours with one inbox go together: one lock, one wake-up. */
static void deliver(struct op_list *ops)
{
    struct op_list run = {0};
    struct store_op *op;
    while ((op = op_list_take(ops)) != NULL) {
        if (run.first != NULL && run.first->inbox != op->inbox) {
            inbox_deliver(run.first->inbox, run.first, run.last);
            run = (struct op_list){0};
        }
        op_list_add(&run, op);
    }
    if (run.first != NULL)
        inbox_deliver(run.first->inbox, run.first, run.last);
}

static unsigned commit_bucket(uint64_t us)
{
    unsigned i = 0;
    while (i < STORE_HISTOGRAM_BUCKETS - 1 && us > store_commit_bounds_us[i])
        i++;
    return i;
}

static unsigned batch_bucket(uint32_t count)
{
    unsigned i = 0;
    while (i < STORE_HISTOGRAM_BUCKETS - 1 && count > 1u << i)
        i++;
    return i;
}

static void count_batch(struct store *store, uint32_t count, const struct batch_result *result)
{
    lock(store);
    struct store_stats *stats = &store->stats;
    stats->operations += count;
    stats->commits += result->commits;
    stats->busy += result->busy;
    if (count > 0)
        stats->batch_count[batch_bucket(count)]++;
    if (result->wrote) {
        stats->is_failing = result->failed;
        stats->failed_commits += result->failed;
        store->probe_at_ms = now_ms() + store->options.probe_ms;
    }
    if (result->commits > 0) {
        stats->commit_count[commit_bucket(result->commit_us)]++;
        stats->commit_us_sum += result->commit_us;
    }
    if (result->err.status != GW_OK)
        stats->last_error = result->err;
    unlock(store);
}

/* The log begins anew with the commit after a held pass, unless somebody still
 * reads from it: then another round would achieve nothing, and waits for more. */
static void watch_log(struct store *store)
{
    if (store->checkpointer == NULL)
        return;
    uint32_t frames = store->backend->ops->wal_frames(store->backend);
    if (store->last_frames != 0) {
        bool is_anew = frames < store->last_frames;
        store->wake_frames = store->options.checkpoint_frames + (is_anew ? 0 : frames);
        store->last_frames = 0;
    }
    if (frames >= store->wake_frames)
        checkpointer_wake(store->checkpointer);
}

static void run_last_pass(struct store *store)
{
    struct batch_result result = {0};
    store->last_frames = store->backend->ops->wal_frames(store->backend);
    /* A failure leaves the log as it is; a later round tries again. */
    (void)store->backend->ops->checkpoint_last(store->backend, &result.err);
    checkpointer_rest(store->checkpointer);
    count_batch(store, 0, &result);
}

static void run_batch(struct store *store, struct op_list *batch)
{
    struct batch_result result;
    struct op_list done = {0};
    struct store_op *op;
    uint32_t count = batch->count;
    batch_run(store->backend, batch, &result);
    count_batch(store, count, &result);
    while ((op = op_list_take(batch)) != NULL)
        op_list_add(op_is_cut(op) ? &store->cut : &done, op);
    deliver(&done);
    if (result.wrote)
        watch_log(store);
}

/* Commits fail: can the database be written again? */
static void run_probe(struct store *store)
{
    struct gw_error err = {0};
    enum gw_status status = store->backend->ops->probe(store->backend, &err);
    lock(store);
    store->stats.probes++;
    store->stats.is_failing = status != GW_OK;
    store->probe_at_ms = now_ms() + store->options.probe_ms;
    if (status != GW_OK)
        store->stats.last_error = err;
    unlock(store);
}

/* The monotonic time is taken first: the others count from later. A heart-beat that is lost
 * is as none; the next one is due in its turn. */
enum gw_status committer_beat(struct store *store, struct gw_error *err)
{
    struct gw_clock *clock = store->options.clock;
    struct holding_news news = {.asked_ticks = clock->ticks_ms(clock),
                                .wall_ms = clock->wall_ms(clock)};
    lock(store);
    store->beat_at_ms = now_ms() + STORE_BEAT_MS;
    unlock(store);
    enum gw_status status =
        store->backend->ops->beat(store->backend, STORE_HOLD_MS, &news.beat, err);
    if (status != GW_OK)
        return status;
    news.took_ms = clock->ticks_ms(clock) - news.asked_ticks;
    switch (holding_renew(&store->holding, &news)) {
    case HOLDING_RENEWED:
        break;
    case HOLDING_SLOW:
        return gw_error_set(err, GW_BUSY, "a heart-beat took %lld ms", (long long)news.took_ms);
    case HOLDING_FAR:
        return gw_error_set(err, GW_INVALID,
                            "the clock of this machine is %lld ms ahead of the database's, and %d "
                            "may be between them either way; set it, nothing is sent before",
                            (long long)(news.wall_ms - news.beat.now_ms), STORE_SKEW_MS);
    }
    return GW_OK;
}

static void run_beat(struct store *store)
{
    struct gw_error err = {0};
    if (committer_beat(store, &err) == GW_OK)
        return;
    lock(store);
    store->stats.last_error = err;
    unlock(store);
}

/* One slice of the first page that was cut. */
static void run_slice(struct store *store)
{
    struct batch_result result;
    batch_continue(store->backend, store->cut.first, &result);
    count_batch(store, 0, &result);
    store->slices++;
    if (op_is_cut(store->cut.first) && store->slices < STORE_PAGE_SLICES_MAX)
        return;
    struct op_list done = {0};
    op_list_add(&done, op_list_take(&store->cut));
    store->slices = 0;
    deliver(&done);
}

void *committer_run(void *ctx)
{
    struct store *store = ctx;
    struct op_list batch = {0};
    struct round round;
    while (wait_for_work(store, &batch, &round)) {
        if (round.beats)
            run_beat(store);
        if (round.wants_last)
            run_last_pass(store);
        if (round.probes)
            run_probe(store);
        if (batch.first != NULL)
            run_batch(store, &batch);
        if (store->cut.first != NULL)
            run_slice(store);
    }
    return NULL;
}
