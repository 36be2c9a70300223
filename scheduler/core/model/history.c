/* See history.h.
 *
 * Invariant: a worker is told only the number of commits that are on disk, so that no later term
 * has fewer, however this term ends. What a worker was told in this term says nothing about the
 * state at the begin of this term. */
#include "scheduler/core/model/history.h"

#include "scheduler/core/model/state.h"

#include <string.h>

void gw_sched_history_begin(struct gw_sched *sched, const struct gw_event *event)
{
    sched->history = (struct gw_history){event->seed, event->bytes, event->bytes};
}

void gw_sched_history_on_committed(struct gw_sched *sched, uint64_t commits)
{
    if (commits > sched->history.commits)
        sched->history.commits = commits;
}

bool gw_sched_history_is_of(const struct gw_sched *sched,
                            const struct gw_msg_registration *registration)
{
    return !registration->cluster || !*registration->cluster ||
           strcmp(registration->cluster, sched->options.cluster) == 0;
}
