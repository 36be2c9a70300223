/* What users ask of gangs that run: each ask finds all of a job's gangs that are past go. */
#include "scheduler/core/gang_ask.h"

#include "scheduler/core/gang_try.h"
#include "scheduler/core/job.h"
#include "scheduler/core/outbox.h"
#include "scheduler/core/question.h"
#include "scheduler/core/range.h"
#include "scheduler/core/task.h"

#include <stdio.h>

/* Its ranks may save what they have within the long grace; then all of them start again. */
static void restart(struct gw_sched *sched, struct gw_gang_try *gang, const char *by)
{
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    uint64_t grace_ns = spec->message.grace_ns ? spec->message.grace_ns : GW_GRACE_NS;
    struct gw_end end = {.outcome = GW_OUTCOME_PREEMPTED, .executing = true, .text = by};
    gw_sched_gang_kill(sched, gang, &(struct gw_gang_kill){grace_ns, GW_KILL_PREEMPT, &end});
}

void gw_sched_on_gang_ask(struct gw_sched *sched, struct gw_session *session,
                          const struct gw_msg_gang_ask *ask)
{
    struct gw_job *job = gw_sched_job_find(sched, ask->job);
    struct gw_error error = {0};
    uint32_t asked = 0;
    char by[200];
    (void)snprintf(by, sizeof by, "restarted by %s (user %u)", session->remote->name,
                   session->remote->uid);
    int rc = gw_sched_job_check(job, ask->job, session->remote->uid, &error);
    if (rc == 0 && ask->verb != GW_ASK_RESTART)
        rc = gw_error_set(&error, GW_EINVAL, "a gang cannot be asked for %u", ask->verb);
    for (uint32_t row = rc == 0 ? gw_sched_row_next(job, 0) : GW_NONE;
         rc == 0 && row < job->tasks.count; row = gw_sched_row_next(job, row + 1)) {
        struct gw_gang_try *gang = gw_sched_gang_of(sched, job, row);
        if (!gang || gang->state != GW_GANG_GOING || job->tasks.state[row] != GW_TASK_PLACED)
            continue;
        restart(sched, gang, by);
        asked++;
    }
    if (rc == 0 && asked == 0)
        gw_error_set(&error, GW_ENOENT,
                     "no gang of job %llu runs (`gangway explain %llu` says what it does)",
                     (unsigned long long)job->id, (unsigned long long)job->id);
    gw_sched_reply(sched, session->remote, ask->request, &error);
}
