/* Gangs that may run with fewer ranks (--min-ranks): the number of ranks with which an attempt
 * starts, and when a smaller gang is started again with more ranks.
 *
 * A gang starts with all ranks if there is room. Otherwise it waits for the full size timeout
 * (full_size_timeout_ns), with a reservation like any gang. After that it starts with as many ranks
 * as fit, but at least min_ranks. From the second attempt under this scheduler on, the gang does
 * not wait if the room no longer exists: the present workers could not hold all ranks even if they
 * were empty. Workers in quarantine for longer than the timeout do not count. With ranks_per_node,
 * only whole nodes are used.
 *
 * If a smaller gang of a function could start with more ranks after rank 0 has saved a checkpoint,
 * it is told to pause at its next step and starts again. A gang of commands, whose checkpoints the
 * worker observes from outside, is instead ended with a grace period, if it has run for 10 times
 * the full size timeout. Neither counts against the retry budget. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_GANG_SIZE_H
#define GW_SCHEDULER_CORE_PLACEMENT_GANG_SIZE_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/model/workers/parting.h"

/* gw_sched_gang_size_check returns GW_EINVAL if the numbers of ranks in a spec contradict each
 * other. */
int gw_sched_gang_size_check(const struct gw_msg_spec *spec, struct gw_error *error);

/* gw_sched_gang_size_most returns the most ranks of a shape that the cluster could hold if it were
 * empty, or 0 if that is less than min_ranks. */
uint32_t gw_sched_gang_size_most(const struct gw_sched *sched,
                                 const struct gw_resource_class *shape);

/* gw_sched_gang_size_ranks returns with how many ranks the first gang of a queue starts now in the
 * room that `packs` describes, or 0 if the gang waits. */
uint32_t gw_sched_gang_size_ranks(const struct gw_sched *sched, const struct gw_queue *queue,
                                  const struct gw_pack *packs, uint32_t count);

/* gw_sched_gang_size_start returns the earliest time at which a ready gang would start with `ranks`
 * ranks. If that is not the full number, the gang may first wait for more. */
uint64_t gw_sched_gang_size_start(const struct gw_sched *sched, const struct gw_job *job,
                                  uint32_t row, uint32_t ranks);

/* gw_sched_gang_size_on_tick lets gangs start with fewer ranks after the full size timeout.
 * gw_sched_gang_size_deadline_ns returns the next time at which that happens. */
void gw_sched_gang_size_on_tick(struct gw_sched *sched);
uint64_t gw_sched_gang_size_deadline_ns(const struct gw_sched *sched);

/* gw_sched_gang_size_explain writes why a gang runs with fewer ranks, or from when on it would
 * start with fewer. Otherwise it writes an empty text. */
void gw_sched_gang_size_explain(const struct gw_sched *sched, const struct gw_job *job,
                                uint32_t row, char *to, size_t bytes);

#endif
