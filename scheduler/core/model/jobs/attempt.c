/* The table of attempts.
 *
 * When a slot is reused, its generation is incremented. When the generation would overflow, the
 * slot is never used again. So an id of an earlier use of the slot, or of an earlier term, finds
 * nothing. */
#include "scheduler/core/model/jobs/attempt.h"

#include "scheduler/core/model/account.h"
#include "scheduler/core/model/jobs/actor.h"
#include "scheduler/core/model/jobs/edge.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/job_usage.h"
#include "scheduler/core/model/jobs/object.h"
#include "scheduler/core/model/jobs/pending.h"
#include "scheduler/core/model/jobs/range.h"
#include "scheduler/core/model/workers/gpu.h"
#include "scheduler/core/model/workers/memory.h"
#include "scheduler/core/model/workers/queue.h"
#include "scheduler/core/model/workers/worker_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS_AHEAD = 8, ROWS_AHEAD = 4, EDGES_AHEAD = 2, SUCCESSORS_AHEAD = 1 };

static const struct gw_sm_state attempt_states[] = {
    [GW_ATTEMPT_FREE] = {"free", GW_SM_NEXT(GW_ATTEMPT_SENT)},
    [GW_ATTEMPT_SENT] = {"sent", GW_SM_NEXT(GW_ATTEMPT_RUNNING) | GW_SM_NEXT(GW_ATTEMPT_KILLED) |
                                     GW_SM_NEXT(GW_ATTEMPT_RECALLED) | GW_SM_NEXT(GW_ATTEMPT_FREE)},
    [GW_ATTEMPT_RUNNING] = {"running", GW_SM_NEXT(GW_ATTEMPT_KILLED) | GW_SM_NEXT(GW_ATTEMPT_FREE)},
    [GW_ATTEMPT_KILLED] = {"killed", GW_SM_NEXT(GW_ATTEMPT_FREE)},
    [GW_ATTEMPT_RECALLED] = {"recalled", GW_SM_NEXT(GW_ATTEMPT_RUNNING) |
                                             GW_SM_NEXT(GW_ATTEMPT_KILLED) |
                                             GW_SM_NEXT(GW_ATTEMPT_FREE)},
};
struct gw_sm gw_sched_attempt_sm = {"attempt", attempt_states,
                                    sizeof attempt_states / sizeof *attempt_states, NULL};

static uint64_t attempt_id(const struct gw_sched *sched, uint32_t slot, uint32_t generation)
{
    return (sched->term & 0xffff) << 48 | (uint64_t)generation << GW_ATTEMPT_SLOT_BITS | slot;
}

/* Returns the slot for the next attempt. Grows the table if no slot is free. */
static uint32_t next_slot(struct gw_sched *sched)
{
    if (sched->free_attempt != GW_NO_INDEX)
        return sched->free_attempt;
    uint32_t slot = (uint32_t)sched->attempts.count;
    assert(slot < 1u << GW_ATTEMPT_SLOT_BITS);
    GW_MUST(gw_array_push(&sched->attempts,
                          ((struct gw_attempt){.next = GW_NO_INDEX, .generation = 1})));
    sched->free_attempt = slot;
    return slot;
}

uint64_t gw_sched_attempt_next(struct gw_sched *sched)
{
    uint32_t slot = next_slot(sched);
    return attempt_id(sched, slot, sched->attempts.items[slot].generation);
}

/* Returns the attempt whose id is at index `at` of a column, or NULL. */
static const struct gw_attempt *attempt_at(const struct gw_sched *sched, const struct gw_col64 *ids,
                                           uint32_t at)
{
    uint32_t slot =
        at < ids->count ? gw_sched_attempt_find(sched, gw_col64_at(*ids, at)) : GW_NO_INDEX;
    return slot == GW_NO_INDEX ? NULL : &sched->attempts.items[slot];
}

/* Prefetches all cache lines of an attempt, because the end of an attempt reads and writes all of
 * them. */
static void ahead(const struct gw_attempt *attempt)
{
    __builtin_prefetch(attempt, 1);
    __builtin_prefetch(&attempt->generation, 1);
    __builtin_prefetch(&attempt->aside, 1);
}

