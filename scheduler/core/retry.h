/* Running again what had ended badly. */
#ifndef GW_SCHEDULER_CORE_RETRY_H
#define GW_SCHEDULER_CORE_RETRY_H

#include "scheduler/core/state.h"

/* gw_sched_on_retry opens a task that its user names, or all of a job that failed or were
 * cancelled, and replies with how many. */
void gw_sched_on_retry(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_msg_retry *message);

#endif
