/* Gives up all attempts of this worker: if the scheduler has been silent for too long (the fence),
 * or if the worker shuts down.
 *
 * Invariants: an attempt that was given up is freed at once, so later reports of its process are
 * ignored, except a checkpoint that rank 0 saves in time. The worker stays until all its processes
 * are reaped. If a gang has time to end, its shared memory segment for collectives is not aborted,
 * since its ranks may need collectives to save their state.
 *
 * A worker that was told to shut down takes no new work from then on. Each task gets its own grace
 * period, but at most GW_LEAVE_NS. After the last process has ended, the worker tells the scheduler
 * and waits for its permission to exit, again for at most GW_LEAVE_NS. The worker does not wait if
 * no scheduler is connected, or if it is told to shut down a second time. */
#include "worker/core/link/shutdown.h"

#include "worker/core/gangs/actor.h"
#include "worker/core/gangs/gang.h"
#include "worker/core/link/orphaned.h"
#include "worker/core/link/retire.h"
#include "worker/core/model/core.h"
#include "worker/core/objects/workdir.h"
#include "worker/core/processes/process.h"

#define MS UINT64_C(1000000)
/* Grace period of a process without a task, and of every process if the worker ends at once */
#define IDLE_GRACE_NS (500 * MS)

static void free_runs(struct gw_node_core *core, struct gw_attempts *list)
{
    while (list->first)
        gw_retire_attempt(core, list->first);
}

void gw_shutdown_free_runs(struct gw_node_core *core)
{
    uint64_t key, value;
    free_runs(core, &core->waiting);
    free_runs(core, &core->alone);
    free_runs(core, &core->held);
    for (size_t i = 0; i < core->pools.count; i++)
        free_runs(core, &core->pools.items[i]->ready);
    for (size_t i = 0; i < core->processes.count; i++)
        free_runs(core, &core->processes.items[i]->queue);
    for (size_t at = 0; gw_map_next(&core->actors, &at, &key, &value);)
        free_runs(core, &((struct gw_node_actor *)(uintptr_t)value)->calls);
    free_runs(core, &core->ended);
    free_runs(core, &core->supplied);
    gw_node_actors_drop(core);
}

static uint64_t grace_of(const struct gw_process *process, uint64_t grace_ns_max)
{
    const struct gw_attempt *run = process->actor ? process->actor->run : process->queue.first;
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
        at = 0; /* gw_gang_tidy may have removed entries: restart the walk */
    }
}

static void drop(struct gw_node_core *core, bool at_once, uint64_t grace_ns_max)
{
    for (size_t i = 0; i < core->processes.count; i++) {
        struct gw_process *process = core->processes.items[i];
        const struct gw_attempt *run = process->queue.first;
        gw_workdir_outlive(core, process);
        if (run && run->gang && run->rank == 0 && !at_once)
            process->led = run->attempt;
        gw_process_reap(core, process, at_once ? 0 : grace_of(process, grace_ns_max));
    }
    gw_shutdown_free_runs(core);
    drop_gangs(core, at_once || grace_ns_max == 0);
}

uint64_t gw_shutdown_fence_ns(const struct gw_node_core *core)
{
    if (!core->attempts.count && !core->gangs.count)
        return UINT64_MAX;
    const uint64_t heard_ns = core->acked_ns + core->options.fence_ns;
    const uint64_t until_ns = gw_orphaned_until_ns(core);
    return heard_ns < until_ns ? heard_ns : until_ns;
}

void gw_shutdown_fence(struct gw_node_core *core)
{
    if (core->now_ns < gw_shutdown_fence_ns(core))
        return;
    drop(core, true, 0);
    /* The connection may be half open. Close it, so that the scheduler learns that nothing of what
     * it started here runs any more. */
    if (core->scheduler) {
        gw_core_effect(core, GW_EFFECT_CLOSE)->peer = core->scheduler->peer;
        core->registered = false;
    }
}

void gw_shutdown_begin(struct gw_node_core *core, uint64_t grace_ns_max)
{
    if (!core->shutting_down) {
        core->shutting_down = true;
        drop(core, false, grace_ns_max);
        return;
    }
    for (size_t i = 0; i < core->processes.count; i++)
        if (core->processes.items[i]->state != GW_PROCESS_REAPED)
            gw_process_hurry(core, core->processes.items[i],
                             grace_ns_max ? grace_ns_max : IDLE_GRACE_NS);
}

/* -- Shutting down -------------------------------------------------------------------------------
 */

static void tell(struct gw_node_core *core, uint32_t empty)
{
    gw_core_send(core, core->scheduler, GW_MESSAGE_leaving)->message.leaving =
        (struct gw_msg_leaving){gw_core_text(core, core->leave.why), empty};
}

void gw_shutdown_on_leave(struct gw_node_core *core, const char *text)
{
    struct gw_leave *leave = &core->leave;
    const bool hastily = core->shutting_down || !text;
    if (core->shutting_down || !core->registered || !text) {
        leave->may = true;
    } else {
        leave->why = gw_core_strdup(text);
        tell(core, 0);
    }
    gw_shutdown_begin(core, hastily ? 0 : GW_LEAVE_NS);
}

void gw_shutdown_allow(struct gw_node_core *core)
{
    core->leave.may = true;
}

/* Returns true if this worker need not stay for other workers. The first call tells the scheduler
 * that nothing runs here any more. */
static bool may_exit(struct gw_node_core *core)
{
    struct gw_leave *leave = &core->leave;
    if (!leave->why || leave->may || !core->registered)
        return true;
    if (!leave->told) {
        tell(core, 1);
        leave->told = true;
        leave->until_ns = core->now_ns + GW_LEAVE_NS;
    }
    return core->now_ns >= leave->until_ns;
}

void gw_shutdown_settle(struct gw_node_core *core)
{
    if (!core->shutting_down || core->processes.count || core->exited || !may_exit(core))
        return;
    core->exited = true;
    gw_core_effect(core, GW_EFFECT_EXIT);
}

uint64_t gw_shutdown_deadline_ns(const struct gw_node_core *core)
{
    return core->leave.told && !core->exited ? core->leave.until_ns : UINT64_MAX;
}