/* Prefetches the first successor of a task: its dependency entry, or, if `edge` is false, the task
 * that depends on it. */
static void successor_ahead(const struct gw_attempt *attempt, bool edge)
{
    const struct gw_tasks *tasks = &attempt->job->tasks;
    bool any = tasks->edges > 0 && !tasks->shared_deps;
    uint32_t link = any ? tasks->succ[attempt->index] : GW_NO_INDEX;
    if (link >= tasks->edges) /* there is none, or it is in another job */
        return;
    if (edge) {
        gw_sched_edge_ahead(tasks, link);
        return;
    }
    uint32_t row = gw_sched_edge_row(tasks, link);
    __builtin_prefetch(&tasks->waiting[row], 1);
    __builtin_prefetch(&tasks->state[row], 1);
    __builtin_prefetch(&tasks->flags[row]);
}

void gw_sched_attempts_ahead(const struct gw_sched *sched, const struct gw_col64 *ids, uint32_t at)
{
    if (at + ATTEMPTS_AHEAD < ids->count) {
        uint32_t slot = gw_sched_attempt_place(gw_col64_at(*ids, at + ATTEMPTS_AHEAD));
        if (slot < sched->attempts.count)
            ahead(&sched->attempts.items[slot]);
    }
    const struct gw_attempt *attempt = attempt_at(sched, ids, at + ROWS_AHEAD);
    if (attempt) {
        const struct gw_tasks *tasks = &attempt->job->tasks;
        __builtin_prefetch(&tasks->succ[attempt->index]);
        __builtin_prefetch(&tasks->deps_at[attempt->index]);
        __builtin_prefetch(&tasks->users[attempt->index], 1);
        __builtin_prefetch(&tasks->object[attempt->index], 1);
        __builtin_prefetch(&tasks->attempt[attempt->index], 1);
        /* Other jobs in this column most likely have no dependencies either. */
        if (tasks->edges == 0)
            return;
    }
    if ((attempt = attempt_at(sched, ids, at + EDGES_AHEAD)))
        successor_ahead(attempt, true);
    if ((attempt = attempt_at(sched, ids, at + SUCCESSORS_AHEAD)))
        successor_ahead(attempt, false);
}

/* Finds an adopted attempt. Its id is of an earlier term and does not contain its slot. */
static uint32_t find_adopted(const struct gw_sched *sched, uint64_t id)
{
    uint64_t slot;
    return sched->adopted.count && gw_map_get(&sched->adopted, id, &slot) ? (uint32_t)slot
                                                                          : GW_NO_INDEX;
}

uint32_t gw_sched_attempt_find(const struct gw_sched *sched, uint64_t id)
{
    uint32_t slot = gw_sched_attempt_place(id);
    if (slot >= sched->attempts.count)
        return find_adopted(sched, id);
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    return attempt->state != GW_ATTEMPT_FREE && attempt->id == id ? slot : find_adopted(sched, id);
}

