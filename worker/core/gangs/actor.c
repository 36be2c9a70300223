/* Actors: a runner holds the state that a task has created, and executes calls on it.
 *
 * Invariants: the task that created an actor stays in core->held as long as its runner lives. The
 * queue of this runner contains only calls, each of the actor that was here when the call arrived.
 * When the runner is reaped, the end of the actor is reported first, so that the scheduler sends no
 * more calls. Calls that may have begun are reported as ended together with the actor. The other
 * calls are given back. */
#include "worker/core/gangs/actor.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"
#include "worker/core/processes/process.h"
#include "worker/core/runners/actor_queue.h"
#include "worker/core/runners/batch.h"
#include "worker/core/runners/runner_pool.h"

#include <assert.h>
#include <stdlib.h>

static struct gw_node_actor *find(const struct gw_node_core *core, uint64_t id)
{
    uint64_t value;
    return gw_map_get(&core->actors, id, &value) ? (struct gw_node_actor *)(uintptr_t)value : NULL;
}

/* -- Creation ------------------------------------------------------------------------------------
 */

void gw_node_actor_prepare(struct gw_node_core *core, struct gw_process *process,
                           struct gw_attempt *run)
{
    if (process->state ==
        GW_PROCESS_IDLE) { /* the task was bound to the runner before the runner's first message */
        gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_BUSY);
        process->started_told = false;
        process->head_since_ns = core->now_ns;
    }
    if (!gw_runner_pool_admits(core, process, run))
        return;
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_SENT);
    gw_batch_send(core, process, &run, 1);
}

int gw_node_actor_on_ready(struct gw_node_core *core, struct gw_process *process,
                           const struct gw_msg_actor_ready *ready)
{
    struct gw_attempt *run = process->queue.first;
    if (!run || !gw_actor_queue_makes(run) || run->state != GW_ATTEMPT_SENT ||
        run->attempt != ready->attempt || find(core, run->job))
        return GW_EPROTO;
    struct gw_node_actor *actor = gw_core_alloc(sizeof *actor);
    *actor = (struct gw_node_actor){
        .id = run->job, .run = run, .process = process, .cost_ns = UINT64_MAX};
    gw_attempt_place(run, &actor->place);
    actor->place.keeps = true;
    GW_MUST(gw_map_put(&core->actors, actor->id, (uintptr_t)actor));
    process->actor = actor;
    gw_attempt_pull(run);
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_RANK_READY);
    gw_attempt_push(&core->held, run);
    gw_process_next(core, process);
    if (core->registered)
        gw_core_send(core, core->scheduler, GW_MESSAGE_actor_ready)->message.actor_ready = *ready;
    return 0;
}

/* -- Calls ---------------------------------------------------------------------------------------
 */

/* Gives a call that has not begun back to the scheduler, which keeps it until the actor's fate is
 * known. */
static void give_back(struct gw_node_core *core, struct gw_attempt *run)
{
    gw_attempt_pull(run);
    if (run->process)
        run->process->load_ns -= run->load_ns;
    run->load_ns = 0;
    run->process = NULL;
    run->end = gw_attempt_killed("its actor is gone");
    gw_attempt_ended(core, run);
}

bool gw_node_actor_join(struct gw_node_core *core, struct gw_attempt *run)
{
    struct gw_node_actor *actor = find(core, run->spec->message.actor);
    run->actor = actor;
    if (!actor)
        give_back(core, run);
    return actor != NULL;
}

/* -- Ends ----------------------------------------------------------------------------------------
 */

/* Releases an actor that nobody has a handle to. Its runner frees the state and exits. If this
 * takes longer than grace_ns, the runner is killed. */
static void let_go(struct gw_node_core *core, struct gw_node_actor *actor, uint64_t grace_ns)
{
    struct gw_attempt *run = actor->run;
    struct gw_process *process = actor->process;
    if (run->state != GW_ATTEMPT_RANK_READY)
        return;
    run->end = gw_attempt_killed("no handle to the actor was left");
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_ENDING);
    if (!process->link || process->state != GW_PROCESS_BUSY)
        return; /* the process is ending already */
    process->deadline_ns =
        grace_ns < UINT64_MAX - core->now_ns ? core->now_ns + grace_ns : UINT64_MAX;
    gw_core_send(core, process->link, GW_MESSAGE_actor_end)->message.actor_end.attempt =
        run->attempt;
}

