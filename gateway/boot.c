/* Builds the parts in order and takes them down in reverse. The main thread has the
 * signals and the operator plane; requests are the workers' business. */
#include "gateway/boot.h"
#include "gateway/activation.h"
#include "gateway/admin/admin.h"
#include "gateway/descriptors.h"
#include "gateway/effects.h"
#include "gateway/notify.h"
#include "gateway/pulse.h"
#include "gateway/reload.h"
#include "gateway/standing.h"
#include "gateway/tls/tls.h"
#include "gateway/watch.h"
#include "gateway/worker.h"

#include "base/digest.h"
#include "base/log.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTENERS_MAX  64
#define WORKERS_MAX    64
#define LISTEN_BACKLOG 1024
#define DRAIN_LOOK_MS  20
#define RECOVER_BEFORE_MAX                                                                         \
    5000 /* rows put right before the first request; the rest while serving */

struct boot {
    struct conf *conf;    /* what it began with */
    bool accepts_dropped; /* receipts of routes that are gone may lose their protection */
    bool is_unfit;        /* the start was refused for their sake */
    struct event_base *base;
    struct event *sigterm, *sigint, *sighup, *look, *tls_look;
    struct tls_book *tls;
    struct watch watch;
    struct activation activation;
    bool was_activated; /* the listening sockets outlive this process */
    struct reload *reload;
    struct pulse *pulse; /* NULL: nobody wants to hear it */
    struct store *store;
    struct store_effect *effects; /* the store borrows them */
    struct board *board;
    struct admin *admin;
    struct worker *workers[WORKERS_MAX];
    uint32_t worker_count;
    int fds[LISTENERS_MAX];
    uint32_t fd_count;
    char spool[4096]; /* borrowed by the workers for as long as they live */
    atomic_bool ready;
};

/* ---- listening ---- */

static enum gw_status listen_failed(struct gw_error *err, const struct conf_address *address,
                                    const char *why)
{
    char where[32] = "";
    if (address->line > 0) /* 0: a default, which stands in no line */
        (void)snprintf(where, sizeof(where), " (line %u)", address->line); /* it fits */
    return gw_error_set(err, GW_IO, "cannot listen on %.*s%s: %s", (int)address->text.len,
                        address->text.ptr, where, why);
}

static enum gw_status listen_on(struct boot *boot, const struct conf_address *address, int *ret_fd,
                                struct gw_error *err)
{
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                   .ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM};
    char host[256], port[8];
    struct addrinfo *found = NULL;
    const int on = 1;
    (void)snprintf(host, sizeof(host), "%.*s", (int)address->host.len, address->host.ptr);
    (void)snprintf(port, sizeof(port), "%u", address->port); /* both fit: checked when loading */
    int rc = getaddrinfo(host, port, &hints, &found);
    if (rc != 0)
        return listen_failed(err, address, gai_strerror(rc));
    int passed = activation_take(&boot->activation, found->ai_addr, found->ai_addrlen);
    if (passed >= 0) {
        freeaddrinfo(found);
        *ret_fd = passed;
        return GW_OK;
    }
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* [::] is IPv6 alone, so that 0.0.0.0 can stand beside it. */
    bool only_v6 = found->ai_family != AF_INET6 ||
                   (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0);
    bool ok = fd >= 0 && only_v6 &&
              setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
              bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, LISTEN_BACKLOG) == 0;
    enum gw_status status = ok ? GW_OK : listen_failed(err, address, strerror(errno));
    freeaddrinfo(found);
    if (!ok && fd >= 0)
        (void)close(fd);
    if (ok)
        *ret_fd = fd;
    return status;
}

static unsigned port_of(int fd)
{
    struct sockaddr_storage own;
    socklen_t len = sizeof(own);
    char port[8] = "0";
    if (getsockname(fd, (struct sockaddr *)&own, &len) == 0)
        (void)getnameinfo((const struct sockaddr *)&own, len, NULL, 0, port, sizeof(port),
                          NI_NUMERICSERV); /* leaves "0" if it cannot */
    return (unsigned)strtoul(port, NULL, 10);
}

