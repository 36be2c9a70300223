/* Attempts: one task, or one rank of a gang, at one worker. Names are unique for ever. */
#ifndef GW_SCHEDULER_CORE_JOBS_ATTEMPT_H
#define GW_SCHEDULER_CORE_JOBS_ATTEMPT_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/model/workers/worker_queue.h"

/* An id: 16 bits of the term, 24 of the place's generation, 24 of the place in the table. */
enum { GW_ATTEMPT_SLOT_BITS = 24, GW_ATTEMPT_GENERATION_BITS = 24 };

/* gw_sched_attempt_next is the id that the next attempt will have. */
uint64_t gw_sched_attempt_next(struct gw_sched *sched);

/* gw_sched_attempt_place is the place in the table that an id names. */
static inline uint32_t gw_sched_attempt_place(uint64_t id)
{
    return id & ((1u << GW_ATTEMPT_SLOT_BITS) - 1);
}

/* gw_sched_attempts_ahead asks for the memory of what the ends of a column are about to touch, some
 * rows behind `at`: the attempts, and nearer to `at` what their tasks come before. */
void gw_sched_attempts_ahead(const struct gw_sched *sched, const struct gw_col64 *ids, uint32_t at);

/* gw_sched_attempt_find gives the place of a live attempt by its id; GW_NO_INDEX for any other. */
uint32_t gw_sched_attempt_find(const struct gw_sched *sched, uint64_t id);

/* gw_sched_attempt_add makes an attempt, debits what it needs from its worker and returns its place
 * in the table; for apply functions. */
uint32_t gw_sched_attempt_add(struct gw_sched *sched, const struct gw_attempt_new *options);

/* gw_sched_attempt_begin adds one that is to run a task by itself, and notes it with its task and
 * job: what placing and handing over have in common. */
uint32_t gw_sched_attempt_begin(struct gw_sched *sched, const struct gw_attempt_new *options);

/* gw_sched_attempts_deinit frees the table. */
void gw_sched_attempts_deinit(struct gw_sched *sched);

/* gw_sched_attempt_waits tells whether nobody said that it runs, or was told to end it. */
bool gw_sched_attempt_waits(const struct gw_attempt *attempt);

/* gw_sched_attempt_slot gives the place of a live attempt (of a rank of it) at a worker, or
 * GW_NO_INDEX. */
uint32_t gw_sched_attempt_slot(const struct gw_sched *sched, const struct gw_worker *worker,
                               uint64_t attempt, uint32_t rank);

/* gw_sched_attempt_recall_over counts a recall out: its attempt ends, runs, or is killed. For apply
 * functions. */
void gw_sched_attempt_recall_over(struct gw_worker_queue *lane);

/* For apply functions: a short attempt was added; one of a worker's has ended; all that a task at
 * its worker waited for is done. */
void gw_sched_attempt_frontier_note(struct gw_sched *sched, uint32_t slot);
void gw_sched_attempt_frontier_freed(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_attempt_frontier_forget forgets a worker that is being freed. */
void gw_sched_attempt_frontier_forget(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_attempt_frontier_unlist: a listed worker is looked at now.
 * gw_sched_attempt_frontier_advance: its attempts before `at` were looked at. */
void gw_sched_attempt_frontier_unlist(struct gw_worker *worker);
void gw_sched_attempt_frontier_advance(struct gw_worker *worker, size_t at);

/* gw_sched_attempt_sessions_end takes back what an attempt that ends yielded as a client, and
 * orphans its sessions: the step closes them. For apply functions. */
void gw_sched_attempt_sessions_end(struct gw_sched *sched, struct gw_attempt *attempt);

/* gw_sched_attempt_session_leave takes a session out of the attempt in which its client runs, if it
 * has one.
 */
void gw_sched_attempt_session_leave(struct gw_sched *sched, struct gw_session *session);

/* gw_sched_attempt_session_begin binds a session to an attempt: what comes through it is the
 * attempt's user's and has the age of its job. For apply functions. */
void gw_sched_attempt_session_begin(struct gw_sched *sched, uint32_t slot,
                                    struct gw_session *session);

#endif
