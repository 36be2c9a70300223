/* Memory of workers.
 *
 * Nobody says how large results will be, so specs learn it: the mean size of their results, and the
 * most that a process of theirs was seen with. A task is not placed where that would pass the line
 * at which the worker pauses, unless nothing else is there: then it runs alone. What was declared
 * is debited like slots (worker_queue.c), and comes on top of this.
 *
 * Tasks without inputs (roots) only add to memory; those with inputs let it go. So while some of
 * the latter are ready and wait for a slot, roots are held back above the worker's target, where
 * results would go to disk to come back later. */
#include "scheduler/core/model/workers/memory.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/workers/gang_size.h"
#include "scheduler/core/model/workers/worker.h"

#include <stdlib.h>
#include <string.h>

enum {
    AHEAD_PART = 16,   /* of a worker's memory: for results of what was prefetched */
    TRIES_AT_ONCE = 3, /* of a task that is given back */
    DOUBLINGS_MAX = 6,
};
#define BACK_OFF_NS (100 * GW_NS_PER_MS)

/* -- What workers say ----------------------------------------------------------------------------
 */

bool gw_sched_memory_elsewhere(const struct gw_sched *sched, const struct gw_shape *shape)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY && worker->memory.state == GW_MEMORY_OPEN &&
            !worker->leaves && gw_sched_gang_size_ranks_at(sched, worker, shape, true) > 0)
            return true;
    }
    return false;
}

/* Each time inputs come and are let go, which takes work and is charged to nobody: less and less
 * often. What has none costs nothing, unless its worker refused it, and may be asked again. */
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

void gw_sched_apply_worker_memory(struct gw_sched *sched, const struct gw_fact_worker_memory *fact)
{
    struct gw_worker *worker = fact->worker;
    const struct gw_msg_memory *report = fact->report;
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

void gw_sched_apply_attempt_measured(struct gw_sched *sched,
                                     const struct gw_fact_attempt_measured *fact)
{
    const struct gw_attempt *attempt = &sched->attempts.items[fact->slot];
    struct gw_spec *spec = &attempt->job->specs.items[attempt->job->tasks.spec[attempt->index]];
    if (fact->bytes > spec->peak_bytes)
        spec->peak_bytes = fact->bytes;
}

/* -- Who has room --------------------------------------------------------------------------------
 */

/* Results in memory, and what runs: as it was seen, or as it is expected to become. */
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
