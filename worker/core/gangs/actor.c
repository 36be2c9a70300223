/* Actors: runners that keep the state that a task made, and execute the calls that come for it.
 *
 * Always: the task that made an actor stands in `held` as long as its runner lives; what is in that
 * runner's queue are calls, each of the actor that was here when it came. When the runner is buried
 * the actor's own end is told first, so that nobody sends more; a call that may have begun is said
 * to have ended with it, the others to have been given back. */
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

/* -- Birth ---------------------------------------------------------------------------------------
 */

void gw_node_actor_prepare(struct gw_node_core *core, struct gw_process *process,
                           struct gw_attempt *run)
{
    if (process->state == GW_PROCESS_IDLE) { /* it was bound before it said hello */
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
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_STANDING);
    gw_attempt_push(&core->held, run);
    gw_process_next(core, process);
    if (core->registered)
        gw_core_send(core, core->scheduler, GW_MESSAGE_actor_ready)->message.actor_ready = *ready;
    return 0;
}

/* -- Calls ---------------------------------------------------------------------------------------
 */

/* Not begun: the scheduler keeps it until it knows what has become of the actor. */
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

/* Nobody holds it: its runner lets go of the state and exits, or is ended when that takes long. */
static void let_go(struct gw_node_core *core, struct gw_node_actor *actor, uint64_t grace_ns)
{
    struct gw_attempt *run = actor->run;
    struct gw_process *process = actor->process;
    if (run->state != GW_ATTEMPT_STANDING)
        return;
    run->end = gw_attempt_killed("nobody held it any more");
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_ENDING);
    if (!process->link || process->state != GW_PROCESS_BUSY)
        return; /* it is ending already */
    process->deadline_ns =
        grace_ns < UINT64_MAX - core->now_ns ? core->now_ns + grace_ns : UINT64_MAX;
    gw_core_send(core, process->link, GW_MESSAGE_actor_end)->message.actor_end.attempt =
        run->attempt;
}

bool gw_node_actor_kill(struct gw_node_core *core, struct gw_attempt *run,
                        const struct gw_msg_kill *kill)
{
    if (gw_actor_queue_calls(run)) { /* what runs does so to its end: it would take all with it */
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

/* How the actor itself ended, where nobody told it to. */
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
        end.text = gw_attempt_text("a call of it (%s) took it along: %s",
                                   first->spec->message.function, first->end.text);
    else
        end.text = gw_process_exit_text(process);
    return end;
}

/* Of the calls that its runner had: how many it had begun. The results of all but the last of these
 * were not reported any more. */
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
        run->end.text =
            gw_attempt_text(last ? "its actor ended under it: %s"
                                 : "it ran, but its actor ended before the result was reported: %s",
                            own->text);
    }
    gw_attempt_ended(core, run);
}

/* Calls whose inputs are on their way: one that came after all would come before those that were
 * given back, where the actor lives here again. */
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
    GW_MUST(gw_array_push(&core->ended_actors, actor)); /* where its calls print is not told yet */
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

/* -- Checks --------------------------------------------------------------------------------------
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
