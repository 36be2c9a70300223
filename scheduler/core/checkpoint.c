/* Current checkpoints: a fact names the attempt that saved, and only one that still counts can. */
#include "scheduler/core/checkpoint.h"

#include "scheduler/core/elastic.h"
#include "scheduler/core/gang_try.h"
#include "scheduler/core/job.h"

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
    *current = (struct gw_checkpointed){fact->attempt, (int64_t)fact->step};
}
