/* Adoption: attempts that continued to run at workers while the scheduler restarted are taken over.
 *
 * A task of a detached job keeps its attempt, its slots and its GPUs. A gang continues when all of
 * its ranks have been reported. If the hold (hold.h) ends first, the gang ends and starts again,
 * which does not count against the retry budget. Attempts that cannot be taken over remain in the
 * worker's list of stale attempts and are ended. */
#ifndef GW_SCHEDULER_CORE_ADOPT_H
#define GW_SCHEDULER_CORE_ADOPT_H

#include "scheduler/core/model/state.h"

/* gw_sched_adopt takes over attempts that the worker's registration names. Invalid entries and
 * entries about unknown tasks are ignored. gw_sched_adopts returns true if the worker runs, or
 * claims to run, an attempt of this task from before the restart, so that the task's results at
 * this worker must stay. */
void gw_sched_adopt(struct gw_sched *sched, struct gw_worker *worker,
                    const struct gw_msg_registration *registration);
bool gw_sched_adopts(const struct gw_sched *sched, const struct gw_worker *worker, uint64_t job,
                     uint32_t index);

/* gw_sched_adopt_settle decides about pending claims (model/workers/late_claim.h): it takes over
 * those whose task is ready now and refuses those that cannot be taken over any more. It returns
 * true if it decided about any claim. In that case call it again, because further claims may be
 * ready. */
bool gw_sched_adopt_settle(struct gw_sched *sched);

/* gw_sched_adopt_over ends the gangs of which some ranks have not come back. */
void gw_sched_adopt_over(struct gw_sched *sched);

/* Results that workers made before the scheduler restarted.
 *
 * For each task of a detached job that ended well, the journal names the attempt. It does not name
 * the workers with results that are too large for the journal. While workers are awaited (hold.h),
 * such a result is "absent": it is neither lost nor usable. A worker that registers names each of
 * its objects together with the attempt that made it. If this is the attempt in the journal, the
 * worker becomes a holder of the result. Results that are still absent at the end of the hold are
 * lost and are computed again if a task needs them. */

/* gw_sched_adopt_objects takes over results that the worker's registration names and releases all
 * others at the worker. Call it after gw_sched_adopt. */
void gw_sched_adopt_objects(struct gw_sched *sched, struct gw_worker *worker,
                            const struct gw_msg_registration *registration);

/* gw_sched_adopt_awaits returns true if all missing results of a task may still come back with an
 * awaited worker. */
bool gw_sched_adopt_awaits(const struct gw_sched *sched, const struct gw_job *job, uint32_t row);

#endif
