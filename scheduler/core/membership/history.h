/* Whether a worker knows more of this cluster than this state. */
#ifndef GW_SCHEDULER_CORE_MEMBERSHIP_HISTORY_H
#define GW_SCHEDULER_CORE_MEMBERSHIP_HISTORY_H

#include "scheduler/core/model/state.h"

/* gw_sched_history_tell fills in what a worker is told of it. */
void gw_sched_history_tell(const struct gw_sched *sched, struct gw_msg_heartbeat *heartbeat);

/* gw_sched_history_check holds the history against what a worker knows. Where it is shorter the
 * scheduler ends (GW_EFFECT_DAMAGED), and false is given: nothing of the worker may be ended. */
bool gw_sched_history_check(struct gw_sched *sched, const struct gw_worker *worker,
                            const struct gw_msg_registration *registration);

#endif
