/* The operator plane: JSON API, health and metrics on a listener of its own, on
 * evhttp (trusted peers; ADR 0001). It never touches a flow: it reads and changes
 * receipts through the store like everybody, and looks at the board. Threads: the
 * loop it was made for. */
#ifndef RECIBO_GATEWAY_ADMIN_ADMIN_H
#define RECIBO_GATEWAY_ADMIN_ADMIN_H

#include "conf/changes.h"
#include "gateway/board.h"

struct admin;
struct event_base;

struct tls_context; /* gateway/tls/tls.h */
/* ---- a reload that an operator asks for; whoever has the parts does it ---- */
enum admin_reload_end {
    ADMIN_RELOAD_DONE,
    ADMIN_RELOAD_INVALID, /* the file has errors: report */
    ADMIN_RELOAD_DROPS,   /* operations would lose protection: drops */
    ADMIN_RELOAD_RESTART, /* it cannot be taken up by a running process */
    ADMIN_RELOAD_BUSY,    /* another one is under way, or the process stops */
    ADMIN_RELOAD_FAILED,  /* no memory, or the store does not answer */
};
struct admin_reload_result { /* valid during done() alone */
    enum admin_reload_end end;
    struct span text; /* what happened, and what to do */
    struct span configuration;
    struct conf_changes changes;
    const struct conf_report *report;   /* NULL: it was not come to */
    const struct standing_drops *drops; /* likewise */
};
struct admin_reload {
    bool accepts_dropped;
    struct span actor, note;                                           /* borrowed until done() */
    void (*done)(void *ctx, const struct admin_reload_result *result); /* NULL: nobody waits */
    void *ctx;
};
/* done() runs exactly once; it may run before this returns. */
typedef void admin_reload_fn(void *reload_ctx, const struct admin_reload *wish);

struct admin_options {
    struct event_base *base;  /* borrowed */
    struct conf *conf;        /* borrowed until admin_adopt(); has_admin is set */
    struct store *store;      /* borrowed */
    struct board *board;      /* borrowed */
    struct gw_clock *clock;   /* borrowed */
    struct tls_context *tls;  /* borrowed; NULL: plain */
    const atomic_bool *ready; /* for /readyz: everything is listening and recovered */
    int listen_fd;            /* listens on conf's address already, and is taken; -1: none */
    admin_reload_fn *reload;  /* NULL: nobody can */
    void *reload_ctx;
};
/* Binds and listens. */
GW_MUST_CHECK enum gw_status admin_new(const struct admin_options *options,
                                       struct admin **ret_admin, struct gw_error *err);
/* From now on calls begin with this configuration; those under way keep theirs. Borrows it. */
void admin_adopt(struct admin *admin, struct conf *conf);
/* The port it really listens on (0: a Unix socket). */
uint16_t admin_port(const struct admin *admin);
/* No new calls; those under way end first, at most grace_ms; then frees. NULL is fine. */
void admin_free(struct admin *admin);

#endif
