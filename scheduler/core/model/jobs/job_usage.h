/* What jobs use of the cluster: since when, and slots, GPUs and memory times the time that attempts
 * held them. Of a short task that waits at its worker, only the time that it ran counts. */
#ifndef GW_SCHEDULER_CORE_JOB_USAGE_H
#define GW_SCHEDULER_CORE_JOB_USAGE_H

#include "scheduler/core/model/state.h"

/* What ran for less is added up, and of no task noted. */
#define GW_RAN_NS_MIN (10 * GW_NS_PER_MS)

/* gw_job_usage_begun notes that a job's first attempt was given to a worker. For apply functions.
 */
static inline void gw_job_usage_begun(const struct gw_sched *sched, struct gw_job *job)
{
    if (!job->usage.started_wall_ns)
        job->usage.started_wall_ns = sched->wall_ns;
}

/* gw_job_usage_ended adds an attempt that ends, which ran for run_ns, as its worker says (0: it
 * does not say). For apply functions. gw_job_usage_ended_slowly does so for any attempt; short
 * tasks that ask for slots alone, of which there are millions, need no call. */
void gw_job_usage_ended_slowly(const struct gw_sched *sched, const struct gw_attempt *attempt,
                               uint64_t run_ns);
static inline void gw_job_usage_ended(const struct gw_sched *sched,
                                      const struct gw_attempt *attempt, uint64_t run_ns)
{
    const struct gw_shape *shape = attempt->lane->shape;
    if (attempt->started_ns || attempt->is_long || attempt->gang || attempt->gpus ||
        shape->memory_bytes || run_ns >= GW_RAN_NS_MIN)
        gw_job_usage_ended_slowly(sched, attempt, run_ns);
    else
        attempt->job->usage.slot_ns += run_ns * shape->slots;
}

/* gw_job_usage_add adds what an attempt that runs has used so far. */
void gw_job_usage_add(const struct gw_sched *sched, const struct gw_attempt *attempt,
                      struct gw_job_usage *usage);

/* gw_job_usage_keep makes it durable for a job that ends. */
void gw_job_usage_keep(struct gw_sched *sched, struct gw_job *job);

/* gw_job_usage_ran tells when a task's latest attempt began, and how long it ran: NULL for one that
 * ran for less than 10 ms, or that has not ended. */
const struct gw_ran *gw_job_usage_ran(const struct gw_job *job, uint32_t row);

/* gw_job_usage_write_task makes that durable for a task that ends. */
void gw_job_usage_write_task(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
