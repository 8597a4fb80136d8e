/* A ring of bytes between those who log and the thread that writes. The one place with state
 * of the whole process that changes after its start: a log has no owner to hang it on. It
 * must never call anything but write(2) with its lock released. */
#include "base/log_writer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define WRITER_POLL_MS 100

static struct {
    pthread_mutex_t lock;     /* first in the lock order */
    pthread_cond_t has_lines; /* and: it is to stop */
    pthread_cond_t is_empty;
    bool is_running, stops, has_stopped;
    char ring[LOG_QUEUE_BYTES];
    size_t begin, len; /* of what waits */
    atomic_ullong lost;
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .has_lines = PTHREAD_COND_INITIALIZER,
            .is_empty = PTHREAD_COND_INITIALIZER};

static void lock(void)
{
    int rc = pthread_mutex_lock(&writer.lock);
    gw_assert(rc == 0);
}

static void unlock(void)
{
    int rc = pthread_mutex_unlock(&writer.lock);
    gw_assert(rc == 0);
}

/* Standard error may be shared with somebody who has made it non-blocking. */
static bool write_all(const char *text, size_t len)
{
    while (len > 0) {
        ssize_t written = write(STDERR_FILENO, text, len);
        if (written > 0) {
            text += written;
            len -= (size_t)written;
        } else if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
            (void)poll(&room, 1, WRITER_POLL_MS); /* early or late: the write tells */
        } else if (written == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static char ring_at(size_t offset)
{
    return writer.ring[(writer.begin + offset) % LOG_QUEUE_BYTES];
}

/* Whole lines, as many as fit; takes them out. Under the lock. */
static size_t take_lines(char *ret_text, uint64_t *ret_count)
{
    size_t len = 0;
    *ret_count = 0;
    for (size_t i = 0; i < writer.len && i < LOG_LINE_BYTES; i++) {
        ret_text[i] = ring_at(i);
        if (ret_text[i] == '\n') {
            len = i + 1;
            (*ret_count)++;
        }
    }
    gw_assert(writer.len == 0 || len > 0);
    writer.begin = (writer.begin + len) % LOG_QUEUE_BYTES;
    writer.len -= len;
    return len;
}

static void put_locked(const char *line, size_t len)
{
    size_t at = (writer.begin + writer.len) % LOG_QUEUE_BYTES;
    size_t first = LOG_QUEUE_BYTES - at < len ? LOG_QUEUE_BYTES - at : len;
    memcpy(writer.ring + at, line, first);
    memcpy(writer.ring, line + first, len - first);
    writer.len += len;
}

static void *run(void *ctx)
{
    char text[LOG_LINE_BYTES];
    (void)ctx;
    lock();
    while (!writer.stops || writer.len > 0) {
        if (writer.len == 0) {
            (void)pthread_cond_broadcast(&writer.is_empty);           /* cannot fail */
            (void)pthread_cond_wait(&writer.has_lines, &writer.lock); /* likewise */
            continue;
        }
        uint64_t count;
        size_t len = take_lines(text, &count);
        unlock();
        if (!write_all(text, len))
            atomic_fetch_add(&writer.lost, count);
        lock();
    }
    writer.has_stopped = true;
    (void)pthread_cond_broadcast(&writer.is_empty); /* cannot fail */
    unlock();
    return NULL;
}

bool log_writer_start(void)
{
    pthread_t thread;
    sigset_t all, before;
    gw_assert(!writer.is_running);
    /* Signals are the main thread's. */
    (void)sigfillset(&all); /* cannot fail */
    int rc = pthread_sigmask(SIG_SETMASK, &all, &before);
    gw_assert(rc == 0);
    writer.stops = writer.has_stopped = false;
    bool good = pthread_create(&thread, NULL, run, NULL) == 0;
    rc = pthread_sigmask(SIG_SETMASK, &before, NULL);
    gw_assert(rc == 0);
    if (!good)
        return false;
    rc = pthread_detach(thread); /* a write may never come back */
    gw_assert(rc == 0);
    lock();
    writer.is_running = true;
    unlock();
    return true;
}

void log_writer_stop(int64_t wait_ms)
{
    struct timespec until = {0};
    (void)clock_gettime(CLOCK_REALTIME, &until); /* this clock is always there */
    until.tv_sec += (time_t)(wait_ms / 1000);
    lock();
    writer.stops = true;
    (void)pthread_cond_signal(&writer.has_lines); /* cannot fail */
    int rc = 0;
    while (writer.is_running && !writer.has_stopped && rc == 0)
        rc = pthread_cond_timedwait(&writer.is_empty, &writer.lock, &until);
    writer.is_running = false;
    unlock();
}

void log_writer_put(const char *line, size_t len)
{
    gw_assert(len > 0 && len <= LOG_LINE_BYTES);
    gw_assert(line[len - 1] == '\n');
    lock();
    if (!writer.is_running) {
        unlock();
        if (!write_all(line, len))
            atomic_fetch_add(&writer.lost, 1);
        return;
    }
    if (LOG_QUEUE_BYTES - writer.len < len) {
        atomic_fetch_add(&writer.lost, 1);
    } else {
        put_locked(line, len);
        (void)pthread_cond_signal(&writer.has_lines); /* cannot fail */
    }
    unlock();
}

uint64_t log_writer_lost(void)
{
    return atomic_load(&writer.lost);
}
