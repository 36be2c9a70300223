/* Workers.
 *
 * A worker is greeted, registers, and is ready; where it comes back with attempts of an earlier
 * connection it drains them first: their slots are not free before they have ended. Those that this
 * life takes over (adopt.h) have theirs from the start. It drains, too, until it is on disk that it
 * is connected (hold.h). Once lost, a worker never comes back under the same id. */
#include "scheduler/core/worker.h"
#include "scheduler/core/cooling.h"

#include "scheduler/core/adopt.h"
#include "scheduler/core/assign.h"
#include "scheduler/core/attempt.h"
#include "scheduler/core/away.h"
#include "scheduler/core/gpu.h"
#include "scheduler/core/gpu_kept.h"
#include "scheduler/core/gpu_twin.h"
#include "scheduler/core/handover.h"
#include "scheduler/core/hold.h"
#include "scheduler/core/lane.h"
#include "scheduler/core/memory.h"
#include "scheduler/core/need.h"
#include "scheduler/core/object.h"
#include "scheduler/core/outbox.h"
#include "scheduler/core/question.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/regain.h"
#include "scheduler/core/reservation.h"
#include "scheduler/core/tunnel.h"
#include "scheduler/core/verdict.h"
#include "scheduler/core/worker_name.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gw_sm_state worker_states[] = {
    [GW_WORKER_GREETED] = {"greeted", GW_SM_NEXT(GW_WORKER_DRAINING) | GW_SM_NEXT(GW_WORKER_READY) |
                                          GW_SM_NEXT(GW_WORKER_LOST)},
    [GW_WORKER_DRAINING] = {"draining", GW_SM_NEXT(GW_WORKER_READY) | GW_SM_NEXT(GW_WORKER_LOST)},
    [GW_WORKER_READY] = {"ready", GW_SM_NEXT(GW_WORKER_LEAVING) | GW_SM_NEXT(GW_WORKER_LOST)},
    [GW_WORKER_LEAVING] = {"leaving", GW_SM_NEXT(GW_WORKER_LOST)},
    [GW_WORKER_LOST] = {"lost", 0},
};
struct gw_sm gw_sched_worker_sm = {"worker", worker_states,
                                   sizeof worker_states / sizeof *worker_states, NULL};

enum { SLOTS_MAX = 65536 };

void gw_sched_worker_new(struct gw_sched *sched, struct gw_remote *remote)
{
    struct gw_worker *worker = calloc(1, sizeof *worker);
    GW_MUST_PTR(worker);
    uint32_t slot = 0;
    while (slot < sched->workers.count && sched->workers.items[slot])
        slot++;
    if (slot == sched->workers.count)
        GW_MUST(gw_array_push(&sched->workers, NULL));
    sched->workers.items[slot] = worker;
    worker->id = sched->next_worker++;
    worker->slot = slot;
    worker->remote = remote;
    worker->host = "?";
    worker->first = worker->last = worker->first_holder = GW_NONE;
    worker->heard_ns = sched->now_ns;
    remote->worker = worker;
}

void gw_sched_worker_free(struct gw_sched *sched, struct gw_worker *worker)
{
    gw_sched_outbox_forget(sched, worker, NULL);
    gw_sched_handover_forget(sched, worker);
    sched->workers.items[worker->slot] = NULL;
    for (uint32_t i = 0; i < worker->lane_count; i++)
        free(worker->lanes[i]);
    free(worker->lanes);
    gw_sched_gpus_deinit(worker);
    free(worker->memory_trouble);
    free(worker->neighbours);
    gw_array_deinit(&worker->stale);
    gw_sched_assign_drop(sched, worker);
    gw_sched_worker_rows_deinit(worker);
    gw_arena_deinit(&worker->arena);
    free(worker);
}

struct gw_worker *gw_sched_worker_find(const struct gw_sched *sched, uint32_t id)
{
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i] && sched->workers.items[i]->id == id)
            return sched->workers.items[i];
    return NULL;
}

/* -- Registration --------------------------------------------------------------------------------
 */

