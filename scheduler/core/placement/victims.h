/* Victims: which running work is preempted, so that work that waits can start.
 *
 * Rules. Work may be preempted if it has saved a checkpoint in its present attempt, or if its queue
 * says `requeue`, and if the attempt has run for preempt_after_ns of the policy. Gangs are
 * preempted whole. Never preempted are actors, work that a running task has submitted, work that
 * waits for other tasks, and work that ends anyway.
 *
 * A task or gang that waits may preempt work of a lower priority, and work with resources that its
 * account or queue has borrowed (that are beyond its quota), if the one that waits would then stay
 * within its own quotas. So it borrows nothing, and nothing can be reclaimed from it in turn. Fair
 * share preempts nothing.
 *
 * Victims are chosen only if together they make room for the whole gang, by the packing that
 * placement uses. Work that would lose the least (its cost since its last checkpoint) comes
 * first. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_VICTIMS_H
#define GW_SCHEDULER_CORE_PLACEMENT_VICTIMS_H

#include "scheduler/core/model/account.h"

/* A gang or an ordinary task that runs. */
struct gw_victim {
    struct gw_account_part part;
    struct gw_gang_attempt *gang; /* NULL: an ordinary task */
    uint32_t slot;                /* of its attempt; of a gang: of a rank that has not ended */
    int32_t priority;
    double loss; /* what it would repeat, at the cost of its resources */
};

/* Running work, and the ranks that start in its place. All is in the arena of the step. */
struct gw_victims {
    struct gw_victim *items;
    uint32_t count, reserved_count;
    struct gw_reserved_rank *reserved_ranks;
};

/* gw_sched_victims_find returns all work that may be preempted now, whoever waits, the smallest
 * loss first. There is a policy. */
struct gw_victims gw_sched_victims_find(struct gw_sched *sched);

/* gw_sched_victims_choose chooses those of `all` that are to end, so that the first task of a queue
 * can start. It returns false if this task may preempt nothing that helps it. */
bool gw_sched_victims_choose(struct gw_sched *sched, const struct gw_queue *queue,
                             const struct gw_victims *all, struct gw_victims *chosen);

#endif
