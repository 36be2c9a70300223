/* The length of a state's history, in commits. Workers are told the length and remember it across a
 * restart of the scheduler. If the scheduler was restarted with an older copy of the state, a
 * worker detects this. Otherwise job ids would be used twice, and the tasks that run at workers
 * would be killed. */
#ifndef GW_SCHEDULER_CORE_MODEL_HISTORY_H
#define GW_SCHEDULER_CORE_MODEL_HISTORY_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_event;
struct gw_msg_heartbeat;
struct gw_msg_registration;
struct gw_sched;
struct gw_worker;

/* gw_sched_history_begin starts the history of this term at the START event.
 * gw_sched_history_on_committed records the number of commits on disk. */
void gw_sched_history_begin(struct gw_sched *sched, const struct gw_event *event);
void gw_sched_history_on_committed(struct gw_sched *sched, uint64_t commits);

/* gw_sched_history_is_of returns true if a registering worker's jobs were numbered by this state.
 */
bool gw_sched_history_is_of(const struct gw_sched *sched,
                            const struct gw_msg_registration *registration);

#endif
