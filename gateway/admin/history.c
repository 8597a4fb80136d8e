/* Looks at the backlog once a minute and keeps what it saw. It must never have more
 * than one question with the store, and never put a late answer at a later minute. */
#include "gateway/admin/history.h"

#include "gateway/admin/plane.h"

#include "base/arena.h"

#include <event2/event.h>
#include <stdlib.h>

#define TALLY_BYTES_MAX ((size_t)1 << 20) /* STORE_TALLY_ROUTES_MAX names with their counts */
#define SOON_MS         100               /* until the process is ready */

struct history {
    GW_TAG(history);
#define HISTORY_TAG 0x48495354u
    struct admin *admin;
    struct event *timer;
    int64_t every_ms, since_ms;
    int64_t due_ticks;  /* of the next sample; 0: there was none yet */
    struct store_op op; /* the one question */
    bool is_busy;       /* it is in the store's hands */
    bool is_closing;
    uint64_t asked; /* for the sample of this number */
    uint64_t taken; /* samples so far; numbers begin at 1 */
    struct history_sample samples[HISTORY_SAMPLES_MAX];
};

static struct history_sample *sample_of(struct history *history, uint64_t number)
{
    gw_assert(number > 0);
    return &history->samples[(number - 1) % HISTORY_SAMPLES_MAX];
}

/* ---- the figures ---- */

static void look_at_board(const struct history *history, struct history_sample *sample)
{
    const struct admin_options *options = &history->admin->options;
    const struct route_table *table = &options->conf->routes;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct route_policy *route = &table->routes[i];
        sample->in_flight += atomic_load(&board_route(options->board, route)->in_flight);
        if (route->mode != ROUTE_ENFORCE)
            continue; /* nothing holds it back */
        uint32_t held = board_held_by(options->board, route);
        sample->paused += (held & (HELD_BY_ROUTE | HELD_BY_UPSTREAM)) != 0;
        sample->breakers_open += (held & HELD_BY_BREAKER) != 0;
    }
}

static void take_tally(const struct store_op *op, struct history_sample *sample)
{
    sample->is_known = true;
    for (uint32_t i = 0; i < op->out.tally_count; i++) {
        const struct tally_entry *entry = &op->out.tally[i];
        sample->unknown += entry->unknown;
        if (entry->unknown > 0 && (sample->oldest_ms == 0 || entry->oldest_ms < sample->oldest_ms))
            sample->oldest_ms = entry->oldest_ms;
    }
}

static void on_tally(struct store_op *op, void *ctx)
{
    struct history *history;
    GW_CAST(history, ctx, history, HISTORY_TAG);
    gw_assert(history->is_busy);
    gw_assert(history->admin->calls_in_store > 0);
    history->admin->calls_in_store--;
    history->is_busy = false;
    /* What was asked a minute ago or more says nothing about now: that minute stays a gap. */
    if (op->out.status == GW_OK && history->asked == history->taken)
        take_tally(op, sample_of(history, history->taken));
    arena_free(op->arena);
    op->arena = NULL;
}

static void ask(struct history *history)
{
    struct arena *arena = arena_new(TALLY_BYTES_MAX);
    if (arena == NULL)
        return; /* a gap */
    history->op = (struct store_op){.kind = STORE_TALLY,
                                    .arena = arena,
                                    .inbox = history->admin->inbox,
                                    .done = on_tally,
                                    .ctx = history};
    if (store_submit(history->admin->options.store, &history->op) != GW_OK) {
        arena_free(arena); /* a gap */
        return;
    }
    history->is_busy = true;
    history->asked = history->taken;
    history->admin->calls_in_store++;
}

static void take_sample(struct history *history)
{
    struct gw_clock *clock = history->admin->options.clock;
    history->taken++;
    struct history_sample *sample = sample_of(history, history->taken);
    *sample = (struct history_sample){.at_ms = clock->wall_ms(clock)};
    look_at_board(history, sample);
    if (!history->is_busy)
        ask(history);
}

/* ---- the timer ---- */

static void look_in(struct history *history, int64_t ms)
{
    const struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    (void)event_add(history->timer, &tv); /* a pure timer: fails only without memory */
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct history *history;
    (void)fd;
    (void)what;
    GW_CAST(history, arg, history, HISTORY_TAG);
    const struct admin_options *options = &history->admin->options;
    if (history->is_closing)
        return;
    if (!atomic_load(options->ready) && history->taken == 0) {
        look_in(history, SOON_MS);
        return;
    }
    take_sample(history);
    int64_t now_ticks = options->clock->ticks_ms(options->clock);
    history->due_ticks = history->due_ticks == 0 ? now_ticks : history->due_ticks;
    history->due_ticks += history->every_ms;
    if (history->due_ticks < now_ticks)
        history->due_ticks = now_ticks; /* the loop stood still: that time is not made up for */
    look_in(history, history->due_ticks - now_ticks);
}

/* ---- its life ---- */

struct history *history_new(struct admin *admin, int64_t every_ms)
{
    struct history *history = calloc(1, sizeof(*history));
    gw_assert(every_ms > 0);
    if (history == NULL)
        return NULL;
    history->tag_history = HISTORY_TAG;
    history->admin = admin;
    history->every_ms = every_ms;
    history->since_ms = admin->options.clock->wall_ms(admin->options.clock);
    history->timer = evtimer_new(admin->options.base, on_timer, history);
    if (history->timer == NULL) {
        history_free(history);
        return NULL;
    }
    look_in(history, 0);
    return history;
}

void history_close(struct history *history)
{
    history->is_closing = true;
    (void)event_del(history->timer); /* a pure timer: there is nothing to fail */
}

void history_free(struct history *history)
{
    if (history == NULL)
        return;
    gw_assert(!history->is_busy);
    if (history->timer != NULL)
        event_free(history->timer);
    history->tag_history = 0;
    free(history);
}

/* ---- what was seen ---- */

/* The newest one may still wait for its figures. */
uint32_t history_count(const struct history *history)
{
    bool is_open = history->is_busy && history->asked == history->taken;
    uint64_t kept = history->taken < HISTORY_SAMPLES_MAX ? history->taken : HISTORY_SAMPLES_MAX;
    return (uint32_t)(is_open ? kept - 1 : kept);
}

const struct history_sample *history_at(const struct history *history, uint32_t index)
{
    gw_assert(index < history_count(history));
    uint64_t first =
        history->taken > HISTORY_SAMPLES_MAX ? history->taken % HISTORY_SAMPLES_MAX : 0;
    return &history->samples[(first + index) % HISTORY_SAMPLES_MAX];
}

int64_t history_since_ms(const struct history *history)
{
    return history->since_ms;
}

int64_t history_every_ms(const struct history *history)
{
    return history->every_ms;
}
