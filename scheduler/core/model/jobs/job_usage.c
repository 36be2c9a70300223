/* Resource usage of jobs. */
#include "scheduler/core/model/jobs/job_usage.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/actor.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/workers/gpu.h"

/* Returns how long an attempt has held its resources. Short tasks queue at their worker, so only
 * their known run time counts. */
static uint64_t held_ns(const struct gw_sched *sched, const struct gw_attempt *attempt,
                        uint64_t run_ns)
{
    if (attempt->started_ns && !attempt->gang)
        return sched->now_ns - attempt->started_ns > run_ns ? sched->now_ns - attempt->started_ns
                                                            : run_ns;
    return attempt->gang || attempt->is_long ? sched->now_ns - attempt->placed_ns : run_ns;
}

static void add(const struct gw_attempt *attempt, uint64_t ns, struct gw_job_usage *usage)
{
    const struct gw_resource_class *shape = attempt->lane->shape;
    usage->slot_ns += ns * shape->slots;
    if (attempt->gpus)
        usage->gpu_ns +=
            ns / GW_GPU_WHOLE *
            (attempt->gpu_fraction ? attempt->gpu_fraction : attempt->gpus * GW_GPU_WHOLE);
    if (shape->memory_bytes)
        usage->memory_mib_ms += (shape->memory_bytes >> 20) * (ns / GW_NS_PER_MS);
}

static void note_ran(struct gw_job *job, uint32_t row, const struct gw_ran *ran)
{
    uint64_t known;
    if (ran->run_ns < GW_RAN_NS_MIN || gw_sched_rows_in_all(job) > GW_PLACES_RETAINED_MAX)
        return;
    struct gw_map *all = &gw_job_rare_make(job)->ran;
    struct gw_ran *of = gw_map_get(all, row, &known) ? (struct gw_ran *)(uintptr_t)known
                                                     : gw_arena_alloc(&job->arena, sizeof *of);
    GW_MUST_PTR(of);
    *of = *ran;
    GW_MUST(gw_map_put(all, row, (uintptr_t)of));
}

void gw_job_usage_ended_slowly(const struct gw_sched *sched, const struct gw_attempt *attempt,
                               uint64_t run_ns)
{
    const uint64_t ns = held_ns(sched, attempt, run_ns);
    add(attempt, ns, &attempt->job->usage);
    note_ran(attempt->job, attempt->index,
             &(struct gw_ran){.started_wall_ns = sched->wall_ns - ns, .run_ns = ns});
}

void gw_job_usage_add(const struct gw_sched *sched, const struct gw_attempt *attempt,
                      struct gw_job_usage *usage)
{
    add(attempt, held_ns(sched, attempt, 0), usage);
    usage->cpu_ns += attempt->cpu_ns;
}

void gw_job_usage_measured(struct gw_job *job, uint64_t cpu_ns, uint64_t bytes)
{
    struct gw_job_usage *usage = job->calls_of ? &job->calls_of->job->usage : &job->usage;
    usage->cpu_ns += cpu_ns;
    if (bytes > usage->peak_bytes)
        usage->peak_bytes = bytes;
}

void gw_job_usage_so_far(struct gw_attempt *attempt, uint64_t cpu_ns)
{
    attempt->cpu_ns = attempt->job->calls_of ? 0 : cpu_ns;
}

void gw_job_usage_record(struct gw_sched *sched, struct gw_job *job)
{
    if (!job->usage.started_wall_ns)
        return;
    GW_FACT(sched, job_resources, .at = job, .job = job->id,
            .started_wall_ns = job->usage.started_wall_ns, .slot_ns = job->usage.slot_ns,
            .gpu_ns = job->usage.gpu_ns, .memory_mib_ms = job->usage.memory_mib_ms,
            .cpu_ns = job->usage.cpu_ns, .peak_bytes = job->usage.peak_bytes);
}

void gw_sched_apply_job_resources(struct gw_sched *sched, const struct gw_fact_job_resources *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    job->usage = (struct gw_job_usage){.started_wall_ns = fact->started_wall_ns,
                                       .slot_ns = fact->slot_ns,
                                       .gpu_ns = fact->gpu_ns,
                                       .memory_mib_ms = fact->memory_mib_ms,
                                       .cpu_ns = fact->cpu_ns,
                                       .peak_bytes = fact->peak_bytes,
                                       .recorded_ns = fact->slot_ns + fact->gpu_ns};
}

void gw_sched_apply_job_used(struct gw_sched *sched, const struct gw_fact_job_used *fact)
{
    gw_sched_apply_job_resources(
        sched, &(struct gw_fact_job_resources){.at = fact->at,
                                               .job = fact->job,
                                               .started_wall_ns = fact->started_wall_ns,
                                               .slot_ns = fact->slot_ns,
                                               .gpu_ns = fact->gpu_ns,
                                               .memory_mib_ms = fact->memory_mib_ms});
}

const struct gw_ran *gw_job_usage_ran(const struct gw_job *job, uint32_t row)
{
    uint64_t known;
    return gw_map_get(&gw_job_rare(job)->ran, row, &known) ? (struct gw_ran *)(uintptr_t)known
                                                           : NULL;
}

void gw_job_usage_write_task(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    const struct gw_ran *ran = gw_job_usage_ran(job, row);
    if (ran)
        GW_FACT(sched, task_timed, .at = job, .job = job->id, .index = row,
                .started_wall_ns = ran->started_wall_ns, .run_ns = ran->run_ns);
}

/* Restores when and how long a task ran. Used only while restoring: later the state has this
 * already. */
void gw_sched_apply_task_timed(struct gw_sched *sched, const struct gw_fact_task_timed *fact)
{
    if (sched->restoring)
        note_ran(gw_sched_job_find(sched, fact->job), fact->index,
                 &(struct gw_ran){fact->started_wall_ns, fact->run_ns});
}
