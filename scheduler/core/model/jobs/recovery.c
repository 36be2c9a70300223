/* Results that a lost worker had, and that may come back with it. */
#include "scheduler/core/model/jobs/recovery.h"

void gw_sched_recovery_found(struct gw_sched *sched, struct gw_object *object)
{
    if (!object->absent)
        return;
    object->absent = false;
    if (object->job->questions)
        GW_MUST(gw_array_push(&sched->revisited, object->job->id));
}
