/* Attempts: one task, or one rank of a gang, at one worker. Ids are never reused. */
#ifndef GW_SCHEDULER_CORE_JOBS_ATTEMPT_H
#define GW_SCHEDULER_CORE_JOBS_ATTEMPT_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/model/workers/worker_queue.h"

/* The id of an attempt consists of 16 bits of the scheduler's term, 24 bits of the generation of
 * its entry in the table of attempts, and 24 bits of the entry's index. */
enum { GW_ATTEMPT_SLOT_BITS = 24, GW_ATTEMPT_GENERATION_BITS = 24 };

/* gw_sched_attempt_next returns the id that the next attempt will have. */
uint64_t gw_sched_attempt_next(struct gw_sched *sched);

/* gw_sched_attempt_place returns the slot of an attempt id. */
static inline uint32_t gw_sched_attempt_place(uint64_t id)
{
    return id & ((1u << GW_ATTEMPT_SLOT_BITS) - 1);
}

/* gw_sched_attempts_ahead prefetches memory into the CPU cache before a loop over a list of ended
 * attempts reaches it: the attempts some rows after index `at`, and, closer to `at`, the
 * successors of their tasks. */
void gw_sched_attempts_ahead(const struct gw_sched *sched, const struct gw_col64 *ids, uint32_t at);

/* gw_sched_attempt_find returns the slot of a live attempt by its id, or GW_NO_INDEX. */
uint32_t gw_sched_attempt_find(const struct gw_sched *sched, uint64_t id);

/* gw_sched_attempt_add creates an attempt, debits its resources from its worker and returns its
 * slot. Only for use in model/. */
uint32_t gw_sched_attempt_add(struct gw_sched *sched, const struct gw_attempt_new *options);

/* gw_sched_attempt_begin adds the attempt of an ordinary task, and records it in the task and job.
 * It is used for placement and for pipelining. */
uint32_t gw_sched_attempt_begin(struct gw_sched *sched, const struct gw_attempt_new *options);

/* gw_sched_attempts_deinit frees the table. */
void gw_sched_attempts_deinit(struct gw_sched *sched);

/* gw_sched_attempt_waits returns true if the attempt is not known to run and was not told to end.
 */
bool gw_sched_attempt_waits(const struct gw_attempt *attempt);

/* gw_sched_attempt_slot returns the index, in the table of attempts, of a live attempt at this
 * worker (of a gang: of one of its ranks there), or GW_NO_INDEX. */
uint32_t gw_sched_attempt_slot(const struct gw_sched *sched, const struct gw_worker *worker,
                               uint64_t attempt, uint32_t rank);

/* gw_sched_attempt_recall_over ends the count of a recall: the attempt has ended, runs, or is
 * killed. Only for use in model/. */
void gw_sched_attempt_recall_over(struct gw_worker_queue *lane);

/* Only for use in model/. Records that a short attempt with successors was added, that an attempt
 * of a worker has ended, or that all dependencies of a task at its worker are satisfied. */
void gw_sched_attempt_frontier_note(struct gw_sched *sched, uint32_t slot);
void gw_sched_attempt_frontier_freed(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_attempt_frontier_forget removes a worker that is being freed from the list. */
void gw_sched_attempt_frontier_forget(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_attempt_frontier_unlist removes a worker from the list because it is handled now.
 * gw_sched_attempt_frontier_advance marks its entries before `at` as handled. */
void gw_sched_attempt_frontier_unlist(struct gw_worker *worker);
void gw_sched_attempt_frontier_advance(struct gw_worker *worker, size_t at);

/* gw_sched_attempt_sessions_end takes back the yielded slots of an attempt that ends, and marks its
 * sessions as orphaned, so that the step closes them. Only for use in model/. */
void gw_sched_attempt_sessions_end(struct gw_sched *sched, struct gw_attempt *attempt);

/* gw_sched_attempt_session_leave removes a session from the attempt that its client is inside of,
 * if there is one. */
void gw_sched_attempt_session_leave(struct gw_sched *sched, struct gw_session *session);

/* gw_sched_attempt_session_begin binds a session to an attempt. Jobs that the session submits
 * belong to the attempt's user and get the age of its job. Only for use in model/. */
void gw_sched_attempt_session_begin(struct gw_sched *sched, uint32_t slot,
                                    struct gw_session *session);

/* These functions record changes of an attempt. gw_sched_attempt_block: its task waits for tasks
 * that it submitted. gw_sched_attempt_kill: the worker was asked to end the attempt.
 * gw_sched_attempt_end: the attempt has ended. */
void gw_sched_attempt_block(struct gw_sched *sched, uint32_t slot, bool blocked);
void gw_sched_attempt_end(struct gw_sched *sched, uint32_t slot, bool well, uint64_t run_ns,
                          uint64_t bytes);
void gw_sched_attempt_kill(struct gw_sched *sched, uint32_t slot, bool hard);

#endif
