/* Handles the end of processes and decides the outcome of the attempts that they executed: for
 * example crashed, failed, out of memory, or given back.
 *
 * Invariant: the outcome is decided only after the process is reaped and its connection is closed.
 * Only then has everything arrived that the process reported. */
#include "worker/core/link/process_outcome.h"

#include "worker/core/gangs/actor.h"
#include "worker/core/link/report.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/job.h"
#include "worker/core/model/tables.h"
#include "worker/core/processes/gpu.h"
#include "worker/core/processes/process.h"
#include "worker/core/processes/turn.h"
#include "worker/core/runners/runner_pool.h"

#include <stdlib.h>

/* Maximum time from a runner's closed connection to its exit */
#define LINGER_LIMIT_NS UINT64_C(1000000000)
enum { KILL_SIGNAL = 9 /* SIGKILL on Linux */ };

/* The process got SIGKILL from outside or from the out-of-memory killer. This says nothing about
 * its program. */
static bool was_killed(const struct gw_process *process)
{
    return process->exit_known && process->signal == KILL_SIGNAL && !process->trouble;
}

/* Returns true if the process failed by itself before the order to kill its attempt arrived. This
 * happens if the worker's process did not run for a while (SIGSTOP). */
static bool fell_before(const struct gw_process *process, const struct gw_attempt *run)
{
    return process->unasked && (process->signal || process->exit_code) &&
           run->end.outcome == GW_OUTCOME_KILLED;
}

/* Returns the text that explains why a runner never sent its first message. The caller frees it. */
static char *start_text(const struct gw_process *process)
{
    if (!process->exit_known || process->signal || process->trouble)
        return gw_process_exit_text(process);
    return gw_attempt_text("the program ended (exit code %d) before it could run a task: its main "
                           "must begin with gw_init",
                           process->exit_code);
}

/* Sets the outcome of an attempt whose process ended without an order of this worker, and reports
 * it. */
static void charge(struct gw_node_core *core, struct gw_process *process, struct gw_attempt *run)
{
    bool executing =
        run->state == GW_ATTEMPT_ENDING ? run->end.executing : gw_attempt_executes(run);
    struct gw_attempt_end end = {
        .outcome = GW_OUTCOME_CRASHED,
        .executing = executing,
        .code = GW_ECRASHED,
        .exit_code = process->exit_code,
        .signal = process->signal,
        .text = gw_process_exit_text(process),
    };
    if (!process->exit_known || (process->runner && !process->hello && !was_killed(process))) {
        end.outcome = GW_OUTCOME_CANNOT_START;
        end.code = GW_ESTART;
        end.executing = 0;
        end.capture = process->runner ? process->id : 0;
        if (process->runner) {
            free(end.text);
            end.text = start_text(process);
        }
        if (!process->exit_known) /* as shells do */
            end.exit_code = process->spawn_code == GW_ENOENT ? 127 : 126;
    } else if (process->oom) {
        end.outcome = GW_OUTCOME_OOM;
    } else if (!process->runner && !process->signal) {
        end.outcome = GW_OUTCOME_FAILED;
        end.code = GW_ETASK;
    } else if (!process->signal) {
        free(end.text);
        end.text = process->exit_code
                       ? gw_attempt_text("the function ended its process (exit code %d): a task "
                                         "function must return instead",
                                         process->exit_code)
                       : gw_core_strdup("the process ended (exit code 0) before it reported a "
                                        "result: the function called exit, or closed file "
                                        "descriptors that it did not open; it must return instead");
    }
    free(run->end.text);
    run->end = end;
    gw_report_end(core, run);
}

/* Returns true if this worker ended the process while it was healthy. The attempt that it executed
 * is not charged then. */
static bool by_order(const struct gw_process *process)
{
    return process->reaping && !process->cut_off;
}

/* Returns the attempt in which a runner crashed. If the runner has said which attempt it began
 * last, it is that one. The attempts before it in the queue had ended, but were not reported yet.
 * They run again and are not charged. If the runner has not said, it is the first of the queue. */
static struct gw_attempt *crashed_in(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_attempt *first = process->queue.first, *run = first;
    if (!process->began || !first || first->state != GW_ATTEMPT_SENT || by_order(process))
        return first;
    while (run && run->attempt != process->began)
        run = run->next;
    if (!run)
        return first;
    gw_process_requeue(
        core, process,
        run); /* requeueing puts each attempt at the front, so the later attempts go first */
    while (run->prev)
        gw_process_return(core, run->prev);
    return run;
}

