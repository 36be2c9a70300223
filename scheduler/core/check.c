/* Walks the whole state of the scheduler and asserts its invariants. */
#include "scheduler/core/lifecycle/actor.h"
#include "scheduler/core/membership/adopt.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/pipelining.h"
#include "scheduler/core/placement/reservation.h"
#include "scheduler/core/requests/coordination/sync.h"
#include "scheduler/core/requests/scattered.h"
#include "scheduler/core/requests/tunnel.h"
#include "scheduler/core/sched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct gw_sm *gw_sched_check_machine(size_t i)
{
    static struct gw_sm *const machines[] = {
        &gw_sched_job_sm,    &gw_sched_task_sm,  &gw_sched_attempt_sm, &gw_sched_gang_sm,
        &gw_sched_worker_sm, &gw_sched_actor_sm, &gw_sched_tunnel_sm};
    return i < sizeof machines / sizeof *machines ? machines[i] : NULL;
}

/* -- Workers and attempts --------------------------------------------------------------------- */

static void check_worker_queue(const struct gw_sched *sched, const struct gw_worker *worker,
                               const struct gw_worker_queue *lane)
{
    uint32_t attempts = 0, longs = 0, blocked = 0, recalled = 0, pipelined = 0;
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (attempt->lane != lane)
            continue;
        attempts++;
        longs += attempt->is_long;
        blocked += attempt->blocked;
        recalled += attempt->state == GW_ATTEMPT_RECALLED;
        pipelined += attempt->pipelined;
        assert(attempt->is_long || !attempt->blocked);
    }
    assert(lane->blocked == blocked && lane->recalled == recalled && lane->pipelined == pipelined);
    assert((lane->idle_next != NULL) == (gw_sched_worker_queue_idle(lane) > 0));
    assert(lane->attempts == attempts && lane->longs == longs);
    assert(lane->debits >= longs && lane->debits <= attempts);
    /* Short attempts lack a debit only if they queue behind a started attempt that became long. */
    uint32_t started = 0;
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next)
        started += sched->attempts.items[slot].lane == lane &&
                   !gw_sched_attempt_waits(&sched->attempts.items[slot]);
    assert(attempts == longs || lane->debits > longs || started > 0);
    assert((lane->next != NULL) == (lane->debits > longs));
    assert(!lane->next || lane->load == gw_sched_worker_queue_load(lane));
    assert((lane->queued_next != NULL) == (lane->attempts > lane->debits));
    assert(sched->shapes.items[lane->shape->id] == lane->shape);
}

static void check_above(const struct gw_queue *queue, const struct gw_queue *above)
{
    assert(queue->ready.count == 0 || above->ready.count == 0 || queue->job == above->job ||
           !gw_sched_queue_before(queue, above));
}

/* A queue in a heap does not come before the one above it, and knows how its first task stands to
 * the quotas.
 */
static void check_heap(const struct gw_sched *sched, const struct gw_resource_class *shape)
{
    for (size_t i = 0; i < shape->groups.count; i++) {
        const struct gw_queue_group *group = shape->groups.items[i];
        assert(group->heap.count > 0 && group->heap_at == i);
        check_above(group->heap.items[0], shape->groups.items[i ? (i - 1) / 2 : 0]->heap.items[0]);
        for (size_t at = 0; at < group->heap.count; at++) {
            const struct gw_queue *queue = group->heap.items[at];
            assert(queue->group == group && queue->heap_at == at);
            assert(!sched->accounts || sched->accounts->uses_changed ||
                   group->quota == gw_account_quota(queue, NULL));
            check_above(queue, group->heap.items[at ? (at - 1) / 2 : 0]);
        }
    }
}

/* Compares the counters of a resource class with its worker queues and job queues. */
static void check_shape(const struct gw_sched *sched, const struct gw_resource_class *shape)
{
    uint64_t debits = 0, ready = 0;
    check_heap(sched, shape);
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        const struct gw_worker_queue *lane =
            worker ? gw_sched_worker_queue_get(worker, shape) : NULL;
        debits += lane ? lane->debits : 0;
    }
    for (const struct gw_job *job = sched->first_job; job; job = job->next)
        for (size_t i = 0; i < job->queues.count; i++)
            ready += job->queues.items[i]->shape == shape ? job->queues.items[i]->ready.count : 0;
    assert(shape->debits == debits && shape->ready == ready);
}

