/* Results that a lost worker had, and that may come back with it. */
#ifndef GW_SCHEDULER_CORE_RECOVERY_H
#define GW_SCHEDULER_CORE_RECOVERY_H

#include "scheduler/core/model/state.h"

/* gw_sched_recovery_found notes that an object that was absent is at a worker, and marks the
 * pending requests of its job to be looked at; for apply functions. */
void gw_sched_recovery_found(struct gw_sched *sched, struct gw_object *object);

/* gw_sched_recovery_over: no worker is awaited any more, and what is absent is lost; for apply
 * functions. */
void gw_sched_recovery_over(struct gw_sched *sched);

#endif
