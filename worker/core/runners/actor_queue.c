/* The calls of an actor that wait for its runner.
 *
 * Always: a runner is given them in the order in which they came. */
#include "worker/core/runners/actor_queue.h"

#include "worker/core/link/result.h"
#include "worker/core/model/core.h"
#include "worker/core/model/run.h"
#include "worker/core/objects/store.h"
#include "worker/core/runners/feed.h"

/* In the order in which they came, whenever their inputs did. */
void gw_actor_queue_put(struct gw_run *run)
{
    struct gw_run *before = run->actor->calls.last;
    while (before && before->serial > run->serial)
        before = before->prev;
    gw_run_push_behind(&run->actor->calls, before, run);
}

/* Calls that nothing has to wait for: none that came before them waits for its inputs. */
static size_t callable(const struct gw_node_core *core, const struct gw_node_actor *actor)
{
    const struct gw_run *waits = core->waiting.first;
    while (waits && waits->actor != actor)
        waits = waits->next;
    if (!waits)
        return actor->calls.count;
    size_t count = 0;
    const struct gw_run *run = actor->calls.first;
    for (; run && run->serial < waits->serial; run = run->next)
        count++;
    return count;
}

/* A call of it waits for others, or runs long: its runner drops what is behind, and is given that
 * again when that call has ended, so that until then a cancel ends it at once. */
void gw_actor_queue_take_back(struct gw_node_core *core, struct gw_process *process,
                              uint64_t attempt)
{
    process->runs_long = true;
    while (process->queue.last != process->queue.first) {
        struct gw_run *run = process->queue.last;
        gw_run_pull(run);
        process->load_ns -= run->load_ns;
        run->load_ns = 0;
        run->process = NULL;
        gw_object_unpin(core, run);
        if (run->killing) {
            run->end = (struct gw_run_end){.outcome = GW_OUTCOME_KILLED, .code = GW_ECANCELLED};
            run->end.text = gw_core_strdup("killed");
            gw_result_end(core, run);
            continue;
        }
        gw_sm_move(&gw_run_sm, &run->state, GW_RUN_READY);
        gw_actor_queue_put(run);
    }
    gw_core_send(core, process->link, GW_MESSAGE_task_taken)->message.task_taken.attempt = attempt;
}

void gw_actor_queue_learn(struct gw_node_actor *actor, uint64_t run_ns)
{
    if (actor->cost_ns == UINT64_MAX)
        actor->cost_ns = run_ns;
    else if (run_ns >= actor->cost_ns)
        actor->cost_ns += (run_ns - actor->cost_ns) / 8;
    else
        actor->cost_ns -= (actor->cost_ns - run_ns) / 8;
}

void gw_actor_queue_pump(struct gw_node_core *core)
{
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->actors, &at, &key, &value)) {
        struct gw_node_actor *actor = (struct gw_node_actor *)(uintptr_t)value;
        struct gw_process *process = actor->process;
        if (actor->calls.first && process->state == GW_PROCESS_BUSY && process->link &&
            !process->burying && !process->runs_long && actor->run->state == GW_RUN_STANDING) {
            size_t before = process->queue.count;
            gw_feed_process(core, process, &actor->calls, callable(core, actor));
            if (!before && process->queue.count) {
                process->started_told = false;
                process->head_since_ns = core->now_ns;
            }
        }
    }
}
