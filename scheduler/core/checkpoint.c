/* Current checkpoints: a fact names the attempt that saved, and only one that still counts can. */
#include "scheduler/core/checkpoint.h"

#include "graph/base/planted.h"
#include "scheduler/core/elastic.h"
#include "scheduler/core/gang_try.h"
#include "scheduler/core/job.h"
#include "scheduler/core/worker.h"

#include <stdio.h>
#include <string.h>

const struct gw_checkpointed *gw_sched_checkpoint_of(const struct gw_job *job, uint32_t row)
{
    uint64_t value;
    return gw_map_get(&job->checkpoints, row, &value)
               ? (const struct gw_checkpointed *)(uintptr_t)value
               : NULL;
}

void gw_sched_on_checkpointed(struct gw_sched *sched, const struct gw_worker *worker,
                              const struct gw_msg_checkpointed *message)
{
    uint32_t slot = gw_sched_gang_slot(sched, worker, message->attempt, message->rank);
    if (slot == GW_NONE || message->rank != 0)
        return;
    struct gw_job *job = sched->attempts.items[slot].job;
    GW_FACT(sched, checkpoint_made, .at = job, .job = job->id,
            .index = sched->attempts.items[slot].index, .attempt = message->attempt,
            .step = (uint64_t)message->step);
    gw_sched_elastic_on_checkpoint(sched, gw_sched_gang_find(sched, message->attempt));
}

void gw_sched_apply_checkpoint_made(struct gw_sched *sched,
                                    const struct gw_fact_checkpoint_made *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    const struct gw_checkpointed *known = gw_sched_checkpoint_of(job, fact->index);
    struct gw_checkpointed *current = (struct gw_checkpointed *)(uintptr_t)known;
    if (!current) {
        current = gw_arena_alloc(&job->arena, sizeof *current);
        GW_MUST_PTR(current);
        GW_MUST(gw_map_put(&job->checkpoints, fact->index, (uintptr_t)current));
    }
    const struct gw_gang_try *gang = gw_sched_gang_find(sched, fact->attempt);
    const struct gw_worker *worker =
        gang ? gw_sched_worker_find(sched, gang->ranks[0].worker) : NULL;
    *current = (struct gw_checkpointed){.attempt = fact->attempt, .step = (int64_t)fact->step};
    if (worker) {
        current->worker = worker->id;
        current->incarnation = worker->incarnation;
        (void)snprintf(current->host, sizeof current->host, "%s", worker->host);
    }
}

/* The worker that saved it, though it was away and has another id now; NULL: lost. Best of the
 * others: one on the same host, which may have the same folder. */
static const struct gw_worker *saver(const struct gw_sched *sched,
                                     const struct gw_checkpointed *saved,
                                     const struct gw_worker **beside)
{
    *beside = NULL;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state == GW_WORKER_LOST)
            continue;
        if (strcmp(worker->host, saved->host) != 0)
            continue;
        if (worker->incarnation == saved->incarnation && !GW_PLANTED(320))
            return worker;
        if (!*beside)
            *beside = worker;
    }
    return NULL;
}

bool gw_sched_checkpoint_lost(const struct gw_sched *sched, const struct gw_checkpointed *saved)
{
    const struct gw_worker *beside;
    return saved && saved->worker && !saver(sched, saved, &beside);
}

uint32_t gw_sched_checkpoint_home(const struct gw_sched *sched, const struct gw_job *job,
                                  uint32_t row)
{
    const struct gw_checkpointed *saved = gw_sched_checkpoint_of(job, row);
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    if (saved && saved->worker) {
        const struct gw_worker *beside, *worker = saver(sched, saved, &beside);
        return worker ? worker->id : beside ? beside->id : 0;
    }
    if (job->tasks.charges[row].tries == 0 || spec->message.kind != GW_SPEC_COMMAND)
        return 0;
    for (size_t i = job->places.count; i-- > 0;)
        if (job->places.items[i].index == row && job->places.items[i].rank == 0)
            return job->places.items[i].worker;
    return 0;
}
