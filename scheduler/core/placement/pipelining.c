/* Handing over.
 *
 * What always holds: a task in state handed has an attempt at one worker, beyond its lane's debits,
 * and waits for attempts that were assigned to the same worker before it. That worker reports in
 * order: what a handed task took has ended when the task does, and where that did not end well, the
 * worker gives the task back by itself, uncharged. An end that comes although the scheduler does
 * not hold all inputs for done (one was cancelled as it ended) does not count.
 *
 * Only room that nothing ready wants is used, and nothing is handed over before a ready task that
 * comes first: slots must come free for it. One successor follows a task while slots are free, so
 * that a chain stays where it is and a fan spreads.
 *
 * A successor of another shape than its maker's follows while nothing ready waits at all, with
 * slots of its own where its lane has none that it could inherit. Those are idle until its maker
 * has ended; so what was handed over to lanes with idle debits is asked back as soon as anything
 * waits that could ever run, and nothing is handed over to them meanwhile. Without that, a task
 * that runs long, or that waits for one that finds no slot, would keep slots that nobody uses. */
#include "scheduler/core/placement/pipelining.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/window.h"
#include "scheduler/core/send/outbox.h"

#include <assert.h>

enum {
    ACROSS_MAX = 32, /* tasks of a slot, where makers are of other shapes: asked back at once */
};

/* -- Which tasks ---------------------------------------------------------------------------------
 */

/* The queue whose first task comes first among all that are ready and could run here. */
static const struct gw_queue *first_ready(const struct gw_sched *sched)
{
    const struct gw_queue *first = NULL;
    for (size_t i = 0; i < sched->shapes.count; i++) {
        struct gw_shape *shape = sched->shapes.items[i];
        const struct gw_queue *top = shape && shape->heap.count ? gw_sched_queue_top(shape) : NULL;
        if (top && shape->blocked && shape->ranks > 0 && sched->reservation.job)
            continue; /* nothing is handed over where its slots are */
        if (top && (shape->could || !shape->blocked) &&
            (!first || gw_sched_queue_before(top, first)))
            first = top;
    }
    return first;
}

/* Whether anything is ready that was not placed, and could be some day. */
static bool somebody_waits(const struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->shapes.count; i++) {
        const struct gw_shape *shape = sched->shapes.items[i];
        if (!shape || (shape->blocked && !shape->could))
            continue;
        if (shape->heap.count > 0)
            return true;
        for (size_t k = 0; k < shape->parked.count; k++)
            if (!gw_sched_range_full(shape->parked.items[k]->job))
                return true;
    }
    return false;
}

/* Of the task's queue nothing may be ready, so that it has no first row: in its own job what is
 * ready comes first where both are as urgent. */
static bool comes_first(const struct gw_queue *ready, const struct gw_queue *queue)
{
    if (!ready)
        return false;
    if (ready->job == queue->job && (ready->priority == queue->priority ||
                                     gw_sched_ageing_level(ready) == gw_sched_ageing_level(queue)))
        return true;
    return gw_sched_queue_before(ready, queue);
}

/* An attempt at the worker makes it, soon. */
static bool is_made_here(const struct gw_sched *sched, const struct gw_row *dep,
                         const struct gw_worker *worker)
{
    const struct gw_tasks *tasks = &dep->job->tasks;
    uint8_t state = tasks->state[dep->index];
    if (state != GW_TASK_PLACED && state != GW_TASK_PIPELINED)
        return false;
    uint32_t slot = gw_sched_attempt_find(sched, tasks->attempt[dep->index]);
    if (slot == GW_NO_INDEX)
        return false; /* a gang's */
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

/* All inputs are here, at the worker, or made there: nothing has to be fetched. */
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

/* What else there is to do, as of this step. */
struct rivals {
    const struct gw_queue *ready; /* the first that is ready and could run; NULL: none */
    bool wait;                    /* something is ready that was not placed */
};

/* Where a successor finds room: nowhere, not yet, in slots that others have now, in free ones. */
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

/* Which room a successor finds at the worker of a task in `lane`. */
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

/* -- Handing over --------------------------------------------------------------------------------
 */

/* What is ready comes before all successors there are: all are in its queue, the only one of their
 * job. Most often so while a wide graph is under way, and seen without a look at any of them. */
static bool nothing_follows(const struct gw_job *job, const struct gw_queue *ready)
{
    return ready && ready->job == job && job->queues.count == 1 && job->tasks.laters.count == 0;
}

/* Hands over what may follow the attempt at a place; false where its lane has no room left. */
static bool extend(struct gw_sched *sched, uint32_t slot, const struct rivals *rivals)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    const struct gw_worker_queue *lane = attempt->lane;
    const struct gw_queue *ready = rivals->ready;
    const bool across = !rivals->wait && !sched->reservation.job;
    struct gw_successors from = gw_sched_edge_successors_of(attempt->job, attempt->index);
    struct gw_row row = {0};
    uint32_t followed = 0;
    if (nothing_follows(attempt->job, ready))
        return true;
    for (int i = 0; i < GW_PIPELINED_SUCCESSORS_MAX; i++) {
        if (!gw_sched_edge_successors_next(sched, &from, &row))
            return true;
        if (!row.job || row.job->compacted || row.index == GW_INDEX_ALL) /* all: a whole job */
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
        uint64_t id = gw_sched_attempt_next(sched);
        uint32_t place = gw_sched_attempt_place(id);
        GW_FACT(sched, task_pipelined, .job = row.job, .index = row.index, .worker = lane->worker,
                .shape = spec->shape, .attempt = id, .prefetched = room == ROOM_INHERITED);
        gw_sched_outbox_assign(sched, place);
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
            continue; /* it ended */
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (!attempt->is_long && !attempt->blocked && attempt->state != GW_ATTEMPT_KILLED &&
            attempt->state != GW_ATTEMPT_RECALLED && !extend(sched, slot, rivals))
            break;
    }
    gw_sched_attempt_frontier_advance(worker, at);
}

/* -- Giving up what waits ------------------------------------------------------------------------
 */

static void ask_back(struct gw_sched *sched, struct gw_worker_queue *lane)
{
    struct gw_worker *worker = lane->worker;
    GW_FACT(sched, worker_queue_asked, .lane = lane);
    for (uint32_t slot = worker->last; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].prev) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (attempt->lane != lane || !attempt->pipelined || attempt->state != GW_ATTEMPT_SENT)
            continue;
        gw_sched_outbox_kill(sched, worker,
                             &(struct gw_kill_row){attempt->id, 0, GW_KILL_TAKE_BACK});
        GW_FACT(sched, attempt_recalled, .slot = slot);
    }
}

/* Asks back what keeps debits that nothing uses, once: what is not given back runs soon. */
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
        GW_FACT(sched, attempt_killed, .slot = slot);
    }
}
