/* Announcements: ends and acceptances, told to the session once they may be told. */
#ifndef GW_SCHEDULER_CORE_NOTIFY_H
#define GW_SCHEDULER_CORE_NOTIFY_H

#include "scheduler/core/model/clients/notify.h"

/* gw_sched_notify_session tells one session how a task ended; gives the flags that say what it was
 * told. */
uint32_t gw_sched_notify_session(struct gw_sched *sched, const struct gw_hearer *to,
                                 struct gw_job *job, uint32_t row);

/* gw_sched_notify_task tells all that hold a task's result that it ended: at once, or after the
 * commit where the job is detached. */
void gw_sched_notify_task(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_notify_committed tells what waited for facts that are committed now. */
void gw_sched_notify_committed(struct gw_sched *sched, uint64_t number);

/* gw_sched_notify_shares tells the sessions among them that the task has ended. */
void gw_sched_notify_shares(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_notify_request answers a call about a job (NULL: about none): an error at once, and that
 * all is well once all facts so far are committed. What is asked of a job that ends with its client
 * is answered at once: it ends with the scheduler, too. number and peer are set here. */
void gw_sched_notify_request(struct gw_sched *sched, struct gw_remote *remote,
                             const struct gw_job *job,
                             const struct gw_acknowledgement *acknowledgement,
                             const struct gw_error *error);

/* gw_sched_notify_waiting sends those that waited for facts up to this number. */
void gw_sched_notify_waiting(struct gw_sched *sched, uint64_t number);

#endif