static enum gw_status open_listeners(struct boot *boot, struct gw_error *err)
{
    for (uint32_t i = 0; i < boot->conf->listen_count; i++) {
        const struct conf_address *address = &boot->conf->listen[i];
        if (boot->fd_count == LISTENERS_MAX)
            return gw_error_set(err, GW_LIMIT, "at most %d listeners", LISTENERS_MAX);
        enum gw_status status = listen_on(boot, address, &boot->fds[boot->fd_count], err);
        if (status != GW_OK)
            return status;
        const struct gw_log_pair pairs[] = {{"address", address->text, 0},
                                            {"port", {NULL, 0}, port_of(boot->fds[boot->fd_count])},
                                            GW_LOG_END};
        boot->fd_count++;
        gw_log(GW_LOG_INFO, "listener.opened", pairs);
    }
    return GW_OK;
}

/* ---- store ---- */

static enum gw_status open_store(struct boot *boot, struct gw_error *err)
{
    struct store_options options;
    char path[4096], kind[32];
    store_options_default(&options);
    (void)snprintf(path, sizeof(path), "%.*s", (int)boot->conf->store_path.len,
                   boot->conf->store_path.ptr);
    (void)snprintf(kind, sizeof(kind), "%.*s", (int)boot->conf->store_kind.len,
                   boot->conf->store_kind.ptr); /* both are bounded by the configuration */
    options.kind = kind;
    options.path = path;
    options.queue_max = boot->conf->limits.store_queue;
    options.clock = gw_clock_system();
    options.effects = boot->effects = effects_new(boot->conf, &options.effect_count);
    if (boot->effects == NULL && options.effect_count > 0)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    enum gw_status status = store_open(&options, &boot->store, err);
    return status == GW_OK ? standing_pauses(boot->store, boot->board, err) : status;
}

/* Larger answers wait beside the store, on a real disk; never on a memory file system. */
static void spool_dir(const struct conf *conf, char *ret_dir, size_t len)
{
    (void)snprintf(ret_dir, len, "%.*s", (int)conf->store_path.len, conf->store_path.ptr);
    char *slash = strrchr(ret_dir, '/');
    if (slash == NULL)
        (void)snprintf(ret_dir, len, ".");
    else if (slash == ret_dir)
        slash[1] = '\0';
    else
        *slash = '\0';
}

/* ---- the process ---- */

static enum gw_status make_workers(struct boot *boot, struct gw_error *err)
{
    spool_dir(boot->conf, boot->spool, sizeof(boot->spool));
    const struct worker_ports ports = {.clock = gw_clock_system(),
                                       .store = boot->store,
                                       .board = boot->board,
                                       .upstream = &upstream_http_ops,
                                       .random = gw_random};
    for (uint32_t i = 0; i < boot->conf->workers && i < WORKERS_MAX; i++) {
        const struct worker_options options = {.index = i,
                                               .listen_fds = boot->fds,
                                               .listen_count = boot->fd_count,
                                               .tls = boot->tls,
                                               .leaves_queue = boot->was_activated,
                                               .spool_dir = boot->spool};
        enum gw_status status =
            worker_new(&options, &ports, boot->conf, &boot->workers[boot->worker_count], err);
        if (status != GW_OK)
            return status;
        boot->worker_count++;
    }
    worker_recover(boot->workers[0], RECOVER_BEFORE_MAX);
    enum gw_status kept = standing_routes(boot->store, boot->conf, boot->accepts_dropped, err);
    if (kept != GW_OK) {
        boot->is_unfit = kept == GW_INVALID;
        return kept;
    }
    for (uint32_t i = 0; i < boot->worker_count; i++) {
        enum gw_status status = worker_start(boot->workers[i], err);
        if (status != GW_OK)
            return status;
    }
    return GW_OK;
}