int gw_sched_worker_on_registration(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_msg_registration *registration)
{
    if (worker->state != GW_WORKER_GREETED || registration->slots > SLOTS_MAX ||
        registration->slots > GW_SLOTS_MAX - sched->slots ||
        registration->attempt_rank.count != registration->attempt.count ||
        registration->object_index.count != registration->object_job.count ||
        registration->object_rank.count != registration->object_job.count ||
        registration->object_bytes.count != registration->object_job.count ||
        registration->object_attempt.count != registration->object_job.count ||
        gw_sched_stock_check(registration->resources) < 0 ||
        gw_sched_gpus_read_check(registration->gpus) < 0)
        return GW_EPROTO;
    GW_FACT(sched, worker_registered, .worker = worker, .registration = registration);

    gw_sched_hold_on_registered(sched, worker);
    gw_sched_adopt(sched, worker, registration);
    gw_sched_regain(sched, worker, registration);
    for (size_t i = 0; i < worker->stale.count; i++)
        gw_sched_send_kill(sched, worker,
                           &(struct gw_kill_row){worker->stale.items[i].attempt, 0, GW_KILL_STALE});
    gw_sched_worker_ready_perhaps(sched, worker);
    return 0;
}

void gw_sched_worker_ready_perhaps(struct gw_sched *sched, struct gw_worker *worker)
{
    if (worker->stale.count == 0 && gw_sched_hold_knows(sched, worker))
        GW_FACT(sched, worker_readied, .worker = worker);
}

void gw_sched_apply_worker_registered(struct gw_sched *sched,
                                      const struct gw_fact_worker_registered *fact)
{
    struct gw_worker *worker = fact->worker;
    const struct gw_msg_registration *registration = fact->registration;
    worker->incarnation = registration->incarnation;
    worker->slots = worker->slots_free = registration->slots;
    worker->memory_bytes = worker->memory_free = registration->memory_bytes;
    worker->host = gw_arena_strdup(&worker->arena, registration->host);
    GW_MUST_PTR(worker->host);
    worker->address = gw_arena_strdup(&worker->arena, registration->address);
    GW_MUST_PTR(worker->address);
    worker->machine = gw_arena_strdup(
        &worker->arena, registration->machine && *registration->machine ? registration->machine
                                                                        : registration->host);
    GW_MUST_PTR(worker->machine);
    gw_sched_gpus_set(worker, registration->gpus);
    if (!GW_PLANTED(700))
        gw_sched_gpus_kept_mark(sched, worker);
    gw_sched_gpu_twins_find(sched, worker, registration);
    gw_sched_stock_set(worker, registration->resources);
    for (uint32_t i = 0; i < registration->attempt.count; i++)
        GW_MUST(gw_array_push(&worker->stale,
                              ((struct gw_stale){gw_col64_at(registration->attempt, i),
                                                 gw_col32_at(registration->attempt_rank, i)})));
    if (worker->stale.count)
        gw_sm_move(&gw_sched_worker_sm, &worker->state, GW_WORKER_DRAINING);
}

void gw_sched_apply_worker_readied(struct gw_sched *sched,
                                   const struct gw_fact_worker_readied *fact)
{
    struct gw_worker *worker = fact->worker;
    gw_sm_move(&gw_sched_worker_sm, &worker->state, GW_WORKER_READY);
    sched->workers_ready++;
    sched->workers_epoch++;
    sched->slots += worker->slots;
    sched->slots_free += worker->slots_free;
    sched->gpus += gw_sched_gpus_own(worker);
    sched->gpus_free += worker->gpus_free;
    sched->instances_free += worker->instances_free;
    gw_sched_worker_name_keep(sched, worker);
    gw_sched_worker_link(sched, worker);
    gw_sched_away_on_ready(sched, worker);
    gw_sched_shapes_update(sched);
    sched->freed = true;
    gw_sched_questions_on_back(sched);
}

void gw_sched_worker_on_stale(struct gw_sched *sched, struct gw_worker *worker, uint64_t attempt,
                              uint32_t rank)
{
    if (worker->state != GW_WORKER_DRAINING)
        return;
    GW_FACT(sched, worker_cleared, .worker = worker, .attempt = attempt, .rank = rank);
    gw_sched_worker_ready_perhaps(sched, worker);
}

