/* Jobs: from the first message about one until it is forgotten. */
#ifndef GW_SCHEDULER_CORE_JOB_H
#define GW_SCHEDULER_CORE_JOB_H

#include "scheduler/core/state.h"

/* gw_sched_job_find gives a job by its id, or NULL when there is none (any more). */
struct gw_job *gw_sched_job_find(const struct gw_sched *sched, uint64_t id);

/* gw_sched_job_open makes a job of a session for a request that is new; gives it. */
struct gw_job *gw_sched_job_open(struct gw_sched *sched, struct gw_session *session,
                                 uint64_t request);

/* gw_sched_job_name names it, where it has no name yet: by a text, else by its first function. */
void gw_sched_job_name(struct gw_job *job, const char *name);

/* gw_sched_jobs_settle ends the jobs whose last task has ended. gw_sched_jobs_tidy, at the end of a
 * step, frees what ended jobs will never need again, and forgets the oldest of too many. */
void gw_sched_jobs_settle(struct gw_sched *sched);
void gw_sched_jobs_tidy(struct gw_sched *sched);

/* gw_sched_on_leftovers answers a worker with those of these jobs that are not known any more. */
void gw_sched_on_leftovers(struct gw_sched *sched, const struct gw_worker *worker,
                           const struct gw_msg_leftovers *message);

/* gw_sched_job_shown_ended tells whether the job has ended for the world to see. */
bool gw_sched_job_shown_ended(const struct gw_sched *sched, const struct gw_job *job);

/* gw_sched_job_is_value: it is a value that somebody scattered, and no work: it is in nobody's
 * history, and forgotten when the value was given up and nothing can need it again. */
bool gw_sched_job_is_value(const struct gw_job *job);

/* For apply functions and the end of the core. */
void gw_sched_job_seal(struct gw_sched *sched, struct gw_job *job, uint64_t wall_ns);
void gw_sched_job_reopen(struct gw_sched *sched, struct gw_job *job);
void gw_sched_job_leave_session(struct gw_job *job);
void gw_sched_job_free(struct gw_sched *sched, struct gw_job *job);

#endif
