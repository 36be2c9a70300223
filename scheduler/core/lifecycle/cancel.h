/* Cancelling tasks and jobs. */
#ifndef GW_SCHEDULER_CORE_CANCEL_H
#define GW_SCHEDULER_CORE_CANCEL_H

#include "scheduler/core/model/state.h"

/* gw_sched_cancel_task cancels a task that has not ended. A waiting task ends at once. A placed
 * task ends when its worker reports that the attempt has ended. Tasks that depend on the cancelled
 * task end as well.
 *
 * gw_sched_cancel_job cancels all tasks of a job, except pure tasks that other jobs share.
 *
 * gw_sched_cancel_abandon is for a job whose session is gone: it cancels the tasks that nobody
 * holds or needs. gw_sched_cancel_give_up first releases the job's own futures and then does the
 * same. */
void gw_sched_cancel_task(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                          const struct gw_cancel *cancel);
void gw_sched_cancel_job(struct gw_sched *sched, struct gw_job *job,
                         const struct gw_cancel *cancel);
void gw_sched_cancel_abandon(struct gw_sched *sched, struct gw_job *job,
                             const struct gw_cancel *cancel);
void gw_sched_cancel_give_up(struct gw_sched *sched, struct gw_job *job,
                             const struct gw_cancel *cancel);

/* Handlers of the client messages cancel and release. */
void gw_sched_on_cancel(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_cancel *message);
int gw_sched_on_release(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_release *message);

#endif
