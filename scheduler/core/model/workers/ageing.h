/* Ageing: gangs that wait rise in the order, so that no stream of others keeps them from running
 * for ever. Ordinary tasks do not age: they need no more than what one of them gives back. */
#ifndef GW_SCHEDULER_CORE_AGEING_H
#define GW_SCHEDULER_CORE_AGEING_H

#include "scheduler/core/model/state.h"

enum { GW_AGED_MAX = 33 }; /* periods: then a gang comes before every priority there is */

/* gw_sched_ageing_begin notes that a queue of gangs has one that waits, gw_sched_ageing_end that it
 * has none any more (also of queues that are in no list). gw_sched_ageing_again: its first was
 * placed, and the next begins anew. Called by apply functions. */
void gw_sched_ageing_begin(struct gw_sched *sched, struct gw_queue *queue);
void gw_sched_ageing_end(struct gw_sched *sched, struct gw_queue *queue);
void gw_sched_ageing_again(struct gw_sched *sched, struct gw_queue *queue);

/* gw_sched_ageing_on_tick raises those that have waited for another period. */
void gw_sched_ageing_on_tick(struct gw_sched *sched);

/* gw_sched_ageing_deadline_ns is when the next one rises; UINT64_MAX: none waits. */
uint64_t gw_sched_ageing_deadline_ns(const struct gw_sched *sched);

/* gw_sched_ageing_check asserts that the list holds the queues with gangs that wait, by time. */
void gw_sched_ageing_check(const struct gw_sched *sched);

#endif
