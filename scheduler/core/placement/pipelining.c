/* Pipelining: tasks are sent in advance to the worker that makes their inputs.
 *
 * Invariants: a task in state GW_TASK_PIPELINED has an attempt at one worker. The attempt adds
 * nothing to what its queue holds there, and it waits for attempts that were assigned to the same
 * worker before it. The worker reports ends in order, so when a pipelined task ends, the tasks that
 * made its inputs have ended. If one of them did not end well, the worker returns the pipelined
 * task on its own, which does not count against the retry budget. If the scheduler does not regard
 * all inputs as done (one was cancelled at the moment of its end), the end of the pipelined task
 * does not count.
 *
 * Pipelining uses only room that no ready task wants, and it never comes before an earlier ready
 * task, because slots must become free for that one. While slots are free, only one successor of
 * each task is pipelined: a chain of tasks stays at one worker, and the successors of a task with
 * many of them spread over the workers.
 *
 * A successor of another resource class is pipelined only while no ready task waits. If its queue
 * at the worker holds no slots that the successor could inherit, it gets slots of its own. These
 * slots are idle until the task before it has ended. Therefore tasks that keep slots idle are asked
 * back as soon as a task waits that could run at some time, and nothing more is pipelined to these
 * queues. Otherwise a long task would keep slots that nobody uses. */
#include "scheduler/core/placement/pipelining.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/window.h"
#include "scheduler/core/send/outbox.h"

#include <assert.h>

enum {
    /* The most tasks of another resource class that are pipelined to one slot. They may all be
     * asked back at once. */
    ACROSS_MAX = 32,
};

/* -- Which tasks may be pipelined ---------------------------------------------------------- */

/* Returns the queue whose first task comes first among all ready tasks that could run here. */
static const struct gw_queue *first_ready(const struct gw_sched *sched)
{
    const struct gw_queue *first = NULL;
    for (size_t i = 0; i < sched->shapes.count; i++) {
        struct gw_resource_class *shape = sched->shapes.items[i];
        const struct gw_queue *top =
            shape && shape->groups.count ? gw_sched_queue_top(shape) : NULL;
        if (top && gw_sched_queue_over_quota(top))
            continue;
        /* A waiting gang with a reservation does not count: nothing is pipelined to its reserved
         * slots. */
        if (top && shape->blocked && shape->ranks > 0 && sched->reserved)
            continue;
        if (top && (shape->could || !shape->blocked) &&
            (!first || gw_sched_queue_before(top, first)))
            first = top;
    }
    return first;
}

/* Returns true if a ready task was not placed but could be placed at some time. */
static bool somebody_waits(const struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->shapes.count; i++) {
        const struct gw_resource_class *shape = sched->shapes.items[i];
        if (!shape || (shape->blocked && !shape->could))
            continue;
        if (shape->groups.count > 0)
            return true;
        for (size_t k = 0; k < shape->parked.count; k++)
            if (!gw_sched_range_full(shape->parked.items[k]->job))
                return true;
    }
    return false;
}

/* Returns true if the ready task comes before the tasks of `queue`. `queue` may have no ready task
 * to compare with: within a job, ready tasks come first if the priority is the same. */
static bool comes_first(const struct gw_queue *ready, const struct gw_queue *queue)
{
    if (!ready)
        return false;
    if (ready->job == queue->job && (ready->priority == queue->priority ||
                                     gw_sched_ageing_level(ready) == gw_sched_ageing_level(queue)))
        return true;
    return gw_sched_queue_before(ready, queue);
}

/* Returns true if a short attempt at this worker makes the result of `dep`. */
static bool is_made_here(const struct gw_sched *sched, const struct gw_row *dep,
                         const struct gw_worker *worker)
{
    const struct gw_tasks *tasks = &dep->job->tasks;
    uint8_t state = tasks->state[dep->index];
    if (state != GW_TASK_PLACED && state != GW_TASK_PIPELINED)
        return false;
    uint32_t slot = gw_sched_attempt_find(sched, tasks->attempt[dep->index]);
    /* A gang has no attempt of its own in the table, only its ranks have. */
    if (slot == GW_NO_INDEX)
        return false;
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    return attempt->worker == worker && !attempt->gang && !attempt->is_long && !attempt->blocked &&
           attempt->state != GW_ATTEMPT_KILLED && attempt->state != GW_ATTEMPT_RECALLED;
}

static bool is_there(const struct gw_sched *sched, uint32_t object, const struct gw_worker *worker)
{
    if (object == GW_NO_INDEX)
        return false;
    if (gw_sched_object_value(&sched->objects.items[object]))
        return true;
    uint32_t place = gw_sched_object_holder_of(sched, object, worker->slot);
    return place != GW_NO_INDEX && sched->holders.items[place].firm;
}

/* Returns true if all inputs of the task are at this worker or are made there, so that nothing
 * must be fetched. */
