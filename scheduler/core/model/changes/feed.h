/* Creates rows of ranges. */
#ifndef GW_SCHEDULER_CORE_FEED_H
#define GW_SCHEDULER_CORE_FEED_H

#include "scheduler/core/model/state.h"

/* gw_sched_ranges_feed creates rows of ranges that have few rows left to place. It returns true if
 * it created rows, which must be settled and placed. */
bool gw_sched_ranges_feed(struct gw_sched *sched);

#endif
