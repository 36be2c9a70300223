/* Announcements: ends and acceptances, told to the session once they may be told. */
#ifndef GW_SCHEDULER_CORE_ANNOUNCE_H
#define GW_SCHEDULER_CORE_ANNOUNCE_H

#include "scheduler/core/model/clients/notify.h"

/* gw_sched_tell tells one session how a task ended; gives the flags that say what it was told. */
uint32_t gw_sched_tell(struct gw_sched *sched, const struct gw_hearer *to, struct gw_job *job,
                       uint32_t row);

/* gw_sched_announce_task tells all that hold a task's result that it ended: at once, or after the
 * commit where the job is detached. */
void gw_sched_announce_task(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_announce_committed tells what waited for facts that are committed now. */
void gw_sched_announce_committed(struct gw_sched *sched, uint64_t number);

/* gw_sched_shares_tell tells the sessions among them that the task has ended. */
void gw_sched_shares_tell(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
