/* Memory of workers: their reports, the expected memory of a task, and the workers with room. */
#ifndef GW_SCHEDULER_CORE_MEMORY_H
#define GW_SCHEDULER_CORE_MEMORY_H

#include "graph/wire/enums.h"
#include "scheduler/core/model/state.h"

enum { GW_EXPECTED_MIN = 64 << 10 }; /* bytes: smaller amounts are not counted */

/* gw_sched_memory_back_off_ns returns how long a task waits that a worker gave back. It is 0,
 * unless the worker is short of memory and the task with its inputs was given back several times,
 * or the worker refused the task (refused). */
uint64_t gw_sched_memory_back_off_ns(const struct gw_sched *sched, const struct gw_job *job,
                                     uint32_t row, bool refused);

/* gw_sched_memory_expected returns how much a task of a spec is expected to add to its worker's
 * memory: its result and, if no memory was declared, the memory of its process. 0: too little to
 * count. */
static inline uint64_t gw_sched_memory_expected(const struct gw_spec *spec)
{
    uint64_t bytes = spec->mean_bytes + (spec->message.memory_bytes ? 0 : spec->peak_bytes);
    return bytes < GW_EXPECTED_MIN ? 0 : bytes;
}

/* gw_sched_memory_aside updates worker->aside, the number of attempts that memory need not wait
 * for. An actor that has started stays as long as handles to it exist, and its calls must run there
 * in any case. An attempt that waits for other tasks lets these run. */
static inline void gw_sched_memory_aside(struct gw_attempt *attempt)
{
    bool aside = attempt->blocked || attempt->stands;
    if (aside != attempt->aside)
        attempt->worker->aside += aside ? 1 : UINT32_MAX;
    attempt->aside = aside;
}

/* gw_sched_memory_admits returns true if a worker has memory for one more task of this size.
 * held_back: memory above the worker's target is kept for other tasks. gw_sched_memory_below
 * returns true if the memory would stay below the limit, whatever else runs. */
bool gw_sched_memory_below(const struct gw_worker *worker, uint64_t bytes, bool held_back);
static inline bool gw_sched_memory_admits(const struct gw_worker *worker, uint64_t bytes,
                                          bool held_back)
{
    return bytes == 0 || worker->memory_one || worker->attempts == worker->aside ||
           gw_sched_memory_below(worker, bytes, held_back);
}

/* gw_sched_memory_window reduces a prefetch window, so that the results of prefetched tasks do not
 * fill the worker's memory. */
uint32_t gw_sched_memory_window(const struct gw_worker *worker, const struct gw_spec *spec,
                                uint32_t window);

/* gw_sched_memory_elsewhere returns true if any worker that could run this class has memory. */
bool gw_sched_memory_elsewhere(const struct gw_sched *sched, const struct gw_resource_class *shape);

/* gw_sched_memory_free returns the free memory of a worker below the limit at which it pauses. */
uint64_t gw_sched_memory_free(const struct gw_worker *worker);

/* What a worker reports about its memory, and about one attempt. */
void gw_sched_memory_measured(struct gw_sched *sched, uint32_t slot, uint64_t bytes);
void gw_sched_memory_take_report(struct gw_sched *sched, struct gw_worker *worker,
                                 const struct gw_msg_memory *report);

#endif
