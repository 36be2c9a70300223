/* A gang that runs with fewer ranks than it asked for ends, in order to start again with more
 * ranks. */

#include "scheduler/core/lifecycle/gang_growth.h"

#include "scheduler/core/lifecycle/gang_end.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/outbox.h"

static uint32_t ranks_of(const struct gw_gang_attempt *gang, const struct gw_worker *worker)
{
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < gang->count; i++)
        ranks += gang->ranks[i].worker == worker->id;
    return ranks;
}

/* Returns how many ranks the gang would have if it started again now. Its own slots would then be
 * free. Returns 0 if the gang might not get them. */
static uint32_t size_again(const struct gw_sched *sched, const struct gw_gang_attempt *gang,
                           const struct gw_resource_class *shape)
{
    struct gw_gang_sum sum = {.shape = shape};
    /* Another gang may take the free room, or workers that cannot connect may limit it. */
    if (sched->reserved || gw_sched_parting_any(sched))
        return 0;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_READY ||
            gw_sched_quarantine_left_ns(sched, worker, shape) > 0)
            continue;
        uint64_t ranks = gw_sched_gang_size_ranks_at(sched, worker, shape, false);
        gw_sched_gang_size_sum_add(&sum, (ranks > UINT32_MAX ? UINT32_MAX : ranks) +
                                             ranks_of(gang, worker));
    }
    return gw_sched_gang_size_now(sched, &sum, gw_sched_gang_size_full_until(sched, shape), false);
}

/* Ends a gang of commands. A command cannot pause at a step: it gets a grace period and repeats all
 * that it does not save in this time. Therefore the caller first checks that the gang has run long
 * enough (ran_long). */
static void end_to_grow(struct gw_sched *sched, struct gw_gang_attempt *gang,
                        const struct gw_spec *spec)
{
    const struct gw_end end = {.outcome = GW_OUTCOME_PREEMPTED,
                               .text = "there is room for more ranks of the gang"};
    uint64_t grace_ns = spec->message.grace_ns ? spec->message.grace_ns : GW_GRACE_NS;
    gw_sched_gang_end_kill(sched, gang, &(struct gw_gang_kill){grace_ns, GW_KILL_PREEMPT, &end});
}

static bool ran_long(const struct gw_sched *sched, const struct gw_gang_attempt *gang,
                     const struct gw_spec *spec)
{
    return sched->now_ns - gang->went_ns >=
           GW_GROWS_AFTER_WAITS * spec->shape->full_size_timeout_ns;
}

void gw_sched_gang_growth_on_checkpoint(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    const struct gw_job *job = gang->job;
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[gang->index]];
    if (gang->count == spec->message.ranks || gang->state != GW_GANG_RUNNING || gang->stopped ||
        job->paused || job->tasks.state[gang->index] != GW_TASK_PLACED ||
        (spec->message.kind != GW_SPEC_FUNCTION && !ran_long(sched, gang, spec)))
        return;
    uint32_t size = size_again(sched, gang, spec->shape);
    if (size <= gang->count)
        return;
    if (!gang->growing)
        gw_sched_gang_grow(sched, gang, size);
    if (spec->message.kind == GW_SPEC_FUNCTION)
        gw_sched_outbox_control(sched, gang, GW_CONTROL_PAUSE);
    else
        end_to_grow(sched, gang, spec);
}