uint32_t gw_sched_attempt_add(struct gw_sched *sched, const struct gw_attempt_new *options)
{
    uint32_t slot = next_slot(sched);
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_worker *worker = options->worker;
    sched->free_attempt = attempt->next;
    attempt->id = options->id ? options->id : attempt_id(sched, slot, attempt->generation);
    if (options->id)
        GW_MUST(gw_map_put(&sched->adopted, options->id, slot));
    attempt->job = options->job;
    attempt->worker = worker;
    attempt->gang = options->gang;
    attempt->index = options->index;
    attempt->rank = options->rank;
    attempt->is_long = options->is_long;
    attempt->pipelined = options->pipelined;
    attempt->fetches = !options->adopted; /* until it is known that the worker has all inputs */
    attempt->why = options->why;
    attempt->near_bytes = options->near_bytes;
    attempt->placed_ns = sched->now_ns - options->ran_ns;
    attempt->started_ns = attempt->told = 0;
    attempt->gpus = (uint16_t)(options->adopted ? options->gpu_count
                                                : gw_sched_queue_class_gpus(options->shape));
    attempt->gpu_fraction = (uint16_t)(attempt->gpus ? options->shape->gpu_fraction : 0);
    gw_sm_move(&gw_sched_attempt_sm, &attempt->state, GW_ATTEMPT_SENT);

    attempt->prev = worker->last;
    attempt->next = GW_NO_INDEX;
    if (worker->last != GW_NO_INDEX)
        sched->attempts.items[worker->last].next = slot;
    else
        worker->first = slot;
    worker->last = slot;
    worker->attempts++;
    attempt->expected_bytes = gw_sched_memory_expected(
        &options->job->specs.items[options->job->tasks.spec[options->index]]);
    worker->expected_bytes += attempt->expected_bytes;
    attempt->stands = options->job->calls_of != NULL;
    worker->memory_one = worker->memory_one && attempt->stands;
    gw_sched_memory_aside(attempt);

    attempt->lane = gw_sched_worker_queue_for(worker, options->shape);
    gw_sched_worker_queue_enter(sched, attempt->lane, attempt, options);
    if (attempt->gpus)
        gw_sched_gpus_take(sched, slot, options->gpus);
    if (!attempt->is_long && !options->adopted)
        gw_sched_attempt_frontier_note(sched, slot);
    gw_sched_actor_attempt_added(options->job);
    gw_job_usage_begun(sched, options->job, options->ran_ns);
    attempt->billed = false;
    if (options->job->payer)
        gw_account_begun(sched, attempt);
    if (options->adopted) {
        gw_sm_move(&gw_sched_attempt_sm, &attempt->state, GW_ATTEMPT_RUNNING);
        attempt->started_ns = attempt->placed_ns ? attempt->placed_ns : 1;
        if (options->job->payer)
            gw_account_adopted(sched, attempt, options->ran_ns);
        attempt->ends_next = options->ends_next;
        sched->ends_coming += attempt->ends_next;
    }
    return slot;
}

uint32_t gw_sched_attempt_begin(struct gw_sched *sched, const struct gw_attempt_new *options)
{
    struct gw_job *job = options->job;
    struct gw_tasks *tasks = &job->tasks;
    uint32_t row = options->index;
    if (tasks->attempt[row] && tasks->worker[row])
        GW_MUST(
            gw_array_push(&job->places, ((struct gw_place){.attempt = tasks->attempt[row],
                                                           .index = row,
                                                           .rank = GW_RANK_NONE,
                                                           .worker = tasks->worker[row],
                                                           .number = tasks->charges[row].tries})));
    uint32_t slot = gw_sched_attempt_add(sched, options);
    tasks->attempt[row] = sched->attempts.items[slot].id;
    tasks->worker[row] = options->worker->id;
    tasks->charges[row].tries++;
    if (gw_sched_event_log_whole(job))
        gw_sched_event_log_placed(sched, slot);
    job->placed++;
    gw_sched_range_row_placed(sched, job);
    gw_sched_pending_on_placed(sched, job);
    return slot;
}

bool gw_sched_attempt_waits(const struct gw_attempt *attempt)
{
    return attempt->state == GW_ATTEMPT_SENT || attempt->state == GW_ATTEMPT_RECALLED;
}

void gw_sched_attempt_kill(struct gw_sched *sched, uint32_t slot, bool hard)
{
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    if (attempt->state == GW_ATTEMPT_RECALLED)
        gw_sched_attempt_recall_over(attempt->lane);
    if (attempt->state != GW_ATTEMPT_KILLED && !attempt->gang)
        GW_LOG_EVENT(sched, attempt->job, .kind = GW_LOGGED_KILLED, .index = attempt->index,
                     .worker = attempt->worker->id, .detail = hard);
    if (attempt->state != GW_ATTEMPT_KILLED)
        gw_sm_move(&gw_sched_attempt_sm, &attempt->state, GW_ATTEMPT_KILLED);
}

/* Updates a running average. The first samples count most. Later samples change the average slowly.
 */
static uint64_t drift(uint64_t mean, uint64_t value, uint32_t samples)
{
    if (samples >= 8) /* uses a shift instead of two divisions */
        return mean - mean / 8 + value / 8;
    return mean - mean / (samples + 1) + value / (samples + 1);
}

