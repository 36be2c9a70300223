/* Clocks. The scheduler core and the worker core never call these functions: the time is part of
 * their events. */
#ifndef GW_BASE_CLOCK_H
#define GW_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define GW_NS_PER_US UINT64_C(1000)
#define GW_NS_PER_MS UINT64_C(1000000)
#define GW_NS_PER_S UINT64_C(1000000000)

/* gw_clock_now_ns reads the monotonic clock, which is used for all deadlines and leases. */
uint64_t gw_clock_now_ns(void);

/* gw_clock_deadline_ns returns the time in timeout_ns from now; GW_FOREVER if that is never.
 * gw_clock_left_ns returns how long it is until a deadline: 0 if it has passed, GW_FOREVER if there
 * is none. */
uint64_t gw_clock_deadline_ns(uint64_t timeout_ns);
uint64_t gw_clock_left_ns(uint64_t deadline_ns);

/* gw_clock_wall_ns returns the time since 1970 (UTC). It is used only for times that people read.
 */
uint64_t gw_clock_wall_ns(void);

/* gw_clock_cpu_ns returns the CPU time, user and system, of all processes that this process has
 * waited for, and of those that they have waited for. own: also that of this process. */
uint64_t gw_clock_cpu_ns(bool own);

#endif
