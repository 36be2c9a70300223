/* Lines for the scheduler's log: who submitted what, and which worker joined or left, and why.
 *
 * Of jobs there are at most GW_LOG_JOBS_MAX lines a second. Those beyond it are counted, and a line
 * tells of all of them, as soon as that second is over and something happens. */
#ifndef GW_SCHEDULER_CORE_LOG_H
#define GW_SCHEDULER_CORE_LOG_H

#include "scheduler/core/model/state.h"

enum { GW_LOG_JOBS_MAX = 10 };

/* Called when a job was accepted whole. */
void gw_sched_log_submitted(struct gw_sched *sched, const struct gw_job *job);

/* Called when a worker is ready for tasks, and when it goes. */
void gw_sched_log_joined(struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_log_left(struct gw_sched *sched, const struct gw_worker *worker, const char *why);

/* gw_sched_log_settle tells of jobs that had no line of their own, when it is time. `last`: now, as
 * this is the last step. */
void gw_sched_log_settle(struct gw_sched *sched, bool last);

#endif
