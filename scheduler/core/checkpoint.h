/* Which attempt's checkpoint of a gang is current: the next attempt goes on from there, whatever
 * other attempts, dead or cut off, have left or still write beside it. */
#ifndef GW_SCHEDULER_CORE_CHECKPOINT_H
#define GW_SCHEDULER_CORE_CHECKPOINT_H

#include "scheduler/core/state.h"

/* gw_sched_on_checkpointed takes a worker's word that rank 0 of an attempt has saved one; of an
 * attempt that is over it is not taken. */
void gw_sched_on_checkpointed(struct gw_sched *sched, const struct gw_worker *worker,
                              const struct gw_msg_checkpointed *message);

/* gw_sched_checkpoint_of gives the current one of a row; NULL: there is none. Borrowed. */
const struct gw_checkpointed *gw_sched_checkpoint_of(const struct gw_job *job, uint32_t row);

#endif
