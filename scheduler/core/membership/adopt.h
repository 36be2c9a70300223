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

/* Regaining: what workers made for an earlier life of the scheduler stays theirs in this one.
 *
 * Of a task of a detached job that had ended well the facts say by which attempt, and nothing of
 * where its results lie that are larger than what is kept here. While workers of that life are
 * awaited (hold.h) such a result is absent: neither lost nor at hand. Who registers names each of
 * its objects with the attempt that made it; where that is the one, it is a holder. What is absent
 * when nobody is awaited any more is lost, and made again where it is needed. */

/* gw_sched_adopt_objects takes what it can of the objects of a registration, after its attempts
 * (adopt.h), and has the worker let go of the others. */
void gw_sched_adopt_objects(struct gw_sched *sched, struct gw_worker *worker,
                            const struct gw_msg_registration *registration);

/* gw_sched_adopt_awaits tells whether all that nobody has of a task's results may come back. */
bool gw_sched_adopt_awaits(const struct gw_sched *sched, const struct gw_job *job, uint32_t row);

#endif