static void measure(struct gw_spec *spec, uint64_t run_ns, uint64_t bytes)
{
    spec->mean_ns = drift(spec->mean_ns, run_ns, spec->samples);
    spec->mean_bytes = drift(spec->mean_bytes, bytes, spec->samples);
    if (spec->samples < UINT32_MAX)
        spec->samples++;
}

void gw_sched_attempt_end(struct gw_sched *sched, uint32_t slot, bool well, uint64_t run_ns,
                          uint64_t bytes)
{
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_worker *worker = attempt->worker;
    gw_sched_event_log_attempt_ended(sched, attempt, well, run_ns);
    gw_job_usage_ended(sched, attempt, run_ns);
    if (attempt->job->payer)
        gw_account_ended(sched, attempt, run_ns);
    struct gw_spec *spec = &attempt->job->specs.items[attempt->job->tasks.spec[attempt->index]];
    /* A failure shows the run time of such tasks, but no result size. */
    if (well || run_ns)
        measure(spec, run_ns, well ? bytes : spec->mean_bytes);
    if (!attempt->pipelined && attempt->fetches)
        gw_sched_object_inputs_fetched(sched, attempt->job, attempt->index, worker, well);
    gw_sched_attempt_frontier_freed(sched, worker);
    gw_sched_actor_attempt_ended(sched, attempt->job, well, run_ns);

    if (attempt->prev != GW_NO_INDEX)
        sched->attempts.items[attempt->prev].next = attempt->next;
    else
        worker->first = attempt->next;
    if (attempt->next != GW_NO_INDEX)
        sched->attempts.items[attempt->next].prev = attempt->prev;
    else
        worker->last = attempt->prev;
    worker->attempts--;
    worker->expected_bytes -= attempt->expected_bytes;

    if (attempt->gpus)
        gw_sched_gpus_give(sched, slot);
    gw_sched_attempt_sessions_end(sched, attempt);
    attempt->stands = attempt->drain_ends = false;
    attempt->preempted = 0;
    if (attempt->ends_next) {
        attempt->ends_next = false;
        sched->ends_coming--;
    }
    gw_sched_memory_aside(attempt);
    if (attempt->state == GW_ATTEMPT_RECALLED)
        gw_sched_attempt_recall_over(attempt->lane);
    gw_sched_worker_queue_leave(sched, attempt->lane, attempt);
    gw_sm_move(&gw_sched_attempt_sm, &attempt->state, GW_ATTEMPT_FREE);
    if (attempt->gang) {
        attempt->gang->ranks[attempt->rank].slot = GW_NO_INDEX;
        attempt->gang->live--;
    }
    if (sched->adopted.count)
        (void)gw_map_remove(&sched->adopted, attempt->id);
    attempt->job = NULL;
    attempt->worker = NULL;
    attempt->gang = NULL;
    if (++attempt->generation >> GW_ATTEMPT_GENERATION_BITS)
        return; /* all ids of this slot are used up */
    attempt->next = sched->free_attempt;
    sched->free_attempt = slot;
}

void gw_sched_attempts_deinit(struct gw_sched *sched)
{
    gw_array_deinit(&sched->attempts);
    gw_map_deinit(&sched->adopted);
}

uint32_t gw_sched_attempt_slot(const struct gw_sched *sched, const struct gw_worker *worker,
                               uint64_t id, uint32_t rank)
{
    uint32_t slot = gw_sched_attempt_find(sched, id);
    if (slot == GW_NO_INDEX)
        return GW_NO_INDEX;
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    if (attempt->worker == worker && !attempt->gang && rank == GW_RANK_NONE)
        return slot;
    return GW_NO_INDEX;
}

void gw_sched_attempt_recall_over(struct gw_worker_queue *lane)
{
    assert(lane->recalled > 0 && lane->shape->recalled > 0);
    lane->recalled--;
    lane->shape->recalled--;
    lane->shape->blocked = false; /* a recalled task finds the slot that it was recalled for */
}

/* -- Attempts with successors ----------------------------------------------------------------- */

enum { FRONTIER_LOOKED_AT_MAX = 1024 /* handled entries that are kept before they are removed */ };

static void list(struct gw_sched *sched, struct gw_worker *worker)
{
    if (worker->frontier.listed)
        return;
    worker->frontier.listed = true;
    GW_MUST(gw_array_push(&sched->frontiers, worker));
}

