/* Requests of users to running gangs: pause, resume, restart and stop.
 *
 * For a detached job, a request is stored in the journal until the attempt has been decided.
 * Therefore a gang that was told to stop or pause does so even if the scheduler restarts before the
 * workers have received the request. */
#ifndef GW_SCHEDULER_CORE_GANG_CONTROL_H
#define GW_SCHEDULER_CORE_GANG_CONTROL_H

#include "scheduler/core/model/state.h"

#include <gangway/error.h>

/* gw_sched_on_gang_ask applies a user's request to all running gangs of a job and replies. */
void gw_sched_on_gang_ask(struct gw_sched *sched, struct gw_session *session,
                          const struct gw_msg_gang_ask *ask);

/* gw_sched_gang_control_again repeats a request to the ranks of an attempt that was started before
 * the scheduler restarted, because the ranks may not have received it. It may end the attempt.
 * gw_sched_gang_control_over ends the tasks whose gang was told to stop and did not come back after
 * the restart. */
void gw_sched_gang_control_again(struct gw_sched *sched, struct gw_gang_attempt *gang);
void gw_sched_gang_control_over(struct gw_sched *sched);

/* gw_sched_gang_control_pause_job pauses a job for a client: no task of it starts until
 * gw_sched_gang_control_pause_over resumes the job. If an admin has paused the job of another user,
 * only an admin resumes it. GW_EINVAL: the job cannot be paused or is not paused; GW_EPERM. */
int gw_sched_gang_control_pause_job(struct gw_sched *sched, struct gw_job *job,
                                    const struct gw_remote *remote, struct gw_error *error);
int gw_sched_gang_control_pause_over(struct gw_sched *sched, struct gw_job *job,
                                     const struct gw_remote *remote, struct gw_error *error);

/* gw_sched_gang_control_preempt tells a running gang to save and to end, because other work needs
 * its room. by: for whom, for people. Functions return at a step, commands get their grace period.
 * The end counts against no budget, and the gang starts again. gw_sched_gang_control_spare tells
 * functions that have not returned yet to go on. */
void gw_sched_gang_control_preempt(struct gw_sched *sched, struct gw_gang_attempt *gang,
                                   const char *by);
void gw_sched_gang_control_spare(struct gw_sched *sched, struct gw_gang_attempt *gang);

#endif
