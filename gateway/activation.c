/* From descriptors to addresses. It must never listen on what the configuration does not
 * name: which listener has TLS, and which one is the operators', stands there. */
#include "gateway/activation.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_FD 3 /* of the protocol */

static bool number_of(const char *text, int64_t *ret)
{
    int64_t number = 0;
    if (text == NULL || *text == '\0')
        return false;
    for (; *text >= '0' && *text <= '9' && number < INT32_MAX; text++)
        number = number * 10 + (*text - '0');
    *ret = number;
    return *text == '\0';
}

enum gw_status activation_open(struct activation *ret, struct gw_error *err)
{
    int64_t count, owner;
    *ret = (struct activation){.names = getenv("LISTEN_FDNAMES")};
    if (!number_of(getenv("LISTEN_PID"), &owner) || owner != (int64_t)getpid() ||
        !number_of(getenv("LISTEN_FDS"), &count))
        return GW_OK; /* meant for another process, or for nobody */
    if (count > ACTIVATION_FDS_MAX)
        return gw_error_set(err, GW_LIMIT, "LISTEN_FDS: at most %d sockets can be passed on",
                            ACTIVATION_FDS_MAX);
    for (int fd = FIRST_FD; fd < FIRST_FD + (int)count; fd++) {
        int flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
            fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
            return gw_error_set(err, GW_IO, "LISTEN_FDS: descriptor %d: %s", fd, strerror(errno));
        ret->fds[ret->count++] = fd;
    }
    return GW_OK;
}

static bool is_listening(int fd)
{
    int type = 0, listens = 0;
    socklen_t len = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || type != SOCK_STREAM)
        return false;
    len = sizeof(listens);
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens != 0;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET) {
        const struct sockaddr_in *left = (const void *)a, *right = (const void *)b;
        return left->sin_port == right->sin_port && left->sin_addr.s_addr == right->sin_addr.s_addr;
    }
    if (a->sa_family == AF_INET6) {
        const struct sockaddr_in6 *left = (const void *)a, *right = (const void *)b;
        return left->sin6_port == right->sin6_port &&
               memcmp(&left->sin6_addr, &right->sin6_addr, sizeof(left->sin6_addr)) == 0;
    }
    if (a->sa_family != AF_UNIX)
        return false;
    const struct sockaddr_un *left = (const void *)a, *right = (const void *)b;
    return strncmp(left->sun_path, right->sun_path, sizeof(left->sun_path)) == 0;
}

int activation_take(struct activation *activation, const struct sockaddr *address, socklen_t len)
{
    (void)len; /* the family says it */
    for (uint32_t i = 0; i < activation->count; i++) {
        struct sockaddr_storage own = {0};
        socklen_t own_len = sizeof(own);
        int fd = activation->fds[i];
        if (fd < 0 || !is_listening(fd) ||
            getsockname(fd, (struct sockaddr *)&own, &own_len) != 0 ||
            !same_address((const struct sockaddr *)&own, address))
            continue;
        activation->fds[i] = -1;
        return fd;
    }
    return -1;
}

/* The n-th name of a list with colons. */
static struct span name_at(const char *names, uint32_t index)
{
    if (names == NULL)
        return SPAN("unnamed");
    for (; index > 0; index--) {
        names = strchr(names, ':');
        if (names == NULL)
            return SPAN("unnamed");
        names++;
    }
    return span_of(names, strcspn(names, ":"));
}

enum gw_status activation_check(const struct activation *activation, struct gw_error *err)
{
    for (uint32_t i = 0; i < activation->count; i++) {
        if (activation->fds[i] < 0)
            continue;
        struct span name = name_at(activation->names, i);
        return gw_error_set(err, GW_INVALID,
                            "the supervisor passed on the socket '%.*s' (descriptor %d), whose "
                            "address is none of listen and admin.address, or which does not "
                            "listen: name its address in the configuration, or do not pass it on",
                            (int)(name.len > 64 ? 64 : name.len), name.ptr, activation->fds[i]);
    }
    return GW_OK;
}

void activation_close(struct activation *activation)
{
    for (uint32_t i = 0; i < activation->count; i++)
        if (activation->fds[i] >= 0)
            (void)close(activation->fds[i]); /* nothing was accepted from it */
    activation->count = 0;
}
