/* Decides with how many ranks a gang can start. */
#ifndef GW_SCHEDULER_CORE_WORKERS_GANG_SIZE_H
#define GW_SCHEDULER_CORE_WORKERS_GANG_SIZE_H

#include "scheduler/core/model/state.h"

/* A gang of commands is restarted with more ranks only after it has run for this many times its
 * full size timeout: 5 minutes with the default timeout. */
enum { GW_GROWS_AFTER_WAITS = 10 };

/* Sum of the room that workers have for ranks of a gang. */
struct gw_gang_sum {
    const struct gw_resource_class *shape;
    uint64_t ranks;
};

/* gw_sched_gang_size_least returns the smallest number of ranks to start with, or 1 for an
 * ordinary task. gw_sched_gang_size_shape returns the resource class of the same gang with `ranks`
 * ranks instead of all its ranks. It shares the constraint of the original. */
uint32_t gw_sched_gang_size_least(const struct gw_resource_class *shape);
struct gw_resource_class gw_sched_gang_size_shape(const struct gw_resource_class *shape,
                                                  uint32_t ranks);

/* gw_sched_gang_size_all returns the number of ranks that a gang has if there is room for all. */
uint32_t gw_sched_gang_size_all(const struct gw_gang_attempt *gang);

/* gw_sched_gang_size_wait begins the wait of the first gang of a queue for room for all its ranks.
 * Only for use in model/. */
void gw_sched_gang_size_wait(struct gw_sched *sched, struct gw_queue *queue);

/* gw_sched_gang_size_on_one_host returns true if all ranks must be on one host, whatever their
 * number is. */
bool gw_sched_gang_size_on_one_host(const struct gw_resource_class *shape);

/* gw_sched_gang_size_full_until returns until when a gang that becomes ready now waits for all its
 * ranks. */
uint64_t gw_sched_gang_size_full_until(const struct gw_sched *sched,
                                       const struct gw_resource_class *shape);

/* gw_sched_gang_size_sum_add adds the room of a worker. */
void gw_sched_gang_size_sum_add(struct gw_gang_sum *sum, uint64_t ranks);

/* gw_sched_gang_size_of_sum returns the number of ranks that fit, or 0 if fewer than the smallest
 * size fit. */
uint32_t gw_sched_gang_size_of_sum(const struct gw_gang_sum *sum);

/* gw_sched_gang_size_most_at returns how many ranks the workers that may take ranks of this class
 * at the given time could run if they were empty. */
uint32_t gw_sched_gang_size_most_at(const struct gw_sched *sched,
                                    const struct gw_resource_class *shape, uint64_t at_ns);

/* gw_sched_gang_size_now returns the number of ranks to start a gang with, for the room in `sum`,
 * or 0 if it must wait. A gang waits until full_ns for all its ranks. first: this is the first
 * attempt in this term of the scheduler, so more workers may still join. */
uint32_t gw_sched_gang_size_now(const struct gw_sched *sched, const struct gw_gang_sum *sum,
                                uint64_t full_ns, bool first);

/* gw_sched_gang_size_ranks_at returns how many ranks could start at a worker now, or (ever) if the
 * worker were empty. */
uint64_t gw_sched_gang_size_ranks_at(const struct gw_sched *sched, const struct gw_worker *worker,
                                     const struct gw_resource_class *shape, bool ever);

/* gw_sched_gang_size_waited: gangs may start with fewer ranks from now on. */
void gw_sched_gang_size_waited(struct gw_sched *sched, uint64_t now_ns);

#endif
