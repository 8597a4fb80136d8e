/* Listening sockets that a supervisor has opened and passed on (sd_listen_fds(3)): they are
 * used in place of our own where their address is one that the configuration names. Threads:
 * the main one, at the start. */
#ifndef RECIBO_GATEWAY_ACTIVATION_H
#define RECIBO_GATEWAY_ACTIVATION_H

#include "base/base.h"

#include <sys/socket.h>

#define ACTIVATION_FDS_MAX 64

struct activation {
    int fds[ACTIVATION_FDS_MAX]; /* -1: taken */
    uint32_t count;
    const char *names; /* LISTEN_FDNAMES; may be NULL */
};
/* What $LISTEN_FDS says, if $LISTEN_PID is this process. GW_LIMIT: too many. */
GW_MUST_CHECK enum gw_status activation_open(struct activation *ret, struct gw_error *err);
/* The stream socket that listens on this very address, non-blocking; -1: none was passed on.
 * It is the caller's. */
int activation_take(struct activation *activation, const struct sockaddr *address, socklen_t len);
/* GW_INVALID: one is left that no address of the configuration is meant for. */
GW_MUST_CHECK enum gw_status activation_check(const struct activation *activation,
                                              struct gw_error *err);
void activation_close(struct activation *activation); /* those that nobody took */

#endif
