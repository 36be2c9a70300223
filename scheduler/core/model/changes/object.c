/* Changes of state of results: they are added, lose holders, and are removed. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/jobs/edge.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/object.h"
#include "scheduler/core/model/jobs/pure.h"
#include "scheduler/core/model/jobs/scattered.h"
#include "scheduler/core/model/jobs/task.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void gw_sched_object_lose_holder(struct gw_sched *sched, uint32_t at, struct gw_worker *worker)
{
    uint32_t place = gw_sched_object_holder_of(sched, at, worker->slot);
    struct gw_object *object = &sched->objects.items[at];
    gw_sched_object_holder_remove(sched, place);
    if (!gw_sched_object_here(object) &&
        gw_sched_object_holder_any(sched, at, GW_NO_INDEX) == GW_NO_INDEX &&
        !gw_sched_object_gone(sched, object)) {
        GW_LOG_EVENT(sched, object->job, .kind = GW_LOGGED_LOST, .index = object->index,
                     .worker = worker->id);
        GW_MUST(gw_array_push(&sched->lost, (struct gw_row){object->job, object->index}));
    }
}

static uint32_t object_add(struct gw_sched *sched, struct gw_job *job, const struct gw_row *row,
                           const struct gw_result *result)
{
    uint32_t at = sched->free_object;
    if (at != GW_NO_INDEX) {
        sched->free_object = sched->objects.items[at].next;
        if (sched->free_object != GW_NO_INDEX) /* prefetch the entry that is used next */
            __builtin_prefetch(&sched->objects.items[sched->free_object], 1);
    } else {
        at = (uint32_t)sched->objects.count;
        GW_MUST(gw_array_push(&sched->objects, (struct gw_object){0}));
    }
    struct gw_object *object = &sched->objects.items[at];
    *object = (struct gw_object){
        .job = job,
        .index = row->index,
        .bytes = result->bytes,
        .size = result->value ? result->size : 0,
        .holders = GW_NO_INDEX,
        .next = GW_NO_INDEX,
    };
    if (result->token) {
        object->token = result->token;
        object->has_token = true;
    } else if (result->value && result->size > sizeof object->small) {
        object->value = malloc(result->size);
        GW_MUST_PTR(object->value);
        memcpy(object->value, result->value, result->size);
    } else if (result->value && result->size) {
        memcpy(object->small, result->value, result->size);
    } else if (result->worker) {
        gw_sched_object_holder_set_firm(sched,
                                        gw_sched_object_holder_add(sched, at, result->worker));
    } else {
        object->absent = sched->restoring && !gw_sched_object_here(object);
    }
    job->objects++;
    return at;
}

void gw_sched_objects_add(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                          const struct gw_results *results)
{
    /* The original is needed as long as the alias is done. */
    if (job->tasks.flags[row] & GW_TASK_ALIAS) {
        gw_sched_task_use(sched, job, row);
        job->objects++;
        return;
    }
    assert(job->tasks.object[row] == GW_NO_INDEX && results->count > 0);
    const struct gw_row at = {job, row};
    for (uint32_t i = results->count; i-- > 0;) {
        uint32_t object = object_add(sched, job, &at, &results->items[i]);
        sched->objects.items[object].rank = i;
        sched->objects.items[object].next = job->tasks.object[row];
        job->tasks.object[row] = object;
    }
}

void gw_sched_objects_drop(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    uint32_t at = job->tasks.object[row];
    if ((job->tasks.flags[row] & GW_TASK_ALIAS) && job->tasks.state[row] == GW_TASK_DONE) {
        gw_sched_task_unuse(sched, job, row);
        job->objects--;
        return;
    }
    job->tasks.object[row] = GW_NO_INDEX;
    while (at != GW_NO_INDEX) {
        struct gw_object *object = &sched->objects.items[at];
        while (object->holders != GW_NO_INDEX)
            gw_sched_object_holder_remove(sched, object->holders);
        if (object->scattered)
            gw_sched_scattered_remove(sched, object);
        if (!object->has_token && object->size > sizeof object->small)
            free(object->value);
        uint32_t next = object->next;
        *object = (struct gw_object){.holders = GW_NO_INDEX, .next = sched->free_object};
        sched->free_object = at;
        job->objects--;
        at = next;
    }
}

bool gw_sched_object_retain_pure(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    struct gw_pure *pure = gw_job_rare(job)->pures.count ? gw_sched_pure_of(job, row) : NULL;
    if (!pure || !sched->options.pure_bytes_max)
        return false;
    pure->retained = true;
    pure->bytes = 64; /* of its own */
    for (uint32_t at = gw_sched_objects_of(sched, job, row); at != GW_NO_INDEX;
         at = sched->objects.items[at].next)
        pure->bytes += sched->objects.items[at].bytes;
    job->tasks.users[row]++;
    gw_sched_pure_link(sched, pure);
    while (sched->pures.last && (sched->pures.retained > GW_PURE_RETAINED_MAX ||
                                 sched->pures.retained_bytes > sched->options.pure_bytes_max)) {
        const struct gw_pure *oldest = sched->pures.last;
        gw_sched_pure_drop(sched, oldest->job, oldest->index);
    }
    return true;
}

static void note_absent(struct gw_sched *sched, uint32_t at, void *arg)
{
    bool *any = arg;
    *any = *any || sched->objects.items[at].absent;
}

static void hold_job(struct gw_sched *sched, struct gw_job *job)
{
    job->awaits = true;
    for (size_t i = 0; i < job->queues.count; i++)
        gw_sched_queue_hold(sched, job->queues.items[i]);
}

void gw_sched_recovery_on_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    bool any = false;
    if (job->awaits)
        return;
    gw_sched_object_each_input(sched, job, row, &(struct gw_input_visit){note_absent, &any});
    if (any)
        hold_job(sched, job);
}

static void successor_waits(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    uint8_t state = job->tasks.state[row];
    if (state == GW_TASK_READY && !job->awaits)
        hold_job(sched, job);
    else if (state == GW_TASK_DONE && (job->tasks.flags[row] & GW_TASK_ALIAS))
        gw_sched_edge_successors(sched, job, row, successor_waits);
}

bool gw_sched_object_gone(struct gw_sched *sched, struct gw_object *object)
{
    struct gw_job *job = object->job;
    if (!sched->hold.until_ns || !job->detached ||
        job->tasks.attempt[object->index] >> 48 == (sched->term & 0xffff))
        return false;
    object->absent = true;
    gw_sched_edge_successors(sched, job, object->index, successor_waits);
    return true;
}
