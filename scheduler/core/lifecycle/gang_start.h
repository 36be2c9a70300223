/* Start of a gang after all of its ranks are ready. */
#ifndef GW_SCHEDULER_CORE_GANG_START_H
#define GW_SCHEDULER_CORE_GANG_START_H

#include "scheduler/core/model/jobs/gang.h"
#include "scheduler/core/model/state.h"

/* gw_sched_gang_on_ready handles the message rank_ready of a worker. The token in the message of
 * rank 0 is kept and sent to the other ranks. */
int gw_sched_gang_on_ready(struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_msg_rank_ready *ready);

/* gw_sched_gang_on_paused handles the message that rank 0 of a gang of functions has returned
 * because the gang was asked to pause. It returns GW_EPROTO if the message names another rank or
 * the gang has not started. */
int gw_sched_gang_on_paused(struct gw_sched *sched, const struct gw_worker *worker,
                            const struct gw_msg_rank_paused *paused);

/* gw_sched_gang_start_goes records in the journal that the attempt of a detached job's gang
 * started. */
void gw_sched_gang_start_goes(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              struct gw_went went);

#endif