static void start_failed(struct gw_node_core *core, struct gw_process *process)
{
    enum { TRIES = 3 };
    struct gw_runner_pool *pool = process->pool;
    const struct gw_attempt *run = process->queue.first;
    /* The worker has requested the program from the scheduler again: attempts of tasks go on
     * waiting for it, but a gang must start again as a whole. */
    if (process->spawn_code == GW_ENOENT &&
        gw_job_program_gone(core, pool->program, process->agains) && !(run && run->gang))
        return;
    char *text = start_text(process);
    if (++pool->start_failures >= (pool->proven || was_killed(process) ? TRIES : 1))
        gw_runner_pool_fail(core, pool, text, process);
    free(text);
}

/* Returns true if the attempt was sent to a runner before its maker ended, and an input is still
 * missing. It is not charged, since it cannot have started. */
static bool lacks_inputs(const struct gw_attempt *run)
{
    return run->state == GW_ATTEMPT_SENT && run->missing > 0;
}

/* Decides the outcome of the attempt that a process executed. The process is reaped and its
 * connection is closed, so nothing more can arrive from it. */
static void judge(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_attempt *run = process->queue.first;
    if (process->runner && !process->hello && (!process->reaping || process->trouble))
        start_failed(core, process);
    run = process->actor ? process->queue.first : crashed_in(core, process);
    if (process->actor) {
        gw_node_actor_judge(core, process);
    } else if (run && run->state == GW_ATTEMPT_ENDING) {
        if (fell_before(process, run))
            charge(core, process, run);
        else
            gw_report_end(core, run);
    } else if (run && !by_order(process) && !lacks_inputs(run)) {
        if (!process->runner && process->exit_known && !process->signal && !process->exit_code)
            gw_report_of_command(core, run);
        else
            charge(core, process, run);
    } else if (run && run->gang) {
        /* The process was ended for a fault of its own, such as a broken protocol */
        charge(core, process, run);
    }
    gw_process_requeue(core, process, NULL);
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_GONE);
    gw_process_free(core, process);
}

static void reaped(struct gw_node_core *core, struct gw_process *process)
{
    gw_process_leave_pool(process);
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_REAPED);
    core->slots_used -= process->lent || process->parked ? 0 : process->slots;
    core->lent -= process->lent;
    process->lent = process->parked = false;
    gw_gpu_leave(core, process);
    gw_turn_come(core, process);
    if (!process->link)
        judge(core, process);
}

void gw_process_outcome_on_spawned(struct gw_node_core *core, const struct gw_msg_spawned *spawned)
{
    struct gw_process *process = gw_process_find(core, spawned->process);
    if (!process || process->state >= GW_PROCESS_EXITED)
        return;
    if (spawned->code == GW_EAGAIN && process->state == GW_PROCESS_STARTING && !process->runner) {
        gw_turn_return(core, process);
        gw_process_free(core, process);
    } else if (spawned->code < 0) {
        free(process->trouble);
        process->trouble = gw_core_strdup(spawned->text);
        process->spawn_code = spawned->code;
        reaped(core, process);
    } else if (process->state == GW_PROCESS_STARTING && !process->runner) {
        gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_BUSY);
    }
}

void gw_process_outcome_on_exited(struct gw_node_core *core, const struct gw_msg_exited *exited)
{
    struct gw_process *process = gw_process_find(core, exited->process);
    if (!process || process->state >= GW_PROCESS_EXITED)
        return;
    gw_process_leave_pool(process);
    process->deadline_ns = 0;
    process->exit_known = true;
    process->exit_code = exited->exit_code;
    process->signal = exited->signal;
    process->oom = exited->oom;
    process->unasked = exited->unasked;
    process->began = exited->executing;
    process->ran_ns = exited->ran_ns;
    if (process->cut_off &&
        process->unasked) { /* the process ended by itself, so its exit status explains the end */
        free(process->trouble);
        process->trouble = NULL;
    }
    const bool began = !process->runner || process->hello; /* else its start has failed */
    if (exited->text && *exited->text && began && !process->trouble)
        process->trouble = gw_core_strdup(exited->text);
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_EXITED);
}

void gw_process_outcome_on_reaped(struct gw_node_core *core, const struct gw_msg_reaped *message)
{
    struct gw_process *process = gw_process_find(core, message->process);
    if (!process || process->state == GW_PROCESS_REAPED)
        return;
    if (process->state !=
        GW_PROCESS_EXITED) /* the supervisor sends `exited` first; this line is a safeguard */
        gw_process_outcome_on_exited(core, &(struct gw_msg_exited){.process = message->process});
    (void)gw_process_used(process, message->cpu_ns);
    process->peak_bytes = message->peak_bytes;
    reaped(core, process);
}

void gw_process_outcome_on_close(struct gw_node_core *core, struct gw_process *process)
{
    if (process->state == GW_PROCESS_REAPED) {
        judge(core, process);
    } else if (process->state != GW_PROCESS_EXITED && !process->reaping) {
        process->deadline_ns = core->now_ns + LINGER_LIMIT_NS;
        gw_process_leave_pool(process);
    }
}