static bool inputs_are_near(const struct gw_sched *sched, const struct gw_row *row,
                            const struct gw_worker *worker)
{
    const struct gw_tasks *tasks = &row->job->tasks;
    uint32_t end = gw_sched_deps_end(tasks, row->index);
    if (end - tasks->deps_at[row->index] > GW_PIPELINED_DEPS_MAX)
        return false;
    for (uint32_t e = tasks->deps_at[row->index]; e < end; e++) {
        struct gw_row dep;
        uint32_t rank = gw_sched_dep_rank(tasks, e);
        if (!gw_sched_dep(sched, row->job, e, &dep))
            return false;
        bool done = gw_sched_task_satisfied(dep.job, dep.index);
        if (rank == GW_DEP_AFTER && done)
            continue;
        if (rank != 0)
            return false;
        if (done ? !is_there(sched, gw_sched_object_of(sched, dep.job, dep.index, 0), worker)
                 : !is_made_here(sched, &dep, worker))
            return false;
    }
    return true;
}

static bool may_follow(const struct gw_sched *sched, const struct gw_row *row,
                       const struct gw_worker *worker)
{
    const struct gw_tasks *tasks = &row->job->tasks;
    if (row->job->gated || gw_sched_job_rests(row->job) || gw_sched_range_full(row->job) ||
        tasks->state[row->index] != GW_TASK_WAITING ||
        (tasks->flags[row->index] & (GW_TASK_ALONE | GW_TASK_DELAYED | GW_TASK_ALIAS)))
        return false;
    struct gw_spec *spec = &row->job->specs.items[tasks->spec[row->index]];
    return gw_sched_window(sched, spec) > 1 && inputs_are_near(sched, row, worker);
}

/* Other tasks that compete for room, as of this step. */
struct rivals {
    const struct gw_queue *ready; /* first queue with a ready task that could run, or NULL */
    bool wait;                    /* a ready task could not be placed */
};

/* Room for a pipelined task: never, later, in slots that other attempts hold now, or in free slots.
 */
enum room { ROOM_NEVER, ROOM_LATER, ROOM_INHERITED, ROOM_FREE };

static enum room room_across(const struct gw_sched *sched, struct gw_spec *spec,
                             const struct gw_worker *worker)
{
    const struct gw_need *need = spec->shape->need;
    const struct gw_worker_queue *lane = gw_sched_worker_queue_get(worker, spec->shape);
    uint32_t window = gw_sched_window(sched, spec);
    if (!gw_sched_memory_lets(worker) ||
        gw_sched_quarantine_left_ns(sched, worker, spec->shape) > 0 ||
        !gw_sched_memory_admits(worker, gw_sched_memory_expected(spec), false) ||
        (need && need->prefer && !gw_sched_need_names(need, worker)))
        return ROOM_NEVER;
    if ((!lane || gw_sched_worker_queue_idle(lane) == 0) &&
        gw_sched_worker_fits(sched, worker, spec->shape))
        return ROOM_FREE;
    if (!lane || lane->debits == lane->longs)
        return ROOM_NEVER;
    window = window < ACROSS_MAX ? window : ACROSS_MAX;
    return gw_sched_worker_queue_room(lane, window) > 0 ? ROOM_INHERITED : ROOM_LATER;
}

/* Returns the room that a successor finds at the worker of queue `lane`. */
static enum room room_for(const struct gw_sched *sched, struct gw_spec *spec,
                          const struct gw_worker_queue *lane, const struct rivals *rivals)
{
    if (spec->shape != lane->shape)
        return room_across(sched, spec, lane->worker);
    if (rivals->wait && gw_sched_worker_queue_idle(lane) > 0)
        return ROOM_NEVER;
    return gw_sched_worker_queue_room(lane, gw_sched_window(sched, spec)) > 0 ? ROOM_INHERITED
                                                                              : ROOM_LATER;
}

/* -- Pipelining ---------------------------------------------------------------------------- */

/* Returns true if no successor can come before the ready tasks, because all tasks of the job are in
 * the queue `ready`. This quick check holds most of the time for a wide graph. */
static bool nothing_follows(const struct gw_job *job, const struct gw_queue *ready)
{
    return ready && ready->job == job && job->queues.count == 1 && job->tasks.laters.count == 0;
}

/* Pipelines the successors of the attempt at `slot`. Returns false if the queue has no room left.
 */