void gw_sched_apply_worker_cleared(struct gw_sched *sched,
                                   const struct gw_fact_worker_cleared *fact)
{
    (void)sched;
    for (size_t i = fact->worker->stale.count; i-- > 0;)
        if (fact->worker->stale.items[i].attempt == fact->attempt &&
            fact->worker->stale.items[i].rank == fact->rank)
            gw_array_remove_swap(&fact->worker->stale, i);
}

/* -- Loss ----------------------------------------------------------------------------------------
 */

/* Only what could have been running is charged: the first attempts of a lane, as many as it has
 * debits; what was queued behind them is not. */
static void lose_attempts(struct gw_sched *sched, struct gw_worker *worker, const char *why,
                          bool dismissed)
{
    char text[GW_ERROR_TEXT_MAX], where[GW_WORKER_NAME_MAX];
    (void)snprintf(text, sizeof text, "%s was lost: %s",
                   gw_sched_worker_where(sched, worker->id, where), why);
    for (uint32_t i = 0; i < worker->lane_count; i++)
        if (worker->lanes[i])
            worker->lanes[i]->may_run = worker->lanes[i]->debits;
    while (worker->first != GW_NONE) {
        const struct gw_attempt *attempt = &sched->attempts.items[worker->first];
        bool could_run = attempt->is_long || attempt->lane->may_run > 0;
        if (!attempt->is_long && attempt->lane->may_run > 0)
            attempt->lane->may_run--;
        struct gw_end end = {.outcome = GW_OUTCOME_LOST,
                             .code = GW_ELOST,
                             .executing = could_run && !sched->shutting_down,
                             .dismissed = dismissed,
                             .text = text,
                             .stderr_tail = ""};
        gw_sched_verdict_ended(sched, worker->first, &end);
    }
}

static void take_all(struct gw_sched *sched, struct gw_worker *worker, const char *why,
                     bool dismissed)
{
    lose_attempts(sched, worker, why, dismissed);
    while (worker->first_holder != GW_NONE)
        GW_FACT(sched, holder_removed, .worker = worker,
                .object = sched->holders.items[worker->first_holder].object);
}

static void lose(struct gw_sched *sched, struct gw_worker *worker, const char *why, bool dismissed)
{
    if (worker->state == GW_WORKER_LOST)
        return;
    take_all(sched, worker, why, dismissed);
    uint32_t id = worker->id;
    gw_sched_hold_on_lost(sched, worker);
    GW_FACT(sched, worker_lost, .worker = worker, .why = why);
    gw_sched_questions_on_worker_lost(sched, id);
    gw_sched_tunnels_on_worker_lost(sched, id);
}

void gw_sched_worker_lose(struct gw_sched *sched, struct gw_worker *worker, const char *why)
{
    lose(sched, worker, why, false);
}

void gw_sched_worker_dismiss(struct gw_sched *sched, struct gw_worker *worker, const char *why)
{
    lose(sched, worker, why, !GW_PLANTED(736));
}

void gw_sched_worker_empty(struct gw_sched *sched, struct gw_worker *worker, const char *why)
{
    const uint32_t id = worker->id;
    take_all(sched, worker, why, true);
    GW_FACT(sched, worker_emptied, .worker = worker, .why = why);
    gw_sched_questions_on_worker_lost(sched, id);
    gw_sched_tunnels_on_worker_lost(sched, id);
}

/* What it has is not counted any more among what there is. */
static void count_out(struct gw_sched *sched, struct gw_worker *worker, const char *why)
{
    char where[GW_WORKER_NAME_MAX];
    assert(worker->attempts == 0 && worker->first_holder == GW_NONE);
    if (worker->reserved_ranks)
        gw_sched_reservation_clear(sched);
    if (worker->state != GW_WORKER_READY)
        return;
    assert(worker->slots_free == worker->slots);
    sched->workers_ready--;
    sched->workers_epoch++;
    sched->slots -= worker->slots;
    sched->slots_free -= worker->slots;
    sched->gpus -= gw_sched_gpus_own(worker);
    sched->gpus_free -= worker->gpus_free;
    sched->instances_free -= worker->instances_free;
    gw_sched_worker_unlink(sched, worker);
    (void)snprintf(sched->lost_worker, sizeof sched->lost_worker, "%s was lost: %s",
                   gw_sched_worker_where(sched, worker->id, where), why);
    sched->lost_worker_ns = sched->now_ns;
}

