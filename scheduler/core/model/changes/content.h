/* What a client submitted becomes a job. */
#ifndef GW_SCHEDULER_CORE_CHANGES_CONTENT_H
#define GW_SCHEDULER_CORE_CHANGES_CONTENT_H

#include "scheduler/core/model/state.h"

/* gw_sched_content_replay applies the messages of a detached job, as frames; for apply functions.
 * Errors: those of the decoder. */
int gw_sched_content_replay(struct gw_sched *sched, struct gw_job *job, struct gw_bin content);

/* gw_sched_hold_on_spec has a new job wait with those that are held, if it wants GPUs; for apply
 * functions. */
void gw_sched_hold_on_spec(struct gw_sched *sched, struct gw_job *job,
                           const struct gw_shape *shape);

#endif
