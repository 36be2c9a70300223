/* The two clocks, in nanoseconds. */
#include "graph/base/clock.h"

#include <time.h>

static uint64_t now_ns(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now); /* both clocks always exist on Linux */
    return (uint64_t)now.tv_sec * GW_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t gw_clock_now_ns(void)
{
    return now_ns(CLOCK_MONOTONIC);
}

uint64_t gw_clock_wall_ns(void)
{
    return now_ns(CLOCK_REALTIME);
}
