/* Drained workers: requests of admins, health checks, and the deadline.
 *
 * A drained worker goes on with what it runs. It returns the attempts that it has not begun. At the
 * deadline, the rest is ended with the grace period of its job, so that gangs and commands can save
 * a checkpoint, and runs again elsewhere. As with a worker that is told to leave, this does not
 * count against the retry budget. Calls of an actor end with the actor. */
#include "scheduler/core/membership/worker_drain.h"

#include "scheduler/core/lifecycle/gang_end.h"
#include "scheduler/core/lifecycle/memory_report.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/log.h"
#include "scheduler/core/send/notify.h"
#include "scheduler/core/send/outbox.h"

#include <stdio.h>
#include <string.h>

/* The time between two looks at a worker after its deadline: a gang may have been starting or
 * recovering.
 */
#define LOOK_NS (100 * GW_NS_PER_MS)

/* -- Requests and reports ------------------------------------------------------------------ */

static bool is_known(const struct gw_sched *sched, const char *name)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state != GW_WORKER_LOST && strcmp(worker->remote->name, name) == 0)
            return true;
    }
    return false;
}

static void answer(struct gw_sched *sched, const struct gw_msg_worker_ask *ask, const char *by,
                   struct gw_error *error)
{
    const bool drained = gw_sched_worker_drain_find(sched, ask->name) != NULL;
    const uint64_t left_ns = ask->deadline_ns;
    if (!drained && !is_known(sched, ask->name))
        (void)gw_error_set(error, GW_ENOENT,
                           "no worker is called %.100s: `gangway worker list` lists the names",
                           ask->name);
    else if (ask->drain)
        GW_FACT(sched, worker_drained, .name = ask->name, .why = ask->why, .by = by,
                .until_wall_ns =
                    left_ns < UINT64_MAX - sched->wall_ns ? sched->wall_ns + left_ns : 0);
    else if (drained)
        GW_FACT(sched, worker_undrained, .name = ask->name);
    else
        (void)gw_error_set(error, GW_EINVAL, "worker %.100s is not drained", ask->name);
}

int gw_sched_worker_drain_on_ask(struct gw_sched *sched, struct gw_session *session,
                                 const struct gw_msg_worker_ask *ask)
{
    struct gw_error error = {0};
    char by[GW_REMOTE_WHO_MAX];
    (void)gw_sched_access_who(session->remote, by);
    if (session->remote->admin)
        answer(sched, ask, by, &error);
    else
        (void)gw_error_set(&error, GW_EPERM,
                           "only an admin, or the user who started this cluster, may %s workers",
                           ask->drain ? "drain" : "undrain");
    gw_sched_notify_request(sched, session->remote, NULL,
                            &(struct gw_acknowledgement){.request = ask->request}, &error);
    return 0;
}

/* Drains or undrains a worker by its last report. A clock that differs as those of most workers do
 * is right. */
static void apply_health(struct gw_sched *sched, const struct gw_worker *worker)
{
    const char *name = worker->remote->name, *why = worker->unhealthy;
    const struct gw_worker_drain *drain = gw_sched_worker_drain_find(sched, name);
    const int64_t with_most = (int64_t)worker->clock_s * sched->clock_trouble.clock_s;
    if (!worker->health_known || (drain && !drain->check))
        return; /* not known, or the admin decides */
    if (!why && with_most <= 0)
        why = worker->clock_why;
    if (why && !(drain && strcmp(drain->why, why) == 0))
        GW_FACT(sched, worker_drained, .name = name, .why = why, .by = "its health check",
                .check = 1);
    else if (!why && drain)
        GW_FACT(sched, worker_undrained, .name = name);
}

int gw_sched_worker_drain_on_health(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_msg_health *health)
{
    if (worker->state == GW_WORKER_CONNECTED)
        return GW_EPROTO;
    gw_sched_worker_drain_record(worker, health);
    if (!gw_sched_worker_drain_judge(sched)) {
        apply_health(sched, worker);
        return 0;
    }
    gw_sched_log_clock(sched);
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i] && sched->workers.items[i]->state != GW_WORKER_LOST)
            apply_health(sched, sched->workers.items[i]);
    return 0;
}

/* -- What runs ----------------------------------------------------------------------------- */

static void end_gang(struct gw_sched *sched, struct gw_gang_attempt *gang, struct gw_end *end,
                     uint64_t grace_ns)
{
    if (gang->state == GW_GANG_ENDING || gang->state == GW_GANG_RECOVERING)
        return;
    end->executing = gang->state == GW_GANG_RUNNING;
    gw_sched_gang_end_kill(sched, gang, &(struct gw_gang_kill){grace_ns, GW_KILL_PREEMPT, end});
}

/* Ends the attempts of a worker whose deadline has passed. */
static void end_attempts(struct gw_sched *sched, struct gw_worker *worker, const char *text)
{
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        const struct gw_job *job = attempt->job;
        const uint64_t given_ns =
            job->specs.items[job->tasks.spec[attempt->index]].message.grace_ns;
        const uint64_t grace_ns = given_ns ? given_ns : GW_GRACE_NS;
        struct gw_end end = {
            .outcome = GW_OUTCOME_LOST, .code = GW_ELOST, .dismissed = true, .text = text};
        if (attempt->state == GW_ATTEMPT_KILLED || attempt->drain_ends || job->calls_of ||
            (attempt->preempted && !attempt->gang))
            continue;
        if (attempt->gang) {
            end_gang(sched, attempt->gang, &end, grace_ns);
            continue;
        }
        gw_sched_worker_drain_ends(sched, slot);
        gw_sched_outbox_kill(sched, worker,
                             &(struct gw_kill_row){attempt->id, grace_ns, GW_KILL_PREEMPT});
    }
}

/* Looks at one drained worker. Returns when to look again. */
static uint64_t look(struct gw_sched *sched, struct gw_worker *worker)
{
    const struct gw_worker_drain *drain = gw_sched_worker_drain_find(sched, worker->remote->name);
    char text[GW_ERROR_TEXT_MAX];
    if (!worker->drain_told) {
        gw_sched_memory_report_take_back(sched, worker);
        gw_sched_worker_drain_told(worker);
    }
    if (!drain->until_wall_ns)
        return UINT64_MAX;
    if (sched->wall_ns < drain->until_wall_ns)
        return sched->now_ns + (drain->until_wall_ns - sched->wall_ns);
    if (!worker->attempts)
        return UINT64_MAX;
    gw_sched_worker_drain_text(drain, text, sizeof text);
    end_attempts(sched, worker, text);
    return sched->now_ns + LOOK_NS;
}

void gw_sched_worker_drains_settle(struct gw_sched *sched)
{
    if (gw_sched_worker_drains_deadline_ns(sched) > sched->now_ns || sched->shutting_down)
        return;
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_READY || !worker->drained)
            continue;
        const uint64_t at_ns = look(sched, worker);
        next_ns = at_ns < next_ns ? at_ns : next_ns;
    }
    gw_sched_worker_drains_look(sched, next_ns);
}

uint64_t gw_sched_worker_drains_deadline_ns(const struct gw_sched *sched)
{
    return sched->worker_drains && !sched->shutting_down ? sched->worker_drains->look_ns
                                                         : UINT64_MAX;
}
