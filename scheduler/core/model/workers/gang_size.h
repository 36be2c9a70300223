/* With how many ranks a gang can start. */
#ifndef GW_SCHEDULER_CORE_WORKERS_GANG_SIZE_H
#define GW_SCHEDULER_CORE_WORKERS_GANG_SIZE_H

#include "scheduler/core/model/state.h"

/* A gang of commands runs that many times as long as it waits for all ranks before it is ended to
 * grow: 5 minutes, if nothing else is said. */
enum { GW_GROWS_AFTER_WAITS = 10 };

/* Counts what workers have room for, one after the other. */
struct gw_gang_sum {
    const struct gw_shape *shape;
    uint64_t ranks;
};

/* gw_sched_gang_size_least is the fewest ranks that a shape starts with; 1 for an ordinary task.
 * gw_sched_gang_size_shape is what a shape is with `ranks` of its ranks; its need stays the
 * shape's. */
uint32_t gw_sched_gang_size_least(const struct gw_shape *shape);
struct gw_shape gw_sched_gang_size_shape(const struct gw_shape *shape, uint32_t ranks);

/* gw_sched_gang_size_all is how many ranks a gang has when there is room for all. */
uint32_t gw_sched_gang_size_all(const struct gw_gang_attempt *gang);

/* gw_sched_gang_size_wait: the first gang of a queue waits for room for all its ranks from now on;
 * for apply functions. */
void gw_sched_gang_size_wait(struct gw_sched *sched, struct gw_queue *queue);

/* gw_sched_gang_size_on_one_host tells whether all ranks are on one host, however many they are. */
bool gw_sched_gang_size_on_one_host(const struct gw_shape *shape);

/* gw_sched_gang_size_full_until is until when a gang that becomes ready now waits for all its
 * ranks. */
uint64_t gw_sched_gang_size_full_until(const struct gw_sched *sched, const struct gw_shape *shape);

/* gw_sched_gang_size_sum_add adds a worker that has room for so many ranks. */
void gw_sched_gang_size_sum_add(struct gw_gang_sum *sum, uint64_t ranks);

/* gw_sched_gang_size_of_sum is with how many ranks a gang fits into a sum; 0: fewer than the
 * fewest. */
uint32_t gw_sched_gang_size_of_sum(const struct gw_gang_sum *sum);

/* gw_sched_gang_size_most_at is how many ranks those workers could hold, if empty, that take ranks
 * of this shape at a time. */
uint32_t gw_sched_gang_size_most_at(const struct gw_sched *sched, const struct gw_shape *shape,
                                    uint64_t at_ns);

/* gw_sched_gang_size_now is with how many ranks a gang that waits for all until full_ns starts now,
 * with the room of a sum; 0: it waits. first: its first attempt in this life of the scheduler, so
 * that workers may still come. */
uint32_t gw_sched_gang_size_now(const struct gw_sched *sched, const struct gw_gang_sum *sum,
                                uint64_t full_ns, bool first);

/* gw_sched_gang_size_ranks_at is how many ranks of a shape could start at a worker: now, or (ever)
 * if it were empty. */
uint64_t gw_sched_gang_size_ranks_at(const struct gw_sched *sched, const struct gw_worker *worker,
                                     const struct gw_shape *shape, bool ever);

#endif