static void check_stock(const struct gw_worker *worker)
{
    for (uint32_t k = 0; k < worker->stock_count; k++) {
        const struct gw_stock *stock = &worker->stock[k];
        uint64_t taken = 0;
        for (uint32_t i = 0; i < worker->queue_count; i++) {
            const struct gw_worker_queue *lane = worker->queues[i];
            const struct gw_need *need = lane ? lane->shape->need : NULL;
            for (uint32_t r = 0; need && r < need->resources.count; r++)
                if (strcmp(need->resources.items[r].name, stock->name) == 0)
                    taken += (uint64_t)lane->debits * need->resources.items[r].amount;
        }
        assert(stock->free + taken == stock->amount + stock->over);
    }
}

static void check_worker(const struct gw_sched *sched, const struct gw_worker *worker)
{
    uint64_t slots = 0, memory = 0, held = 0, expected = 0;
    uint32_t attempts = 0, blocked = 0, aside = 0, previous = GW_NO_INDEX;
    if (worker->state != GW_WORKER_READY && worker->state != GW_WORKER_REJOINING) {
        assert(worker->attempts == 0 && worker->first_holder == GW_NO_INDEX);
        return;
    }
    assert(worker->state != GW_WORKER_READY ||
           worker->drained == (gw_sched_worker_drain_find(sched, worker->remote->name) != NULL));
    for (uint32_t i = 0; i < worker->queue_count; i++) {
        const struct gw_worker_queue *lane = worker->queues[i];
        if (!lane)
            continue;
        check_worker_queue(sched, worker, lane);
        blocked += lane->blocked;
        slots += (uint64_t)(lane->debits - lane->blocked) *
                 (lane->shape->alone ? worker->slots : lane->shape->slots);
        memory += lane->debits * lane->shape->memory_bytes;
    }
    assert(worker->slots_free + slots == worker->slots + worker->slots_over);
    assert(worker->memory_free + memory == worker->memory_bytes + worker->memory_over);
    assert(!worker->slots_over || !worker->slots_free);
    assert(worker->blocked == blocked);
    check_stock(worker);
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        assert(attempt->state != GW_ATTEMPT_FREE && attempt->worker == worker);
        assert(attempt->prev == previous);
        for (const struct gw_session *at = attempt->sessions; at; at = at->inside_next)
            assert(at->attempt == slot && (!at->inside_next || at->inside_next->inside_prev == at));
        previous = slot;
        attempts++;
        expected += attempt->expected_bytes;
        aside += attempt->blocked || attempt->stands;
    }
    assert(expected == worker->expected_bytes && aside == worker->aside);
    assert(attempts == worker->attempts && previous == worker->last);
    gw_sched_gpus_check(sched, worker);
    gw_sched_gpu_twins_check(sched, worker);
    for (uint32_t at = worker->first_holder; at != GW_NO_INDEX;
         at = sched->holders.items[at].worker_next) {
        const struct gw_holder *holder = &sched->holders.items[at];
        assert(holder->worker == worker->slot && sched->objects.items[holder->object].job);
        assert(holder->firm || holder->fetching > 0 || holder->copying);
        assert(holder->copying == gw_map_get(&sched->replicas, at, NULL));
        if (holder->firm)
            held += sched->objects.items[holder->object].bytes;
    }
    assert(held == worker->held_bytes);
}

static void check_workers(const struct gw_sched *sched)
{
    uint32_t ready = 0, slots = 0, slots_free = 0, gpus = 0, gpus_free = 0;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker)
            continue;
        assert(worker->slot == i && worker->remote->worker == worker);
        check_worker(sched, worker);
        if (worker->state != GW_WORKER_READY)
            continue;
        ready++;
        slots += worker->slots;
        slots_free += worker->slots_free;
        gpus += gw_sched_gpu_twin_own(worker);
        gpus_free += worker->gpus_free;
    }
    assert(ready == sched->workers_ready && slots == sched->slots && gpus == sched->gpus);
    assert(slots_free == sched->slots_free && gpus_free == sched->gpus_free);
    uint32_t open = 0;
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i] && sched->workers.items[i]->state == GW_WORKER_READY)
            open += gw_sched_worker_open(sched->workers.items[i]);
    assert(open == sched->slots_open);
    for (size_t free = 0; free < sched->by_free.count; free++)
        for (const struct gw_worker *worker = sched->by_free.items[free]; worker;
             worker = worker->next) {
            assert(gw_sched_worker_open(worker) == free && free <= sched->free_max);
            assert(worker->state == GW_WORKER_READY);
        }
}

