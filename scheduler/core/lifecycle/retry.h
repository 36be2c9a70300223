/* Running again what had ended badly. */
#ifndef GW_SCHEDULER_CORE_RETRY_H
#define GW_SCHEDULER_CORE_RETRY_H

#include "scheduler/core/model/state.h"

/* gw_sched_on_retry opens a task that its user names, or all of a job that failed or were
 * cancelled, and replies with how many. */
void gw_sched_on_retry(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_msg_retry *message);

/* gw_sched_retry opens a task that failed, or was told to have failed, with its charges forgiven,
 * and what failed before it. */
void gw_sched_retry(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_retry_reopen releases the results of a task that ended and opens it again, with its
 * charges. */
void gw_sched_retry_reopen(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                           uint32_t retry);

/* gw_sched_retry_run_again does so with its charges forgiven, but for the number of its tries. */
void gw_sched_retry_run_again(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              uint32_t retry);

#endif
