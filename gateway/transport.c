/* Plain connections go straight to the kernel; the others through TLS. It must never
 * send by itself what its user did not hand over. */
#include "gateway/transport.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t transport_receive(struct transport *transport, char *room, size_t len)
{
    if (transport->tls != NULL)
        return tls_receive(transport->tls, room, len);
    return recv(transport->fd, room, len, 0);
}

ssize_t transport_send(struct transport *transport, struct iovec *parts, size_t count)
{
    if (transport->tls != NULL)
        return tls_send(transport->tls, parts, count);
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    return sendmsg(transport->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool transport_is_quiet(struct transport *transport)
{
    char byte;
    if (transport->tls != NULL)
        return tls_is_quiet(transport->tls);
    return recv(transport->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
}

enum tls_next transport_shake(struct transport *transport)
{
    return transport->tls == NULL ? TLS_READY : tls_shake(transport->tls);
}

enum tls_next transport_shut(struct transport *transport)
{
    if (transport->tls != NULL && tls_shut(transport->tls) == TLS_WANTS_WRITE)
        return TLS_WANTS_WRITE;
    return shutdown(transport->fd, SHUT_WR) == 0 ? TLS_READY : TLS_FAILED;
}

void transport_close(struct transport *transport, bool orderly)
{
    tls_free(transport->tls, orderly);
    transport->tls = NULL;
    if (transport->fd >= 0)
        (void)close(transport->fd); /* an error of close leaves nothing to do */
    transport->fd = -1;
}
