/* One attempt of a gang: N ranks that start together or not at all, and end together. */
#ifndef GW_SCHEDULER_CORE_GANG_H
#define GW_SCHEDULER_CORE_GANG_H

#include "scheduler/core/model/state.h"

/* gw_sched_gang_find gives a running attempt by its id, or NULL. */
struct gw_gang_attempt *gw_sched_gang_find(const struct gw_sched *sched, uint64_t id);

/* gw_sched_gang_slot gives the place of a rank's attempt at a worker, or GW_NO_INDEX. */
uint32_t gw_sched_gang_slot(const struct gw_sched *sched, const struct gw_worker *worker,
                            uint64_t attempt, uint32_t rank);

/* Commands to a gang that runs (gw_msg_control.command); send/outbox.c sends them. */
enum { GW_CONTROL_CONTINUE, GW_CONTROL_PAUSE, GW_CONTROL_STOP };

/* The last attempt of a gang that started: durable, so that another life of the scheduler counts
 * it, whether its ranks come back or not. */
struct gw_went {
    uint64_t attempt;
    uint32_t tries; /* how many had been started by then */
};

/* gw_sched_gang_went returns the last attempt of a row's gang that started; attempt 0: none did. */
struct gw_went gw_sched_gang_went(const struct gw_job *job, uint32_t row);

/* gw_sched_gang_of gives the running attempt of a gang, or NULL. */
struct gw_gang_attempt *gw_sched_gang_of(const struct gw_sched *sched, const struct gw_job *job,
                                         uint32_t row);

/* gw_sched_gang_free frees an attempt of a gang and all that it owns; no list may have it any more.
 */
void gw_sched_gang_free(struct gw_gang_attempt *gang);

/* gw_sched_gang_prepare_ns is how long the ranks have to get ready: longer, if a checkpoint is
 * transferred first. */
uint64_t gw_sched_gang_prepare_ns(const struct gw_sched *sched, const struct gw_gang_attempt *gang);

/* gw_sched_gang_enter_preparing lists an attempt among those that prepare, by deadline, limit_ns
 * from now. */
void gw_sched_gang_enter_preparing(struct gw_sched *sched, struct gw_gang_attempt *gang,
                                   uint64_t limit_ns);

#endif
