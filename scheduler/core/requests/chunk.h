/* Checks specs and chunks of tasks against the state of the scheduler before they are added to a
 * job. */
#ifndef GW_SCHEDULER_CORE_CHUNK_H
#define GW_SCHEDULER_CORE_CHUNK_H

#include "scheduler/core/model/state.h"

/* gw_sched_chunk_spec_check returns GW_EINVAL if the spec is malformed, or GW_EINFEASIBLE with a
 * text that says what the spec asks for and what the cluster has. */
int gw_sched_chunk_spec_check(const struct gw_sched *sched, const struct gw_job *job,
                              const struct gw_msg_spec *spec, struct gw_error *error);

/* State of a check over several chunks of one job, in their order. `specs` holds the spec of each
 * row that was checked and is not in the job's table yet. */
struct gw_chunk_check {
    const struct gw_job *job;
    GW_ARRAY(uint32_t) specs;
    uint64_t edges; /* dependencies of the checked rows */
    bool plain;     /* no task of the job has ranks */
};

/* gw_sched_chunk_check returns GW_EINVAL, GW_ENOENT (an unknown job, or a result that was
 * released), GW_EPERM, GW_ELIMIT, or GW_EPROTO (columns whose sizes do not match). */
int gw_sched_chunk_check(const struct gw_sched *sched, struct gw_chunk_check *check,
                         const struct gw_msg_submit *chunk, struct gw_error *error);

/* gw_sched_chunk_infeasible returns 0 if a worker (for a gang, a set of workers) could ever run
 * this resource class, or if no worker has registered yet. Otherwise it returns an error code and
 * writes the reason. */
int gw_sched_chunk_infeasible(const struct gw_sched *sched, const struct gw_resource_class *shape,
                              struct gw_error *error);

/* gw_sched_chunk_range_check checks a range. Returns GW_EINVAL, GW_ENOENT, GW_EPERM, GW_ELIMIT or
 * GW_EPROTO. */
int gw_sched_chunk_range_check(const struct gw_sched *sched, const struct gw_job *job,
                               const struct gw_msg_range *range, struct gw_error *error);

#endif
