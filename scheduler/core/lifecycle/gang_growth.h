/* A gang that runs with fewer ranks than it wants ends to grow. */
#ifndef GW_SCHEDULER_CORE_GANG_GROWTH_H
#define GW_SCHEDULER_CORE_GANG_GROWTH_H

#include "scheduler/core/model/state.h"

/* gw_sched_gang_size_on_checkpoint: a gang has saved; it grows if it can. */
void gw_sched_gang_size_on_checkpoint(struct gw_sched *sched, struct gw_gang_attempt *gang);

#endif
