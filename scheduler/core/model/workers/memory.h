/* Memory of workers: what they say of it, what a task is expected to take, and who has room. */
#ifndef GW_SCHEDULER_CORE_MEMORY_H
#define GW_SCHEDULER_CORE_MEMORY_H

#include "graph/wire/enums.h"
#include "scheduler/core/model/state.h"

enum { GW_EXPECTED_MIN = 64 << 10 }; /* bytes: less is not worth counting */

/* gw_sched_memory_back_off_ns is how long a task waits that a worker gave back: 0, unless that is
 * short of memory and inputs of the task were brought there, and not for the first time; or the
 * worker refused it (refused). */
uint64_t gw_sched_memory_back_off_ns(const struct gw_sched *sched, const struct gw_job *job,
                                     uint32_t row, bool refused);

/* gw_sched_memory_expected is what a task of a spec will add to its worker's memory, as measured of
 * others before: its result and, where nothing was declared, what it works in. 0: not worth
 * counting. */
static inline uint64_t gw_sched_memory_expected(const struct gw_spec *spec)
{
    uint64_t bytes = spec->mean_bytes + (spec->message.memory_bytes ? 0 : spec->peak_bytes);
    return bytes < GW_EXPECTED_MIN ? 0 : bytes;
}

/* gw_sched_memory_aside counts an attempt among those of its worker that memory need not wait for,
 * or no longer: an actor that is through stays as long as it is held, its calls go to it whatever
 * there is, and what waits for others lets those in. */
static inline void gw_sched_memory_aside(struct gw_attempt *attempt)
{
    bool aside = attempt->blocked || attempt->stands;
    if (aside != attempt->aside)
        attempt->worker->aside += aside ? 1 : UINT32_MAX;
    attempt->aside = aside;
}

/* gw_sched_memory_admits tells whether a worker has memory for one more task, that takes so many
 * bytes. held_back: it is to leave what is above the worker's target to others.
 * gw_sched_memory_below tells whether that would stay below the line, whatever else runs. */
bool gw_sched_memory_below(const struct gw_worker *worker, uint64_t bytes, bool held_back);
static inline bool gw_sched_memory_admits(const struct gw_worker *worker, uint64_t bytes,
                                          bool held_back)
{
    return bytes == 0 || worker->memory_one || worker->attempts == worker->aside ||
           gw_sched_memory_below(worker, bytes, held_back);
}

/* gw_sched_memory_window narrows a window so that the results of what queues behind a slot do not
 * fill a worker's memory. */
uint32_t gw_sched_memory_window(const struct gw_worker *worker, const struct gw_spec *spec,
                                uint32_t window);

/* gw_sched_memory_elsewhere tells whether a worker that could take a shape has memory. */
bool gw_sched_memory_elsewhere(const struct gw_sched *sched, const struct gw_shape *shape);

/* gw_sched_memory_free is what is left of a worker's memory below the line where it pauses. */
uint64_t gw_sched_memory_free(const struct gw_worker *worker);

#endif
