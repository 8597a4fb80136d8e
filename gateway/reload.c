/* In this order: read and judge the file, compare, look at what stands in the store, make
 * everything that can fail, and only then change over: from there on nothing can go wrong.
 * It must never leave one part with the new configuration and another with the old. */
#include "gateway/reload.h"
#include "gateway/descriptors.h"
#include "gateway/notify.h"

#include "base/log.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#define RELOAD_BYTES_MAX   ((size_t)64 << 20)
#define RELOAD_PATH_BYTES  4096
#define RELOAD_LOGGED_MAX  50 /* changes in the log of one reload; their number is told */
#define RELOAD_WORKERS_MAX 64

struct reload {
    struct reload_options options;
    struct conf *current; /* a reference */
    struct conf *next;    /* while workers change over; a reference */
    struct store_inbox *inbox;
    struct event *inbox_event;
    struct worker_adoption *adoptions[RELOAD_WORKERS_MAX];
    atomic_uint left;
    struct store_op done, again;
    struct admin_reload wish; /* of the one that is under way */
    struct admin_reload_result result;
    struct conf_report report;
    struct standing_drops drops;
    struct arena *arena;
    bool is_under_way;
    bool is_wanted_again; /* by a signal, while one is under way */
    bool again_is_due;    /* the inbox has `again` */
    bool is_closed;       /* the workers have ended */
};

static void workers_have_changed(struct store_op *op, void *ctx);

static void inbox_readable(evutil_socket_t fd, short what, void *ctx)
{
    struct reload *reload = ctx;
    (void)fd;
    (void)what;
    store_inbox_drain(reload->inbox);
}

