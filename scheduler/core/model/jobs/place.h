/* Where attempts ran: what their output is asked for by. */
#ifndef GW_SCHEDULER_CORE_JOBS_PLACE_H
#define GW_SCHEDULER_CORE_JOBS_PLACE_H

#include "graph/base/text.h"
#include "scheduler/core/model/state.h"

/* gw_sched_place_worker is the id of the worker that has a place's output; 0: none is known. */
uint32_t gw_sched_place_worker(const struct gw_sched *sched, const struct gw_place *place);

/* gw_sched_places_last writes where the latest attempt of each of these tasks (the first and the
 * last one's index) begins among its job's places, by row: what gw_sched_place_ranks and
 * gw_sched_place_tell look at; the caller deinits the map. */
void gw_sched_places_last(const struct gw_job *job, uint32_t from, uint32_t to,
                          struct gw_map *last);

/* gw_sched_place_ranks is how many ranks the latest attempt of a gang has, or had; 0: there was
 * none, or nothing is known of it. */
uint32_t gw_sched_place_ranks(const struct gw_job *job, uint32_t row, const struct gw_map *last);

/* gw_sched_place_tell writes where the latest attempt of a task runs, or ran: "worker-1", and of a
 * gang at several workers which ranks are where: "a 0-3, b 4"; empty: nowhere yet. Returns the id
 * of that worker, of a gang rank 0's; 0: it is not known. */
uint32_t gw_sched_place_tell(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                             const struct gw_map *last, struct gw_text *text);

/* gw_sched_place_is_rank_of tells whether the place at an index of a job's places is of the latest
 * attempt of a row. */
bool gw_sched_place_is_rank_of(const struct gw_job *job, size_t at, uint32_t row);

#endif
