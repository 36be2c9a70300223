/* Ranges make rows. */
#ifndef GW_SCHEDULER_CORE_FEED_H
#define GW_SCHEDULER_CORE_FEED_H

#include "scheduler/core/model/state.h"

/* gw_sched_ranges_feed makes rows for ranges of which few are left to be placed; true if there are
 * new ones to settle and place. */
bool gw_sched_ranges_feed(struct gw_sched *sched);

#endif
