/* Clocks. The cores never call these: time arrives inside their events. */
#ifndef GW_BASE_CLOCK_H
#define GW_BASE_CLOCK_H

#include <stdint.h>

#define GW_NS_PER_US UINT64_C(1000)
#define GW_NS_PER_MS UINT64_C(1000000)
#define GW_NS_PER_S UINT64_C(1000000000)

/* gw_clock_now_ns is the monotonic clock: all deadlines and leases. */
uint64_t gw_clock_now_ns(void);

/* gw_clock_wall_ns is the wall clock since 1970 (UTC): only for what a person reads. */
uint64_t gw_clock_wall_ns(void);

#endif
