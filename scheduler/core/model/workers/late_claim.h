/* Attempts that a worker runs for an earlier scheduler, until somebody decides about them. */
#ifndef GW_SCHEDULER_CORE_LATE_CLAIM_H
#define GW_SCHEDULER_CORE_LATE_CLAIM_H

#include "scheduler/core/model/state.h"

enum {
    GW_CLAIM_GPUS_MAX = 1024,
    LATE_MAX = 1024, /* claims of a worker that are kept */
};

/* A row of a registration, and what it is about. */
struct gw_late_told {
    struct gw_worker *worker;
    uint64_t attempt;
    struct gw_job *job;
    const struct gw_spec *spec;
    struct gw_shape *shape;
    uint32_t row, rank, kind, world, gpu_count;
    bool late; /* it was kept */
    uint32_t gpus[GW_CLAIM_GPUS_MAX];
};

/* gw_sched_late_claim_exists tells whether a claim of an attempt (of a rank of it) is kept;
 * gw_sched_late_claim_finished keeps a copy of the result that its worker reports, true if there
 * was such a claim; gw_sched_late_claim_ended drops a claim whose attempt ended otherwise;
 * gw_sched_late_claim_forget frees all of a worker that is being freed. */
bool gw_sched_late_claim_exists(const struct gw_worker *worker, uint64_t attempt, uint32_t rank);
bool gw_sched_late_claim_finished(struct gw_sched *sched, struct gw_worker *worker,
                                  uint64_t attempt, const struct gw_result *result,
                                  uint64_t run_ns);
void gw_sched_late_claim_ended(struct gw_sched *sched, struct gw_worker *worker, uint64_t attempt,
                               uint32_t rank);
void gw_sched_late_claim_forget(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_late_claim_free frees what a claim owns, not the claim. */
void gw_sched_late_claim_free(struct gw_late_claim *late);

/* gw_sched_late_claim_find returns a worker's claim of an attempt (of a rank of it), or NULL. */
struct gw_late_claim *gw_sched_late_claim_find(const struct gw_worker *worker, uint64_t attempt,
                                               uint32_t rank);

#endif