enum gw_status reload_new(const struct reload_options *options, struct reload **ret,
                          struct gw_error *err)
{
    gw_assert(options->worker_count <= RELOAD_WORKERS_MAX);
    struct reload *reload = calloc(1, sizeof(*reload));
    if (reload == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    reload->options = *options;
    reload->current = conf_ref(options->first);
    enum gw_status status = store_inbox_new(&reload->inbox, err);
    if (status == GW_OK) {
        reload->inbox_event = event_new(options->base, store_inbox_fd(reload->inbox),
                                        EV_READ | EV_PERSIST, inbox_readable, reload);
        if (reload->inbox_event == NULL || event_add(reload->inbox_event, NULL) != 0)
            status = gw_error_set(err, GW_NOMEM, "out of memory");
    }
    if (status != GW_OK) {
        reload_free(reload);
        return status;
    }
    *ret = reload;
    return GW_OK;
}

static void forget(struct reload *reload)
{
    for (uint32_t i = 0; i < reload->options.worker_count; i++) {
        worker_adoption_free(reload->adoptions[i]);
        reload->adoptions[i] = NULL;
    }
    conf_unref(reload->next);
    reload->next = NULL;
    conf_report_fini(&reload->report);
    arena_free(reload->arena);
    reload->arena = NULL;
}

void reload_free(struct reload *reload)
{
    if (reload == NULL)
        return;
    reload->is_closed = true;
    if (reload->inbox != NULL)
        store_inbox_drain(reload->inbox); /* the workers have ended: what they told has come */
    gw_assert(!reload->is_under_way);
    forget(reload);
    if (reload->inbox_event != NULL)
        event_free(reload->inbox_event);
    store_inbox_free(reload->inbox);
    conf_unref(reload->current);
    free(reload);
}

const struct conf *reload_current(const struct reload *reload)
{
    return reload->current;
}

bool reload_is_under_way(const struct reload *reload)
{
    return reload->is_under_way;
}

/* ---- what is told ---- */

static void log_end(const struct reload *reload, enum gw_log_level level, const char *event)
{
    const struct admin_reload_result *result = &reload->result;
    const struct gw_log_pair pairs[] = {
        {"msg", result->text, 0},
        {"configuration", span_str(reload->current->hash), 0},
        {"changes", {NULL, 0}, result->changes.count},
        {"need_restart", {NULL, 0}, result->changes.restart_count},
        {"actor", reload->wish.actor.len > 0 ? reload->wish.actor : SPAN("signal"), 0},
        {"note", reload->wish.note.ptr == NULL ? SPAN("") : reload->wish.note, 0},
        GW_LOG_END};
    gw_log(level, event, pairs);
}

static void log_findings(const struct reload *reload)
{
    const struct conf_report *report = &reload->report;
    for (uint32_t i = 0; i < report->count; i++) {
        const struct conf_finding *finding = &report->findings[i];
        const struct gw_log_pair pairs[] = {{"msg", span_str(finding->text), 0}, GW_LOG_END};
        if (finding->is_warning)
            gw_log(GW_LOG_WARN, "configuration.warning", pairs);
        else
            gw_log(GW_LOG_ERROR, "configuration.error", pairs);
    }
}

static struct span value_of(const struct conf_change *change, struct span value)
{
    if (value.ptr == NULL)
        return SPAN("(none)");
    return change->is_secret ? SPAN("(not shown)") : value;
}

static void log_changes(const struct reload *reload)
{
    const struct conf_changes *changes = &reload->result.changes;
    for (uint32_t i = 0; i < changes->count && i < RELOAD_LOGGED_MAX; i++) {
        const struct conf_change *change = &changes->items[i];
        const struct gw_log_pair pairs[] = {
            {"key", change->path, 0},
            {"before", value_of(change, change->before), 0},
            {"after", value_of(change, change->after), 0},
            {"line", {NULL, 0}, change->line},
            {"applies", change->needs_restart ? SPAN("restart") : SPAN("now"), 0},
            GW_LOG_END};
        gw_log(change->needs_restart ? GW_LOG_WARN : GW_LOG_INFO, "configuration.changed", pairs);
    }
}

/* In a turn of its own: the one before has wholly ended. */
static void begin_again(struct store_op *op, void *ctx)
{
    struct reload *reload = ctx;
    (void)op;
    reload->is_wanted_again = reload->again_is_due = false;
    if (!reload->is_closed && !atomic_load(&board_gauges(reload->options.board)->draining))
        reload_begin(reload, &(struct admin_reload){.done = NULL});
}

/* The end of one reload, good or bad: told, and everything given back. */
static void end(struct reload *reload)
{
    bool good = reload->result.end == ADMIN_RELOAD_DONE;
    log_end(reload, good ? GW_LOG_INFO : GW_LOG_ERROR,
            good ? "recibo.reloaded" : "recibo.not_reloaded");
    reload->is_under_way = false;
    notify_ready(reload->current->hash);
    if (reload->wish.done != NULL)
        reload->wish.done(reload->wish.ctx, &reload->result);
    forget(reload);
    if (!reload->is_wanted_again || reload->again_is_due)
        return;
    reload->again_is_due = true;
    reload->again = (struct store_op){.inbox = reload->inbox, .done = begin_again, .ctx = reload};
    store_inbox_deliver(&reload->again);
}

static void refuse(struct reload *reload, enum admin_reload_end how, struct span text)
{
    reload->result.end = how;
    reload->result.text = text;
    end(reload);
}

/* ---- what can fail ---- */

static enum gw_status load(struct reload *reload)
{
    char path[RELOAD_PATH_BYTES];
    const struct conf *first = reload->options.first;
    (void)snprintf(path, sizeof(path), "%.*s", (int)first->file.len,
                   first->file.ptr); /* it was opened by this name */
    enum gw_status status = conf_load(path, &reload->next, &reload->report);
    reload->result.report = &reload->report;
    log_findings(reload);
    return status;
}

static bool make_adoptions(struct reload *reload)
{
    const struct reload_options *options = &reload->options;
    for (uint32_t i = 0; i < options->worker_count; i++) {
        reload->adoptions[i] =
            worker_adoption_new(options->workers[i], reload->next, &reload->left, &reload->done);
        if (reload->adoptions[i] == NULL)
            return false;
    }
    return true;
}

static enum gw_status judge(struct reload *reload, struct gw_error *err)
{
    const struct standing_question question = {
        .conf = reload->next,
        .running = reload->current,
        .judges_kept = conf_changes_touch_identity(&reload->result.changes),
        .accepted = reload->wish.accepts_dropped,
        .arena = reload->arena};
    reload->drops = (struct standing_drops){.count = 0};
    reload->result.drops = &reload->drops;
    return standing_reload(reload->options.store, &question, &reload->drops, err);
}

/* Everything up to the point where nothing can fail any more. */
static enum gw_status prepare(struct reload *reload, struct gw_error *err)
{
    reload->arena = arena_new(RELOAD_BYTES_MAX);
    if (reload->arena == NULL ||
        !conf_compare(reload->arena, reload->current, reload->next, &reload->result.changes))
        return gw_error_set(err, GW_NOMEM, "out of memory");
    enum gw_status status = conf_carry_over(reload->next, reload->options.first, err);
    if (status != GW_OK)
        return status;
    descriptors_reserve(reload->next);
    status = judge(reload, err);
    if (status == GW_INVALID)
        reload->result.end = ADMIN_RELOAD_DROPS;
    if (status != GW_OK)
        return status;
    if (!make_adoptions(reload))
        return gw_error_set(err, GW_NOMEM, "out of memory");
    return standing_adopt(reload->options.store, reload->options.board, reload->next, err);
}

/* ---- the change ---- */

static void change_over(struct reload *reload)
{
    const struct reload_options *options = &reload->options;
    struct conf *before = reload->current;
    reload->current = reload->next;
    reload->next = NULL;
    if (options->admin != NULL)
        admin_adopt(options->admin, reload->current);
    conf_unref(before);
    for (uint32_t i = 0; i < options->worker_count; i++) {
        struct worker_adoption *adoption = reload->adoptions[i];
        reload->adoptions[i] = NULL;
        worker_adopt(adoption);
    }
}

static void workers_have_changed(struct store_op *op, void *ctx)
{
    struct reload *reload = ctx;
    (void)op;
    const struct conf_changes *changes = &reload->result.changes;
    log_changes(reload);
    reload->result.end = ADMIN_RELOAD_DONE;
    reload->result.text = changes->count == 0 ? SPAN("nothing in it has changed")
                          : changes->restart_count == 0
                              ? SPAN("the configuration was read anew")
                              : SPAN("the configuration was read anew; what needs a restart is as "
                                     "it was");
    reload->result.configuration = span_str(reload->current->hash);
    end(reload);
}

void reload_begin(struct reload *reload, const struct admin_reload *wish)
{
    struct gw_error err = {GW_OK, ""};
    if (reload->is_under_way) {
        if (wish->done == NULL) {
            reload->is_wanted_again = true;
            return;
        }
        struct admin_reload_result busy = {.end = ADMIN_RELOAD_BUSY,
                                           .text = SPAN("another reload is under way")};
        wish->done(wish->ctx, &busy);
        return;
    }
    reload->is_under_way = true;
    reload->wish = *wish;
    reload->result = (struct admin_reload_result){.end = ADMIN_RELOAD_FAILED};
    reload->done =
        (struct store_op){.inbox = reload->inbox, .done = workers_have_changed, .ctx = reload};
    atomic_store(&reload->left, reload->options.worker_count);
    notify_reloading();
    if (load(reload) != GW_OK) {
        refuse(reload, ADMIN_RELOAD_INVALID,
               SPAN("the file has errors; nothing was changed, and Recibo goes on with what it "
                    "has"));
        return;
    }
    enum gw_status status = prepare(reload, &err);
    if (status == GW_OK)
        change_over(reload);
    else
        refuse(reload,
               reload->result.end == ADMIN_RELOAD_DROPS ? ADMIN_RELOAD_DROPS
               : status == GW_INVALID                   ? ADMIN_RELOAD_RESTART
                                                        : ADMIN_RELOAD_FAILED,
               span_str(err.text));
}
