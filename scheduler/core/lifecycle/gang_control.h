/* What users ask of gangs that run.
 *
 * Of a detached job it is durable, until the attempt is judged: who was told that a gang stops, or
 * pauses, finds it so in every later life, whether its workers had heard of it or not. */
#ifndef GW_SCHEDULER_CORE_GANG_CONTROL_H
#define GW_SCHEDULER_CORE_GANG_CONTROL_H

#include "scheduler/core/model/state.h"

#include <gangway/error.h>

/* gw_sched_on_gang_ask does to all gangs of a job that run what its user asks, and replies. */
void gw_sched_on_gang_ask(struct gw_sched *sched, struct gw_session *session,
                          const struct gw_msg_gang_ask *ask);

/* gw_sched_gang_control_again asks the ranks of an attempt of an earlier term, which may not have
 * heard it. It may end it. gw_sched_gang_control_over ends the tasks whose gang was told to stop
 * and does not come back. */
void gw_sched_gang_control_again(struct gw_sched *sched, struct gw_gang_attempt *gang);
void gw_sched_gang_control_over(struct gw_sched *sched);

/* gw_sched_gang_control_pause_job has nothing of a job start until
 * gw_sched_gang_control_pause_over. by: who wants it, for people. GW_EINVAL where that cannot be,
 * or (over) the job is not paused. */
int gw_sched_gang_control_pause_job(struct gw_sched *sched, struct gw_job *job, const char *by,
                                    struct gw_error *error);
int gw_sched_gang_control_pause_over(struct gw_sched *sched, struct gw_job *job, const char *by,
                                     struct gw_error *error);

#endif