static bool extend(struct gw_sched *sched, uint32_t slot, const struct rivals *rivals)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    const struct gw_worker_queue *lane = attempt->lane;
    const struct gw_queue *ready = rivals->ready;
    const bool across = !rivals->wait && !sched->reserved;
    struct gw_successors from = gw_sched_edge_successors_of(attempt->job, attempt->index);
    struct gw_row row = {0};
    uint32_t followed = 0;
    if (nothing_follows(attempt->job, ready))
        return true;
    for (uint32_t i = 0; i < GW_PIPELINED_SUCCESSORS_MAX; i++) {
        if (!gw_sched_edge_successors_next(sched, &from, &row))
            return true;
        /* GW_INDEX_ALL means that all tasks of a job, not only one of them, depend on this task. */
        if (!row.job || row.job->compacted || row.index == GW_INDEX_ALL)
            continue;
        struct gw_spec *spec = &row.job->specs.items[row.job->tasks.spec[row.index]];
        if (comes_first(ready, spec->queue) || (spec->shape != lane->shape && !across) ||
            !may_follow(sched, &row, lane->worker))
            continue;
        enum room room = room_for(sched, spec, lane, rivals);
        if (room == ROOM_NEVER)
            continue;
        if (room == ROOM_LATER)
            return false;
        if (followed++ > 0 && sched->slots_free > 0)
            return true;
        gw_sched_outbox_assign(
            sched, gw_sched_attempt_pipeline_task(
                       sched, &(struct gw_attempt_new){.job = row.job,
                                                       .index = row.index,
                                                       .rank = GW_RANK_NONE,
                                                       .worker = lane->worker,
                                                       .shape = spec->shape,
                                                       .prefetched = room == ROOM_INHERITED,
                                                       .pipelined = true,
                                                       .why = GW_PLACED_SUCCESSOR}));
    }
    return true;
}

static void extend_frontier(struct gw_sched *sched, struct gw_worker *worker,
                            const struct rivals *rivals)
{
    const struct gw_frontier *frontier = &worker->frontier;
    size_t at = frontier->at;
    for (; at < frontier->attempts.count; at++) {
        uint32_t slot = gw_sched_attempt_find(sched, frontier->attempts.items[at]);
        if (slot == GW_NO_INDEX)
            continue; /* the attempt has ended already */
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (!attempt->is_long && !attempt->blocked && attempt->state != GW_ATTEMPT_KILLED &&
            attempt->state != GW_ATTEMPT_RECALLED && !extend(sched, slot, rivals))
            break;
    }
    gw_sched_attempt_frontier_advance(worker, at);
}

/* -- Asking pipelined tasks back ----------------------------------------------------------- */

static void ask_back(struct gw_sched *sched, struct gw_worker_queue *lane)
{
    struct gw_worker *worker = lane->worker;
    gw_sched_worker_queue_ask(lane);
    for (uint32_t slot = worker->last; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].prev) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (attempt->lane != lane || !attempt->pipelined || attempt->state != GW_ATTEMPT_SENT)
            continue;
        gw_sched_outbox_kill(sched, worker,
                             &(struct gw_kill_row){attempt->id, 0, GW_KILL_TAKE_BACK});
        gw_sched_attempt_recall(sched, slot);
    }
}

/* Asks back pipelined tasks that keep slots idle, once for each queue. A task that the worker does
 * not return runs soon. */
static void free_idle(struct gw_sched *sched)
{
    struct gw_worker_queue *lane = sched->idle_queues;
    do {
        if (!lane->asked)
            ask_back(sched, lane);
        lane = lane->idle_next;
    } while (lane != sched->idle_queues);
}

void gw_sched_pipelining_check(const struct gw_sched *sched)
{
    const struct gw_worker_queue *lane = sched->idle_queues;
    if (!lane || sched->workers_ready == 0 || sched->shutting_down || !somebody_waits(sched))
        return;
    do {
        for (uint32_t slot = lane->worker->first; slot != GW_NO_INDEX;
             slot = sched->attempts.items[slot].next) {
            const struct gw_attempt *attempt = &sched->attempts.items[slot];
            assert(attempt->lane != lane || !attempt->pipelined ||
                   attempt->state != GW_ATTEMPT_SENT);
        }
        lane = lane->idle_next;
    } while (lane != sched->idle_queues);
}

void gw_sched_pipelining(struct gw_sched *sched)
{
    struct rivals rivals = {.wait = false};
    if (sched->frontiers.count > 0 || sched->idle_queues)
        rivals.wait = somebody_waits(sched);
    if (rivals.wait && sched->idle_queues)
        free_idle(sched);
    if (sched->frontiers.count == 0)
        return;
    rivals.ready = first_ready(sched);
    for (size_t i = 0; i < sched->frontiers.count; i++) {
        struct gw_worker *worker = sched->frontiers.items[i];
        gw_sched_attempt_frontier_unlist(worker);
        if (worker->state == GW_WORKER_READY)
            extend_frontier(sched, worker, &rivals);
    }
    gw_sched_noted_frontiers(sched);
}

void gw_sched_pipelining_recall(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    struct gw_successors from = gw_sched_edge_successors_of(job, row);
    struct gw_row next = {0};
    while (gw_sched_edge_successors_next(sched, &from, &next)) {
        if (!next.job || next.job->compacted || next.index == GW_INDEX_ALL ||
            next.job->tasks.state[next.index] != GW_TASK_PIPELINED)
            continue;
        uint32_t slot = gw_sched_attempt_find(sched, next.job->tasks.attempt[next.index]);
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (attempt->state == GW_ATTEMPT_KILLED)
            continue;
        gw_sched_outbox_kill(sched, attempt->worker,
                             &(struct gw_kill_row){attempt->id, GW_FAIL_GRACE_NS, GW_KILL_CANCEL});
        gw_sched_attempt_kill(sched, slot, false);
    }
}
