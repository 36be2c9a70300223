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

/* gw_sched_checkpoint_lost: the worker that saved it is lost. Where its folder is shared with other
 * hosts the checkpoint is not.
 * gw_sched_checkpoint_home is the worker where the next attempt of a gang finds what the last one
 * left in its folder, though hosts do not share it: the one that saved the checkpoint, or one on
 * its host, started since; of commands, which tell of none, where rank 0 was last. 0: none, or
 * nobody knows. */
bool gw_sched_checkpoint_lost(const struct gw_sched *sched, const struct gw_checkpointed *saved);
uint32_t gw_sched_checkpoint_home(const struct gw_sched *sched, const struct gw_job *job,
                                  uint32_t row);

#endif
