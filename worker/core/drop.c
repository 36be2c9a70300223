/* Giving up all that runs.
 *
 * Always: what was given up has no run any more, so nothing that its processes still say is told,
 * but what a rank 0 saves in time; they are buried, and while one is not this worker stays. A gang
 * that has time to end keeps its segment of collectives whole: its ranks may need it to save what
 * they have. */
#include "worker/core/drop.h"

#include "worker/core/actor.h"
#include "worker/core/folder.h"
#include "worker/core/gang.h"
#include "worker/core/process.h"
#include "worker/core/run.h"

#define MS UINT64_C(1000000)
#define IDLE_GRACE_NS (500 * MS) /* of who has no task; and of all, where there is no time */

static void free_runs(struct gw_node_core *core, struct gw_runs *list)
{
    while (list->first)
        gw_run_free(core, list->first);
}

void gw_drop_runs(struct gw_node_core *core)
{
    free_runs(core, &core->waiting);
    free_runs(core, &core->alone);
    free_runs(core, &core->held);
    for (size_t i = 0; i < core->pools.count; i++)
        free_runs(core, &core->pools.items[i]->ready);
    for (size_t i = 0; i < core->processes.count; i++)
        free_runs(core, &core->processes.items[i]->queue);
    gw_node_actors_drop(core);
}

static uint64_t grace_of(const struct gw_process *process, uint64_t grace_ns_max)
{
    const struct gw_run *run = process->actor ? process->actor->run : process->queue.first;
    if (grace_ns_max == 0 || !run)
        return IDLE_GRACE_NS;
    uint64_t grace_ns = run->spec->message.grace_ns;
    return grace_ns < grace_ns_max ? grace_ns : grace_ns_max;
}

static void drop_gangs(struct gw_node_core *core, bool abort)
{
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->gangs, &at, &key, &value)) {
        struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
        if (abort)
            gw_gang_abort(core, gang);
        gw_gang_tidy(core, gang);
        at = 0; /* the table has changed */
    }
}

static void drop(struct gw_node_core *core, bool at_once, uint64_t grace_ns_max)
{
    for (size_t i = 0; i < core->processes.count; i++) {
        struct gw_process *process = core->processes.items[i];
        const struct gw_run *run = process->queue.first;
        gw_folder_outlive(core, process);
        if (run && run->gang && run->rank == 0 && !at_once)
            process->led = run->attempt;
        gw_process_bury(core, process, at_once ? 0 : grace_of(process, grace_ns_max));
    }
    gw_drop_runs(core);
    drop_gangs(core, at_once || grace_ns_max == 0);
}

void gw_drop_all(struct gw_node_core *core)
{
    drop(core, true, 0);
}

void gw_drop_shut_down(struct gw_node_core *core, uint64_t grace_ns_max)
{
    if (!core->shutting_down) {
        core->shutting_down = true;
        drop(core, false, grace_ns_max);
        return;
    }
    for (size_t i = 0; i < core->processes.count; i++)
        if (core->processes.items[i]->state != GW_PROCESS_BURIED)
            gw_process_hurry(core, core->processes.items[i],
                             grace_ns_max ? grace_ns_max : IDLE_GRACE_NS);
}
