/* What happens at a fault point. It must never act in a build that was not made for
 * tests, and never more than once in the life of a process. */
#include "base/fault.h"

#ifdef RECIBO_FAULTS

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CRASH_STATUS 137 /* what a shell says of kill -9 */
#define DELAY_MS_MAX 60000
#define WORD_BYTES   64

enum action { ACTION_NONE, ACTION_CRASH, ACTION_ERROR, ACTION_DELAY };

struct fault_row {
    const char *name;
    bool can_fail;
};
static const struct fault_row faults[GW_FAULT_COUNT] = {
#define FAULT(name, can_fail, doc) [GW_FAULT_##name] = {#name, can_fail},
#include "base/fault.def"
#undef FAULT
};

/* How often each place was reached: the one thing here that changes, and what makes
 * a count-th time possible. */
static atomic_uint hits[GW_FAULT_COUNT];

struct order {
    enum action action;
    unsigned long delay_ms, count;
};

static bool takes(const char **text, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*text, word, len) != 0)
        return false;
    *text += len;
    return true;
}

static unsigned long number(const char **text)
{
    char *end = NULL;
    unsigned long value = strtoul(*text, &end, 10);
    *text = end;
    return value;
}

/* "name:action[:count]"; what is not for this place, or not understood, is none. The
 * environment is read each time: nobody changes it while the process runs. */
static struct order order_for(enum gw_fault fault)
{
    struct order order = {.action = ACTION_NONE, .count = 1};
    const char *text = getenv("RECIBO_FAULT");
    if (text == NULL || !takes(&text, faults[fault].name) || !takes(&text, ":"))
        return order;
    if (takes(&text, "crash")) {
        order.action = ACTION_CRASH;
    } else if (takes(&text, "error") && faults[fault].can_fail) {
        order.action = ACTION_ERROR;
    } else if (takes(&text, "delay=")) {
        order.action = ACTION_DELAY;
        order.delay_ms = number(&text);
        order.delay_ms = order.delay_ms > DELAY_MS_MAX ? DELAY_MS_MAX : order.delay_ms;
    }
    if (takes(&text, ":"))
        order.count = number(&text);
    if (*text != '\0')
        order.action = ACTION_NONE;
    return order;
}

static void stand_still(unsigned long ms)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue; /* ends when the time is over */
}

/* One write, so that lines of several threads do not mix. */
static void say(enum gw_fault fault, const char *what)
{
    char line[WORD_BYTES * 2];
    int len = snprintf(line, sizeof(line), "recibo: fault %s: %s\n", faults[fault].name, what);
    ssize_t written = write(STDERR_FILENO, line, len > 0 ? (size_t)len : 0);
    (void)written; /* nobody may be listening */
}

bool gw_fault_hit(enum gw_fault fault)
{
    gw_assert(fault < GW_FAULT_COUNT);
    const struct order order = order_for(fault);
    if (order.action == ACTION_NONE || atomic_fetch_add(&hits[fault], 1) + 1 != order.count)
        return false;
    switch (order.action) {
    case ACTION_CRASH:
        say(fault, "crash");
        _exit(CRASH_STATUS);
    case ACTION_ERROR:
        say(fault, "error");
        return true;
    case ACTION_DELAY:
        say(fault, "delay");
        stand_still(order.delay_ms);
        break;
    case ACTION_NONE:
        break;
    }
    return false;
}

#endif
