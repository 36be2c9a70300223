/* One attempt of a gang: several ranks that start together or not at all, and end together. */
#ifndef GW_SCHEDULER_CORE_GANG_H
#define GW_SCHEDULER_CORE_GANG_H

#include "scheduler/core/model/state.h"

/* gw_sched_gang_find returns a running attempt of a gang by its id, or NULL. */
struct gw_gang_attempt *gw_sched_gang_find(const struct gw_sched *sched, uint64_t id);

/* gw_sched_gang_slot returns the slot of a rank's attempt at a worker, or GW_NO_INDEX. */
uint32_t gw_sched_gang_slot(const struct gw_sched *sched, const struct gw_worker *worker,
                            uint64_t attempt, uint32_t rank);

/* Commands to a running gang (gw_msg_control.command). send/outbox.c sends them. */

/* The last attempt of a gang that started. It is durable, so that a later term counts it, also if
 * its ranks never reconnect. */
struct gw_went {
    uint64_t attempt;
    uint32_t tries; /* restart count at that time */
};

/* gw_sched_gang_went returns the last attempt of a task's gang that started. attempt is 0 if none
 * did. */
struct gw_went gw_sched_gang_went(const struct gw_job *job, uint32_t row);

/* gw_sched_gang_of returns the running attempt of a task's gang, or NULL. */
struct gw_gang_attempt *gw_sched_gang_of(const struct gw_sched *sched, const struct gw_job *job,
                                         uint32_t row);

/* gw_sched_gang_free frees an attempt of a gang. It must not be in any list. */
void gw_sched_gang_free(struct gw_gang_attempt *gang);

/* gw_sched_gang_prepare_ns returns the time limit for the ranks to become ready. It is longer if a
 * checkpoint is transferred first. */
uint64_t gw_sched_gang_prepare_ns(const struct gw_sched *sched, const struct gw_gang_attempt *gang);

/* gw_sched_gang_enter_preparing inserts an attempt into the list of preparing gangs, with a
 * deadline limit_ns from now. */
void gw_sched_gang_enter_preparing(struct gw_sched *sched, struct gw_gang_attempt *gang,
                                   uint64_t limit_ns);

/* The position of a rank that makes no progress, or, if `still` is false, of a rank that was not
 * ready in time. */
struct gw_stood {
    uint64_t begun;
    bool still, stopped, seen, idle; /* as in struct gw_rank */
    struct gw_bin operation, stack;
};
void gw_sched_gang_rank_stand(struct gw_gang_attempt *gang, uint32_t index,
                              const struct gw_stood *stood);

/* These functions record changes of one gang: a rank is ready, has its result, or was asked for
 * its position; the gang changes its state, never began, ends because of a rank, is paused, could
 * not use its port, or is not ready in time. */
void gw_sched_gang_set_cause(struct gw_gang_attempt *gang, uint32_t rank,
                             const struct gw_end *cause);
void gw_sched_gang_end(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t rank,
                       const struct gw_end *cause);
void gw_sched_gang_set_late(struct gw_sched *sched, struct gw_gang_attempt *gang);
void gw_sched_gang_move(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t state);
void gw_sched_gang_pause(struct gw_gang_attempt *gang);
void gw_sched_gang_port_taken(struct gw_gang_attempt *gang);
void gw_sched_gang_unbegin(const struct gw_gang_attempt *gang);
void gw_sched_gang_rank_ask(struct gw_gang_attempt *gang, uint32_t rank);
void gw_sched_gang_rank_finish(struct gw_gang_attempt *gang, uint32_t index,
                               const struct gw_result *result);
void gw_sched_gang_rank_ready(struct gw_gang_attempt *gang, uint32_t rank, struct gw_bin info,
                              uint64_t token, const char *door);

#endif
