/* The operator plane: JSON API, health and metrics on a listener of its own, on
 * evhttp (trusted peers; ADR 0001). It never touches a flow: it reads and changes
 * receipts through the store like everybody, and looks at the board. Threads: the
 * loop it was made for. */
#ifndef RECIBO_GATEWAY_ADMIN_ADMIN_H
#define RECIBO_GATEWAY_ADMIN_ADMIN_H

#include "gateway/board.h"

struct admin;
struct event_base;

struct tls_context; /* gateway/tls/tls.h */
struct admin_options {
    struct event_base *base;  /* borrowed */
    const struct conf *conf;  /* borrowed; has_admin is set */
    struct store *store;      /* borrowed */
    struct board *board;      /* borrowed */
    struct gw_clock *clock;   /* borrowed */
    struct tls_context *tls;  /* borrowed; NULL: plain */
    const atomic_bool *ready; /* for /readyz: everything is listening and recovered */
};
/* Binds and listens. */
GW_MUST_CHECK enum gw_status admin_new(const struct admin_options *options,
                                       struct admin **ret_admin, struct gw_error *err);
/* The port it really listens on (0: a Unix socket). */
uint16_t admin_port(const struct admin *admin);
/* No new calls; those under way end first, at most grace_ms; then frees. NULL is fine. */
void admin_free(struct admin *admin);

#endif
