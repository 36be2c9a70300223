/* Lanes: a worker's attempts of one shape, and what is debited for them. Called by apply functions.
 */
#ifndef GW_SCHEDULER_CORE_LANE_H
#define GW_SCHEDULER_CORE_LANE_H

#include "scheduler/core/state.h"

/* gw_sched_lane_for finds or makes a worker's lane of a shape; gw_sched_lane_get only finds. */
struct gw_lane *gw_sched_lane_for(struct gw_worker *worker, struct gw_shape *shape);
struct gw_lane *gw_sched_lane_get(const struct gw_worker *worker, const struct gw_shape *shape);

/* gw_sched_lane_enter counts an attempt in, with a debit unless it is prefetched (how: what it was
 * made of); gw_sched_lane_leave counts it out and gives back the debit that nobody inherits. */
struct gw_attempt_new;
void gw_sched_lane_enter(struct gw_sched *sched, struct gw_lane *lane,
                         const struct gw_attempt *attempt, const struct gw_attempt_new *how);
void gw_sched_lane_leave(struct gw_sched *sched, struct gw_lane *lane,
                         const struct gw_attempt *attempt);

/* gw_sched_lane_lengthen counts a short attempt as a long one from now on; false where there is no
 * slot that it could have for itself. */
bool gw_sched_lane_lengthen(struct gw_sched *sched, struct gw_lane *lane);

/* gw_sched_lane_lend gives back the slots of an attempt that waits for others, which counts as a
 * long one from now on; gw_sched_lane_reclaim takes them again, also where none are free. */
void gw_sched_lane_lend(struct gw_sched *sched, struct gw_lane *lane, bool is_long);
void gw_sched_lane_reclaim(struct gw_sched *sched, struct gw_lane *lane);

/* gw_sched_lane_step puts a number of tasks to a slot on a scale of GW_LANE_LOADS: exact below 8,
 * then four steps each time it doubles. gw_sched_lane_step_tasks is the smallest number of a step;
 * windows are such, so that a lane's step alone tells whether it is full. */
uint32_t gw_sched_lane_step(uint32_t tasks);
uint32_t gw_sched_lane_step_tasks(uint32_t step);

/* gw_sched_lane_load is the step of how many short attempts of a lane share a debit. The lane must
 * have such a debit. */
uint32_t gw_sched_lane_load(const struct gw_lane *lane);

/* gw_sched_lane_room is how many more tasks may queue in a lane, `window` to a slot; none at a
 * worker that drains. */
uint32_t gw_sched_lane_room(const struct gw_lane *lane, uint32_t window);

/* gw_sched_lane_idle is how many debits of a lane nothing uses: they are kept for attempts that
 * were handed over and wait for others. gw_sched_lane_completed: one of those waits no more. */
static inline uint32_t gw_sched_lane_idle(const struct gw_lane *lane)
{
    uint32_t used = lane->attempts - lane->handed;
    return lane->debits > used ? lane->debits - used : 0;
}
void gw_sched_lane_completed(struct gw_sched *sched, struct gw_lane *lane);

/* gw_sched_worker_open is how many free slots of a worker are not kept for the ranks that are
 * reserved there. gw_sched_worker_drains: it has not as many as those need yet. */
static inline uint32_t gw_sched_worker_open(const struct gw_worker *worker)
{
    return worker->slots_free > worker->reserved_slots ? worker->slots_free - worker->reserved_slots
                                                       : 0;
}

static inline bool gw_sched_worker_drains(const struct gw_worker *worker)
{
    return worker->slots_free < worker->reserved_slots;
}

/* gw_sched_worker_link and gw_sched_worker_unlink put a ready worker among those with as many open
 * slots, and take it out. */
void gw_sched_worker_link(struct gw_sched *sched, struct gw_worker *worker);
void gw_sched_worker_unlink(struct gw_sched *sched, struct gw_worker *worker);

#endif
