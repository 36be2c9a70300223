/* How attempts of gangs end: by their last rank, well; or by the first that ends otherwise. */
#ifndef GW_SCHEDULER_CORE_GANG_END_H
#define GW_SCHEDULER_CORE_GANG_END_H

#include "scheduler/core/state.h"

/* gw_sched_gang_on_finished: a rank ended well; one that is not known is dropped. */
struct gw_rank_end {
    uint64_t attempt;
    uint32_t rank;
    const struct gw_result *result;
};
int gw_sched_gang_on_finished(struct gw_sched *sched, struct gw_worker *worker,
                              const struct gw_rank_end *end);

/* gw_sched_gang_rank_ended: a rank ended otherwise, or its worker is lost. */
void gw_sched_gang_rank_ended(struct gw_sched *sched, struct gw_gang_try *gang, uint32_t rank,
                              const struct gw_end *end);

/* gw_sched_gang_kill tells all ranks to end. */
struct gw_gang_kill {
    uint64_t grace_ns;
    uint32_t reason;
    const struct gw_end *cause;
};
void gw_sched_gang_kill(struct gw_sched *sched, struct gw_gang_try *gang,
                        const struct gw_gang_kill *kill);

/* gw_sched_gang_gathered: all ranks of an attempt of an earlier life have been told of: it goes on.
 * gw_sched_gang_give_up ends one of which that is not so, and why; nobody is charged. Both may free
 * it. */
void gw_sched_gang_gathered(struct gw_sched *sched, struct gw_gang_try *gang);
void gw_sched_gang_give_up(struct gw_sched *sched, struct gw_gang_try *gang, const char *why);

#endif
