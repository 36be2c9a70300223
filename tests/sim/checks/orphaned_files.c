/* Orphaned files in the folders of workers, which outlive the workers. In some seeds, a worker
 * reports after each welcome for which jobs it has files. The scheduler must release the files of
 * jobs that it does not know, and no others. */
#include "tests/sim/checks/orphaned_files.h"

enum { TOLD_MAX = 64, SEEDS = 8 }; /* SEEDS: one seed in this many */

/* Returns the number of a job that never existed. */
static uint64_t stray(const struct host *host)
{
    return UINT64_MAX - host->number;
}

void sim_orphaned_files_tell(struct sim *sim, struct host *host, const struct gw_message *message)
{
    uint64_t jobs[TOLD_MAX];
    uint32_t count = 0;
    if (message->type != GW_MESSAGE_welcome || sim_hash(sim->seed, 370) % SEEDS || !host->core ||
        !host->scheduler)
        return;
    for (size_t i = 0; i < sim->jobs.count && count + 1 < TOLD_MAX; i++)
        if (sim->jobs.items[i]->promised)
            jobs[count++] = sim->jobs.items[i]->promised;
    jobs[count++] = stray(host);
    struct gw_effect effect = {.message.type = GW_MESSAGE_orphaned_files};
    effect.message.orphaned_files.job = (struct gw_col64){jobs, count};
    gw_node_core_stamp(host->core, &effect.message);
    sim_send(sim, host->scheduler, 1, &effect);
    sim_fault(sim, FAULT_ORPHANED_FILES);
}

void sim_orphaned_files_take(struct sim *sim, const struct host *host,
                             const struct gw_msg_orphaned_files *unknown)
{
    bool has_stray = false;
    for (uint32_t i = 0; i < unknown->job.count; i++) {
        uint64_t job = gw_col64_at(unknown->job, i);
        has_stray = has_stray || job == stray(host);
        SIM_CHECK(sim, !gw_sched_job_knows(sim->sched, job),
                  "host %u is to remove what is of job %llu, which is known", host->number,
                  (unsigned long long)job);
        sim_fault(sim, FAULT_ORPHANED_FILES_GO);
    }
    SIM_CHECK(sim, has_stray, "host %u keeps what is of no job", host->number);
}
