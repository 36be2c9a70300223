/* Parked runners.
 *
 * Starting a runner takes about 10 ms, while an idle one only uses memory. If other work needs the
 * slots of an idle runner, the runner therefore stays without slots, until there is work for it and
 * free slots again.
 *
 * Invariants: a parked runner holds no slots, and is idle or ending. There are at most as many
 * parked runners as the worker has slots. */
#include "worker/core/runners/idle_runner.h"

#include "worker/core/processes/process.h"

#define END_GRACE_NS UINT64_C(200000000)

/* Returns the parked runner (an idle runner without slots) that was idle longest, and adds the
 * number of parked runners to *count. */
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
        gw_process_reap(core, longest, END_GRACE_NS);
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
