/* Cancelling. */
#ifndef GW_SCHEDULER_CORE_CANCEL_H
#define GW_SCHEDULER_CORE_CANCEL_H

#include "scheduler/core/model/state.h"

/* gw_sched_cancel_task cancels a task that has not ended: at once, or when its worker says that it
 * ended. What depends on it follows. gw_sched_cancel_job cancels all of a job, but pure tasks that
 * other jobs share; gw_sched_cancel_abandon what nobody holds or needs of one whose session is
 * gone; gw_sched_cancel_give_up the same, after its own futures were given up. */
void gw_sched_cancel_task(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                          const struct gw_cancel *cancel);
void gw_sched_cancel_job(struct gw_sched *sched, struct gw_job *job,
                         const struct gw_cancel *cancel);
void gw_sched_cancel_abandon(struct gw_sched *sched, struct gw_job *job,
                             const struct gw_cancel *cancel);
void gw_sched_cancel_give_up(struct gw_sched *sched, struct gw_job *job,
                             const struct gw_cancel *cancel);

/* gw_sched_on_cancel and _release take a client's message. */
void gw_sched_on_cancel(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_cancel *message);
int gw_sched_on_release(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_release *message);

#endif
