/* Ranks of a gang are gathered, or have finished. */
#ifndef GW_SCHEDULER_CORE_GANG_REPORT_H
#define GW_SCHEDULER_CORE_GANG_REPORT_H

#include "scheduler/core/lifecycle/gang_end.h"
#include "scheduler/core/model/state.h"

/* gw_sched_gang_on_finished: a rank ended well; one that is not known is dropped. GW_EPROTO: the
 * gang has not started. */
int gw_sched_gang_on_finished(struct gw_sched *sched, struct gw_worker *worker,
                              const struct gw_rank_end *end);

/* gw_sched_gang_gathered: all ranks of an attempt of an earlier life are known, and it goes on. The
 * attempt may be freed. */
void gw_sched_gang_gathered(struct gw_sched *sched, struct gw_gang_try *gang);

#endif