/* -- Jobs ------------------------------------------------------------------------------------- */

/* Counters that are computed from the dependencies, to compare with those in the tables. */
struct tally {
    uint32_t *users;
};

static void check_attempt_of(const struct gw_sched *sched, const struct gw_job *job, uint32_t row)
{
    uint8_t state = job->tasks.state[row];
    if (state != GW_TASK_PLACED && state != GW_TASK_CANCELLING && state != GW_TASK_PIPELINED)
        return;
    uint64_t value;
    if (job->specs.items[job->tasks.spec[row]].message.ranks > 0) {
        bool found = gw_map_get(&sched->gangs, job->tasks.attempt[row], &value);
        assert(found);
        const struct gw_gang_attempt *gang = (const struct gw_gang_attempt *)(uintptr_t)value;
        assert(gang->job == job && gang->index == row);
        assert(gang->live > 0 || gang->state == GW_GANG_RECOVERING);
        uint32_t live = 0, ready = 0;
        for (uint32_t i = 0; i < gang->count; i++) {
            live += gang->ranks[i].slot != GW_NO_INDEX;
            ready += gang->ranks[i].ready;
            if (gang->ranks[i].slot != GW_NO_INDEX)
                assert(sched->attempts.items[gang->ranks[i].slot].gang == gang &&
                       sched->attempts.items[gang->ranks[i].slot].rank == i);
        }
        gw_sched_gpus_check_gang(sched, gang);
        assert(live == gang->live && ready == gang->ready);
        assert(gang->state != GW_GANG_RUNNING || ready == gang->count);
        assert(gang->state != GW_GANG_PREPARING || live == gang->count);
        assert(gang->state != GW_GANG_RECOVERING || ready < gang->count);
        assert(state != GW_TASK_CANCELLING || gang->state == GW_GANG_ENDING);
        return;
    }
    uint32_t slot = gw_sched_attempt_find(sched, job->tasks.attempt[row]);
    assert(slot != GW_NO_INDEX);
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    assert(attempt->id == job->tasks.attempt[row] && attempt->state != GW_ATTEMPT_FREE);
    assert(attempt->job == job && attempt->index == row && !attempt->gang);
    assert(state != GW_TASK_CANCELLING || attempt->state == GW_ATTEMPT_KILLED);
    assert(state == GW_TASK_CANCELLING || attempt->pipelined == (state == GW_TASK_PIPELINED));
    assert(!attempt->pipelined || !attempt->is_long || attempt->state != GW_ATTEMPT_SENT);
}

/* Asserts that each dependency of the job belongs to its row, and is in the successor list of the
 * task that it depends on. */
static void check_successors(const struct gw_sched *sched, struct gw_job *job)
{
    const struct gw_tasks *tasks = &job->tasks;
    uint32_t own = 0, linked = 0;
    for (uint32_t row = 0; row < tasks->count; row++) {
        for (uint32_t e = tasks->deps_at[row]; e < gw_sched_deps_end(tasks, row); e++) {
            assert(gw_sched_edge_row(tasks, e) == row);
            own += gw_sched_edge(tasks, e).job == 0;
        }
        struct gw_successors from = gw_sched_edge_successors_of(job, row);
        struct gw_row next, dep;
        for (uint32_t link = from.link; gw_sched_edge_successors_next(sched, &from, &next);
             link = from.link)
            if (next.job == job) {
                assert(gw_sched_dep(sched, job, link, &dep) && dep.job == job && dep.index == row);
                linked++;
            }
    }
    assert(linked == own);
}

static void check_edges(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                        const struct tally *tally)
{
    struct gw_tasks *tasks = &job->tasks;
    uint32_t waiting = 0;
    bool all_known = true;
    for (uint32_t e = tasks->deps_at[row]; e < gw_sched_deps_end(tasks, row); e++) {
        struct gw_row dep;
        if (!gw_sched_dep(sched, job, e, &dep)) {
            all_known = false;
            continue;
        }
        all_known = all_known && !dep.job->compacted;
        waiting += !gw_sched_task_satisfied(dep.job, dep.index);
        bool alias = (tasks->flags[row] & GW_TASK_ALIAS) != 0;
        bool uses = !gw_sched_task_final(job, row) || (alias && tasks->state[row] == GW_TASK_DONE);
        if (dep.job == job && gw_sched_dep_rank(tasks, e) != GW_DEP_AFTER && uses)
            tally->users[dep.index]++;
        assert(!alias || (dep.job->uid == job->uid &&
                          tasks->deps_at[row] + 1 == gw_sched_deps_end(tasks, row)));
    }
    assert(!all_known || tasks->waiting[row] == waiting + job->gated);
}

