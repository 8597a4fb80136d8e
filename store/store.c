/* The store as others see it: opened, asked, closed. */
#include "store/store.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "store/committer.h"

/* A batch may use up ids that the backend has reserved; see there. */
#define BATCH_MAX    4096
#define PROBE_MS_MAX (60 * 60 * 1000)

static const struct store_backend_ops *const backends[] = {&store_sqlite_ops, &store_memory_ops};

void store_options_default(struct store_options *ret)
{
    *ret = (struct store_options){.kind = "sqlite",
                                  .path = "recibo.db",
                                  .queue_max = 16384,
                                  .batch_max = 256,
                                  .batch_bytes_max = (size_t)1 << 20,
                                  .busy_ms = 5000,
                                  .checkpoint_frames = 16000,
                                  .probe_ms = 1000,
                                  .clock = gw_clock_system()};
}

static void on_passed(void *ctx, enum gw_status status, const struct gw_error *why);

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

static const struct store_backend_ops *find_backend(const char *kind)
{
    for (size_t i = 0; i < GW_COUNT(backends); i++)
        if (kind != NULL && strcmp(backends[i]->name, kind) == 0)
            return backends[i];
    return NULL;
}

static void take_options(struct store *store, const struct store_options *options)
{
    struct store_options *taken = &store->options;
    *taken = *options;
    taken->queue_max += taken->queue_max == 0;
    taken->batch_max += taken->batch_max == 0;
    taken->batch_max = taken->batch_max > BATCH_MAX ? BATCH_MAX : taken->batch_max;
    taken->checkpoint_frames += taken->checkpoint_frames == 0;
    taken->probe_ms = taken->probe_ms < 1 ? 1 : taken->probe_ms;
    taken->probe_ms = taken->probe_ms > PROBE_MS_MAX ? PROBE_MS_MAX : taken->probe_ms;
    store->wake_frames = taken->checkpoint_frames;
}

static enum gw_status start_thread(struct store *store, struct gw_error *err)
{
    sigset_t all, before;
    /* Signals are for the threads that wait for them. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before); /* cannot fail with a known verb */
    int rc = pthread_create(&store->thread, NULL, committer_run, store);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* likewise */
    if (rc != 0)
        return gw_error_set(err, GW_IO, "cannot start the store's thread: %s", strerror(rc));
    return GW_OK;
}

static enum gw_status start(struct store *store, struct gw_error *err)
{
    const struct checkpointer_options options = {
        .backend = store->backend, .passed = on_passed, .ctx = store};
    enum gw_status status = GW_OK;
    if (store->backend->is_shared)
        status = committer_beat(store, err);
    if (status == GW_OK && store->backend->ops->checkpoint_pass != NULL)
        status = checkpointer_new(&options, &store->checkpointer, err);
    return status == GW_OK ? start_thread(store, err) : status;
}

/* What is left when no thread runs any more. */
static void dispose(struct store *store)
{
    checkpointer_free(store->checkpointer);
    if (store->backend != NULL)
        store->backend->ops->close(store->backend);
    (void)pthread_cond_destroy(&store->changed); /* nobody waits any more */
    (void)pthread_mutex_destroy(&store->lock);   /* nobody holds it any more */
    free(store);
}

/* It waits by the monotonic clock: the wall clock may be set. */
static void make_condition(struct store *store)
{
    pthread_condattr_t kind;
    int rc = pthread_condattr_init(&kind);
    gw_assert(rc == 0);
    rc = pthread_condattr_setclock(&kind, CLOCK_MONOTONIC);
    gw_assert(rc == 0);
    rc = pthread_cond_init(&store->changed, &kind);
    gw_assert(rc == 0);
    (void)pthread_condattr_destroy(&kind); /* cannot fail */
}

enum gw_status store_open(const struct store_options *options, struct store **ret_store,
                          struct gw_error *err)
{
    const struct store_backend_ops *ops = find_backend(options->kind);
    if (ops == NULL)
        return gw_error_set(err, GW_INVALID, "there is no store of the kind '%s'; use sqlite",
                            options->kind == NULL ? "" : options->kind);
    struct store *store = calloc(1, sizeof(*store));
    if (store == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory for the store");
    int rc = pthread_mutex_init(&store->lock, NULL);
    gw_assert(rc == 0);
    make_condition(store);
    take_options(store, options);
    enum gw_status status = ops->open(&store->options, &store->backend, err);
    if (status == GW_OK)
        status = start(store, err);
    if (status != GW_OK) {
        dispose(store);
        return status;
    }
    *ret_store = store;
    return GW_OK;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    lock(store);
    store->is_stopping = true;
    (void)pthread_cond_signal(&store->changed); /* cannot fail */
    unlock(store);
    int rc = pthread_join(store->thread, NULL);
    gw_assert(rc == 0);
    gw_assert(store->queue.first == NULL);
    if (store->backend->is_shared)
        store->backend->ops->leave(store->backend);
    dispose(store);
}

enum gw_status store_submit(struct store *store, struct store_op *op)
{
    gw_assert(op->inbox != NULL);
    gw_assert(op->done != NULL);
    gw_assert(op->arena != NULL);
    gw_assert(op->kind < STORE_OP_COUNT);
    lock(store);
    gw_assert(!store->is_stopping);
    bool has_room = store->queue.count < store->options.queue_max;
    if (has_room) {
        op_list_add(&store->queue, op);
        (void)pthread_cond_signal(&store->changed); /* cannot fail */
    }
    unlock(store);
    return has_room ? GW_OK : GW_LIMIT;
}

struct span store_secret(const struct store *store)
{
    return store->backend->ops->secret(store->backend);
}

static void on_passed(void *ctx, enum gw_status status, const struct gw_error *why)
{
    struct store *store = ctx;
    lock(store);
    if (status == GW_OK) {
        store->wants_last = true;
        (void)pthread_cond_signal(&store->changed); /* cannot fail */
    } else {
        store->pass_failed = true;
        store->stats.last_error = *why;
    }
    unlock(store);
}

bool store_holds(const struct store *store, int64_t holder, int64_t ticks)
{
    return !store->backend->is_shared || holding_holds(&store->holding, holder, ticks);
}

int64_t store_skew_ms(const struct store *store)
{
    return store->backend->is_shared ? (int64_t)2 * STORE_SKEW_MS : 0;
}

void store_stats(struct store *store, struct store_stats *ret)
{
    uint32_t frames = store->backend->ops->wal_frames(store->backend);
    lock(store);
    *ret = store->stats;
    ret->queue_length = store->queue.count;
    unlock(store);
    ret->wal_frames = frames;
}
