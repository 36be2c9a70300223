/* Holds: another life of the scheduler does not begin again at once what may still run.
 *
 * The workers that are connected are durable. A life that begins with unfinished jobs holds these
 * until every worker of the life before has come back and said what runs there (adopt.h), or
 * GW_LOST_NS are over: until then who did not come has ended all that it ran. New jobs go on, but
 * for those that want GPUs: who did not come may have something on one that another worker of its
 * machine offers. For that a worker with GPUs that is lost stays among those that are durable until
 * it has been silent for so long that nothing of it runs. */
#ifndef GW_SCHEDULER_CORE_MEMBERSHIP_HOLD_H
#define GW_SCHEDULER_CORE_MEMBERSHIP_HOLD_H

#include "scheduler/core/model/state.h"

/* gw_sched_hold_begin holds the jobs that were restored, where a worker may run something of them.
 * gw_sched_hold_settle lets them go when that is over; deadline_ns: when that is at the latest. */
void gw_sched_hold_begin(struct gw_sched *sched);
void gw_sched_hold_settle(struct gw_sched *sched);
uint64_t gw_sched_hold_deadline_ns(const struct gw_sched *sched);

/* gw_sched_hold_on_gone: no worker of this name, of this host, will come back. */
void gw_sched_hold_on_gone(struct gw_sched *sched, const char *name);

/* gw_sched_hold_is_coming tells whether a worker of this name is waited for, or is not ready yet.
 */
bool gw_sched_hold_is_coming(const struct gw_sched *sched, const char *name);

/* gw_sched_hold_on_committed readies the workers that waited for that. */
void gw_sched_hold_on_committed(struct gw_sched *sched);

/* gw_sched_hold_explain writes who is waited for, and why: who `may` it, as "may still run this".
 */
void gw_sched_hold_explain(const struct gw_sched *sched, const char *may, char *text, size_t bytes);

#endif
