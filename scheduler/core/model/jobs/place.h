/* Places where attempts ran. They are used to find the output of tasks. */
#ifndef GW_SCHEDULER_CORE_JOBS_PLACE_H
#define GW_SCHEDULER_CORE_JOBS_PLACE_H

#include "graph/base/text.h"
#include "scheduler/core/model/state.h"

/* gw_sched_place_worker returns the id of the worker that has the output of a place, or 0 if none
 * is known. */
uint32_t gw_sched_place_worker(const struct gw_sched *sched, const struct gw_place *place);

/* gw_sched_places_last writes a map from task to the index, among its job's places, at which the
 * latest attempt of the task begins. It includes the tasks `from` to `to`. gw_sched_place_ranks
 * and gw_sched_place_tell use the map. The caller must deinit it. */
void gw_sched_places_last(const struct gw_job *job, uint32_t from, uint32_t to,
                          struct gw_map *last);

/* gw_sched_place_ranks returns how many ranks the latest attempt of a gang has or had, or 0 if none
 * is known. */
uint32_t gw_sched_place_ranks(const struct gw_job *job, uint32_t row, const struct gw_map *last);

/* gw_sched_place_tell writes where the latest attempt of a task runs or ran: "worker-1", or for a
 * gang at several workers "a 0-3, b 4" (the ranks of each worker). It writes nothing if there was
 * no attempt. It returns the id of that worker (for a gang, of rank 0's), or 0 if it is unknown. */
uint32_t gw_sched_place_tell(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                             const struct gw_map *last, struct gw_text *text);

/* gw_sched_place_is_rank_of returns true if the place at this index belongs to the latest attempt
 * of a task. */
bool gw_sched_place_is_rank_of(const struct gw_job *job, size_t at, uint32_t row);

#endif
