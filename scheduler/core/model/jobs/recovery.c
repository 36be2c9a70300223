/* Results that a lost worker had, and that may come back with it. */
#include "scheduler/core/model/jobs/recovery.h"

#include "scheduler/core/model/jobs/story.h"

void gw_sched_recovery_found(struct gw_sched *sched, struct gw_object *object)
{
    if (!object->absent)
        return;
    object->absent = false;
    if (object->job->questions)
        GW_MUST(gw_array_push(&sched->revisited, object->job->id));
}

void gw_sched_recovery_over(struct gw_sched *sched)
{
    for (size_t at = 0; at < sched->objects.count; at++) {
        struct gw_object *object = &sched->objects.items[at];
        if (!object->job || !object->absent)
            continue;
        object->absent = false;
        GW_STORY(sched, object->job, .kind = GW_STORY_LOST, .index = object->index);
        GW_MUST(gw_array_push(&sched->lost, (struct gw_row){object->job, object->index}));
        if (object->job->questions)
            GW_MUST(gw_array_push(&sched->revisited, object->job->id));
    }
}
