/* Tasks that submit other tasks: their connection to the scheduler, the slots that they yield while
 * they wait, and the tasks that are queued behind a task that waits or runs long.
 *
 * Invariants: a process whose task waits (lent) holds no slots and gets no work. The tasks that
 * were queued behind the waiting task are given back to the scheduler and run elsewhere. If they
 * stayed, they might wait for a task that waits for them. When the wait is over, the task continues
 * at once. slots_used may then exceed the number of slots until enough tasks have ended or wait. A
 * runner without work may stay idle meanwhile. It is ready for the next task when another task
 * waits. */
#include "worker/core/runners/nested.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/processes/process.h"
#include "worker/core/runners/actor_queue.h"

/* Returns the attempt that a runner's message names, or NULL. Only the attempt that the runner
 * executes can send such a message. */
static struct gw_attempt *executed(const struct gw_process *process, uint64_t attempt,
                                   uint32_t rank)
{
    struct gw_attempt *run = process->queue.first;
    return run && run->attempt == attempt && run->rank == rank && gw_attempt_executes(run) ? run
                                                                                           : NULL;
}

int gw_nested_on_link(struct gw_node_core *core, struct gw_process *process,
                      const struct gw_msg_task_link *link)
{
    struct gw_attempt *run = executed(process, link->attempt, link->rank);
    if (!run)
        return process->queue.first && process->queue.first->state == GW_ATTEMPT_ENDING ? 0
                                                                                        : GW_EPROTO;
    run->bound = true;
    const struct gw_node_spec *spec = run->actor ? run->actor->run->spec : run->spec;
    struct gw_msg_task_linked linked = {
        .attempt = link->attempt,
        .text = "",
        .program = spec->message.program,
        .env = spec->message.env,
    };
    if (!core->registered) {
        linked.code = GW_ECLOSED;
        linked.text = "this worker has no connection to the scheduler at the moment";
        gw_core_send(core, process->link, GW_MESSAGE_task_linked)->message.task_linked = linked;
        return 0;
    }
    struct gw_effect *effect = gw_core_send(core, process->link, GW_MESSAGE_task_linked);
    effect->type = GW_EFFECT_LINK;
    effect->number = link->attempt;
    effect->count = link->rank;
    effect->message.task_linked = linked;
    return 0;
}

static void tell(struct gw_node_core *core, const struct gw_msg_task_blocked *blocked)
{
    if (core->registered)
        gw_core_send(core, core->scheduler, GW_MESSAGE_task_blocked)->message.task_blocked =
            *blocked;
}

static void lend(struct gw_node_core *core, struct gw_process *process,
                 const struct gw_attempt *run)
{
    process->lent = true;
    process->woke = false;
    core->lent++;
    core->slots_used -= process->slots;
    while (process->queue.last != run) {
        struct gw_attempt *behind = process->queue.last;
        behind->end = gw_attempt_killed("the task before it in its runner waits for others");
        gw_attempt_ended(core, behind);
    }
}

/* Takes back the tasks behind a task that runs long, so that other runners can execute them. The
 * task keeps its slots. */
static void take_back(struct gw_node_core *core, struct gw_process *process,
                      const struct gw_attempt *run)
{
    const bool takes = process->queue.last != run;
    process->runs_long = true;
    if (takes)
        gw_process_requeue(core, process, run);
    gw_core_send(core, process->link, GW_MESSAGE_task_taken)->message.task_taken.attempt =
        takes ? run->attempt : 0;
}

/* Handles the report that a task runs long. A task that is being ended counts, too, since it may
 * use its whole grace period. */
static bool on_long(struct gw_node_core *core, struct gw_process *process, uint64_t attempt)
{
    const struct gw_attempt *run = process->queue.first;
    if (!run || run->attempt != attempt || run->spec->message.actor ||
        (run->state == GW_ATTEMPT_ENDING ? !run->end.executing : !gw_attempt_executes(run)))
        return false;
    take_back(core, process, run);
    return true;
}

int gw_nested_on_blocked(struct gw_node_core *core, struct gw_process *process,
                         const struct gw_msg_task_blocked *blocked)
{
    if (blocked->blocked == GW_BLOCKED_LONG && on_long(core, process, blocked->attempt))
        return 0;
    struct gw_attempt *run = executed(process, blocked->attempt, blocked->rank);
    if (!run &&
        process->reaping) /* a call of an actor that is being ended: the call was given back */
        return 0;
    if (!run)
        return process->queue.first && process->queue.first->state == GW_ATTEMPT_ENDING ? 0
                                                                                        : GW_EPROTO;
    if (run->spec->message.actor) { /* the slots belong to the actor, even while the call waits */
        if (blocked->blocked)
            gw_actor_queue_take_back(core, process, blocked->attempt);
        return 0;
    }
    if (!blocked->blocked) {
        if (process->lent) {
            gw_process_reclaim(core, process);
            process->woke = true;
            tell(core, blocked);
        }
        return 0;
    }
    if (!process->lent && core->lent == core->options.yielded_max) {
        struct gw_attempt_end end = {.outcome = GW_OUTCOME_FAILED, .code = GW_ELIMIT};
        end.text =
            gw_attempt_text("the task cannot wait for other tasks, because %u tasks on this worker "
                            "already do, which is the most: do tasks submit tasks without end?",
                            core->lent);
        gw_process_end_attempt(core, run, end, run->spec->message.fail_grace_ns);
        return 0;
    }
    if (!process->lent) {
        lend(core, process, run);
        tell(core, blocked);
    }
    gw_core_send(core, process->link, GW_MESSAGE_task_taken)->message.task_taken.attempt =
        blocked->attempt;
    return 0;
}
