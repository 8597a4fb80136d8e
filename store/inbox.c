/* Where results wait for the loop that asked. It must never run a callback with
 * its lock held, nor write to its descriptor more often than a list becomes
 * non-empty. */
#include "store/inbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct store_inbox {
    pthread_mutex_t lock;
    struct store_op *first, *last;
    int fd;
};

enum gw_status store_inbox_new(struct store_inbox **ret, struct gw_error *err)
{
    struct store_inbox *inbox = calloc(1, sizeof(*inbox));
    if (inbox == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory for an inbox of the store");
    inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inbox->fd < 0) {
        enum gw_status status =
            gw_error_set(err, GW_IO, "cannot make an event descriptor: %s", strerror(errno));
        free(inbox);
        return status;
    }
    int rc = pthread_mutex_init(&inbox->lock, NULL);
    gw_assert(rc == 0);
    *ret = inbox;
    return GW_OK;
}

void store_inbox_free(struct store_inbox *inbox)
{
    if (inbox == NULL)
        return;
    gw_assert(inbox->first == NULL);
    (void)close(inbox->fd); /* nothing to lose in it */
    int rc = pthread_mutex_destroy(&inbox->lock);
    gw_assert(rc == 0);
    free(inbox);
}

int store_inbox_fd(const struct store_inbox *inbox)
{
    return inbox->fd;
}

static void lock(struct store_inbox *inbox)
{
    int rc = pthread_mutex_lock(&inbox->lock);
    gw_assert(rc == 0);
}

static void unlock(struct store_inbox *inbox)
{
    int rc = pthread_mutex_unlock(&inbox->lock);
    gw_assert(rc == 0);
}

/* The write is done under the lock: once it is let go, the loop may have run the
 * last done() and freed the inbox. */
void inbox_deliver(struct store_inbox *inbox, struct store_op *first, struct store_op *last)
{
    const uint64_t one = 1;
    gw_assert(first != NULL);
    gw_assert(last->next == NULL);
    lock(inbox);
    bool was_empty = inbox->first == NULL;
    if (was_empty)
        inbox->first = first;
    else
        inbox->last->next = first;
    inbox->last = last;
    if (was_empty) {
        /* Fails only when the counter is full, and then the descriptor is readable. */
        ssize_t written = write(inbox->fd, &one, sizeof(one));
        gw_assert(written == (ssize_t)sizeof(one) || errno == EAGAIN);
    }
    unlock(inbox);
}

void store_inbox_deliver(struct store_op *op)
{
    gw_assert(op->inbox != NULL);
    op->next = NULL;
    inbox_deliver(op->inbox, op, op);
}

void store_inbox_drain(struct store_inbox *inbox)
{
    uint64_t count;
    /* Emptied before the list is taken: what comes in between is in the list, what
     * comes after makes the descriptor readable again. EAGAIN: nothing was there. */
    ssize_t got = read(inbox->fd, &count, sizeof(count));
    gw_assert(got == (ssize_t)sizeof(count) || errno == EAGAIN || errno == EINTR);
    lock(inbox);
    struct store_op *op = inbox->first;
    inbox->first = inbox->last = NULL;
    unlock(inbox);
    while (op != NULL) {
        /* done() may free the op or submit it again. */
        struct store_op *next = op->next;
        op->next = NULL;
        op->done(op, op->ctx);
        op = next;
    }
}
