/* Requests of users to running gangs, and pausing of jobs.
 *
 * Invariants: a request to an attempt is kept until the end of the attempt has been decided, so
 * each row has at most the request to its last attempt. Every gang of a paused job is told to
 * pause: a gang that still prepares is ended before it starts, and a gang from before a restart of
 * the scheduler is told when all of its ranks have come back. */
#include "scheduler/core/lifecycle/gang_control.h"

#include "scheduler/core/lifecycle/gang_end.h"
#include "scheduler/core/lifecycle/job.h"
#include "scheduler/core/lifecycle/task_end.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/notify.h"
#include "scheduler/core/send/outbox.h"

#include <stdio.h>

/* Ends all ranks with the long grace period, so that they can save their state. The gang then
 * starts again. If `counts` is true, this counts as a preemption. */
static void end_gently(struct gw_sched *sched, struct gw_gang_attempt *gang, const char *by,
                       bool counts)
{
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    uint64_t grace_ns = spec->message.grace_ns ? spec->message.grace_ns : GW_GRACE_NS;
    struct gw_end end = {.outcome = GW_OUTCOME_PREEMPTED, .executing = counts, .text = by};
    gw_sched_gang_end_kill(sched, gang, &(struct gw_gang_kill){grace_ns, GW_KILL_PREEMPT, &end});
}

static bool is_pause(uint32_t verb)
{
    return verb == GW_ASK_PAUSE || verb == GW_ASK_PAUSE_NOW;
}

/* -- Requests ------------------------------------------------------------------------------ */

/* A gang from before a restart of the scheduler keeps the request until all of its ranks have come
 * back. */
static bool may_be_asked(const struct gw_gang_attempt *gang)
{
    return gang && (gang->state == GW_GANG_RUNNING || gang->state == GW_GANG_RECOVERING);
}

/* A gang that is preempted ends anyway. */
static bool is_preempted(const struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    for (uint32_t i = 0; i < gang->count; i++)
        if (gang->ranks[i].slot != GW_NO_INDEX)
            return sched->attempts.items[gang->ranks[i].slot].preempted;
    return false;
}

static void tell_gang(struct gw_sched *sched, struct gw_gang_attempt *gang,
                      const struct gw_asked *asked)
{
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    const bool steps = spec->message.kind == GW_SPEC_FUNCTION;
    char text[GW_ASKED_BYTES];
    gw_sched_gang_asked_text(asked, text);
    switch (asked->verb) {
    case GW_ASK_RESTART:
        end_gently(sched, gang, text, !is_preempted(sched, gang));
        break;
    case GW_ASK_PAUSE_NOW:
        end_gently(sched, gang, text, false);
        break;
    case GW_ASK_PAUSE:
    case GW_ASK_PREEMPT:
        if (steps)
            gw_sched_outbox_control(sched, gang, GW_CONTROL_PAUSE);
        else
            end_gently(sched, gang, text, false);
        break;
    case GW_ASK_RESUME:
        /* A gang that was told to pause continues if it has not reached its next step yet. */
        if (steps)
            gw_sched_outbox_control(sched, gang, GW_CONTROL_CONTINUE);
        break;
    default:
        gw_sched_outbox_control(sched, gang, GW_CONTROL_STOP);
    }
}

static void ask_gang(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t verb,
                     const char *by)
{
    struct gw_job *job = gang->job;
    const struct gw_asked asked = {gang->id, verb, by};
    /* A gang that was told to stop cannot be paused or restarted. */
    if (gang->stopped && verb != GW_ASK_STOP)
        return;
    if (verb != GW_ASK_RESUME || gw_sched_gang_asked(job, gang->index).attempt == gang->id)
        GW_FACT(sched, gang_asked, .at = job, .job = job->id, .index = gang->index,
                .attempt = gang->id, .verb = verb, .by = by);
    if (gang->state == GW_GANG_RUNNING)
        tell_gang(sched, gang, &asked);
}

