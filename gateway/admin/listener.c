/* Binds the operator plane. A socket in the file system is for its owner alone
 * (0600). It must never remove a file that is no socket, nor a socket that another
 * process serves. */
#include "gateway/admin/listener.h"

#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_BACKLOG 64
#define HOST_BYTES_MAX 256

static uint16_t bound_port(evutil_socket_t fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return 0;
    if (address.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)&address)->sin_port);
    if (address.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&address)->sin6_port);
    return 0;
}

static enum gw_status bind_tcp(struct listener *listener, struct evhttp *http,
                               const struct conf_address *address, struct gw_error *err)
{
    char host[HOST_BYTES_MAX];
    int len = snprintf(host, sizeof(host), "%.*s", (int)address->host.len, address->host.ptr);
    if (len < 0 || (size_t)len >= sizeof(host))
        return gw_error_set(err, GW_INVALID, "admin.address: the host name is too long");
    listener->socket = evhttp_bind_socket_with_handle(http, host, address->port);
    if (listener->socket == NULL)
        return gw_error_set(err, GW_IO, "listen on admin.address %.*s: %s", (int)address->text.len,
                            address->text.ptr, strerror(errno));
    const int on = 1;
    /* Inherited: over TLS head and body leave in records of their own. Without it: slower. */
    (void)setsockopt(evhttp_bound_socket_get_fd(listener->socket), IPPROTO_TCP, TCP_NODELAY, &on,
                     sizeof(on));
    listener->port = bound_port(evhttp_bound_socket_get_fd(listener->socket));
    return GW_OK;
}

/* A socket file that nobody serves any more is left by a process that died. Anything
 * else of that name, the store for example, is somebody's: a connection to a plain
 * file is refused, too. */
static bool is_abandoned(const struct sockaddr_un *address)
{
    struct stat info;
    if (lstat(address->sun_path, &info) != 0 || !S_ISSOCK(info.st_mode))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool refused = connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
                   errno == ECONNREFUSED;
    (void)close(fd); /* nothing was written */
    return refused;
}

static int listen_unix(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    /* The mask, not a chmod after: nobody else may connect in between. */
    mode_t mask = umask(0177);
    int rc = bind(fd, (const struct sockaddr *)address, sizeof(*address));
    if (rc != 0 && errno == EADDRINUSE && is_abandoned(address)) {
        (void)unlink(address->sun_path); /* bind says whether it is gone */
        rc = bind(fd, (const struct sockaddr *)address, sizeof(*address));
    }
    int why = errno;
    (void)umask(mask);
    if (rc == 0 && listen(fd, LISTEN_BACKLOG) == 0)
        return fd;
    why = rc != 0 ? why : errno;
    (void)close(fd); /* of no use; the first error counts */
    errno = why;
    return -1;
}

static void remember(struct listener *listener, const struct sockaddr_un *name)
{
    struct stat info;
    if (lstat(name->sun_path, &info) != 0)
        return; /* taken away already: then there is nothing to remove at the end */
    memcpy(listener->path, name->sun_path, sizeof(listener->path));
    listener->device = info.st_dev;
    listener->number = info.st_ino;
}

/* Ours, and not what has taken its place: a next process may listen there already. */
static void remove_own(const struct listener *listener)
{
    struct stat info;
    if (lstat(listener->path, &info) == 0 && S_ISSOCK(info.st_mode) &&
        info.st_dev == listener->device && info.st_ino == listener->number)
        (void)unlink(listener->path); /* somebody else may have done it meanwhile */
}

static enum gw_status refuse_unix(const struct sockaddr_un *name, int why, struct gw_error *err)
{
    struct stat info;
    const char *text = strerror(why);
    if (why == EADDRINUSE && lstat(name->sun_path, &info) == 0)
        text = S_ISSOCK(info.st_mode) ? "another process serves this socket, or it cannot be asked"
                                      : "there is a file that is no socket; it is left alone";
    return gw_error_set(err, GW_IO, "listen on admin.address unix:%s: %s", name->sun_path, text);
}

static enum gw_status bind_unix(struct listener *listener, struct evhttp *http,
                                const struct conf_address *address, struct gw_error *err)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (address->host.len == 0 || address->host.len >= sizeof(name.sun_path))
        return gw_error_set(err, GW_INVALID, "admin.address: a socket's path has 1 to %zu bytes",
                            sizeof(name.sun_path) - 1);
    memcpy(name.sun_path, address->host.ptr, address->host.len);
    int fd = listen_unix(&name);
    if (fd < 0)
        return refuse_unix(&name, errno, err);
    remember(listener, &name);
    listener->socket = evhttp_accept_socket_with_handle(http, fd);
    if (listener->socket == NULL) {
        (void)close(fd); /* not taken over */
        return gw_error_set(err, GW_NOMEM, "out of memory");
    }
    return GW_OK;
}

/* Its file, if it has one, is whose who made it: it stays. */
enum gw_status listener_take(struct listener *listener, struct evhttp *http, int take_fd,
                             struct gw_error *err)
{
    listener->socket = evhttp_accept_socket_with_handle(http, take_fd);
    if (listener->socket == NULL) {
        (void)close(take_fd); /* not taken over */
        return gw_error_set(err, GW_NOMEM, "out of memory");
    }
    listener->port = bound_port(take_fd);
    return GW_OK;
}

enum gw_status listener_bind(struct listener *listener, struct evhttp *http,
                             const struct conf_address *address, struct gw_error *err)
{
    return address->is_unix ? bind_unix(listener, http, address, err)
                            : bind_tcp(listener, http, address, err);
}

void listener_close(struct listener *listener, struct evhttp *http)
{
    if (listener->socket != NULL)
        evhttp_del_accept_socket(http, listener->socket);
    listener->socket = NULL;
    if (listener->path[0] != '\0')
        remove_own(listener);
    listener->path[0] = '\0';
}
