/* Results come, lose holders and go. */
#ifndef GW_SCHEDULER_CORE_CHANGES_OBJECT_H
#define GW_SCHEDULER_CORE_CHANGES_OBJECT_H

#include "scheduler/core/model/state.h"

/* gw_sched_objects_add makes a task's objects, one a rank (values are copied). */
void gw_sched_objects_add(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                          const struct gw_results *results);

/* gw_sched_objects_drop forgets a task's objects; a token is not dropped by it. */
void gw_sched_objects_drop(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_object_keep_pure keeps a result that nobody needs any more, for who asks next; false if
 * it is no original's, or none are kept. The oldest go if there are too many. */
bool gw_sched_object_keep_pure(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* For apply functions. gw_sched_recovery_on_ready has the job of a row that takes an absent object
 * wait with those that are held. gw_sched_object_gone: the last holder of an object is gone; true:
 * another may come back with it, and it is absent. */
void gw_sched_recovery_on_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row);
bool gw_sched_object_gone(struct gw_sched *sched, struct gw_object *object);

#endif
