/* Tasks that are prefetched to the worker that runs their dependency, and that need other slots
 * than the dependency. */
#include "tests/sim/checks/across.h"

#include "tests/sim/checks/limit.h"

static const struct work *work_of(const struct sim *sim, uint64_t id, uint32_t row)
{
    const struct sim_job *job = sim_limit_job(sim, id);
    for (size_t i = 0; job && i < job->work.count; i++)
        if (job->work.items[i]->row == row)
            return job->work.items[i];
    return NULL;
}

void sim_across_assigned(struct sim *sim, const struct gw_msg_assign *assign)
{
    for (uint32_t i = 0, dep = 0; i < assign->job.count; i++) {
        const struct work *work =
            work_of(sim, gw_col64_at(assign->job, i), gw_col32_at(assign->index, i));
        bool across = false;
        for (uint32_t end = dep + gw_col32_at(assign->dep_count, i); dep < end; dep++) {
            const struct work *maker = work_of(sim, gw_col64_at(assign->dep_job, dep),
                                               gw_col32_at(assign->dep_index, dep));
            across = across || (gw_col32_at(assign->dep_worker, dep) == GW_DEP_HERE && work &&
                                maker && maker->slots != work->slots);
        }
        if (!across)
            continue;
        sim_fault(sim, FAULT_ACROSS);
        GW_MUST(gw_map_put(&sim->across, gw_col64_at(assign->attempt, i), 1));
    }
}

void sim_across_killed(struct sim *sim, const struct gw_msg_kill *kill)
{
    for (uint32_t i = 0; kill->reason == GW_KILL_TAKE_BACK && i < kill->attempt.count; i++)
        if (gw_map_remove(&sim->across, gw_col64_at(kill->attempt, i)))
            sim_fault(sim, FAULT_ACROSS_BACK);
}
