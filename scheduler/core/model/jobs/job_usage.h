/* Resource usage of jobs: their first start, and slots, GPUs and memory multiplied by the time that
 * attempts held them. For a short task that queues at its worker, only its run time counts. */
#ifndef GW_SCHEDULER_CORE_JOB_USAGE_H
#define GW_SCHEDULER_CORE_JOB_USAGE_H

#include "scheduler/core/model/state.h"

/* Shorter run times are added to the job, but not recorded for the task. */
#define GW_RAN_NS_MIN (10 * GW_NS_PER_MS)

/* The usage of a running job is recorded again when it has grown by this many slot-seconds and
 * GPU-seconds. At most these are lost with the scheduler. */
#define GW_USED_NS_MIN GW_NS_PER_S

/* gw_job_usage_begun records that the first attempt of a job was placed. ran_ns: how long it has
 * run, if it was adopted. Only for use in model/. */
static inline void gw_job_usage_begun(const struct gw_sched *sched, struct gw_job *job,
                                      uint64_t ran_ns)
{
    const uint64_t wall_ns = sched->wall_ns - ran_ns;
    if (!job->usage.started_wall_ns || wall_ns < job->usage.started_wall_ns)
        job->usage.started_wall_ns = wall_ns;
}

/* gw_job_usage_measured adds CPU time that an attempt of a job used, and records that a process of
 * it was seen with this much memory. Calls of an actor count for the job of the actor. */
void gw_job_usage_measured(struct gw_job *job, uint64_t cpu_ns, uint64_t bytes);

/* gw_job_usage_so_far notes the CPU time that a running attempt has used so far. 0: its job has all
 * of it. Calls of an actor have none. */
void gw_job_usage_so_far(struct gw_attempt *attempt, uint64_t cpu_ns);

/* gw_job_usage_record makes the usage of a job durable. It does not contain attempts that run. */
void gw_job_usage_record(struct gw_sched *sched, struct gw_job *job);

/* gw_job_usage_ended adds an attempt that ends. run_ns is the run time that its worker reported (0:
 * none). Only for use in model/. gw_job_usage_ended_slowly handles any attempt. For short tasks
 * that use only slots, of which there are millions, the inline function avoids the call. */
void gw_job_usage_ended_slowly(const struct gw_sched *sched, const struct gw_attempt *attempt,
                               uint64_t run_ns);
static inline void gw_job_usage_ended(struct gw_sched *sched, const struct gw_attempt *attempt,
                                      uint64_t run_ns)
{
    struct gw_job_usage *usage = &attempt->job->usage;
    const struct gw_resource_class *shape = attempt->lane->shape;
    if (attempt->started_ns || attempt->is_long || attempt->gang || attempt->gpus ||
        shape->memory_bytes || run_ns >= GW_RAN_NS_MIN)
        gw_job_usage_ended_slowly(sched, attempt, run_ns);
    else
        usage->slot_ns += run_ns * shape->slots;
    if (usage->slot_ns + usage->gpu_ns - usage->recorded_ns >= GW_USED_NS_MIN)
        gw_job_usage_record(sched, attempt->job);
}

/* gw_job_usage_add adds what a running attempt has used so far. */
void gw_job_usage_add(const struct gw_sched *sched, const struct gw_attempt *attempt,
                      struct gw_job_usage *usage);

/* gw_job_usage_ran returns when the latest attempt of a task began and how long it ran. Returns
 * NULL if it ran for less than GW_RAN_NS_MIN or has not ended. */
const struct gw_ran *gw_job_usage_ran(const struct gw_job *job, uint32_t row);

/* gw_job_usage_write_task makes the same durable for an ending task. */
void gw_job_usage_write_task(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