void gw_sched_gang_control_again(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    struct gw_asked asked = gw_sched_gang_asked(gang->job, gang->index);
    const bool known = asked.attempt == gang->id;
    if (gang->job->tasks.state[gang->index] != GW_TASK_PLACED)
        return;
    if (known && (asked.verb == GW_ASK_STOP || asked.verb == GW_ASK_RESTART ||
                  asked.verb == GW_ASK_PREEMPT)) {
        tell_gang(sched, gang, &asked);
        return;
    }
    /* After a restart of the scheduler, the job may have been paused or resumed before the workers
     * of all ranks of the gang had reconnected. */
    if (gang->job->paused && (!known || !is_pause(asked.verb)))
        asked = (struct gw_asked){gang->id, GW_ASK_PAUSE, ""};
    else if (!gang->job->paused)
        asked.verb = GW_ASK_RESUME;
    if (known || gang->job->paused)
        tell_gang(sched, gang, &asked);
}

void gw_sched_gang_control_preempt(struct gw_sched *sched, struct gw_gang_attempt *gang,
                                   const char *by)
{
    ask_gang(sched, gang, GW_ASK_PREEMPT, by);
}

void gw_sched_gang_control_spare(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    ask_gang(sched, gang, GW_ASK_RESUME, "");
}

/* Ends a gang that has not started yet. This does not count against the retry budget. The gang
 * starts when its job is resumed. */
static void hold_back(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t verb,
                      const char *by)
{
    char text[GW_ASKED_BYTES];
    gw_sched_gang_asked_text(&(struct gw_asked){gang->id, verb, by}, text);
    end_gently(sched, gang, text, false);
}

/* Sends a request to all running gangs of a job. If the request is a pause, gangs that still
 * prepare are ended. Returns the number of gangs. */
static uint32_t ask_gangs(struct gw_sched *sched, struct gw_job *job, uint32_t verb, const char *by)
{
    uint32_t asked = 0;
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1)) {
        struct gw_gang_attempt *gang = gw_sched_gang_of(sched, job, row);
        if (job->tasks.state[row] != GW_TASK_PLACED)
            continue;
        if (gang && gang->state == GW_GANG_PREPARING && is_pause(verb))
            hold_back(sched, gang, verb, by);
        else if (may_be_asked(gang))
            ask_gang(sched, gang, verb, by);
        else
            continue;
        asked++;
    }
    return asked;
}

/* Returns a task whose gang was told to stop and no longer has an attempt, or GW_NO_INDEX. */
static uint32_t stopped_elsewhere(const struct gw_job *job)
{
    const struct gw_map *asks = &gw_job_rare(job)->asks;
    size_t at = 0;
    uint64_t row, value;
    while (gw_map_next(asks, &at, &row, &value)) {
        const uint8_t state = job->tasks.state[row];
        if (((const struct gw_asked *)(uintptr_t)value)->verb == GW_ASK_STOP &&
            (state == GW_TASK_WAITING || state == GW_TASK_READY))
            return (uint32_t)row;
    }
    return GW_NO_INDEX;
}

void gw_sched_gang_control_over(struct gw_sched *sched)
{
    for (struct gw_job *job = sched->first_job; job; job = job->next) {
        uint32_t row;
        /* gw_sched_task_end drops the request of each task, so the loop ends. */
        while ((row = stopped_elsewhere(job)) != GW_NO_INDEX) {
            const struct gw_asked asked = gw_sched_gang_asked(job, row);
            char by[GW_ASKED_BYTES], text[2 * GW_ASKED_BYTES];
            gw_sched_gang_asked_text(&asked, by);
            (void)snprintf(text, sizeof text,
                           "the gang was %s and did not come back after the scheduler restarted",
                           by);
            const struct gw_end end = {.outcome = GW_OUTCOME_LOST, .code = GW_ELOST, .text = text};
            gw_sched_task_end(
                sched, &(struct gw_task_end_cause){job, row, asked.attempt, "", &end, true, false});
        }
    }
}

/* -- The message of a user ----------------------------------------------------------------- */

/* Refuses a restart that would fail a task because its budget of preemptions is used up. */
static int check_restart(const struct gw_sched *sched, const struct gw_job *job,
                         struct gw_error *error)
{
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1)) {
        const struct gw_gang_attempt *gang = gw_sched_gang_of(sched, job, row);
        const uint32_t most =
            gw_sched_task_end_preemptions_max(&job->specs.items[job->tasks.spec[row]]);
        const uint32_t used = job->tasks.charges[row].preemptions;
        if (may_be_asked(gang) && used >= most)
            return gw_error_set(error, GW_ELIMIT,
                                "task %u of job %llu has been restarted or preempted %u time%s, "
                                "and its limit is %u (--max-preemptions): another restart would "
                                "fail it",
                                row, (unsigned long long)job->id, used, used == 1 ? "" : "s", most);
    }
    return 0;
}

