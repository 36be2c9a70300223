/* Workers register, are silent, are lost and are dismissed. */

#include "scheduler/core/membership/worker.h"

#include "scheduler/core/lifecycle/worker_ready.h"
#include "scheduler/core/lifecycle/worker_report.h"
#include "scheduler/core/membership/adopt.h"
#include "scheduler/core/membership/history.h"
#include "scheduler/core/membership/regain.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/effect.h"
#include "scheduler/core/send/log_line.h"
#include "scheduler/core/send/outbox.h"
#include "scheduler/core/send/tunnel.h"

#include <stdio.h>

enum { SLOTS_MAX = 65536 };

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
    if (!gw_sched_history_check(sched, worker, registration))
        return 0;
    GW_FACT(sched, worker_registered, .worker = worker, .registration = registration);

    gw_sched_hold_on_registered(sched, worker);
    gw_sched_adopt(sched, worker, registration);
    gw_sched_regain(sched, worker, registration);
    for (size_t i = 0; i < worker->stale.count; i++) {
        const struct gw_stale stale = worker->stale.items[i];
        if (!gw_sched_late_claim_exists(worker, stale.attempt, stale.rank))
            gw_sched_send_kill(sched, worker,
                               &(struct gw_kill_row){stale.attempt, 0, GW_KILL_STALE});
    }
    gw_sched_worker_ready_perhaps(sched, worker);
    return 0;
}

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
            gw_sched_worker_queue_lost(worker->lanes[i]);
    while (worker->first != GW_NONE) {
        const struct gw_attempt *attempt = &sched->attempts.items[worker->first];
        bool could_run = attempt->is_long || gw_sched_worker_queue_may_run(attempt->lane);
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
    if (worker->state != GW_WORKER_GREETED && worker->state != GW_WORKER_LEAVING)
        gw_sched_log_left(sched, worker, why);
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
    gw_sched_log_left(sched, worker, why);
    take_all(sched, worker, why, true);
    GW_FACT(sched, worker_emptied, .worker = worker, .why = why);
    gw_sched_questions_on_worker_lost(sched, id);
    gw_sched_tunnels_on_worker_lost(sched, id);
}

void gw_sched_worker_on_heartbeat(struct gw_sched *sched, struct gw_worker *worker,
                                  const struct gw_msg_heartbeat *heartbeat)
{
    GW_FACT(sched, worker_beat, .worker = worker, .number = heartbeat->number,
            .memory_used_bytes = heartbeat->memory_used_bytes);
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
        gw_sched_history_tell(sched, heartbeat);
    }
}