void gw_sched_apply_worker_emptied(struct gw_sched *sched,
                                   const struct gw_fact_worker_emptied *fact)
{
    struct gw_worker *worker = fact->worker;
    count_out(sched, worker, fact->why);
    gw_sched_away_on_lost(sched, worker);
    gw_sm_move(&gw_sched_worker_sm, &worker->state, GW_WORKER_LEAVING);
    sched->leaving++;
    sched->leave_look_ns = 0;
    sched->freed = true;
    gw_sched_shapes_update(sched);
}

void gw_sched_apply_worker_lost(struct gw_sched *sched, const struct gw_fact_worker_lost *fact)
{
    struct gw_worker *worker = fact->worker;
    count_out(sched, worker, fact->why);
    gw_sched_away_on_lost(sched, worker);
    gw_sched_hold_lose(sched, worker);
    sched->leaving -= worker->state == GW_WORKER_LEAVING;
    gw_sm_move(&gw_sched_worker_sm, &worker->state, GW_WORKER_LOST);
    gw_sched_gpu_twins_free(sched, worker);
    sched->freed = true; /* a gang may start smaller because its room is gone */
    gw_sched_shapes_update(sched);
}

/* -- Heartbeats ----------------------------------------------------------------------------------
 */

void gw_sched_worker_on_heartbeat(struct gw_sched *sched, struct gw_worker *worker,
                                  const struct gw_msg_heartbeat *heartbeat)
{
    GW_FACT(sched, worker_beat, .worker = worker, .number = heartbeat->number,
            .memory_used_bytes = heartbeat->memory_used_bytes);
}

void gw_sched_apply_worker_beat(struct gw_sched *sched, const struct gw_fact_worker_beat *fact)
{
    (void)sched;
    fact->worker->beat_seen = fact->number;
    fact->worker->memory_used_bytes = fact->memory_used_bytes;
}

void gw_sched_apply_beat_sent(struct gw_sched *sched, const struct gw_fact_beat_sent *fact)
{
    sched->beat_ns = fact->now_ns + sched->options.heartbeat_ns;
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i])
            sched->workers.items[i]->beats_sent++;
}

void gw_sched_workers_on_tick(struct gw_sched *sched)
{
    if (sched->now_ns < sched->beat_ns)
        return;
    GW_FACT(sched, beat_sent, .now_ns = sched->now_ns);
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state == GW_WORKER_LOST)
            continue;
        if (sched->now_ns - worker->heard_ns >= sched->options.worker_lost_ns) {
            gw_sched_worker_lose(sched, worker, "it was silent for too long");
            gw_sched_close(sched, worker->remote);
            continue;
        }
        struct gw_msg_heartbeat *heartbeat =
            &gw_sched_send(sched, worker->remote, GW_MESSAGE_heartbeat)->heartbeat;
        heartbeat->number = worker->beats_sent;
        heartbeat->echo = worker->beat_seen;
    }
}

/* -- What fits -----------------------------------------------------------------------------------
 */

bool gw_sched_worker_fits(const struct gw_sched *sched, const struct gw_worker *worker,
                          const struct gw_shape *shape)
{
    if (worker->state != GW_WORKER_READY || worker->slots_free < shape->slots ||
        worker->memory_free < shape->memory_bytes || !gw_sched_memory_lets(worker) ||
        gw_sched_cooling_left_ns(sched, worker, shape) > 0)
        return false;
    if (shape->alone && (worker->attempts > worker->blocked || worker->slots_free < worker->slots))
        return false;
    return gw_sched_need_ranks(worker, shape, false) > 0;
}

bool gw_sched_worker_could(const struct gw_worker *worker, const struct gw_shape *shape)
{
    return worker->state == GW_WORKER_READY && worker->slots >= shape->slots &&
           worker->memory_bytes >= shape->memory_bytes &&
           gw_sched_need_ranks(worker, shape, true) > 0;
}
