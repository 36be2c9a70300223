/* Jobs that start after other jobs have ended. */
#ifndef GW_SCHEDULER_CORE_JOBS_GATE_H
#define GW_SCHEDULER_CORE_JOBS_GATE_H

#include "scheduler/core/model/state.h"

/* gw_sched_gate_check returns GW_ENOENT, GW_EPERM, GW_EINVAL, GW_ELIMIT, or GW_EDEPENDENCY if a job
 * before it has failed already. admin: the client may name jobs of other users. */
int gw_sched_gate_check(const struct gw_sched *sched, const struct gw_job *job,
                        const struct gw_msg_after *after, bool admin, struct gw_error *error);

/* gw_sched_gates_on_ended updates the jobs that wait for a job that has ended. Only for use in
 * model/. */
void gw_sched_gates_on_ended(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_gates_close gates an ended job that runs again, if jobs before it run, too. Only for use
 * in model/. */
void gw_sched_gates_close(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_gate_explain writes the jobs for which a gated job waits. */
void gw_sched_gate_explain(const struct gw_sched *sched, const struct gw_job *job, char *text,
                           size_t text_bytes);

/* gw_sched_gate_add records that a job may start only after other jobs have ended.
 * gw_sched_gate_job_written records that the job is on disk. */
void gw_sched_gate_add(struct gw_sched *sched, struct gw_job *job,
                       const struct gw_msg_after *after);
void gw_sched_gate_job_written(struct gw_sched *sched, struct gw_job *job);

#endif
