/* Adoption: what runs on at a worker since an earlier life of the scheduler goes on in this one.
 *
 * A task of a detached job keeps its attempt, its slots and its GPUs. The ranks of a gang gather:
 * when all of them have been told of, it goes on; when the hold is over first, it ends, and starts
 * again uncharged. What cannot be taken stays as the registration has it, and is ended. */
#ifndef GW_SCHEDULER_CORE_ADOPT_H
#define GW_SCHEDULER_CORE_ADOPT_H

#include "scheduler/core/model/state.h"

/* gw_sched_adopt takes what it can of the attempts of a registration; rows that make no sense, or
 * are of nobody here, are passed over. gw_sched_adopts tells whether this worker's results of a
 * task are those of an attempt that was taken. */
void gw_sched_adopt(struct gw_sched *sched, struct gw_worker *worker,
                    const struct gw_msg_registration *registration);
bool gw_sched_adopts(const struct gw_sched *sched, const struct gw_worker *worker, uint64_t job,
                     uint32_t index);

/* gw_sched_adopt_settle takes claims whose tasks are ready now (model/workers/late_claim.h) and
 * refuses those that cannot be taken any more; true: some, and more may be to settle. */
bool gw_sched_adopt_settle(struct gw_sched *sched);

/* gw_sched_adopt_over ends the gangs that have not gathered. */
void gw_sched_adopt_over(struct gw_sched *sched);

#endif