void gw_sched_attempt_frontier_note(struct gw_sched *sched, uint32_t slot)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    if (gw_sched_edge_successors_of(attempt->job, attempt->index).link == GW_NO_INDEX)
        return;
    GW_MUST(gw_array_push(&attempt->worker->frontier.attempts, attempt->id));
    list(sched, attempt->worker);
}

void gw_sched_attempt_frontier_freed(struct gw_sched *sched, struct gw_worker *worker)
{
    if (worker->frontier.attempts.count > 0)
        list(sched, worker);
}

void gw_sched_attempt_frontier_forget(struct gw_sched *sched, struct gw_worker *worker)
{
    for (size_t i = sched->frontiers.count; i-- > 0;)
        if (sched->frontiers.items[i] == worker)
            gw_array_remove_swap(&sched->frontiers, i);
    gw_array_deinit(&worker->frontier.attempts);
}

void gw_sched_attempt_frontier_unlist(struct gw_worker *worker)
{
    worker->frontier.listed = false;
}

void gw_sched_attempt_frontier_advance(struct gw_worker *worker, size_t at)
{
    struct gw_frontier *frontier = &worker->frontier;
    size_t left = frontier->attempts.count - at;
    frontier->at = at;
    if (left > 0 && (at < FRONTIER_LOOKED_AT_MAX || at < left))
        return;
    if (left > 0)
        memmove(frontier->attempts.items, frontier->attempts.items + at,
                left * sizeof *frontier->attempts.items);
    frontier->attempts.count = left;
    frontier->at = 0;
}

/* -- Clients inside attempts ------------------------------------------------------------------ */

void gw_sched_attempt_sessions_end(struct gw_sched *sched, struct gw_attempt *attempt)
{
    if (attempt->blocked)
        gw_sched_worker_queue_reclaim(sched, attempt->lane);
    attempt->blocked = false;
    while (attempt->sessions) {
        GW_MUST(gw_array_push(&sched->orphaned, attempt->sessions->remote->peer));
        gw_sched_attempt_session_leave(sched, attempt->sessions);
    }
}

void gw_sched_attempt_session_leave(struct gw_sched *sched, struct gw_session *session)
{
    if (session->attempt == GW_NO_INDEX)
        return;
    if (session->inside_prev)
        session->inside_prev->inside_next = session->inside_next;
    else
        sched->attempts.items[session->attempt].sessions = session->inside_next;
    if (session->inside_next)
        session->inside_next->inside_prev = session->inside_prev;
    session->inside_prev = session->inside_next = NULL;
    session->attempt = GW_NO_INDEX;
}

static bool is_command(const struct gw_attempt *attempt)
{
    const struct gw_job *job = attempt->job;
    return job->specs.items[job->tasks.spec[attempt->index]].message.kind == GW_SPEC_COMMAND;
}

void gw_sched_attempt_session_begin(struct gw_sched *sched, uint32_t slot,
                                    struct gw_session *session)
{
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_remote *remote = session->remote;
    session->inside_next = attempt->sessions;
    if (session->inside_next)
        session->inside_next->inside_prev = session;
    attempt->sessions = session;
    session->attempt = slot;
    session->age = attempt->job->age;
    session->depth = attempt->job->depth + 1;
    session->of_command = is_command(attempt);
    remote->uid = attempt->job->uid;
    free(remote->name);
    remote->name = strdup(attempt->job->user);
    GW_MUST_PTR(remote->name);
}

void gw_sched_attempt_block(struct gw_sched *sched, uint32_t slot, bool blocked)
{
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    attempt->blocked = blocked;
    GW_LOG_EVENT_USUAL(sched, attempt->job, .kind = GW_LOGGED_BLOCKED, .index = attempt->index,
                       .worker = attempt->worker->id, .detail = !blocked);
    gw_sched_memory_aside(attempt);
    if (!blocked) {
        gw_sched_worker_queue_reclaim(sched, attempt->lane);
        return;
    }
    gw_sched_worker_queue_lend(sched, attempt->lane, attempt->is_long);
    attempt->is_long = true;
}
