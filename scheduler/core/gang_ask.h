/* What users ask of gangs that run. */
#ifndef GW_SCHEDULER_CORE_GANG_ASK_H
#define GW_SCHEDULER_CORE_GANG_ASK_H

#include "scheduler/core/state.h"

/* gw_sched_on_gang_ask does to all gangs of a job that run what its user asks, and replies. */
void gw_sched_on_gang_ask(struct gw_sched *sched, struct gw_session *session,
                          const struct gw_msg_gang_ask *ask);

#endif
