/* What users ask of gangs that run, and of the jobs that have them. */
#include "scheduler/core/gang_ask.h"

#include "scheduler/core/gang_try.h"
#include "scheduler/core/job.h"
#include "scheduler/core/outbox.h"
#include "scheduler/core/pause.h"
#include "scheduler/core/question.h"
#include "scheduler/core/range.h"
#include "scheduler/core/receipt.h"
#include "scheduler/core/remote.h"
#include "scheduler/core/task.h"
#include "scheduler/core/verdict.h"

#include <stdio.h>

/* Its ranks may save what they have within the long grace; then all of them start again. charged:
 * it counts as a preemption. */
static void end_gently(struct gw_sched *sched, struct gw_gang_try *gang, const char *by,
                       bool charged)
{
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    uint64_t grace_ns = spec->message.grace_ns ? spec->message.grace_ns : GW_GRACE_NS;
    struct gw_end end = {.outcome = GW_OUTCOME_PREEMPTED, .executing = charged, .text = by};
    gw_sched_gang_kill(sched, gang, &(struct gw_gang_kill){grace_ns, GW_KILL_PREEMPT, &end});
}

static void ask_gang(struct gw_sched *sched, struct gw_gang_try *gang, uint32_t verb,
                     const char *by)
{
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    bool steps = spec->message.kind == GW_SPEC_FUNCTION;
    if (gang->stopped && verb != GW_ASK_STOP)
        return; /* it ends with what it has, and that is that */
    switch (verb) {
    case GW_ASK_RESTART:
        end_gently(sched, gang, by, true);
        break;
    case GW_ASK_PAUSE_NOW:
        end_gently(sched, gang, by, false);
        break;
    case GW_ASK_PAUSE:
        if (steps)
            gw_sched_gang_control(sched, gang, GW_CONTROL_PAUSE);
        else
            end_gently(sched, gang, by, false);
        break;
    case GW_ASK_RESUME:
        if (steps) /* it may not have come to a step yet */
            gw_sched_gang_control(sched, gang, GW_CONTROL_CONTINUE);
        break;
    default:
        GW_FACT(sched, gang_stopped, .gang = gang, .by = by);
        gw_sched_gang_control(sched, gang, GW_CONTROL_STOP);
    }
}

/* Asks all gangs of a job that go; gives how many there are. */
static uint32_t ask_gangs(struct gw_sched *sched, struct gw_job *job, uint32_t verb, const char *by)
{
    uint32_t asked = 0;
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1)) {
        struct gw_gang_try *gang = gw_sched_gang_of(sched, job, row);
        if (!gang || gang->state != GW_GANG_GOING || job->tasks.state[row] != GW_TASK_PLACED)
            continue;
        ask_gang(sched, gang, verb, by);
        asked++;
    }
    return asked;
}

/* Who is started again more often than its budget allows would fail. */
static int check_restart(const struct gw_sched *sched, const struct gw_job *job,
                         struct gw_error *error)
{
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1)) {
        const struct gw_gang_try *gang = gw_sched_gang_of(sched, job, row);
        const uint32_t most = gw_sched_preemptions_max(&job->specs.items[job->tasks.spec[row]]);
        const uint32_t used = job->tasks.charges[row].preemptions;
        if (gang && gang->state == GW_GANG_GOING && used >= most)
            return gw_error_set(error, GW_ELIMIT,
                                "task %u of job %llu has been restarted or preempted %u time%s, "
                                "and may be %u (--max-preemptions): once more, and it would fail",
                                row, (unsigned long long)job->id, used, used == 1 ? "" : "s", most);
    }
    return 0;
}

static int ask_job(struct gw_sched *sched, struct gw_job *job, uint32_t verb, const char *by,
                   struct gw_error *error)
{
    int rc = 0;
    if (verb == GW_ASK_PAUSE || verb == GW_ASK_PAUSE_NOW)
        rc = gw_sched_pause_job(sched, job, by, error);
    else if (verb == GW_ASK_RESUME)
        rc = gw_sched_pause_over(sched, job, by, error);
    else if (verb == GW_ASK_RESTART)
        rc = check_restart(sched, job, error);
    else if (verb != GW_ASK_STOP)
        rc = gw_error_set(error, GW_EINVAL, "a gang cannot be asked for %u", verb);
    if (rc < 0)
        return rc;
    char text[200];
    (void)snprintf(text, sizeof text, "%s by %s",
                   verb == GW_ASK_RESTART ? "restarted"
                   : verb == GW_ASK_STOP  ? "told to stop, with what it has,"
                                          : "paused",
                   by);
    if (ask_gangs(sched, job, verb, text) == 0 && (verb == GW_ASK_RESTART || verb == GW_ASK_STOP))
        rc = gw_error_set(error, GW_ENOENT,
                          "no gang of job %llu runs (`gangway explain %llu` says what it does)",
                          (unsigned long long)job->id, (unsigned long long)job->id);
    return rc;
}

void gw_sched_on_gang_ask(struct gw_sched *sched, struct gw_session *session,
                          const struct gw_msg_gang_ask *ask)
{
    struct gw_job *job = gw_sched_job_find(sched, ask->job);
    struct gw_error error = {0};
    char by[GW_REMOTE_WHO_MAX];
    (void)gw_sched_remote_who(session->remote, by);
    if (gw_sched_job_check(job, ask->job, gw_sched_acts_as(session->remote, job), &error) == 0)
        (void)ask_job(sched, job, ask->verb, by, &error);
    gw_sched_receipt(sched, session->remote, job, &(struct gw_receipt){.request = ask->request},
                     &error);
}