static void asked_to_stop(evutil_socket_t fd, short what, void *ctx)
{
    struct boot *boot = ctx;
    (void)fd;
    (void)what;
    if (!atomic_load(&board_gauges(boot->board)
                          ->draining)) /* a second signal changes nothing: the drain goes on */
        (void)event_base_loopbreak(boot->base);
}

static void begin_reload(struct boot *boot, const struct admin_reload *wish)
{
    const char *why = atomic_load(&boot->ready) ? "it is stopping" : "it has not started yet";
    if (boot->reload != NULL && atomic_load(&boot->ready) &&
        !atomic_load(&board_gauges(boot->board)->draining)) {
        reload_begin(boot->reload, wish);
        return;
    }
    gw_log_text(GW_LOG_WARN, "recibo.not_reloaded", "%s; nothing has changed", why);
    if (wish->done != NULL)
        wish->done(wish->ctx,
                   &(struct admin_reload_result){.end = ADMIN_RELOAD_BUSY, .text = span_str(why)});
}

static void operator_reloads(void *ctx, const struct admin_reload *wish)
{
    begin_reload(ctx, wish);
}

/* A terminal that closes, or a log rotation, must not end the process without a drain. */
static void asked_to_reload(evutil_socket_t fd, short what, void *ctx)
{
    struct boot *boot = ctx;
    (void)fd;
    (void)what;
    if (boot->tls != NULL)
        tls_book_look(boot->tls, true);
    begin_reload(boot, &(struct admin_reload){.done = NULL});
}

static void look_at_certificates(evutil_socket_t fd, short what, void *ctx)
{
    struct boot *boot = ctx;
    (void)fd;
    (void)what;
    tls_book_look(boot->tls, false);
}

static void look_at_store(evutil_socket_t fd, short what, void *ctx)
{
    struct boot *boot = ctx;
    struct store_stats stats;
    (void)fd;
    (void)what;
    store_stats(boot->store, &stats);
    watch_look(&boot->watch, &stats);
}

static bool make_base(struct boot *boot)
{
    boot->base = event_base_new();
    if (boot->base == NULL)
        return false;
    boot->sigterm = evsignal_new(boot->base, SIGTERM, asked_to_stop, boot);
    boot->sigint = evsignal_new(boot->base, SIGINT, asked_to_stop, boot);
    boot->sighup = evsignal_new(boot->base, SIGHUP, asked_to_reload, boot);
    boot->look = event_new(boot->base, -1, EV_PERSIST, look_at_store, boot);
    boot->tls_look = event_new(boot->base, -1, EV_PERSIST, look_at_certificates, boot);
    return boot->sigterm != NULL && boot->sigint != NULL && boot->sighup != NULL &&
           boot->look != NULL && boot->tls_look != NULL && event_add(boot->sigterm, NULL) == 0 &&
           event_add(boot->sigint, NULL) == 0 && event_add(boot->sighup, NULL) == 0;
}

/* Workers must not get the signals: the main thread has them. */
static void block_signals(bool blocked)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP); /* none of these can fail for valid signals */
    int rc = pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
    gw_assert(rc == 0);
}