static void check_task(const struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    const struct gw_tasks *tasks = &job->tasks;
    uint8_t state = tasks->state[row];
    bool queued = false;
    for (size_t i = 0; i < job->queues.count; i++) {
        const struct gw_queue *queue = job->queues.items[i];
        queued = queued || gw_bits_test(&queue->ready, row);
        assert(!gw_bits_test(&queue->fed, row) || gw_bits_test(&queue->ready, row));
        assert(!queue->parked || queue->heap_at == GW_NO_INDEX);
    }
    assert(queued == (state == GW_TASK_READY));
    assert(state != GW_TASK_READY || tasks->waiting[row] == 0);
    bool delayed = (tasks->flags[row] & GW_TASK_DELAYED) != 0;
    assert(!delayed || state == GW_TASK_WAITING);
    assert(state != GW_TASK_WAITING || tasks->waiting[row] > 0 || delayed);
    assert(state != GW_TASK_PIPELINED || tasks->waiting[row] > 0);
    bool alias = (tasks->flags[row] & GW_TASK_ALIAS) != 0;
    assert((tasks->object[row] != GW_NO_INDEX) == (state == GW_TASK_DONE && !alias));
    assert(state != GW_TASK_DONE || tasks->users[row] > 0 || job->state == GW_JOB_OPEN);
    assert(state != GW_TASK_RELEASED || tasks->users[row] == 0);
    assert(state != GW_TASK_DONE || gw_sched_objects_whole(sched, job, row) ||
           gw_sched_adopt_awaits(sched, job, row));
    assert((gw_sched_task_failure_of(job, row) != NULL) ==
           (state == GW_TASK_FAILED || state == GW_TASK_CANCELLED));
    check_attempt_of(sched, job, row);
}

/* Compares the counters of a range with its rows. */
static void check_range(const struct gw_job *job)
{
    const struct gw_range *range = job->range;
    const struct gw_tasks *tasks = &job->tasks;
    uint32_t live = 0, open_rows = 0;
    for (uint32_t row = gw_sched_row_next(job, 0); row < tasks->count;
         row = gw_sched_row_next(job, row + 1)) {
        bool closed = (tasks->flags[row] & GW_TASK_CLOSED) != 0;
        bool final = gw_sched_task_final(job, row);
        live += !final;
        open_rows += !closed;
        assert(!closed || (final && !(tasks->flags[row] & GW_TASK_HELD)));
    }
    assert(tasks->count <= range->count);
    assert(live == range->live && open_rows == range->open_rows);
    assert(range->given_up.runs.count <= GW_RANGE_GIVEN_UP_MAX);
    assert(range->given_up.runs.count == 0 || range->given_up.runs.items[0].first >= tasks->count);
    assert(range->cancelled.runs.count == 0 || range->ended ||
           range->cancelled.runs.items[0].first >= tasks->count);
    assert(range->feeding == (tasks->count < range->count && !range->ended));
}

