/* Jobs: from the first message about one until it is forgotten. */
#ifndef GW_SCHEDULER_CORE_JOBS_JOB_H
#define GW_SCHEDULER_CORE_JOBS_JOB_H

#include "scheduler/core/model/state.h"

/* gw_sched_job_find gives a job by its id, or NULL when there is none (any more). */
struct gw_job *gw_sched_job_find(const struct gw_sched *sched, uint64_t id);

/* gw_sched_job_open makes a job of a session for a request that is new; gives it. */
struct gw_job *gw_sched_job_open(struct gw_sched *sched, struct gw_session *session,
                                 uint64_t request);

/* gw_sched_job_name names it, where it has no name yet: by a text, else by its first function. */
void gw_sched_job_name(struct gw_job *job, const char *name);

/* gw_sched_job_shown_ended tells whether the job has ended for the world to see. */
bool gw_sched_job_shown_ended(const struct gw_sched *sched, const struct gw_job *job);

/* gw_sched_job_is_value: it is a value that somebody scattered, and no work: it is in nobody's
 * history, and forgotten when the value was given up and nothing can need it again. */
bool gw_sched_job_is_value(const struct gw_job *job);

/* For apply functions and the end of the core. gw_sched_job_seal: no more chunks come;
 * gw_sched_job_reopen: an ended job has tasks to run again; gw_sched_job_leave_session: its session
 * forgets it. */
void gw_sched_job_seal(struct gw_sched *sched, struct gw_job *job, uint64_t wall_ns);
void gw_sched_job_reopen(struct gw_sched *sched, struct gw_job *job);
void gw_sched_job_leave_session(struct gw_job *job);

/* gw_sched_job_new makes an empty job with an id and lists it, by id; for apply functions. The
 * scheduler owns it. */
struct gw_job *gw_sched_job_new(struct gw_sched *sched, uint64_t id);

/* gw_sched_job_ended_unlink takes a job out of the list of ended jobs; does nothing for a scattered
 * value. */
void gw_sched_job_ended_unlink(struct gw_sched *sched, struct gw_job *job);

#endif