bool gw_node_actor_kill(struct gw_node_core *core, struct gw_attempt *run,
                        const struct gw_msg_kill *kill)
{
    if (gw_actor_queue_calls(
            run)) { /* A running call is not killed, since this would kill the actor, too. */
        if (run->process)
            run->killing = true; /* heeded if it is taken back before it begins */
        return run->process;
    }
    if (kill->reason != GW_KILL_RELEASE)
        return false;
    struct gw_node_actor *actor = find(core, run->job);
    if (!actor || actor->run != run)
        return false;
    let_go(core, actor, kill->grace_ns);
    return true;
}

/* Returns how an actor ended by itself. */
static struct gw_attempt_end own_end(const struct gw_process *process)
{
    const struct gw_attempt *first = process->queue.first;
    struct gw_attempt_end end = {
        .outcome = process->oom ? GW_OUTCOME_OOM : GW_OUTCOME_CRASHED,
        .executing = 1,
        .code = GW_ECRASHED,
        .exit_code = process->exit_code,
        .signal = process->signal,
    };
    if (first && first->state == GW_ATTEMPT_ENDING)
        end.text = gw_attempt_text("the call of %s ended the process of the actor: %s",
                                   first->spec->message.function, first->end.text);
    else
        end.text = gw_process_exit_text(process);
    return end;
}

/* Returns how many of the calls in its queue a runner had begun. The results of all but the last of
 * these were not reported. */
static size_t begun(const struct gw_process *process)
{
    size_t count = 0, at = 0;
    for (const struct gw_attempt *run = process->queue.first; run; run = run->next) {
        at++;
        if (run->attempt == process->began || run->state == GW_ATTEMPT_ENDING)
            count = at;
    }
    return count;
}

static void end_call(struct gw_node_core *core, struct gw_attempt *run,
                     const struct gw_attempt_end *own, bool last)
{
    gw_attempt_pull(run);
    if (run->state != GW_ATTEMPT_ENDING) {
        free(run->end.text);
        run->end = *own;
        run->end.text = gw_attempt_text(
            last ? "the actor ended during this call: %s"
                 : "the call ran, but the actor ended before the result was reported: %s",
            own->text);
    }
    gw_attempt_ended(core, run);
}

/* Gives back the calls that wait for inputs. If such a call stayed, and the actor were created
 * again on this worker, it would overtake the calls that were given back. */
static void give_back_waiting(struct gw_node_core *core, const struct gw_node_actor *actor)
{
    for (struct gw_attempt *run = core->waiting.first; run;) {
        bool calls = run->actor == actor;
        if (calls)
            give_back(core, run);
        run = calls ? core->waiting.first : run->next;
    }
}

void gw_node_actor_judge(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_node_actor *actor = process->actor;
    struct gw_attempt_end own = own_end(process);
    size_t count = begun(process);
    if (actor->run->state != GW_ATTEMPT_ENDING) {
        actor->run->end = own;
        actor->run->end.text = gw_core_strdup(own.text);
    }
    gw_attempt_ended(core, actor->run);
    actor->run = NULL;
    while (count > 0)
        end_call(core, process->queue.first, &own, --count == 0);
    free(own.text);
    while (process->queue.first)
        give_back(core, process->queue.first);
    while (actor->calls.first)
        give_back(core, actor->calls.first);
    give_back_waiting(core, actor);
    (void)gw_map_remove(&core->actors, actor->id);
    process->actor = NULL;
    /* Freed later in the step: reports of its calls still need the path of its output */
    GW_MUST(gw_array_push(&core->ended_actors, actor));
}

void gw_node_actors_reap(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->ended_actors.count; i++)
        free(core->ended_actors.items[i]);
    gw_array_clear(&core->ended_actors);
}

void gw_node_actors_drop(struct gw_node_core *core)
{
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->actors, &at, &key, &value)) {
        struct gw_node_actor *actor = (struct gw_node_actor *)(uintptr_t)value;
        actor->process->actor = NULL;
        free(actor);
    }
    gw_map_deinit(&core->actors);
}

/* -- Invariants ----------------------------------------------------------------------------------
 */

void gw_node_actors_check(const struct gw_node_core *core, size_t *runs)
{
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->actors, &at, &key, &value)) {
        const struct gw_node_actor *actor = (struct gw_node_actor *)(uintptr_t)value;
        assert(actor->id == key && actor->process->actor == actor);
        assert(actor->run->list == &core->held && actor->run->process == actor->process);
        assert(actor->process->state != GW_PROCESS_IDLE);
        for (const struct gw_attempt *run = actor->calls.first; run; run = run->next)
            assert(run->actor == actor && run->state == GW_ATTEMPT_READY && !run->process);
        for (const struct gw_attempt *run = actor->process->queue.first; run; run = run->next)
            assert(run->actor == actor);
        *runs += actor->calls.count;
    }
}
