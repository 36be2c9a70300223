/* How attempts of gangs end: by their last rank, well; or by the first that ends otherwise. */
#ifndef GW_SCHEDULER_CORE_GANG_END_H
#define GW_SCHEDULER_CORE_GANG_END_H

#include "scheduler/core/model/state.h"

/* A rank that ended well. */
struct gw_rank_end {
    uint64_t attempt;
    uint32_t rank;
    const struct gw_result *result;
};

/* gw_sched_gang_end_rank: a rank ended otherwise, or its worker is lost. */
void gw_sched_gang_end_rank(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t rank,
                            const struct gw_end *end);

/* Why, and how soon, all ranks of a gang are to end. */
struct gw_gang_kill {
    uint64_t grace_ns;
    uint32_t reason;
    const struct gw_end *cause;
};

/* gw_sched_gang_end_kill tells all ranks to end; if all have ended, the attempt is over and freed.
 */
void gw_sched_gang_end_kill(struct gw_sched *sched, struct gw_gang_attempt *gang,
                            const struct gw_gang_kill *kill);

/* gw_sched_gang_end_give_up ends an attempt of an earlier life of which not all ranks came back;
 * nobody is charged. It may free the attempt. */
void gw_sched_gang_end_give_up(struct gw_sched *sched, struct gw_gang_attempt *gang,
                               const char *why);

/* gw_sched_gang_end_over ends an attempt whose last rank has ended: the gang has its results,
 * starts again later, or its first cause decides. The attempt is freed. */
void gw_sched_gang_end_over(struct gw_sched *sched, struct gw_gang_attempt *gang);

#endif
