/* Attempts of an earlier term that a worker reported ("claims") and whose adoption is not decided
 * yet, because the task waits for its dependencies to be adopted. */
#ifndef GW_SCHEDULER_CORE_LATE_CLAIM_H
#define GW_SCHEDULER_CORE_LATE_CLAIM_H

#include "scheduler/core/model/state.h"

enum {
    GW_CLAIM_GPUS_MAX = 1024,
    LATE_MAX = 1024, /* kept claims of one worker */
};

/* One attempt in a registration, with the job and task that it belongs to. */
struct gw_late_told {
    struct gw_worker *worker;
    uint64_t attempt;
    struct gw_job *job;
    const struct gw_spec *spec;
    struct gw_resource_class *shape;
    uint32_t row, rank, kind, world, gpu_count;
    bool late;       /* it is a kept claim */
    uint64_t ran_ns; /* how long it has executed */
    uint32_t gpus[GW_CLAIM_GPUS_MAX];
};

/* gw_sched_late_claim_exists returns true if a claim of an attempt (of one of its ranks) is kept.
 * gw_sched_late_claim_finished stores a copy of the result that the worker reports, and returns
 * true if there was such a claim. gw_sched_late_claim_ended drops a claim whose attempt ended
 * without a result. gw_sched_late_claim_forget frees all claims of a worker that is being freed. */
bool gw_sched_late_claim_exists(const struct gw_worker *worker, uint64_t attempt, uint32_t rank);
bool gw_sched_late_claim_finished(struct gw_sched *sched, struct gw_worker *worker,
                                  uint64_t attempt, const struct gw_result *result,
                                  uint64_t run_ns);
void gw_sched_late_claim_ended(struct gw_sched *sched, struct gw_worker *worker, uint64_t attempt,
                               uint32_t rank);
void gw_sched_late_claim_forget(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_late_claim_free frees what a claim owns, but not the claim. */
void gw_sched_late_claim_free(struct gw_late_claim *late);

/* gw_sched_late_claim_find returns a worker's claim of an attempt (of one of its ranks), or NULL.
 */
struct gw_late_claim *gw_sched_late_claim_find(const struct gw_worker *worker, uint64_t attempt,
                                               uint32_t rank);

/* gw_sched_late_claim_add keeps a claim; gw_sched_late_claim_leave moves it to `to`, or drops it
 * (NULL). */
void gw_sched_late_claim_leave(struct gw_sched *sched, struct gw_worker *worker, uint32_t at,
                               struct gw_late_claim *to);
void gw_sched_late_claim_add(struct gw_sched *sched, struct gw_worker *worker,
                             const struct gw_late_claim *claim);

#endif
