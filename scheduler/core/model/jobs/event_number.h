/* Numbers of events: the order of all reports of metrics and all ends of jobs, over all terms of
 * the scheduler. A client that has seen the events up to a number asks for the later ones. */
#ifndef GW_SCHEDULER_CORE_EVENT_NUMBER_H
#define GW_SCHEDULER_CORE_EVENT_NUMBER_H

#include "scheduler/core/model/state.h"

/* gw_event_number_next returns the number for the next event. */
uint64_t gw_event_number_next(const struct gw_sched *sched);

/* gw_event_number_used is called when an event of a job with this number is applied. */
void gw_event_number_used(struct gw_sched *sched, const struct gw_job *job, uint64_t number);

/* gw_event_number_shown returns the number up to which clients may see events: no event up to it
 * waits for its commit. */
uint64_t gw_event_number_shown(const struct gw_sched *sched);

/* gw_event_number_on_committed drops the events that wait no more. */
void gw_event_number_on_committed(struct gw_sched *sched);

#endif