static int ask_job(struct gw_sched *sched, struct gw_job *job, uint32_t verb,
                   const struct gw_remote *remote, struct gw_error *error)
{
    char by[GW_REMOTE_WHO_MAX];
    int rc = 0;
    if (is_pause(verb))
        rc = gw_sched_gang_control_pause_job(sched, job, remote, error);
    else if (verb == GW_ASK_RESUME)
        rc = gw_sched_gang_control_pause_over(sched, job, remote, error);
    else if (verb == GW_ASK_RESTART)
        rc = check_restart(sched, job, error);
    else if (verb != GW_ASK_STOP)
        rc = gw_error_set(error, GW_EINVAL,
                          "the client asked a gang for something unknown (request %u): install one "
                          "version of Gangway on both sides",
                          verb);
    if (rc < 0)
        return rc;
    if (ask_gangs(sched, job, verb, gw_sched_access_who(remote, by)) == 0 &&
        (verb == GW_ASK_RESTART || verb == GW_ASK_STOP))
        rc = gw_error_set(error, GW_ENOENT,
                          "job %llu has no running gang (`gangway explain %llu` shows its state%s)",
                          (unsigned long long)job->id, (unsigned long long)job->id,
                          verb == GW_ASK_STOP ? "; `gangway cancel` ends tasks that are no gang"
                                              : "");
    return rc;
}

void gw_sched_on_gang_ask(struct gw_sched *sched, struct gw_session *session,
                          const struct gw_msg_gang_ask *ask)
{
    struct gw_job *job = gw_sched_job_find(sched, ask->job);
    struct gw_error error = {0};
    if (gw_sched_access_job(job, ask->job, gw_sched_access_uid(session->remote, job), &error) < 0)
        ; /* refused */
    else if (ask->verb != GW_ASK_REMOVE)
        (void)ask_job(sched, job, ask->verb, session->remote, &error);
    else if (gw_sched_job_remove(sched, job, &error) == 0)
        job = NULL; /* freed */
    gw_sched_notify_request(sched, session->remote, job,
                            &(struct gw_acknowledgement){.request = ask->request}, &error);
}

/* -- Paused jobs --------------------------------------------------------------------------- */

/* Invariant: no queue of a paused job is in the heap of its resource class, so placement and
 * pipelining never see it. Tasks of a paused job still become ready, and the ends of its attempts
 * are handled as usual. */

int gw_sched_gang_control_pause_job(struct gw_sched *sched, struct gw_job *job,
                                    const struct gw_remote *remote, struct gw_error *error)
{
    const uint32_t pause =
        remote->admin && remote->uid != job->uid ? GW_PAUSE_BY_ADMIN : GW_PAUSE_BY_OWNER;
    unsigned long long id = job->id;
    char by[GW_REMOTE_WHO_MAX];
    if (job->actor || job->calls_of)
        return gw_error_set(error, GW_EINVAL,
                            "job %llu cannot be paused, because it is an actor or calls an actor",
                            id);
    if (job->unfinished == 0)
        return gw_error_set(error, GW_EINVAL, "job %llu has ended and cannot be paused", id);
    if (job->paused < pause)
        GW_FACT(sched, job_paused, .at = job, .job = job->id, .paused = pause,
                .by = gw_sched_access_who(remote, by));
    return 0;
}

int gw_sched_gang_control_pause_over(struct gw_sched *sched, struct gw_job *job,
                                     const struct gw_remote *remote, struct gw_error *error)
{
    char by[GW_REMOTE_WHO_MAX];
    unsigned long long id = job->id;
    if (!job->paused)
        return gw_error_set(error, GW_EINVAL, "job %llu is not paused", id);
    if (job->paused == GW_PAUSE_BY_ADMIN && !remote->admin)
        return gw_error_set(error, GW_EPERM,
                            "an admin has paused job %llu, and only an admin may resume it: "
                            "`gangway explain %llu` shows who has paused it",
                            id, id);
    GW_FACT(sched, job_paused, .at = job, .job = job->id, .by = gw_sched_access_who(remote, by));
    return 0;
}
