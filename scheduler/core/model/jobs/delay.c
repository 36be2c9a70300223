/* Tasks that wait for their retry delay. */

#include "scheduler/core/model/jobs/delay.h"

#include "graph/base/heap.h"
#include "scheduler/core/model/jobs/job.h"

static bool is_sooner(struct gw_delay a, struct gw_delay b)
{
    return a.due_ns < b.due_ns;
}

static void heap_set(struct gw_delay *items, size_t at, struct gw_delay delay)
{
    items[at] = delay;
}

GW_HEAP(heap, struct gw_delay, is_sooner, heap_set)

void gw_sched_delay_push(struct gw_sched *sched, const struct gw_delay *delay)
{
    GW_MUST(gw_array_push(&sched->delays, *delay));
    heap_up(sched->delays.items, sched->delays.count - 1);
}

/* Returns the job of an entry's task, or NULL if the task does not wait any more or waits for a
 * later restart. */
struct gw_job *gw_sched_delay_job(const struct gw_sched *sched, const struct gw_delay *delay)
{
    struct gw_job *job = gw_sched_job_find(sched, delay->job);
    if (!job || !(job->tasks.flags[delay->index] & GW_TASK_DELAYED) ||
        job->tasks.charges[delay->index].tries != delay->tries)
        return NULL;
    return job;
}

/* After a restart of the scheduler, only wall-clock time can be compared, and that clock may have
 * been changed. So the remaining delay is limited to the whole delay. */
uint64_t gw_sched_delay_rest_ns(const struct gw_sched *sched, const struct gw_job *job,
                                const struct gw_delay *before)
{
    const struct gw_tasks *tasks = &job->tasks;
    uint64_t most_ns = gw_sched_delay_ns(&job->specs.items[tasks->spec[before->index]],
                                         &tasks->charges[before->index]);
    uint64_t left_ns = before->due_ns > sched->wall_ns ? before->due_ns - sched->wall_ns : 0;
    return left_ns < most_ns ? left_ns : most_ns;
}

void gw_sched_delay_pass(struct gw_sched *sched)
{
    struct gw_delay delay = sched->delays.items[0];
    heap_remove(sched->delays.items, &sched->delays.count, 0);
    struct gw_job *job = gw_sched_delay_job(sched, &delay);
    if (!job)
        return;
    job->tasks.flags[delay.index] &= (uint16_t)~GW_TASK_DELAYED;
    GW_MUST(gw_array_push(&sched->reopened, (struct gw_row){job, delay.index}));
}

uint64_t gw_sched_delay_ns(const struct gw_spec *spec, const struct gw_charges *charges)
{
    uint64_t delay_ns = spec->message.backoff_ns;
    if (delay_ns > GW_BACKOFF_NS_MAX)
        delay_ns = GW_BACKOFF_NS_MAX;
    for (uint32_t i = 1; i < (uint32_t)charges->retries + charges->crashes; i++) {
        if (delay_ns >= GW_BACKOFF_NS_MAX / 2)
            return delay_ns ? GW_BACKOFF_NS_MAX : 0;
        delay_ns *= 2;
    }
    return delay_ns;
}

struct gw_delays gw_sched_delays_take(struct gw_sched *sched)
{
    struct gw_delays waiting = {0};
    for (size_t i = 0; i < sched->delays.count; i++)
        if (gw_sched_delay_job(sched, &sched->delays.items[i]))
            GW_MUST(gw_array_push(&waiting, sched->delays.items[i]));
    for (size_t i = 0; i < sched->delays.count; i++) { /* including entries of earlier restarts */
        struct gw_job *job = gw_sched_job_find(sched, sched->delays.items[i].job);
        if (job)
            job->tasks.flags[sched->delays.items[i].index] &= (uint16_t)~GW_TASK_DELAYED;
    }
    gw_array_clear(&sched->delays);
    return waiting;
}
