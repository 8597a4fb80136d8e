/* Where the operator plane listens: a TCP address or a socket in the file system. */
#ifndef RECIBO_GATEWAY_ADMIN_LISTENER_H
#define RECIBO_GATEWAY_ADMIN_LISTENER_H

#include "conf/conf.h"

#include <sys/types.h>

struct evhttp;
struct evhttp_bound_socket;

#define LISTENER_PATH_BYTES 108 /* sun_path, with its NUL */

struct listener {
    struct evhttp_bound_socket *socket; /* NULL: not listening; the evhttp owns it */
    uint16_t port;                      /* 0: a socket in the file system */
    char path[LISTENER_PATH_BYTES];     /* removed at the end; empty: TCP */
    dev_t device;                       /* of that file: another one of the name stays */
    ino_t number;
};

/* `take_fd`: a socket that listens there already; it is the listener's then. */
GW_MUST_CHECK enum gw_status listener_take(struct listener *listener, struct evhttp *http,
                                           int take_fd, struct gw_error *err);
GW_MUST_CHECK enum gw_status listener_bind(struct listener *listener, struct evhttp *http,
                                           const struct conf_address *address,
                                           struct gw_error *err);
/* No new connections; fine if it never listened. */
void listener_close(struct listener *listener, struct evhttp *http);

#endif