/* The socket of the operators' plane that a supervisor has passed on; -1: none. */
static int take_admin_socket(struct boot *boot)
{
    const struct conf_address *address = &boot->conf->admin;
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                   .ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct addrinfo *found = NULL;
    char host[256], port[8];
    if (address->is_unix) {
        if (address->host.len >= sizeof(name.sun_path))
            return -1;
        memcpy(name.sun_path, address->host.ptr, address->host.len);
        return activation_take(&boot->activation, (const struct sockaddr *)&name, sizeof(name));
    }
    (void)snprintf(host, sizeof(host), "%.*s", (int)address->host.len, address->host.ptr);
    (void)snprintf(port, sizeof(port), "%u", address->port); /* both fit: checked when loading */
    if (boot->activation.count == 0 || getaddrinfo(host, port, &hints, &found) != 0)
        return -1;
    int fd = activation_take(&boot->activation, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return fd;
}

static enum gw_status make_admin(struct boot *boot, struct gw_error *err)
{
    if (!boot->conf->has_admin)
        return GW_OK;
    const struct admin_options options = {.base = boot->base,
                                          .conf = boot->conf,
                                          .store = boot->store,
                                          .board = boot->board,
                                          .clock = gw_clock_system(),
                                          .tls = tls_book_admin(boot->tls),
                                          .ready = &boot->ready,
                                          .listen_fd = take_admin_socket(boot),
                                          .reload = operator_reloads,
                                          .reload_ctx = boot};
    enum gw_status status = admin_new(&options, &boot->admin, err);
    if (status == GW_OK) {
        const struct gw_log_pair pairs[] = {{"address", boot->conf->admin.text, 0},
                                            {"port", {NULL, 0}, admin_port(boot->admin)},
                                            GW_LOG_END};
        gw_log(GW_LOG_INFO, "admin.opened", pairs);
    }
    return status;
}

static enum gw_status start(struct boot *boot, struct gw_error *err)
{
    enum gw_status status = activation_open(&boot->activation, err);
    if (status != GW_OK)
        return status;
    boot->was_activated = boot->activation.count > 0;
    descriptors_reserve(boot->conf);
    boot->board = board_new(boot->conf);
    if (!make_base(boot) || boot->board == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    status = tls_book_new(boot->conf, &boot->tls, err);
    if (status == GW_OK)
        status = open_store(boot, err);
    if (status == GW_OK)
        status = open_listeners(boot, err);
    if (status == GW_OK)
        status = make_admin(boot, err);
    if (status == GW_OK)
        status = activation_check(&boot->activation, err);
    block_signals(true);
    if (status == GW_OK)
        status = make_workers(boot, err);
    block_signals(false);
    const struct reload_options reload = {.base = boot->base,
                                          .first = boot->conf,
                                          .store = boot->store,
                                          .board = boot->board,
                                          .admin = boot->admin,
                                          .workers = boot->workers,
                                          .worker_count = boot->worker_count};
    if (status == GW_OK)
        status = reload_new(&reload, &boot->reload, err);
    return status == GW_OK
               ? pulse_start(boot->base, boot->workers, boot->worker_count, &boot->pulse, err)
               : status;
}

static void look_if_drained(evutil_socket_t fd, short what, void *ctx)
{
    struct boot *boot = ctx;
    (void)fd;
    (void)what;
    for (uint32_t i = 0; i < boot->worker_count; i++)
        if (!worker_is_finished(boot->workers[i]))
            return;
    (void)event_base_loopbreak(boot->base);
}

/* Operators see how a drain goes on: their plane is served until the workers are done.
 * Each worker ends by itself; the look is a poll since a loop cannot wait for a thread. */
static void serve_admin_until_drained(struct boot *boot)
{
    const struct timeval tv = {.tv_sec = 0, .tv_usec = DRAIN_LOOK_MS * 1000};
    if (boot->base == NULL || boot->worker_count == 0)
        return;
    struct event *look = event_new(boot->base, -1, EV_PERSIST, look_if_drained, boot);
    if (look == NULL)
        return; /* the joins wait as well */
    if (event_add(look, &tv) == 0)
        (void)event_base_dispatch(boot->base); /* its end is the end of the drain */
    event_free(look);
}

static const struct conf *current(const struct boot *boot)
{
    return boot->reload == NULL ? boot->conf : reload_current(boot->reload);
}

static void stop(struct boot *boot)
{
    if (boot->board != NULL)
        atomic_store(&board_gauges(boot->board)->draining, true);
    pulse_stop_asking(boot->pulse);
    for (uint32_t i = 0; i < boot->worker_count; i++)
        worker_drain(boot->workers[i], current(boot)->drain_ms);
    serve_admin_until_drained(boot);
    for (uint32_t i = 0; i < boot->worker_count; i++)
        worker_join(boot->workers[i]);
    admin_free(boot->admin);
    activation_close(&boot->activation);
    pulse_free(boot->pulse);
    for (uint32_t i = 0; i < boot->worker_count; i++)
        worker_free(boot->workers[i]);
    tls_book_free(boot->tls);
    for (uint32_t i = 0; i < boot->fd_count; i++)
        (void)close(boot->fds[i]); /* listening sockets hold nothing to lose */
    reload_free(boot->reload);
    store_close(boot->store);
    free(boot->effects);
    board_free(boot->board);
    if (boot->sigterm != NULL)
        event_free(boot->sigterm);
    if (boot->sigint != NULL)
        event_free(boot->sigint);
    if (boot->sighup != NULL)
        event_free(boot->sighup);
    if (boot->look != NULL)
        event_free(boot->look);
    if (boot->tls_look != NULL)
        event_free(boot->tls_look);
    if (boot->base != NULL)
        event_base_free(boot->base);
}

/* The main loop, until a signal ends it. */
static void serve(struct boot *boot)
{
    const struct timeval tv = {.tv_sec = 0, .tv_usec = WATCH_PERIOD_MS * 1000};
    const struct timeval tls_every = {.tv_sec = TLS_LOOK_MS / 1000};
    (void)event_add(boot->look, &tv); /* fails only without memory; the metrics tell as well */
    if (!tls_book_is_empty(boot->tls))
        (void)event_add(boot->tls_look, &tls_every); /* likewise; SIGHUP does it, too */
    atomic_store(&boot->ready, true);
    gw_log_text(GW_LOG_INFO, "recibo.ready", "serving %u routes, configuration %s",
                boot->conf->routes.count, boot->conf->hash);
    notify_ready(boot->conf->hash);
    int rc = event_base_dispatch(boot->base);
    gw_assert(rc >= 0);
    int64_t drain_ms = current(boot)->drain_ms;
    notify_stopping(drain_ms);
    gw_log_text(GW_LOG_INFO, "recibo.draining", "for at most %lld ms", (long long)drain_ms);
}

static enum boot_end end_of(const struct boot *boot, enum gw_status status)
{
    if (status == GW_OK)
        return BOOT_DONE;
    return boot->is_unfit ? BOOT_UNFIT : BOOT_FAILED;
}

/* What means nothing here must not kill it either: callers would lose their answers. */
static void ignore_signals(void)
{
    (void)signal(SIGPIPE, SIG_IGN); /* writes say EPIPE */
    (void)signal(SIGXFSZ, SIG_IGN); /* writes over a limit of file sizes say EFBIG */
    (void)signal(SIGUSR1, SIG_IGN);
    (void)signal(SIGUSR2, SIG_IGN); /* none of these can fail for valid signals */
}

enum boot_end boot_serve(struct conf *conf, bool accepts_dropped, struct gw_error *err)
{
    struct boot *boot = calloc(1, sizeof(*boot));
    if (boot == NULL) {
        (void)gw_error_set(err, GW_NOMEM, "out of memory"); /* the end says it, too */
        return BOOT_FAILED;
    }
    boot->conf = conf;
    boot->accepts_dropped = accepts_dropped;
    ignore_signals();
    /* The loops share nothing, but libevent's source of random numbers for DNS is one. */
    if (evthread_use_pthreads() != 0) {
        free(boot);
        (void)gw_error_set(err, GW_NOMEM, "libevent cannot be made ready for threads");
        return BOOT_FAILED;
    }
    enum gw_status status = start(boot, err);
    if (status == GW_OK)
        serve(boot);
    stop(boot);
    if (status == GW_OK)
        gw_log_text(GW_LOG_INFO, "recibo.stopped", "everything is on record");
    enum boot_end end = end_of(boot, status);
    free(boot);
    return end;
}
