/* A gang whose ranks are ready starts. */
#ifndef GW_SCHEDULER_CORE_GANG_START_H
#define GW_SCHEDULER_CORE_GANG_START_H

#include "scheduler/core/model/jobs/gang.h"
#include "scheduler/core/model/state.h"

/* gw_sched_gang_on_ready takes a worker's rank_ready (it keeps rank 0's token). */
int gw_sched_gang_on_ready(struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_msg_rank_ready *ready);

/* gw_sched_gang_on_paused: rank 0 of a function returned because it was told to pause. GW_EPROTO:
 * another rank did, or the gang has not started. */
int gw_sched_gang_on_paused(struct gw_sched *sched, const struct gw_worker *worker,
                            const struct gw_msg_rank_paused *paused);

/* gw_sched_gang_start_goes records, as a fact, that an attempt of a detached job's gang started. */
void gw_sched_gang_start_goes(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              struct gw_went went);

#endif
