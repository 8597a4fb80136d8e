/* Rounds of write-back, one at a time. It must never hold its lock while a pass
 * runs, so that the committer's wake never waits for a disk. */
#include "store/checkpoint.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "store/table.h"

enum checkpoint_phase {
    CHECKPOINT_RESTING,
    CHECKPOINT_WOKEN,
    CHECKPOINT_PASSING,
    CHECKPOINT_LAST, /* the committer's turn */
};

struct checkpointer {
    struct checkpointer_options options;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum checkpoint_phase phase; /* under the lock, like the next */
    bool is_stopping;
};

static void *run(void *ctx);

static void lock(struct checkpointer *c)
{
    int rc = pthread_mutex_lock(&c->lock);
    gw_assert(rc == 0);
}

static void unlock(struct checkpointer *c)
{
    int rc = pthread_mutex_unlock(&c->lock);
    gw_assert(rc == 0);
}

enum gw_status checkpointer_new(const struct checkpointer_options *options,
                                struct checkpointer **ret, struct gw_error *err)
{
    struct checkpointer *c = calloc(1, sizeof(*c));
    sigset_t all, before;
    if (c == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory for the store");
    c->options = *options;
    int rc = pthread_mutex_init(&c->lock, NULL);
    gw_assert(rc == 0);
    rc = pthread_cond_init(&c->changed, NULL);
    gw_assert(rc == 0);
    /* Signals are for the threads that wait for them. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before); /* cannot fail with a known verb */
    rc = pthread_create(&c->thread, NULL, run, c);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* likewise */
    if (rc != 0) {
        (void)pthread_cond_destroy(&c->changed); /* nobody waits */
        (void)pthread_mutex_destroy(&c->lock);   /* nobody holds it */
        free(c);
        return gw_error_set(err, GW_IO, "cannot start the checkpointer's thread: %s", strerror(rc));
    }
    *ret = c;
    return GW_OK;
}

void checkpointer_free(struct checkpointer *c)
{
    if (c == NULL)
        return;
    lock(c);
    c->is_stopping = true;
    (void)pthread_cond_signal(&c->changed); /* cannot fail */
    unlock(c);
    int rc = pthread_join(c->thread, NULL);
    gw_assert(rc == 0);
    (void)pthread_cond_destroy(&c->changed); /* nobody waits any more */
    (void)pthread_mutex_destroy(&c->lock);   /* nobody holds it any more */
    free(c);
}

void checkpointer_wake(struct checkpointer *c)
{
    lock(c);
    if (c->phase == CHECKPOINT_RESTING) {
        c->phase = CHECKPOINT_WOKEN;
        (void)pthread_cond_signal(&c->changed); /* cannot fail */
    }
    unlock(c);
}

void checkpointer_rest(struct checkpointer *c)
{
    lock(c);
    gw_assert(c->phase == CHECKPOINT_LAST);
    c->phase = CHECKPOINT_RESTING;
    unlock(c);
}

/* false: stop. */
static bool wait_for_round(struct checkpointer *c)
{
    lock(c);
    while (c->phase != CHECKPOINT_WOKEN && !c->is_stopping) {
        int rc = pthread_cond_wait(&c->changed, &c->lock);
        gw_assert(rc == 0);
    }
    bool goes_on = !c->is_stopping;
    if (goes_on)
        c->phase = CHECKPOINT_PASSING;
    unlock(c);
    return goes_on;
}

static void *run(void *ctx)
{
    struct checkpointer *c = ctx;
    while (wait_for_round(c)) {
        struct gw_error err = {0};
        enum gw_status status = c->options.backend->ops->checkpoint_pass(c->options.backend, &err);
        lock(c);
        gw_assert(c->phase == CHECKPOINT_PASSING);
        c->phase = status == GW_OK ? CHECKPOINT_LAST : CHECKPOINT_RESTING;
        unlock(c);
        c->options.passed(c->options.ctx, status, &err);
    }
    return NULL;
}
