/* Parked runners.
 *
 * A runner that has nothing to do is worth 10 ms of starting another one, and costs memory alone.
 * So where its slots are wanted it stays, without them, until there is work for it and room again.
 *
 * Always: a parked runner holds no slots, and is idle or ends; there are no more of them than the
 * worker has slots. */
#include "worker/core/runners/idle_runner.h"

#include "worker/core/processes/process.h"

#define END_GRACE_NS UINT64_C(200000000)

/* The one that was idle longest, and how many there are. */
static struct gw_process *longest_parked(const struct gw_node_core *core, uint32_t *count)
{
    struct gw_process *longest = NULL;
    for (size_t i = 0; i < core->processes.count; i++) {
        struct gw_process *process = core->processes.items[i];
        if (!process->parked || process->state != GW_PROCESS_IDLE)
            continue;
        ++*count;
        if (!longest || process->idle_since_ns < longest->idle_since_ns)
            longest = process;
    }
    return longest;
}

bool gw_idle_runner_put(struct gw_node_core *core, struct gw_process *process)
{
    uint32_t count = 0;
    if (process->gpu_count || !process->link)
        return false;
    struct gw_process *longest = longest_parked(core, &count);
    if (count >= core->options.slots)
        gw_process_bury(core, longest, END_GRACE_NS);
    process->parked = true;
    core->slots_used -= process->slots;
    return true;
}

struct gw_process *gw_idle_runner_wake(struct gw_node_core *core, struct gw_runner_pool *pool)
{
    struct gw_process *last = NULL;
    for (size_t i = 0; i < pool->runners.count; i++) {
        struct gw_process *process = pool->runners.items[i];
        if (process->parked && process->link &&
            (!last || process->idle_since_ns > last->idle_since_ns))
            last = process;
    }
    if (!last)
        return NULL;
    last->parked = false;
    last->woken = core->woken = true;
    core->slots_used += last->slots;
    return last;
}

void gw_idle_runner_rest(struct gw_node_core *core)
{
    for (size_t i = 0; core->woken && i < core->processes.count; i++)
        core->processes.items[i]->woken = false;
    core->woken = false;
}
