/* The columns of `assign`, the message that gives work to a worker. Used by the
 * outbox alone, but for gw_sched_assign_neighbour. */
#ifndef GW_SCHEDULER_CORE_ASSIGN_H
#define GW_SCHEDULER_CORE_ASSIGN_H

#include "scheduler/core/model/state.h"

/* gw_sched_assign_row adds the row of an attempt; what its worker must know before (spec,
 * neighbours) is sent at once. */
void gw_sched_assign_row(struct gw_sched *sched, uint32_t slot);

/* gw_sched_assign_neighbour tells a worker, once, where another's peers find it. */
void gw_sched_assign_neighbour(struct gw_sched *sched, struct gw_worker *worker,
                               struct gw_worker *neighbour);

/* gw_sched_assign_flush sends the rows of a worker, if it has any. lend: they stay where they are
 * until the next step. */
void gw_sched_assign_flush(struct gw_sched *sched, struct gw_worker *worker, bool lend);

#endif
