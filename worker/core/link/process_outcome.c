/* How processes end, and who is charged for that.
 *
 * Always: what a process ran is judged when it is buried and its link is closed, since only then
 * everything that it reported has arrived. */
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

#define LINGER_LIMIT_NS UINT64_C(1000000000) /* between a runner's closed link and its exit */
enum { KILL_SIGNAL = 9 /* on all of Linux */ };

/* From outside, or for memory: that says nothing about its program. */
static bool was_killed(const struct gw_process *process)
{
    return process->exit_known && process->signal == KILL_SIGNAL && !process->trouble;
}

/* It failed by itself, and only then came the word that its run is to end: as where this worker was
 * stopped for a while. */
static bool fell_before(const struct gw_process *process, const struct gw_attempt *run)
{
    return process->unasked && (process->signal || process->exit_code) &&
           run->end.outcome == GW_OUTCOME_KILLED;
}

/* Why a runner never said hello. */
static char *start_text(const struct gw_process *process)
{
    if (!process->exit_known || process->signal || process->trouble)
        return gw_process_exit_text(process);
    return gw_attempt_text(
        "the program ended (exit code %d) without becoming a runner: is gw_init the "
        "first statement of its main?",
        process->exit_code);
}

/* How the run that it executed ends, where nobody told the process to end. */
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
        if (!process->exit_known) /* as shells have it */
            end.exit_code = process->spawn_code == GW_ENOENT ? 127 : 126;
    } else if (process->oom) {
        end.outcome = GW_OUTCOME_OOM;
    } else if (!process->runner && !process->signal) {
        end.outcome = GW_OUTCOME_FAILED;
        end.code = GW_ETASK;
    } else if (!process->signal) {
        free(end.text);
        end.text = process->exit_code
                       ? gw_attempt_text("the function ended its process (exit code %d)",
                                         process->exit_code)
                       : gw_core_strdup("its process ended (exit code 0) before it told its "
                                        "result: the function called exit, or closed descriptors "
                                        "that are not its own");
    }
    free(run->end.text);
    run->end = end;
    gw_report_end(core, run);
}

/* Whether we ended it while it was well: what it executed is not charged then. */
static bool by_order(const struct gw_process *process)
{
    return process->burying && !process->cut_off;
}

/* The run that a runner crashed in, as it said itself: what is before that in its queue had ended,
 * but was not told yet, and runs again, charged to nobody. Where it has not said: the first. */
static struct gw_attempt *crashed_in(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_attempt *first = process->queue.first, *run = first;
    if (!process->began || !first || first->state != GW_ATTEMPT_SENT || by_order(process))
        return first;
    while (run && run->attempt != process->began)
        run = run->next;
    if (!run)
        return first;
    gw_process_requeue(core, process, run); /* each goes before what was returned */
    while (run->prev)
        gw_process_return(core, run->prev);
    return run;
}

static void start_failed(struct gw_node_core *core, struct gw_process *process)
{
    enum { TRIES = 3 };
    struct gw_runner_pool *pool = process->pool;
    const struct gw_attempt *run = process->queue.first;
    if (process->spawn_code == GW_ENOENT &&
        gw_job_program_gone(core, pool->program, process->agains) && !(run && run->gang))
        return; /* what waits for it waits on; a gang begins again, whole */
    char *text = start_text(process);
    if (++pool->start_failures >= (pool->proven || was_killed(process) ? TRIES : 1))
        gw_runner_pool_fail(core, pool, text, process);
    free(text);
}

/* What it took was returned, as its runner had not told of it: nobody is charged. */
static bool lacks_inputs(const struct gw_attempt *run)
{
    return run->state == GW_ATTEMPT_SENT && run->missing > 0;
}

/* Buried, and its link closed: nothing of it can come any more. */
static void judge(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_attempt *run = process->queue.first;
    if (process->runner && !process->hello && (!process->burying || process->trouble))
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
    } else if (run && run->gang) { /* buried for what it did as a process */
        charge(core, process, run);
    }
    gw_process_requeue(core, process, NULL);
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_GONE);
    gw_process_free(core, process);
}

static void buried(struct gw_node_core *core, struct gw_process *process)
{
    gw_process_leave_pool(process);
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_BURIED);
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
        buried(core, process);
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
    if (process->cut_off && process->unasked) { /* how it ended is known after all */
        free(process->trouble);
        process->trouble = NULL;
    }
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_EXITED);
}

void gw_process_outcome_on_buried(struct gw_node_core *core, const struct gw_msg_buried *message)
{
    struct gw_process *process = gw_process_find(core, message->process);
    if (!process || process->state == GW_PROCESS_BURIED)
        return;
    if (process->state != GW_PROCESS_EXITED) /* its guardian says so before, always */
        gw_process_outcome_on_exited(core, &(struct gw_msg_exited){.process = message->process});
    buried(core, process);
}

void gw_process_outcome_on_close(struct gw_node_core *core, struct gw_process *process)
{
    if (process->state == GW_PROCESS_BURIED) {
        judge(core, process);
    } else if (process->state != GW_PROCESS_EXITED && !process->burying) {
        process->deadline_ns = core->now_ns + LINGER_LIMIT_NS;
        gw_process_leave_pool(process);
    }
}
