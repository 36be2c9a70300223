/* Appliers of facts about results. */
#ifndef GW_SCHEDULER_CORE_CHANGES_OBJECT_H
#define GW_SCHEDULER_CORE_CHANGES_OBJECT_H

#include "scheduler/core/model/state.h"

/* gw_sched_objects_add creates the objects of a task, one for each rank. Small values are copied.
 */
void gw_sched_objects_add(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                          const struct gw_results *results);

/* gw_sched_objects_drop removes the objects of a task. It does not drop their tokens. */
void gw_sched_objects_drop(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_object_keep_pure keeps the result of a pure task that nobody needs any more, for later
 * tasks that are equal. Returns false if the result is not one of a pure task or none are kept. If
 * there are too many, the oldest are dropped. */
bool gw_sched_object_keep_pure(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* For appliers only. gw_sched_recovery_on_ready lets the job of a row wait with the held jobs if
 * the row needs an absent object. gw_sched_object_gone is called when an object has lost its last
 * holder. It returns true, and marks the object as absent, if another worker may reconnect with it.
 */
void gw_sched_recovery_on_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row);
bool gw_sched_object_gone(struct gw_sched *sched, struct gw_object *object);

#endif
