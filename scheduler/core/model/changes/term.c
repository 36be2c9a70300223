/* Changes the times of the scheduler: begin of a term, steps, and shutdown. */
#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/limits.h"
#include "scheduler/core/model/note.h"
#include "scheduler/core/sched.h"

#include <stdio.h>

void gw_sched_apply_term(struct gw_sched *sched, const struct gw_fact_term *fact)
{
    const uint64_t floor = fact->term << 40;
    sched->term = fact->term;
    /* Above the numbers of earlier terms, of which some may have been forgotten. */
    if (sched->event_number < floor)
        sched->event_number = floor;
}

void gw_sched_term_shut_down(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                             uint64_t deadline_ns, uint64_t grace_ns)
{
    sched->shutting_down = true;
    sched->shutdown_peer = remote->peer;
    sched->shutdown_request = request;
    sched->shutdown_deadline_ns = deadline_ns;
    sched->shutdown_grace_ns = grace_ns;
    sched->shutdown_workers = sched->next_worker;
}

void gw_sched_term_hurry(struct gw_sched *sched, uint64_t deadline_ns, uint64_t grace_ns)
{
    sched->shutdown_deadline_ns = deadline_ns;
    sched->shutdown_grace_ns = grace_ns;
}

void gw_sched_term_see_room(struct gw_sched *sched, const char *why)
{
    (void)snprintf(sched->no_room, sizeof sched->no_room, "%s", why);
}

void gw_sched_term_limit(struct gw_sched *sched, const struct gw_sched_limits *limits)
{
    sched->options.pure_bytes_max =
        limits->pure_bytes_max ? limits->pure_bytes_max : UINT64_C(64) << 20;
    sched->options.scattered_bytes_max = limits->scattered_bytes_max;
    sched->options.history_jobs = limits->history_jobs ? limits->history_jobs : GW_HISTORY_JOBS_MAX;
}

void gw_sched_term_restore(struct gw_sched *sched, bool begins)
{
    sched->restoring = begins;
    if (begins)
        return;
    gw_sched_noted_doomed(sched);
    gw_sched_noted_idle(sched);
    gw_sched_noted_lost(sched);
    gw_sched_noted_reopened(sched);
    gw_sched_noted_unwanted(sched);
    gw_sched_noted_retried(sched);
    gw_sched_noted_ending(sched);
}

void gw_sched_term_begin(struct gw_sched *sched, const struct gw_event *event)
{
    sched->start_ns = sched->idle_since_ns = event->now_ns;
    sched->beat_ns = event->now_ns + sched->options.heartbeat_ns;
    if (sched->next_job < sched->job_ids_upto)
        sched->next_job = sched->job_ids_upto;
}

void gw_sched_term_step(struct gw_sched *sched, const struct gw_event *event)
{
    sched->now_ns = event->now_ns;
    sched->wall_ns = event->wall_ns;
    sched->commit.size = 0;
    sched->event_log.step = sched->event_log.told;
}

void gw_sched_term_end(struct gw_sched *sched)
{
    sched->exited = true;
}
