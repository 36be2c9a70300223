/* See history.h.
 *
 * Invariant: workers learn only the number of commits that are on disk, so that no later term (the
 * time from one start of the scheduler to the next) has fewer, even if the scheduler is killed. A
 * number that a worker learned in this term says nothing about the state at the begin of the term.
 */
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
