/* Lines for the scheduler's log: which client submitted which job, and which worker joined or left,
 * and why.
 *
 * At most GW_LOG_JOBS_MAX jobs a second get a line of their own. The scheduler counts the jobs
 * beyond that and writes one line for all of them at the first step after this second. */
#ifndef GW_SCHEDULER_CORE_LOG_H
#define GW_SCHEDULER_CORE_LOG_H

#include "scheduler/core/model/state.h"

enum { GW_LOG_JOBS_MAX = 10 };

/* gw_sched_log_submitted is called when a job was accepted completely. */
void gw_sched_log_submitted(struct gw_sched *sched, const struct gw_job *job);

/* gw_sched_log_joined is called when a worker becomes ready for tasks, gw_sched_log_left when it
 * leaves. */
void gw_sched_log_joined(struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_log_left(struct gw_sched *sched, const struct gw_worker *worker, const char *why);

/* gw_sched_log_clock is called when the scheduler's clock was found to be wrong, or right again. */
void gw_sched_log_clock(struct gw_sched *sched);

/* gw_sched_log_settle writes the line about jobs that had no line of their own, if the second is
 * over. In the last step (`last`) it writes the line at once. */
void gw_sched_log_settle(struct gw_sched *sched, bool last);

#endif
