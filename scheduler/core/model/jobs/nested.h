/* Tasks that act as clients. */
#ifndef GW_SCHEDULER_CORE_JOBS_NESTED_H
#define GW_SCHEDULER_CORE_JOBS_NESTED_H

#include "scheduler/core/model/state.h"

/* gw_sched_nested_end takes back what an attempt that ends yielded as a client, and orphans its
 * sessions: the step closes them. For apply functions. */
void gw_sched_nested_end(struct gw_sched *sched, struct gw_attempt *attempt);

/* gw_sched_nested_leave takes a session out of the attempt in which its client runs, if it has one.
 */
void gw_sched_nested_leave(struct gw_sched *sched, struct gw_session *session);

/* gw_sched_nested_begin binds a session to an attempt: what comes through it is the attempt's
 * user's and has the age of its job. For apply functions. */
void gw_sched_nested_begin(struct gw_sched *sched, uint32_t slot, struct gw_session *session);

#endif
