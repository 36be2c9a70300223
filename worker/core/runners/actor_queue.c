/* Queue of the calls of an actor that wait for its runner.
 *
 * Invariant: a runner gets the calls in the order in which they arrived. */
#include "worker/core/runners/actor_queue.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/objects/object.h"

/* Inserts a call in order of arrival. Its inputs may have arrived later than those of other calls.
 */
void gw_actor_queue_put(struct gw_attempt *run)
{
    struct gw_attempt *before = run->actor->calls.last;
    while (before && before->serial > run->serial)
        before = before->prev;
    gw_attempt_push_behind(&run->actor->calls, before, run);
}

/* Takes back the calls that come after `attempt` in the runner's queue, because the call `attempt`
 * waits for other tasks or runs long. The runner drops them and gets them again when the call has
 * ended. Until then, cancelling one of them ends it at once. */
void gw_actor_queue_take_back(struct gw_node_core *core, struct gw_process *process,
                              uint64_t attempt)
{
    process->runs_long = true;
    while (process->queue.last != process->queue.first) {
        struct gw_attempt *run = process->queue.last;
        gw_attempt_pull(run);
        process->load_ns -= run->load_ns;
        run->load_ns = 0;
        run->process = NULL;
        gw_object_unpin(core, run);
        if (run->killing) {
            run->end = gw_attempt_killed("killed");
            gw_attempt_ended(core, run);
            continue;
        }
        gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_READY);
        gw_actor_queue_put(run);
    }
    gw_core_send(core, process->link, GW_MESSAGE_task_taken)->message.task_taken.attempt = attempt;
}
