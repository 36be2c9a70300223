/* One attempt of a gang: N ranks that start together or not at all, and end together. */
#ifndef GW_SCHEDULER_CORE_GANG_TRY_H
#define GW_SCHEDULER_CORE_GANG_TRY_H

#include "scheduler/core/state.h"

/* gw_sched_gang_place starts an attempt of the first gang of a queue with `count` ranks, rank i at
 * seats[i]; ranks of one worker are next to each other. */
void gw_sched_gang_place(struct gw_sched *sched, struct gw_queue *queue,
                         const struct gw_seat *seats, uint32_t count);

/* gw_sched_gang_find gives a running attempt by its id, or NULL. */
struct gw_gang_try *gw_sched_gang_find(const struct gw_sched *sched, uint64_t id);

/* gw_sched_gang_slot gives the place of a rank's attempt at a worker, or GW_NONE. */
uint32_t gw_sched_gang_slot(const struct gw_sched *sched, const struct gw_worker *worker,
                            uint64_t attempt, uint32_t rank);

/* gw_sched_gang_on_ready takes a worker's rank_ready (it keeps rank 0's token). */
int gw_sched_gang_on_ready(struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_msg_rank_ready *ready);

/* gw_sched_gang_control tells a gang that goes what is asked of it (gw_msg_control.command).
 * gw_sched_gang_on_paused: rank 0 of a function returned because it was told to pause. */
enum { GW_CONTROL_CONTINUE, GW_CONTROL_PAUSE, GW_CONTROL_STOP };
void gw_sched_gang_control(struct gw_sched *sched, const struct gw_gang_try *gang,
                           uint32_t command);
int gw_sched_gang_on_paused(struct gw_sched *sched, const struct gw_worker *worker,
                            const struct gw_msg_rank_paused *paused);

/* The last attempt of a gang that went: durable, so that another life of the scheduler counts it,
 * whether its ranks come back or not. gw_sched_gang_went gives it; attempt 0: none did.
 * gw_sched_gang_goes writes down that one went. */
struct gw_went {
    uint64_t attempt;
    uint32_t tries; /* how many had been started by then */
};
struct gw_went gw_sched_gang_went(const struct gw_job *job, uint32_t row);
void gw_sched_gang_goes(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                        struct gw_went went);

/* gw_sched_gangs_on_tick has the ranks looked at that do not stand in time, and ends their attempts
 * when that has had its time, too. gw_sched_gang_end_late ends one. */
void gw_sched_gangs_on_tick(struct gw_sched *sched);
void gw_sched_gang_end_late(struct gw_sched *sched, struct gw_gang_try *gang);

/* gw_sched_gang_of gives the running attempt of a gang, or NULL. */
struct gw_gang_try *gw_sched_gang_of(const struct gw_sched *sched, const struct gw_job *job,
                                     uint32_t row);

void gw_sched_gang_free(struct gw_gang_try *gang);

#endif
