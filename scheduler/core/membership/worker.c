/* Workers: registration, heartbeats, loss, dismissal, and departure. */

#include "scheduler/core/membership/worker.h"

#include "scheduler/core/lifecycle/checkpoint.h"
#include "scheduler/core/lifecycle/worker_report.h"
#include "scheduler/core/membership/adopt.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/sched.h"
#include "scheduler/core/send/log.h"
#include "scheduler/core/send/outbox.h"
#include "scheduler/core/send/send.h"
#include "scheduler/core/send/tunnel.h"

#include <stdio.h>
#include <string.h>

enum { SLOTS_MAX = 65536 };

int gw_sched_worker_on_registration(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_msg_registration *registration)
{
    if (worker->state != GW_WORKER_CONNECTED || registration->slots > SLOTS_MAX ||
        registration->slots > GW_SLOTS_MAX - sched->slots ||
        registration->attempt_rank.count != registration->attempt.count ||
        registration->object_index.count != registration->object_job.count ||
        registration->object_rank.count != registration->object_job.count ||
        registration->object_bytes.count != registration->object_job.count ||
        registration->object_attempt.count != registration->object_job.count ||
        gw_sched_need_stock_check(registration->resources) < 0 ||
        gw_sched_gpus_read_check(registration->gpus) < 0)
        return GW_EPROTO;
    if (!gw_sched_worker_history_check(sched, worker, registration))
        return 0;
    gw_sched_worker_register(sched, worker, registration);

    gw_sched_hold_on_registered(sched, worker);
    gw_sched_adopt(sched, worker, registration);
    gw_sched_adopt_objects(sched, worker, registration);
    for (size_t i = 0; i < worker->stale.count; i++) {
        const struct gw_stale stale = worker->stale.items[i];
        if (!gw_sched_late_claim_exists(worker, stale.attempt, stale.rank))
            gw_sched_outbox_kill(sched, worker,
                                 &(struct gw_kill_row){stale.attempt, 0, GW_KILL_STALE});
    }
    gw_sched_worker_report_ready(sched, worker);
    return 0;
}

/* Ends all attempts of a lost worker. The loss counts against the retry budget only for attempts
 * that could have been running: in each queue the first attempts, as many as the queue has slots.
 * Attempts that queued behind them do not count. */
static void lose_attempts(struct gw_sched *sched, struct gw_worker *worker, const char *why,
                          bool dismissed)
{
    char text[GW_ERROR_TEXT_MAX], where[GW_WORKER_NAME_MAX];
    (void)snprintf(text, sizeof text, "%s was lost: %s",
                   gw_sched_worker_where(sched, worker->id, where), why);
    for (uint32_t i = 0; i < worker->queue_count; i++)
        if (worker->queues[i])
            gw_sched_worker_queue_lost(worker->queues[i]);
    while (worker->first != GW_NO_INDEX) {
        const struct gw_attempt *attempt = &sched->attempts.items[worker->first];
        bool could_run = attempt->is_long || gw_sched_worker_queue_may_run(attempt->lane);
        struct gw_end end = {.outcome = GW_OUTCOME_LOST,
                             .code = GW_ELOST,
                             .executing = could_run && !sched->shutting_down,
                             .dismissed = dismissed,
                             .text = text,
                             .stderr_tail = ""};
        gw_sched_worker_report_ended(sched, worker->first, &end);
    }
}

static void take_all(struct gw_sched *sched, struct gw_worker *worker, const char *why,
                     bool dismissed)
{
    lose_attempts(sched, worker, why, dismissed);
    while (worker->first_holder != GW_NO_INDEX)
        gw_sched_object_lose_holder(sched, sched->holders.items[worker->first_holder].object,
                                    worker);
}

static void lose(struct gw_sched *sched, struct gw_worker *worker, const char *why, bool dismissed)
{
    if (worker->state == GW_WORKER_LOST)
        return;
    if (worker->state != GW_WORKER_CONNECTED && worker->state != GW_WORKER_SHUTTING_DOWN)
        gw_sched_log_left(sched, worker, why);
    take_all(sched, worker, why, dismissed);
    uint32_t id = worker->id;
    gw_sched_hold_on_lost(sched, worker);
    gw_sched_worker_set_lost(sched, worker, why);
    gw_sched_pending_on_worker_lost(sched, id);
    gw_sched_tunnels_on_worker_lost(sched, id);
}

void gw_sched_worker_lose(struct gw_sched *sched, struct gw_worker *worker, const char *why)
{
    lose(sched, worker, why, false);
}

void gw_sched_worker_dismiss(struct gw_sched *sched, struct gw_worker *worker, const char *why)
{
    lose(sched, worker, why, true);
}

void gw_sched_worker_empty(struct gw_sched *sched, struct gw_worker *worker, const char *why)
{
    const uint32_t id = worker->id;
    gw_sched_log_left(sched, worker, why);
    take_all(sched, worker, why, true);
    gw_sched_worker_set_empty(sched, worker, why);
    gw_sched_pending_on_worker_lost(sched, id);
    gw_sched_tunnels_on_worker_lost(sched, id);
}

