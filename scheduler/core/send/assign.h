/* Builds the columns of `assign`, the message that gives tasks to a worker. Only the outbox uses
 * this header, except gw_sched_assign_neighbour and gw_sched_assign_user. */
#ifndef GW_SCHEDULER_CORE_ASSIGN_H
#define GW_SCHEDULER_CORE_ASSIGN_H

#include "scheduler/core/model/state.h"

/* gw_sched_assign_row adds the row of an attempt. Messages that the worker needs before it (spec,
 * neighbours) are sent at once. */
void gw_sched_assign_row(struct gw_sched *sched, uint32_t slot);

/* gw_sched_assign_neighbour tells a worker the address of another worker, once. */
void gw_sched_assign_neighbour(struct gw_sched *sched, struct gw_worker *worker,
                               struct gw_worker *neighbour);

/* gw_sched_assign_user returns the name of a job's user as a message tells it to a worker: "" if
 * the worker serves only its own user. It lives as long as a text of a message (send.h). */
const char *gw_sched_assign_user(struct gw_sched *sched, const struct gw_job *job,
                                 const struct gw_worker *worker);

/* gw_sched_assign_flush sends the collected rows of a worker, if there are any. If `lend` is true,
 * the message points to the rows without a copy, and they stay unchanged until the next step. */
void gw_sched_assign_flush(struct gw_sched *sched, struct gw_worker *worker, bool lend);

#endif
