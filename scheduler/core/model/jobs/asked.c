/* Requests of users to gangs (pause, stop) that are not completed yet. */
#include "scheduler/core/model/jobs/asked.h"

#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/gang.h"
#include "scheduler/core/model/jobs/job.h"

#include <stdio.h>
#include <string.h>

struct gw_asked gw_sched_gang_asked(const struct gw_job *job, uint32_t row)
{
    uint64_t value;
    if (!gw_map_get(&gw_job_rare(job)->asks, row, &value))
        return (struct gw_asked){.by = ""};
    return *(const struct gw_asked *)(uintptr_t)value;
}

void gw_sched_gang_asked_drop(struct gw_job *job, uint32_t row)
{
    if (gw_job_rare(job)->asks.count > 0)
        (void)gw_map_remove(&gw_job_rare_make(job)->asks, row);
}

void gw_sched_gang_asked_text(const struct gw_asked *asked, char text[GW_ASKED_BYTES])
{
    (void)snprintf(text, GW_ASKED_BYTES, "%s %s%s",
                   asked->verb == GW_ASK_RESTART   ? "restarted"
                   : asked->verb == GW_ASK_PREEMPT ? "preempted"
                   : asked->verb == GW_ASK_STOP    ? "told to stop with its results so far"
                                                   : "paused",
                   *asked->by ? "by " : "with its job", asked->by);
}

void gw_sched_gang_asked_stop(struct gw_sched *sched, struct gw_gang_attempt *gang,
                              const struct gw_asked *asked)
{
    char text[GW_ASKED_BYTES];
    gw_sched_gang_asked_text(asked, text);
    gang->stopped = true;
    GW_LOG_EVENT(sched, gang->job, .kind = GW_LOGGED_STOPPED, .index = gang->index,
                 .try_number = gang->job->tasks.charges[gang->index].tries, .text = text);
}

void gw_sched_apply_gang_asked(struct gw_sched *sched, const struct gw_fact_gang_asked *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    const struct gw_asked asked = {fact->attempt, fact->verb, fact->by};
    struct gw_gang_attempt *gang = gw_sched_gang_find(sched, fact->attempt);
    if (gang && fact->verb == GW_ASK_STOP)
        gw_sched_gang_asked_stop(sched, gang, &asked);
    if (!job->detached)
        return;
    const size_t length = strlen(fact->by);
    struct gw_asked *stored = gw_arena_alloc(&job->arena, sizeof *stored);
    char *by = gw_arena_alloc(&job->arena, length + 1);
    GW_MUST_PTR(stored);
    GW_MUST_PTR(by);
    memcpy(by, fact->by, length + 1);
    *stored = (struct gw_asked){fact->attempt, fact->verb, by};
    GW_MUST(gw_map_put(&gw_job_rare_make(job)->asks, fact->index, (uintptr_t)stored));
}

void gw_sched_gang_asked_known(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    const struct gw_asked asked = gw_sched_gang_asked(gang->job, gang->index);
    if (asked.attempt == gang->id && asked.verb == GW_ASK_STOP)
        gw_sched_gang_asked_stop(sched, gang, &asked);
}
