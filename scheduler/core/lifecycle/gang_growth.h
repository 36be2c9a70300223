/* A gang that runs with fewer ranks than it asked for ends, in order to start again with more
 * ranks. */
#ifndef GW_SCHEDULER_CORE_GANG_GROWTH_H
#define GW_SCHEDULER_CORE_GANG_GROWTH_H

#include "scheduler/core/model/state.h"

/* gw_sched_gang_growth_on_checkpoint is called when a gang has saved a checkpoint. It ends the gang
 * if the gang could now start with more ranks. */
void gw_sched_gang_growth_on_checkpoint(struct gw_sched *sched, struct gw_gang_attempt *gang);

#endif
