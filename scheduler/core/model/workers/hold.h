/* Workers that an earlier scheduler knew, and for which this one waits. */
#ifndef GW_SCHEDULER_CORE_WORKERS_HOLD_H
#define GW_SCHEDULER_CORE_WORKERS_HOLD_H

#include "scheduler/core/model/state.h"

/* gw_sched_hold_on_registered records that a worker is connected, and that it is back;
 * gw_sched_hold_knows tells whether that is on disk: nothing is placed there before.
 * gw_sched_hold_on_lost records that a worker that is lost, and of which nothing can run, is known
 * no more; gw_sched_hold_lose, for apply functions, that it is known until then. */
void gw_sched_hold_on_registered(struct gw_sched *sched, struct gw_worker *worker);
bool gw_sched_hold_knows(const struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_hold_on_lost(struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_hold_lose(struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_hold_dump appends the known workers as bytes. */
void gw_sched_hold_dump(const struct gw_sched *sched, struct gw_buffer *out);

/* gw_sched_hold_awaits tells whether a worker of the earlier life has not come back yet. */
bool gw_sched_hold_awaits(const struct gw_sched *sched);

/* gw_sched_hold_deinit frees the names of known workers. */
void gw_sched_hold_deinit(struct gw_sched *sched);

#endif
