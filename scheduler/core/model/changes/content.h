/* Appliers that add the specs and rows of a submission to a job. */
#ifndef GW_SCHEDULER_CORE_CHANGES_CONTENT_H
#define GW_SCHEDULER_CORE_CHANGES_CONTENT_H

#include "scheduler/core/model/state.h"

/* gw_sched_content_replay applies the messages of a detached job, given as frames. For appliers
 * only. Returns the errors of the decoder. */
int gw_sched_content_replay(struct gw_sched *sched, struct gw_job *job, struct gw_bin content);

/* gw_sched_hold_on_spec lets a new job wait with the held jobs if it asks for GPUs. For appliers
 * only. */
void gw_sched_hold_on_spec(struct gw_sched *sched, struct gw_job *job,
                           const struct gw_shape *shape);

#endif
