/* How the backlog went: a sample a minute for 24 hours, in memory. A minute in which
 * the store could not say how much is unknown is a sample that says so. A restart
 * begins anew. Threads: the admin's loop. */
#ifndef RECIBO_GATEWAY_ADMIN_HISTORY_H
#define RECIBO_GATEWAY_ADMIN_HISTORY_H

#include "base/base.h"

#define HISTORY_EVERY_MS    60000
#define HISTORY_SAMPLES_MAX 1440 /* the oldest gives way */

struct history_sample {
    int64_t at_ms;
    bool is_known;          /* false: the store did not say; unknown and oldest_ms are 0 */
    uint64_t unknown;       /* operations */
    int64_t oldest_ms;      /* since when the oldest of them is; 0: there is none */
    uint64_t in_flight;     /* attempts under way */
    uint32_t paused;        /* routes that are held back by hand */
    uint32_t breakers_open; /* routes whose breaker holds them back */
};

struct admin;
struct history;
/* The first sample is taken once the process is ready. NULL: out of memory. */
struct history *history_new(struct admin *admin, int64_t every_ms);
void history_close(struct history *history); /* takes no more samples */
void history_free(struct history *history);  /* NULL is fine; nothing is in the store's hands */
/* Samples that are whole; at most HISTORY_SAMPLES_MAX. */
uint32_t history_count(const struct history *history);
/* The oldest first. */
const struct history_sample *history_at(const struct history *history, uint32_t index);
int64_t history_since_ms(const struct history *history); /* when it began */
int64_t history_every_ms(const struct history *history);

#endif