void gw_sched_worker_on_heartbeat(struct gw_sched *sched, struct gw_worker *worker,
                                  const struct gw_msg_heartbeat *heartbeat)
{
    gw_sched_worker_beat(worker, heartbeat->number, heartbeat->memory_used_bytes);
}

void gw_sched_workers_on_tick(struct gw_sched *sched)
{
    if (sched->now_ns < sched->beat_ns)
        return;
    gw_sched_worker_beat_sent(sched, sched->now_ns);
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state == GW_WORKER_LOST)
            continue;
        if (sched->now_ns - worker->heard_ns >= sched->options.worker_lost_ns) {
            gw_sched_worker_lose(sched, worker, "it sent no message for too long");
            gw_sched_send_close(sched, worker->remote);
            continue;
        }
        struct gw_msg_heartbeat *heartbeat =
            &gw_sched_send(sched, worker->remote, GW_MESSAGE_heartbeat)->heartbeat;
        heartbeat->number = worker->beats_sent;
        heartbeat->echo = worker->beat_seen;
        heartbeat->wall_ns = sched->wall_ns;
        gw_sched_worker_history_tell(sched, heartbeat);
    }
}

/* -- Comparison of the journal with what workers know -------------------------------------- */

void gw_sched_worker_history_tell(const struct gw_sched *sched, struct gw_msg_heartbeat *heartbeat)
{
    heartbeat->life = sched->history.life;
    heartbeat->commits = sched->history.commits;
}

bool gw_sched_worker_history_check(struct gw_sched *sched, const struct gw_worker *worker,
                                   const struct gw_msg_registration *registration)
{
    const struct gw_history *history = &sched->history;
    const struct gw_remote *remote = worker->remote;
    char text[512];
    if (registration->commits <= history->began_with || registration->life == history->life ||
        !gw_sched_history_is_of(sched, registration))
        return true;
    (void)snprintf(text, sizeof text,
                   "it ended with commit %llu when this scheduler started, but %.200s%s%.100s "
                   "knows of commit %llu: %llu commits are missing",
                   (unsigned long long)history->began_with, remote->name,
                   *remote->address ? " on " : "", remote->address,
                   (unsigned long long)registration->commits,
                   (unsigned long long)(registration->commits - history->began_with));
    struct gw_effect *effect = gw_sched_send_effect(sched, GW_EFFECT_DAMAGED);
    effect->number = registration->commits - history->began_with;
    effect->bytes = (struct gw_bin){gw_sched_send_text(sched, text), (uint32_t)strlen(text) + 1};
    return false;
}

/* -- Workers that take part --------------------------------------------------------------- */

static bool takes_part(const struct gw_sched *sched, const struct gw_worker *worker)
{
    return worker && (worker->state == GW_WORKER_READY ||
                      (worker->state == GW_WORKER_REJOINING && gw_sched_hold_knows(sched, worker)));
}

uint32_t gw_sched_workers_known(const struct gw_sched *sched)
{
    uint32_t count = 0;
    for (size_t i = 0; i < sched->workers.count; i++)
        count += takes_part(sched, sched->workers.items[i]);
    return count;
}

bool gw_sched_has_worker(const struct gw_sched *sched, const char *name)
{
    for (size_t i = 0; i < sched->workers.count; i++)
        if (takes_part(sched, sched->workers.items[i]) &&
            strcmp(sched->workers.items[i]->remote->name, name) == 0)
            return true;
    return false;
}

/* -- Departing workers --------------------------------------------------------------------- */

/* Invariant: sched->leaving is the number of workers that stay for their checkpoints. None of these
 * workers has an attempt or a valid replica. */

/* How often departing workers are checked: a gang or a copy of a checkpoint may have ended. */
#define LOOK_NS (50 * GW_NS_PER_MS)

static void let_go(struct gw_sched *sched, struct gw_worker *worker)
{
    gw_sched_worker_let_go(worker);
    gw_sched_send(sched, worker->remote, GW_MESSAGE_shutdown)->shutdown.text =
        gw_sched_send_text(sched, "no other worker needs data of this worker");
}

void gw_sched_leave_on_leaving(struct gw_sched *sched, struct gw_worker *worker,
                               const struct gw_msg_leaving *leaving)
{
    if (worker->state == GW_WORKER_SHUTTING_DOWN)
        return;
    if (!worker->leaves)
        gw_sched_worker_set_leaving(sched, worker);
    if (!leaving->empty)
        return;
    if (worker->state == GW_WORKER_READY && !sched->shutting_down)
        gw_sched_worker_empty(sched, worker, leaving->text);
    else
        let_go(sched, worker);
}

void gw_sched_workers_leave_settle(struct gw_sched *sched)
{
    if (!sched->leaving || sched->now_ns < sched->leave_look_ns)
        return;
    gw_sched_workers_leave_look(sched, sched->now_ns + LOOK_NS);
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_SHUTTING_DOWN || worker->let_go)
            continue;
        if (!gw_sched_checkpoint_hand_over(sched, worker))
            let_go(sched, worker);
    }
}
