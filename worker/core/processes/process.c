/* Processes, which are runners and commands, from their start until they are reaped.
 *
 * Invariants: a process has its slots until it is reaped, or is parked: idle, without slots
 * (idle_runner.c). The outcome of its attempt is decided when it is reaped and its connection is
 * closed, since only then all its reports have arrived. The first attempt of a runner's queue
 * executes. If the runner ends, the attempts behind the first are queued again and are not
 * charged. */
#include "worker/core/processes/process.h"

#include "graph/wire/enums.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/objects/object.h"
#include "worker/core/objects/result_memfd.h"
#include "worker/core/objects/workdir.h"
#include "worker/core/processes/turn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Records if a runner starts for the queue of its pool, and not for a rank. */
void gw_process_count_starting(struct gw_process *process, bool starts)
{
    if (process->starts == starts)
        return;
    process->starts = starts;
    if (starts)
        process->pool->starting++;
    else
        process->pool->starting--;
}

int gw_process_used(struct gw_process *process, uint64_t cpu_ns)
{
    if (cpu_ns > process->cpu_ns)
        process->cpu_ns = cpu_ns;
    return 0;
}

void gw_process_give(struct gw_node_core *core, struct gw_process *process, struct gw_attempt *run)
{
    gw_attempt_pull(run);
    gw_attempt_push(&process->queue, run);
    run->process = process;
    process->load_ns += run->load_ns;
    process->woken = false;
    if (process->state == GW_PROCESS_IDLE) {
        gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_BUSY);
        process->started_told = false;
        if (!run->gang) /* a rank executes only after the gang starts */
            process->head_since_ns = core->now_ns;
    }
}

void gw_process_unbind(struct gw_node_core *core, struct gw_process *process,
                       struct gw_attempt *run)
{
    gw_attempt_pull(run);
    run->process = NULL;
    gw_attempt_push(&core->held, run);
    gw_process_count_starting(process, true);
}

void gw_process_make_idle(struct gw_node_core *core, struct gw_process *process)
{
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_IDLE);
    process->idle_since_ns = core->now_ns;
    process->head_since_ns = 0;
}

void gw_process_reclaim(struct gw_node_core *core, struct gw_process *process)
{
    process->lent = false;
    core->lent--;
    core->slots_used += process->slots;
}

void gw_process_end_wait(struct gw_node_core *core, struct gw_process *process)
{
    if (process->lent)
        gw_process_reclaim(core, process);
    process->woke = false;
}

void gw_process_next(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_attempt *run = process->queue.first;
    process->started_told = process->runs_long = false;
    gw_process_end_wait(core, process);
    process->head_since_ns = run ? core->now_ns : 0;
    if (process->state != GW_PROCESS_BUSY)
        return;
    if (!run && process->actor) {
        return; /* the actor waits for calls */
    } else if (!run) {
        gw_process_make_idle(core, process);
    } else if (run->killing && !run->actor) { /* a call of an actor runs to its end */
        gw_process_end_attempt(core, run, gw_attempt_killed("killed"), run->kill_grace_ns);
    }
}

void gw_process_free(struct gw_node_core *core, struct gw_process *process)
{
    gw_process_leave_pool(process);
    gw_turn_leave(process);
    for (size_t i = 0; i < core->processes.count; i++)
        if (core->processes.items[i] == process) {
            gw_array_remove_swap(&core->processes, i);
            break;
        }
    gw_map_remove(&core->processes_by_id, process->id);
    gw_result_memfd_end(core, process);
    if (process->link)
        process->link->process = NULL;
    core->memory.processes_bytes -= process->memory_bytes;
    gw_map_deinit(&process->specs);
    gw_workdir_end(core, process);
    if (process->pool) {
        process->pool->process_count--;
        process->pool->left = core->pools_left = true;
    }
    free(process->gpus);
    free(process->trouble);
    free(process);
}

/* -- End -----------------------------------------------------------------------------------------
 */

/* Removes a process from its pool, so that it gets no more work. */
void gw_process_leave_pool(struct gw_process *process)
{
    struct gw_runner_pool *pool = process->pool;
    if (!pool)
        return;
    for (size_t i = 0; i < pool->runners.count; i++)
        if (pool->runners.items[i] == process) {
            gw_array_remove_swap(&pool->runners, i);
            gw_process_count_starting(process, false);
            return;
        }
}

