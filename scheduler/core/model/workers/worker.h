/* Workers, from their connection to their loss. */
#ifndef GW_SCHEDULER_CORE_WORKERS_WORKER_H
#define GW_SCHEDULER_CORE_WORKERS_WORKER_H

#include "scheduler/core/model/state.h"

/* gw_sched_worker_find returns a worker by its id, or NULL if it is lost. */
struct gw_worker *gw_sched_worker_find(const struct gw_sched *sched, uint32_t id);

/* gw_sched_worker_fits returns true if one more attempt of this class could start at the worker
 * now. gw_sched_worker_could returns true if an attempt of this class could start there if the
 * worker were empty. */
bool gw_sched_worker_fits(const struct gw_sched *sched, const struct gw_worker *worker,
                          const struct gw_resource_class *shape);
bool gw_sched_worker_could(const struct gw_worker *worker, const struct gw_resource_class *shape);

/* gw_sched_memory_lets returns true if the memory of a worker allows any placement. A worker that
 * shuts down or is drained allows none. */
static inline bool gw_sched_memory_lets(const struct gw_worker *worker)
{
    return !worker->leaves && !worker->drained &&
           (worker->memory.state == GW_MEMORY_OPEN ||
            (worker->memory.state == GW_MEMORY_ONE && worker->memory_one));
}

/* gw_sched_worker_scores begins a new set of scores, in which no worker has a score yet, and
 * returns its number. gw_sched_worker_score sets the score of a worker in it. */
static inline uint64_t gw_sched_worker_scores(struct gw_sched *sched)
{
    return ++sched->score_epoch;
}

static inline void gw_sched_worker_score(struct gw_worker *worker, uint64_t set, uint64_t score)
{
    worker->score_epoch = set;
    worker->score = score;
}

/* gw_sched_worker_free_max returns the largest number of free slots that a ready worker has. */
static inline uint32_t gw_sched_worker_free_max(struct gw_sched *sched)
{
    if (sched->free_max >= sched->by_free.count)
        sched->free_max = (uint32_t)sched->by_free.count - 1;
    while (sched->free_max > 0 && !sched->by_free.items[sched->free_max])
        sched->free_max--;
    return sched->free_max;
}

/* gw_sched_worker_clear: what an attempt of an earlier connection held is free.
 * gw_sched_worker_beat: a heartbeat has come; gw_sched_worker_beat_sent: heartbeats were sent. */
void gw_sched_worker_beat_sent(struct gw_sched *sched, uint64_t now_ns);
void gw_sched_worker_beat(struct gw_worker *worker, uint64_t number, uint64_t memory_used_bytes);
void gw_sched_worker_clear(struct gw_worker *worker, uint64_t attempt, uint32_t rank);

#endif
