/* Specs and chunks of rows: checked against the state, then added to a job. */
#ifndef GW_SCHEDULER_CORE_CHUNK_H
#define GW_SCHEDULER_CORE_CHUNK_H

#include "scheduler/core/model/state.h"

/* gw_sched_chunk_spec_check: GW_EINVAL, or GW_EINFEASIBLE with what is asked and what there is. */
int gw_sched_chunk_spec_check(const struct gw_sched *sched, const struct gw_job *job,
                              const struct gw_msg_spec *spec, struct gw_error *error);

/* What is known of the rows that were checked before: chunks of one job, in order. specs: of rows
 * that are not in the job's table yet. */
struct gw_chunk_check {
    const struct gw_job *job;
    GW_ARRAY(uint32_t) specs;
    uint64_t edges; /* of those rows */
    bool plain;     /* no task of the job has ranks */
};

/* gw_sched_chunk_check: GW_EINVAL, GW_ENOENT (an unknown job, a result that is gone), GW_EPERM,
 * GW_ELIMIT, GW_EPROTO (columns that do not match). */
int gw_sched_chunk_check(const struct gw_sched *sched, struct gw_chunk_check *check,
                         const struct gw_msg_submit *chunk, struct gw_error *error);

/* gw_sched_chunk_infeasible writes why no worker (or, a gang, no set of workers) could ever hold a
 * shape; 0 when they could, or there is no worker yet. */
int gw_sched_chunk_infeasible(const struct gw_sched *sched, const struct gw_shape *shape,
                              struct gw_error *error);

/* gw_sched_chunk_range_check: GW_EINVAL, GW_ENOENT, GW_EPERM, GW_ELIMIT, as chunk.h says. */
int gw_sched_chunk_range_check(const struct gw_sched *sched, const struct gw_job *job,
                               const struct gw_msg_range *range, struct gw_error *error);

#endif
