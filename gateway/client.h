/* A caller's connection: bytes from the socket through the codec into flows, and
 * replies back. One request at a time; pipelined ones wait (IN-14). It knows HTTP
 * framing, deadlines and back-pressure, and nothing of routes or receipts.
 * Threads: its worker's alone. */
#ifndef RECIBO_GATEWAY_CLIENT_H
#define RECIBO_GATEWAY_CLIENT_H

#include "gateway/flow.h"
#include "gateway/transport.h"

#include <sys/socket.h>

struct client_arrival {
    int fd;
    const struct sockaddr *peer;
    socklen_t peer_len;
    struct tls_context *tls; /* of the listener; NULL: plain */
};
/* Takes the descriptor, also on failure. */
void client_accept(struct worker *worker, const struct client_arrival *arrival);
/* Drain: an idle connection is closed at once, a busy one after its reply. */
void client_drain(struct client *client);
/* Does a drain wait for it? Not for one that came after it began, nor for one that has
 * not sent a whole head. */
bool client_holds_drain(const struct client *client);
/* The end of the grace: whatever it does. */
void client_abort(struct client *client);
/* The end of the worker: nothing it does matters any more. */
void client_die(struct client *client);
void client_free(struct client *client); /* from the graveyard only */
extern const struct client_ops client_socket_ops;

/* The worker's list. */
struct client *client_next(const struct client *client);
void client_link(struct client *client, struct client **list);
void client_unlink(struct client *client, struct client **list);
/* The graveyard's link. */
void client_bury_on(struct client *client, struct client **grave);

#endif