static void check_job(const struct gw_sched *sched, struct gw_job *job)
{
    struct gw_tasks *tasks = &job->tasks;
    uint32_t unfinished = 0, done = 0, failed = 0, cancelled = 0, placed = 0, held = 0, objects = 0;
    uint32_t shared = 0, aliases = 0;
    struct tally tally = {calloc(tasks->count + 1, sizeof *tally.users)};
    GW_MUST_PTR(tally.users);
    for (uint32_t row = gw_sched_row_next(job, 0); row < tasks->count;
         row = gw_sched_row_next(job, row + 1)) {
        uint8_t state = tasks->state[row];
        unfinished += !gw_sched_task_final(job, row);
        done += gw_sched_task_satisfied(job, row);
        failed += state == GW_TASK_FAILED;
        cancelled += state == GW_TASK_CANCELLED;
        placed +=
            state == GW_TASK_PLACED || state == GW_TASK_CANCELLING || state == GW_TASK_PIPELINED;
        bool holds = (tasks->flags[row] & GW_TASK_HELD) != 0;
        held += holds;
        tally.users[row] += holds;
        for (const struct gw_share *share = gw_sched_shares_of(job, row); share;
             share = share->next) {
            assert(share->job == job && share->index == row);
            assert((share->session == NULL) == (share->name != NULL));
            tally.users[row]++;
            shared++;
        }
        for (uint32_t at = tasks->object[row]; at != GW_NO_INDEX;
             at = sched->objects.items[at].next)
            objects++;
        const struct gw_pure *pure =
            gw_job_rare(job)->pures.count ? gw_sched_pure_of(job, row) : NULL;
        assert(!pure || (!gw_sched_task_final(job, row) || state == GW_TASK_DONE));
        tally.users[row] += pure && pure->retained;
        bool alias = (tasks->flags[row] & GW_TASK_ALIAS) != 0;
        objects += alias && state == GW_TASK_DONE;
        aliases += alias;
        if (!job->compacted)
            check_edges(sched, job, row, &tally);
        check_task(sched, job, row);
    }
    if (!job->compacted && !job->range)
        check_successors(sched, job);
    uint64_t foreign = 0;
    for (uint32_t row = gw_sched_row_next(job, 0); row < tasks->count && !job->compacted;
         row = gw_sched_row_next(job, row + 1)) {
        assert(tasks->users[row] >= tally.users[row]);
        foreign += tasks->users[row] - tally.users[row];
    }
    free(tally.users);
    if (job->range) {
        const struct gw_range *range = job->range;
        check_range(job);
        done += range->retired_done;
        failed += range->retired_failed;
        cancelled += range->retired_cancelled;
        *(range->ended ? &cancelled : &unfinished) += range->count - tasks->count;
    }
    assert(job->compacted || foreign == job->needed);
    assert(unfinished == job->unfinished && done == job->done && failed == job->failed);
    assert(cancelled == job->cancelled_tasks && placed == job->placed && held == job->held);
    assert(objects == job->objects && shared == job->shared && aliases == job->aliases);
    assert(job->state != GW_JOB_ENDED || unfinished == 0);
    assert(job->state != GW_JOB_RUNNING || unfinished > 0);
}

void gw_sched_check(const struct gw_sched *sched)
{
    uint32_t jobs = 0, unended = 0, ended = 0, values = 0;
    uint64_t ended_tasks = 0;
    struct gw_tally tally = {0};
    check_workers(sched);
    for (size_t i = 0; i < sched->shapes.count; i++)
        if (sched->shapes.items[i])
            check_shape(sched, sched->shapes.items[i]);
    gw_sync_check(sched);
    gw_sched_scattered_check(sched);
    for (struct gw_job *job = sched->first_job; job; job = job->next) {
        assert(!job->next || job->next->id > job->id);
        check_job(sched, job);
        jobs++;
        unended += job->state != GW_JOB_ENDED;
        bool listed = job->state == GW_JOB_ENDED && !gw_sched_job_is_value(job);
        ended += listed;
        values += gw_sched_job_is_value(job);
        tally.unfinished += job->unfinished;
        tally.done += job->done;
        tally.failed += job->failed;
        tally.cancelled += job->cancelled_tasks;
        ended_tasks += listed ? job->weight : 0;
        const struct gw_job *parent = job->parent ? gw_sched_job_find(sched, job->parent) : NULL;
        assert(!listed || job->retained || !parent || parent->state == GW_JOB_ENDED);
    }
    gw_sched_actors_check(sched);
    gw_sched_pipelining_check(sched);
    gw_sched_tunnels_check(sched);
    gw_sched_ageing_check(sched);
    gw_sched_reservation_check(sched);
    gw_account_check(sched);
    gw_sched_preemption_check(sched);
    gw_sched_event_log_check(sched);
    assert(jobs == sched->job_count && unended == sched->unended_jobs);
    assert(ended == sched->ended.count + sched->retained.count);
    assert(ended_tasks == sched->ended.tasks + sched->retained.tasks);
    assert(values == sched->values && memcmp(&tally, &sched->tally, sizeof tally) == 0);
    assert(sched->doomed.count + sched->idle.count + sched->lost.count + sched->reopened.count +
               sched->unwanted.count + sched->retried.count + sched->ending.count +
               sched->orphaned.count ==
           0);
    for (const struct gw_gang_attempt *gang = sched->preparing; gang; gang = gang->next)
        assert(gang->state == GW_GANG_PREPARING &&
               (!gang->next || gang->next->deadline_ns >= gang->deadline_ns));
}
