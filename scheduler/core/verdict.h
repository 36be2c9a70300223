/* Verdicts: what the end of an attempt means for its task. */
#ifndef GW_SCHEDULER_CORE_VERDICT_H
#define GW_SCHEDULER_CORE_VERDICT_H

#include "scheduler/core/state.h"

/* gw_sched_on_started, _finished and _ended take a worker's message; attempts that are not its own,
 * or not live any more, are dropped. GW_EPROTO for columns that do not match, or a rank that ended
 * before its gang went. */
int gw_sched_on_started(struct gw_sched *sched, struct gw_worker *worker,
                        const struct gw_msg_started *started);
int gw_sched_on_finished(struct gw_sched *sched, struct gw_worker *worker,
                         const struct gw_msg_finished *finished);
int gw_sched_on_failures(struct gw_sched *sched, struct gw_worker *worker,
                         const struct gw_msg_failures *failures);
int gw_sched_on_ended(struct gw_sched *sched, struct gw_worker *worker,
                      const struct gw_msg_ended *ended);

/* gw_sched_take_back asks a lane's worker for the short attempts that have no debit left to inherit
 * and were not begun. */
void gw_sched_take_back(struct gw_sched *sched, const struct gw_lane *lane);

/* gw_sched_verdict_ended ends the attempt at a place otherwise than well, and decides. */
void gw_sched_verdict_ended(struct gw_sched *sched, uint32_t slot, const struct gw_end *end);

/* gw_sched_verdict decides about a task whose attempt has ended otherwise than well. where: for a
 * person, who ended ("rank 2 on host a"). */
struct gw_verdict {
    struct gw_job *job;
    uint32_t index;
    uint64_t attempt;
    const char *where;
    const struct gw_end *end;
    bool final;   /* it has no further attempt, whatever its budgets */
    bool unbegun; /* of a gang that never went, and through no fault of its own */
};
void gw_sched_verdict(struct gw_sched *sched, const struct gw_verdict *verdict);

/* gw_sched_preemptions_max is how often a task may be ended for others, or by its user, and starts
 * again all the same. */
uint32_t gw_sched_preemptions_max(const struct gw_spec *spec);

/* gw_sched_task_done ends a task well with its results. */
void gw_sched_task_done(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                        const struct gw_results *results);

/* gw_sched_attempt_slot gives the place of a live attempt (of a rank of it) at a worker, or
 * GW_NONE. */
uint32_t gw_sched_attempt_slot(const struct gw_sched *sched, const struct gw_worker *worker,
                               uint64_t attempt, uint32_t rank);

/* gw_sched_attempt_end_badly frees the place of an attempt that did not end well; what it was still
 * fetching is released at its worker. run_ns: how long it ran, where that tells how long others of
 * its kind will; else 0. */
void gw_sched_attempt_end_badly(struct gw_sched *sched, uint32_t slot, uint64_t run_ns);

/* gw_sched_outcome_name returns what an outcome is called; static. */
const char *gw_sched_outcome_name(uint32_t outcome);

#endif
