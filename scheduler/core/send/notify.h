/* Announcements to clients: ended tasks, accepted jobs, and replies to requests. For detached jobs
 * they are sent only after the facts are committed to the journal. */
#ifndef GW_SCHEDULER_CORE_NOTIFY_H
#define GW_SCHEDULER_CORE_NOTIFY_H

#include "scheduler/core/model/clients/notify.h"

/* gw_sched_notify_session tells one session how a task ended. It returns the flags
 * (GW_TASK_TOLD...) to record. */
uint32_t gw_sched_notify_session(struct gw_sched *sched, const struct gw_hearer *to,
                                 struct gw_job *job, uint32_t row);

/* gw_sched_notify_task tells all sessions that hold a task's result that the task ended: at once,
 * or, for a detached job, after the commit. */
void gw_sched_notify_task(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_notify_committed sends the announcements that waited for facts up to `number`, which are
 * now committed. */
void gw_sched_notify_committed(struct gw_sched *sched, uint64_t number);

/* gw_sched_notify_shares tells the other sessions that share the task's result that the task has
 * ended. */
void gw_sched_notify_shares(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_notify_request replies to a request about a job (NULL: about no job). An error is sent
 * at once. A success is sent after all facts so far are committed. If the job is not detached, a
 * success is sent at once, because such a job ends with the scheduler in any case. The function
 * sets acknowledgement->number and ->peer. */
void gw_sched_notify_request(struct gw_sched *sched, struct gw_remote *remote,
                             const struct gw_job *job,
                             const struct gw_acknowledgement *acknowledgement,
                             const struct gw_error *error);

/* gw_sched_notify_waiting sends the replies that waited for facts up to `number`. */
void gw_sched_notify_waiting(struct gw_sched *sched, uint64_t number);

#endif
