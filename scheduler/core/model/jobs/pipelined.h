/* Tasks that are at the worker that makes their inputs. */
#ifndef GW_SCHEDULER_CORE_PIPELINED_H
#define GW_SCHEDULER_CORE_PIPELINED_H

#include "scheduler/core/model/state.h"

/* For apply functions: a short attempt was added; one of a worker's has ended; all that a task at
 * its worker waited for is done. */
void gw_sched_pipelined_note(struct gw_sched *sched, uint32_t slot);
void gw_sched_pipelined_freed(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_pipelined_forget forgets a worker that is being freed. */
void gw_sched_pipelined_forget(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_pipelined_unlist: a listed worker is looked at now. gw_sched_pipelined_advance: its
 * attempts before `at` were looked at. */
void gw_sched_pipelined_unlist(struct gw_worker *worker);
void gw_sched_pipelined_advance(struct gw_worker *worker, size_t at);

#endif
