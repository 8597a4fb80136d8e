/* The bytes of one connection, plain or over TLS: the one place where the two differ. It
 * waits for nothing, and its errors are those of recv(2) and sendmsg(2). */
#ifndef RECIBO_GATEWAY_TRANSPORT_H
#define RECIBO_GATEWAY_TRANSPORT_H

#include "gateway/tls/tls.h"

#define TRANSPORT_READ_BYTES_MIN TLS_RECORD_BYTES

struct transport {
    int fd;                  /* -1: none yet, or closed */
    struct tls_session *tls; /* NULL: plain */
};

/* 0: an orderly end. An end that may be a cut is ECONNRESET. `len` is at least
 * TRANSPORT_READ_BYTES_MIN; no bytes are left behind but in the descriptor. */
ssize_t transport_receive(struct transport *transport, char *room, size_t len);
/* Has the end been read already, so that the descriptor will not tell of it any more? Then
 * receiving gives it at once. */
static inline bool transport_is_over(const struct transport *transport)
{
    return transport->tls != NULL && tls_is_over(transport->tls);
}
/* <0: errno; after EAGAIN the same bytes come first again. */
ssize_t transport_send(struct transport *transport, struct iovec *parts, size_t count);
/* How many bytes that were not taken yet may have left in part. */
static inline size_t transport_begun(const struct transport *transport)
{
    return transport->tls == NULL ? 0 : tls_begun(transport->tls);
}
/* Is the peer silent and there? Asks the kernel, and takes in what is TLS's own. */
bool transport_is_quiet(struct transport *transport);
/* The handshake; TLS_READY at once where there is none. */
enum tls_next transport_shake(struct transport *transport);
/* Our side ends, the peer's may go on: TLS_WANTS_WRITE: again when there is room. */
enum tls_next transport_shut(struct transport *transport);
/* `orderly`: the peer is told, as far as it takes no waiting. */
void transport_close(struct transport *transport, bool orderly);

#endif
