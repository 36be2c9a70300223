/* Records where tasks ran, and for how long. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/gang.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/job_usage.h"
#include "scheduler/core/model/jobs/place.h"
#include "scheduler/core/model/workers/worker.h"

#include <string.h>

static void append_name(struct gw_sched *sched, uint32_t id)
{
    const struct gw_worker *worker = gw_sched_worker_find(sched, id);
    const char *name = worker && worker->remote ? worker->remote->name : "";
    GW_MUST(gw_buffer_append(&sched->step.scratch, name, strlen(name)));
    GW_MUST(gw_buffer_append(&sched->step.scratch, ",", 1));
}

/* Appends the worker names of the latest attempt of a gang. The places of its ranks are adjacent,
 * in the order of the ranks. */
static void append_ranks(struct gw_sched *sched, const struct gw_job *job, uint32_t row)
{
    size_t end = job->places.count;
    while (end > 0 && !gw_sched_place_is_rank_of(job, end - 1, row))
        end--;
    size_t from = end;
    while (from > 0 && gw_sched_place_is_rank_of(job, from - 1, row))
        from--;
    for (; from < end; from++)
        append_name(sched, job->places.items[from].worker);
}

void gw_sched_places_record(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    uint64_t attempt = job->tasks.attempt[row];
    if (!job->detached || attempt == 0 || gw_sched_rows_in_all(job) > GW_PLACES_RETAINED_MAX)
        return;
    uint32_t ranks = job->specs.items[job->tasks.spec[row]].message.ranks;
    sched->step.scratch.size = 0;
    if (ranks == 0)
        append_name(sched, job->tasks.worker[row]);
    else
        append_ranks(sched, job, row);
    GW_MUST(gw_buffer_append(&sched->step.scratch, "", 1));
    GW_FACT(sched, task_ran, .at = job, .job = job->id, .index = row, .attempt = attempt,
            .workers = (const char *)sched->step.scratch.data);
    gw_job_usage_write_task(sched, job, row);
}

/* Restores where and how long a task ran. Used only while restoring: later the state has this
 * already. */
void gw_sched_apply_task_ran(struct gw_sched *sched, const struct gw_fact_task_ran *fact)
{
    if (!sched->restoring)
        return;
    struct gw_job *job = gw_sched_job_find(sched, fact->job);
    gw_sched_range_catch_up(sched, job, fact->index);
    bool gang = job->specs.items[job->tasks.spec[fact->index]].message.ranks > 0;
    uint32_t rank = 0;
    for (const char *name = fact->workers; *name; rank++) {
        size_t length = strcspn(name, ",");
        char *copy = gw_arena_alloc(&job->arena, length + 1);
        GW_MUST_PTR(copy);
        memcpy(copy, name, length);
        struct gw_place place = {.attempt = fact->attempt,
                                 .index = fact->index,
                                 .rank = gang ? rank : GW_RANK_NONE,
                                 .name = copy};
        GW_MUST(gw_array_push(&job->places, place));
        name += length + (name[length] == ',');
    }
    job->tasks.attempt[fact->index] = fact->attempt;
    /* This was the last attempt. The restart count is at least the number of earlier attempts that
     * some budget counts. */
    struct gw_charges *charges = &job->tasks.charges[fact->index];
    uint16_t tries = (uint16_t)(1 + charges->retries + charges->crashes + charges->losses +
                                charges->uncounted + charges->preemptions + charges->ports);
    if (charges->tries < tries && !gw_sched_gang_went(job, fact->index).attempt)
        charges->tries = tries;
    for (; rank > 0; rank--)
        job->places.items[job->places.count - rank].number = charges->tries;
}
