/* The system's clocks behind gw_clock. */
#include "base/base.h"

#include <time.h>

static int64_t read_ms(clockid_t id)
{
    struct timespec ts;
    int rc = clock_gettime(id, &ts);
    gw_assert(rc == 0);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t system_wall_ms(struct gw_clock *clock)
{
    (void)clock;
    return read_ms(CLOCK_REALTIME);
}

static int64_t system_ticks_ms(struct gw_clock *clock)
{
    (void)clock;
    return read_ms(CLOCK_MONOTONIC);
}

static struct gw_clock system_clock = {.wall_ms = system_wall_ms, .ticks_ms = system_ticks_ms};

struct gw_clock *gw_clock_system(void)
{
    return &system_clock;
}
