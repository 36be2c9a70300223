/* Gangs that may have fewer ranks (--min-ranks): with how many an attempt starts, and when one that
 * has fewer is started again with more.
 *
 * All ranks if there is room. Where there is not, such a gang waits for it, full_wait_ns long, with
 * a reservation like any; after that it starts with as many as fit, min_ranks at least. From its
 * second attempt on, of those in this life of the scheduler, it does so at once where room is gone
 * and not just taken: the workers that are here (but for those that take no ranks for longer than
 * it would wait) could not hold all if they were empty. With ranks_per_node it has whole nodes.
 *
 * An attempt with fewer is told to pause when its rank 0 has saved a checkpoint and it would start
 * with more; what it is told is a pause of its job at a step, and is charged to nobody. A gang of
 * commands, whose checkpoints are seen from outside, is ended gently then, if it has run for 10
 * times full_wait_ns, and starts again; that is charged to nobody, too. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_GANG_SIZE_H
#define GW_SCHEDULER_CORE_PLACEMENT_GANG_SIZE_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/model/workers/parting.h"

/* gw_sched_gang_size_check refuses what makes no sense: GW_EINVAL. */
int gw_sched_gang_size_check(const struct gw_msg_spec *spec, struct gw_error *error);

/* gw_sched_gang_size_most is the most ranks of a shape that the cluster could hold if it were
 * empty; 0: not the fewest. */
uint32_t gw_sched_gang_size_most(const struct gw_sched *sched, const struct gw_shape *shape);

/* gw_sched_gang_size_ranks is how many ranks the first gang of a queue starts with now, where there
 * is room as in `packs`; 0: it waits. */
uint32_t gw_sched_gang_size_ranks(const struct gw_sched *sched, const struct gw_queue *queue,
                                  const struct gw_pack *packs, uint32_t count);

/* gw_sched_gang_size_start is when a gang that is ready would start at the soonest with so many
 * ranks, in the time of the core: where they are not all it may wait for the others before. */
uint64_t gw_sched_gang_size_start(const struct gw_sched *sched, const struct gw_job *job,
                                  uint32_t row, uint32_t ranks);

/* gw_sched_gang_size_on_tick lets those start smaller that waited long enough,
 * gw_sched_gang_size_deadline_ns is when that is next. */
void gw_sched_gang_size_on_tick(struct gw_sched *sched);
uint64_t gw_sched_gang_size_deadline_ns(const struct gw_sched *sched);

/* gw_sched_gang_size_explain writes why a gang has fewer ranks, or from when on it would start with
 * fewer; an empty text: neither. */
void gw_sched_gang_size_explain(const struct gw_sched *sched, const struct gw_job *job,
                                uint32_t row, char *to, size_t bytes);

#endif
