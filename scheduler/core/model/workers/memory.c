/* Memory of workers.
 *
 * The size of results is not declared, so it is learned for each spec: the mean size of its
 * results, and the highest memory use seen for one of its processes. A task is not placed at a
 * worker if it would take the memory above the limit at which the worker pauses, unless nothing
 * else runs there. Then it runs alone. Declared memory is debited like slots (worker_queue.c), in
 * addition to this.
 *
 * Tasks without inputs (roots) only add to memory. Tasks with inputs may free memory. So while
 * tasks with inputs wait for a slot, roots are not placed above the worker's memory target, where
 * results would be spilled to disk and read back later. */
#include "scheduler/core/model/workers/memory.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/workers/gang_size.h"
#include "scheduler/core/model/workers/worker.h"

#include <stdlib.h>
#include <string.h>

enum {
    AHEAD_PART = 16,   /* 1/16 of a worker's memory is for results of prefetched tasks */
    TRIES_AT_ONCE = 3, /* attempts without a delay of a task that was given back */
    DOUBLINGS_MAX = 6,
};
#define BACK_OFF_NS (100 * GW_NS_PER_MS)

/* -- Reports of workers ----------------------------------------------------------------------- */

bool gw_sched_memory_elsewhere(const struct gw_sched *sched, const struct gw_resource_class *shape)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY && worker->memory.state == GW_MEMORY_OPEN &&
            !worker->leaves && !worker->drained &&
            gw_sched_gang_size_ranks_at(sched, worker, shape, true) > 0)
            return true;
    }
    return false;
}

/* Returns the delay of a task that a short worker gave back. Moving inputs to a worker and
 * releasing them again takes work, so the delay grows with each attempt. A task without inputs
 * needs no delay, unless its worker refused it and would be asked again. */
uint64_t gw_sched_memory_back_off_ns(const struct gw_sched *sched, const struct gw_job *job,
                                     uint32_t row, bool refused)
{
    const struct gw_tasks *tasks = &job->tasks;
    const struct gw_worker *worker = gw_sched_worker_find(sched, tasks->worker[row]);
    uint32_t tries = tasks->charges[row].tries;
    if (!worker || worker->memory.state == GW_MEMORY_OPEN || tries < TRIES_AT_ONCE ||
        (tasks->deps_at[row] == gw_sched_deps_end(tasks, row) && !refused))
        return 0;
    uint32_t doublings = tries - TRIES_AT_ONCE;
    return BACK_OFF_NS << (doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX);
}

void gw_sched_memory_take_report(struct gw_sched *sched, struct gw_worker *worker,
                                 const struct gw_msg_memory *report)
{
    free(worker->memory_trouble);
    worker->memory_trouble = NULL;
    if (*report->trouble) {
        worker->memory_trouble = strdup(report->trouble);
        GW_MUST_PTR(worker->memory_trouble);
    }
    if (report->state != GW_MEMORY_ONE || worker->memory.state != GW_MEMORY_ONE)
        worker->memory_one = report->state == GW_MEMORY_ONE;
    worker->memory = *report;
    worker->memory.trouble = NULL;
    worker->memory_used_bytes = report->used_bytes;
    sched->freed = true;
}

void gw_sched_memory_measured(struct gw_sched *sched, uint32_t slot, uint64_t bytes)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_spec *spec = &attempt->job->specs.items[attempt->job->tasks.spec[attempt->index]];
    if (bytes > spec->peak_bytes)
        spec->peak_bytes = bytes;
}

/* -- Room ------------------------------------------------------------------------------------- */

/* Returns the memory of results in memory plus that of running tasks, as measured or as expected,
 * whichever is larger. */
static uint64_t load(const struct gw_worker *worker)
{
    uint64_t runs = worker->memory.processes_bytes;
    return worker->memory.resident_bytes +
           (runs > worker->expected_bytes ? runs : worker->expected_bytes);
}

bool gw_sched_memory_below(const struct gw_worker *worker, uint64_t bytes, bool held_back)
{
    uint64_t pause = worker->memory.pause_bytes, target = worker->memory.target_bytes;
    uint64_t line = held_back && target && (!pause || target < pause) ? target : pause;
    return !line || load(worker) + bytes <= line;
}

uint32_t gw_sched_memory_window(const struct gw_worker *worker, const struct gw_spec *spec,
                                uint32_t window)
{
    if (spec->mean_bytes < GW_EXPECTED_MIN || !worker->slots)
        return window;
    uint64_t ahead = worker->memory_bytes / AHEAD_PART / worker->slots / spec->mean_bytes;
    return ahead + 1 < window ? (uint32_t)ahead + 1 : window;
}

uint64_t gw_sched_memory_free(const struct gw_worker *worker)
{
    uint64_t pause = worker->memory.pause_bytes ? worker->memory.pause_bytes : worker->memory_bytes;
    return load(worker) < pause ? pause - load(worker) : 0;
}
