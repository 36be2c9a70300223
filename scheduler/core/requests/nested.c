/* Tasks that submit tasks.
 *
 * A client inside a task has an ordinary session that is bound to the task's attempt. Its user is
 * the user of the attempt's job, and is never taken from a message. The session ends together with
 * the attempt, before the resources of the attempt are given to other tasks. A function has one
 * such client. A command has one for each connection that its processes open. No such client acts
 * as an admin. A detached job of a command is queued with an age of its own: otherwise a command
 * that submits itself again and again would always come first. While the task waits for others, the
 * slots of its attempt are yielded. That is handled between the worker and the core, independent of
 * sessions. */
#include "scheduler/core/requests/nested.h"

#include "scheduler/core/lifecycle/task_end.h"
#include "scheduler/core/model/model.h"

/* -- Sessions --------------------------------------------------------------------------------- */

/* Returns the slot, in the attempt table, of an ordinary task's attempt or of one rank of a gang.
 * Returns GW_NO_INDEX if there is none. */
static uint32_t place_of(const struct gw_sched *sched, uint64_t id, uint32_t rank)
{
    uint64_t found;
    if (!gw_map_get(&sched->gangs, id, &found)) {
        uint32_t slot = gw_sched_attempt_find(sched, id);
        return slot != GW_NO_INDEX && rank == GW_RANK_NONE && !sched->attempts.items[slot].gang
                   ? slot
                   : GW_NO_INDEX;
    }
    const struct gw_gang_attempt *gang = (const struct gw_gang_attempt *)(uintptr_t)found;
    return rank < gang->count ? gang->ranks[rank].slot : GW_NO_INDEX;
}

int gw_sched_nested_find(const struct gw_sched *sched, const struct gw_event *event, uint32_t *slot)
{
    uint32_t at = place_of(sched, event->number, event->rank);
    if (at == GW_NO_INDEX || sched->attempts.items[at].worker->remote->uid != event->uid)
        return GW_ENOENT;
    *slot = at;
    return 0;
}

/* -- Waiting ---------------------------------------------------------------------------------- */

enum { LOOKED_AT_MAX = 10000 }; /* limit of tasks that one search visits */

bool gw_sched_nested_comes_before(const struct gw_sched *sched, const struct gw_session *session,
                                  const struct gw_row *row)
{
    if (session->attempt == GW_NO_INDEX)
        return false;
    const struct gw_attempt *attempt = &sched->attempts.items[session->attempt];
    GW_ARRAY(struct gw_row) todo = {0};
    struct gw_map seen = {0};
    bool found = false;
    GW_MUST(gw_array_push(&todo, *row));
    for (size_t i = 0; i < todo.count && todo.count < LOOKED_AT_MAX && !found; i++) {
        struct gw_row one = todo.items[i], dep;
        found = one.job == attempt->job && one.index == attempt->index &&
                !gw_sched_task_final(one.job, one.index);
        if (found || one.job->tasks.state[one.index] != GW_TASK_WAITING)
            continue;
        const struct gw_tasks *tasks = &one.job->tasks;
        for (uint32_t e = tasks->deps_at[one.index]; e < gw_sched_deps_end(tasks, one.index); e++) {
            if (!gw_sched_dep(sched, one.job, e, &dep))
                continue;
            uint64_t key = dep.job->id << 32 ^
                           dep.index; /* if two rows have the same key, only the first is visited */
            if (gw_map_get(&seen, key, NULL))
                continue;
            GW_MUST(gw_map_put(&seen, key, 0));
            GW_MUST(gw_array_push(&todo, dep));
        }
    }
    gw_map_deinit(&seen);
    gw_array_deinit(&todo);
    return found;
}

void gw_sched_nested_on_blocked(struct gw_sched *sched, struct gw_worker *worker,
                                const struct gw_msg_task_blocked *message)
{
    uint32_t slot = gw_sched_attempt_slot(sched, worker, message->attempt, message->rank);
    if (slot == GW_NO_INDEX)
        slot = gw_sched_gang_slot(sched, worker, message->attempt, message->rank);
    bool blocked = message->blocked != 0;
    if (slot == GW_NO_INDEX || sched->attempts.items[slot].blocked == blocked)
        return;
    if (gw_sched_attempt_waits(&sched->attempts.items[slot]))
        gw_sched_attempt_start(sched, slot);
    gw_sched_attempt_block(sched, slot, blocked);
    if (blocked)
        gw_sched_task_end_take_back(sched, sched->attempts.items[slot].lane);
}
