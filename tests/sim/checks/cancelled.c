/* Tasks that their worker was told to end. The worker must not send them to a runner after that,
 * even if the runner in whose queue they waited has died. recant.c checks calls of actors. */
#include "tests/sim/checks/cancelled.h"

enum { DIES_OF = 3 }; /* one in this many */

/* Returns the process in whose queue an attempt waits, or NULL. */
static struct process *queue_of(const struct host *host, uint64_t attempt)
{
    for (size_t i = 0; i < host->processes.count; i++)
        for (size_t k = 1; k < host->processes.items[i]->rows.count; k++)
            if (host->processes.items[i]->rows.items[k].attempt == attempt)
                return host->processes.items[i];
    return NULL;
}

void sim_cancelled_hear(struct sim *sim, struct host *host, const struct gw_message *message)
{
    if (message->type != GW_MESSAGE_kill || message->kill.reason == GW_KILL_TAKE_BACK ||
        !sim_host_is_heard(sim, host, message))
        return;
    for (uint32_t i = 0; i < message->kill.attempt.count; i++) {
        const uint64_t attempt = gw_col64_at(message->kill.attempt, i);
        struct process *process = queue_of(host, attempt);
        const uint64_t chance = sim_hash(sim->seed ^ attempt, 791);
        if (gw_map_get(&sim->calls_out, attempt, NULL))
            continue;
        GW_MUST(gw_map_put(&host->cancelled, attempt, 1));
        if (process && !process->actor && !sim->healed && chance % DIES_OF == 0)
            sim_process_anyhow(sim, process, (chance >> 8) % MS, sim_process_die);
    }
}

void sim_cancelled_given(struct sim *sim, const struct host *host,
                         const struct gw_msg_assign *assign)
{
    for (uint32_t i = 0; host->cancelled.count && i < assign->attempt.count; i++)
        SIM_CHECK(sim,
                  gw_col32_at(assign->rank, i) != GW_RANK_NONE ||
                      !gw_map_get(&host->cancelled, gw_col64_at(assign->attempt, i), NULL),
                  "host %u was told to end attempt %llx, and gives it to a runner", host->number,
                  (unsigned long long)gw_col64_at(assign->attempt, i));
}

void sim_cancelled_died(struct sim *sim, const struct process *process)
{
    for (size_t k = 1; k < process->rows.count && process->runner; k++)
        if (gw_map_get(&process->host->cancelled, process->rows.items[k].attempt, NULL))
            sim_fault(sim, FAULT_CANCELLED_BACK);
}

void sim_cancelled_drop(struct host *host)
{
    gw_map_deinit(&host->cancelled);
}
