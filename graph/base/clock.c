/* The two clocks, in nanoseconds. */
#include "graph/base/clock.h"

#include <gangway/options.h>
#include <sys/resource.h>
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

uint64_t gw_clock_deadline_ns(uint64_t timeout_ns)
{
    const uint64_t now_ns = gw_clock_now_ns();
    return timeout_ns > GW_FOREVER - now_ns ? GW_FOREVER : now_ns + timeout_ns;
}

uint64_t gw_clock_left_ns(uint64_t deadline_ns)
{
    const uint64_t now_ns = gw_clock_now_ns();
    if (deadline_ns == GW_FOREVER)
        return GW_FOREVER;
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

uint64_t gw_clock_wall_ns(void)
{
    return now_ns(CLOCK_REALTIME);
}

static uint64_t cpu_ns(int who)
{
    struct rusage usage;
    (void)getrusage(who, &usage);
    return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * GW_NS_PER_S +
           ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * GW_NS_PER_US;
}

uint64_t gw_clock_cpu_ns(bool own)
{
    return cpu_ns(RUSAGE_CHILDREN) + (own ? cpu_ns(RUSAGE_SELF) : 0);
}
