/* One datagram a message. It must never wait: a supervisor that does not read is no reason
 * to stand still. */
#include "gateway/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NOTIFY_BYTES 512

/* A path, or a name in the abstract namespace that is written with an @. */
static bool address_of(const char *name, struct sockaddr_un *ret, socklen_t *ret_len)
{
    size_t len = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof(ret->sun_path))
        return false;
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret->sun_path, name, len);
    if (name[0] == '@')
        ret->sun_path[0] = '\0';
    *ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] == '/'));
    return true;
}

static void tell(const char *text)
{
    struct sockaddr_un address;
    socklen_t len;
    const char *name = getenv("NOTIFY_SOCKET");
    if (name == NULL || !address_of(name, &address, &len))
        return;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    ssize_t sent =
        sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address, len);
    (void)sent; /* there is nobody else to be told that the supervisor does not listen */
    (void)close(fd);
}

void notify_ready(const char *configuration)
{
    char text[NOTIFY_BYTES];
    (void)snprintf(text, sizeof(text), "READY=1\nSTATUS=serving, configuration %s\n",
                   configuration); /* 16 hex digits: it fits */
    tell(text);
}

void notify_reloading(void)
{
    char text[NOTIFY_BYTES];
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* this clock is always there */
    (void)snprintf(text, sizeof(text),
                   "RELOADING=1\nMONOTONIC_USEC=%lld\nSTATUS=reading the configuration anew\n",
                   (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000); /* it fits */
    tell(text);
}

void notify_stopping(int64_t drain_ms)
{
    char text[NOTIFY_BYTES];
    (void)snprintf(text, sizeof(text), "STOPPING=1\nSTATUS=draining, for at most %lld ms\n",
                   (long long)drain_ms); /* it fits */
    tell(text);
}

void notify_alive(void)
{
    tell("WATCHDOG=1\n");
}

/* A number of digits alone; -1: it is none. */
static int64_t number_of(const char *text)
{
    int64_t number = 0;
    if (text == NULL || *text == '\0')
        return -1;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (number > INT64_MAX / 10 - 10)
            return -1;
        number = number * 10 + (*text - '0');
    }
    return *text == '\0' ? number : -1;
}

int64_t notify_watchdog_ms(void)
{
    const char *owner = getenv("WATCHDOG_PID");
    int64_t usec = number_of(getenv("WATCHDOG_USEC"));
    bool is_ours = owner == NULL || number_of(owner) == (int64_t)getpid();
    if (!is_ours || usec < 2000 || getenv("NOTIFY_SOCKET") == NULL)
        return 0;
    return usec / 1000;
}