/* Returns the signal that ends a process. 0: SIGTERM. */
static uint32_t signal_of(const struct gw_process *process)
{
    const struct gw_attempt *run = process->queue.first;
    return run ? run->spec->message.signal : 0;
}

void gw_process_signal(struct gw_node_core *core, const struct gw_process *process)
{
    if (core->supervisor && !process->reaping)
        gw_core_send(core, core->supervisor, GW_MESSAGE_signal)->message.signal =
            (struct gw_msg_signal){process->id, signal_of(process)};
}

void gw_process_hurry(struct gw_node_core *core, const struct gw_process *process,
                      uint64_t grace_ns)
{
    if (core->supervisor)
        gw_core_send(core, core->supervisor, GW_MESSAGE_reap)->message.reap =
            (struct gw_msg_reap){process->id, grace_ns, signal_of(process)};
}

void gw_process_reap(struct gw_node_core *core, struct gw_process *process, uint64_t grace_ns)
{
    if (process->state == GW_PROCESS_REAPED)
        return;
    if (!process->reaping)
        gw_process_leave_pool(process);
    process->reaping = true;
    process->deadline_ns = 0;
    if (process->state != GW_PROCESS_ENDING && process->state != GW_PROCESS_EXITED)
        gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_ENDING);
    gw_process_hurry(core, process, grace_ns);
}

char *gw_process_exit_text(const struct gw_process *process)
{
    char error[64] = "";
    if (process->xid)
        snprintf(error, sizeof error, ", after Xid %" PRIu32 " on its GPU", process->xid);
    if (process->trouble)
        return gw_core_strdup(process->trouble);
    if (process->oom)
        return gw_core_strdup("killed: out of memory");
    if (process->signal)
        return gw_attempt_text("signal %d (%s)%s", process->signal, strsignal(process->signal),
                               error);
    return gw_attempt_text("exit code %d%s", process->exit_code, error);
}

void gw_process_return(struct gw_node_core *core, struct gw_attempt *run)
{
    gw_attempt_pull(run);
    gw_object_unpin(core, run);
    run->process->load_ns -= run->load_ns;
    run->process = NULL;
    if (run->killing) {
        run->end = gw_attempt_killed("killed");
        gw_attempt_ended(core, run);
    } else if (run->missing == 0) {
        gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_READY);
        gw_attempt_push_first(&run->pool->ready, run);
    } else {
        gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_WAITING);
        gw_attempt_push(&core->waiting, run);
    }
}

void gw_process_requeue(struct gw_node_core *core, struct gw_process *process,
                        const struct gw_attempt *first)
{
    while (process->queue.last != first)
        gw_process_return(core, process->queue.last);
}

void gw_process_end_attempt(struct gw_node_core *core, struct gw_attempt *run,
                            struct gw_attempt_end end, uint64_t grace_ns)
{
    if (run->state == GW_ATTEMPT_ENDED) {
        free(end.text);
        return;
    }
    if (run->state == GW_ATTEMPT_ENDING) {
        free(end.text);
        gw_process_reap(core, run->process, grace_ns); /* the grace period may be shorter now */
        return;
    }
    struct gw_process *process = run->process;
    if (process && process->state == GW_PROCESS_EXITED && !process->reaping) {
        free(end.text); /* the process ended by itself, and that is what will be reported */
        /* The process may have ended while it executed a later attempt. Then this attempt must not
         * run again. */
        if (end.outcome == GW_OUTCOME_KILLED && !run->gang)
            run->killing = true;
        gw_process_hurry(core, process, grace_ns);
        return;
    }
    bool lives =
        process && (run->state != GW_ATTEMPT_STARTING || process->state != GW_PROCESS_STARTING);
    end.executing = gw_attempt_executes(run);
    free(run->end.text);
    run->end = end;
    if (lives) {
        gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_ENDING);
        gw_process_reap(core, process, grace_ns);
        return;
    }
    if (process) /* the starting runner stays, for other attempts */
        gw_process_unbind(core, process, run);
    gw_attempt_ended(core, run);
}
