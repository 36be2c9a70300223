/* Marks on pending requests: what changed since they were looked at. */
#ifndef GW_SCHEDULER_CORE_PENDING_H
#define GW_SCHEDULER_CORE_PENDING_H

#include "scheduler/core/model/state.h"

/* gw_sched_pending_on_back has those looked at again that wait for a worker to come back: one is
 * back, or nobody is waited for any more. Called by apply functions. */
void gw_sched_pending_on_back(struct gw_sched *sched);

/* gw_sched_pending_on_placed marks a job's pending requests to be looked at: a task of it was
 * placed. gw_sched_pending_on_worker_lost frees those that a lost worker was to answer, to be
 * asked elsewhere. For apply functions. */
void gw_sched_pending_on_placed(struct gw_sched *sched, const struct gw_job *job);
void gw_sched_pending_on_worker_lost(struct gw_sched *sched, uint32_t id);

/* gw_sched_pending_deinit frees all. */
void gw_sched_pending_deinit(struct gw_sched *sched);

#endif
