/* Numbers of events. sched->events_waiting holds the events whose facts are not committed, in the
 * order of their numbers, which is also the order of their facts. */
#include "scheduler/core/model/jobs/event_number.h"

#include "graph/base/must.h"

#include <string.h>

uint64_t gw_event_number_next(const struct gw_sched *sched)
{
    return sched->event_number + 1;
}

void gw_event_number_used(struct gw_sched *sched, const struct gw_job *job, uint64_t number)
{
    if (number > sched->event_number)
        sched->event_number = number;
    if (!sched->restoring && job->detached)
        GW_MUST(gw_array_push(&sched->events_waiting,
                              ((struct gw_event_waiting){number, sched->facts + 1})));
}

uint64_t gw_event_number_shown(const struct gw_sched *sched)
{
    const struct gw_event_waiting *waiting;
    GW_ARRAY_EACH (&sched->events_waiting, waiting)
        if (waiting->fact > sched->committed)
            return waiting->number - 1;
    return sched->event_number;
}

void gw_event_number_on_committed(struct gw_sched *sched)
{
    size_t count = 0;
    while (count < sched->events_waiting.count &&
           sched->events_waiting.items[count].fact <= sched->committed)
        count++;
    sched->events_waiting.count -= count;
    if (count)
        memmove(sched->events_waiting.items, sched->events_waiting.items + count,
                sched->events_waiting.count * sizeof *sched->events_waiting.items);
}
