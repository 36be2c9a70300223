/* Gates: jobs that start when other jobs have ended. */
#ifndef GW_SCHEDULER_CORE_JOBS_GATE_H
#define GW_SCHEDULER_CORE_JOBS_GATE_H

#include "scheduler/core/model/state.h"

/* gw_sched_gate_check: GW_ENOENT, GW_EPERM, GW_EINVAL, GW_ELIMIT, or GW_EDEPENDENCY for a job that
 * has failed already. admin: who submits may name jobs of others. */
int gw_sched_gate_check(const struct gw_sched *sched, const struct gw_job *job,
                        const struct gw_msg_after *after, bool admin, struct gw_error *error);

/* gw_sched_gates_on_ended, for an apply function: a job has ended; those that come after it. */
void gw_sched_gates_on_ended(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_gates_close, for an apply function: what ended in a job is to run again, and waits for
 * those before it that run, too. */
void gw_sched_gates_close(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_gate_explain writes which jobs a gated one waits for. */
void gw_sched_gate_explain(const struct gw_sched *sched, const struct gw_job *job, char *text,
                           size_t text_bytes);

#endif
