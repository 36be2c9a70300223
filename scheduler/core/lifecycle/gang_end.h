/* End of a gang's attempt. The attempt ends well when its last rank has ended well. Otherwise the
 * first rank that does not end well ends it. */
#ifndef GW_SCHEDULER_CORE_GANG_END_H
#define GW_SCHEDULER_CORE_GANG_END_H

#include "scheduler/core/model/state.h"

/* gw_sched_gang_end_rank handles a rank that did not end well or whose worker is lost. */
void gw_sched_gang_end_rank(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t rank,
                            const struct gw_end *end);

/* Arguments of gw_sched_gang_end_kill: the grace period before a rank is killed, the reason that
 * the workers are told, and the end that is recorded as the cause. */
struct gw_gang_kill {
    uint64_t grace_ns;
    uint32_t reason;
    const struct gw_end *cause;
};

/* gw_sched_gang_end_kill tells all ranks to end. If no rank is left, the attempt ends at once and
 * is freed. */
void gw_sched_gang_end_kill(struct gw_sched *sched, struct gw_gang_attempt *gang,
                            const struct gw_gang_kill *kill);

/* gw_sched_gang_end_give_up ends an attempt that was started under an earlier scheduler and whose
 * ranks did not all come back. The end does not count against the retry budget. The attempt may be
 * freed. */
void gw_sched_gang_end_give_up(struct gw_sched *sched, struct gw_gang_attempt *gang,
                               const char *why);

/* gw_sched_gang_end_over ends an attempt whose last rank has ended and frees it. The task is done
 * with its results, or is queued again (it was paused), or the recorded cause decides. */
void gw_sched_gang_end_over(struct gw_sched *sched, struct gw_gang_attempt *gang);

#endif
