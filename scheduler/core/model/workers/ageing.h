/* Ageing: waiting gangs rise in the placement order, so that a stream of other tasks cannot delay
 * them forever. Ordinary tasks do not age, because each task that ends frees enough for one of
 * them. */
#ifndef GW_SCHEDULER_CORE_AGEING_H
#define GW_SCHEDULER_CORE_AGEING_H

#include "scheduler/core/model/state.h"

enum { GW_AGED_MAX = 33 }; /* after this many periods a gang comes before every priority */

/* Only for use in model/. gw_sched_ageing_begin: a queue of gangs has a waiting gang now.
 * gw_sched_ageing_end: it has none any more (also for queues that are not in the list).
 * gw_sched_ageing_again: its first gang was placed, and the wait of the next begins. */
void gw_sched_ageing_begin(struct gw_sched *sched, struct gw_queue *queue);
void gw_sched_ageing_end(struct gw_sched *sched, struct gw_queue *queue);
void gw_sched_ageing_again(struct gw_sched *sched, struct gw_queue *queue);

/* gw_sched_ageing_on_tick raises the queues that have waited for another period. */
void gw_sched_ageing_on_tick(struct gw_sched *sched);

/* gw_sched_ageing_deadline_ns returns the time at which the priority of a waiting gang's queue
 * rises next, or UINT64_MAX if no gang waits. */
uint64_t gw_sched_ageing_deadline_ns(const struct gw_sched *sched);

/* gw_sched_ageing_check asserts that the list holds all queues with waiting gangs, ordered by time.
 */
void gw_sched_ageing_check(const struct gw_sched *sched);

#endif
