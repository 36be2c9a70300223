/* One GPU that several workers of a machine offer. It is placed at one of them: the first that
 * came, whose own it is; at the others it has a twin, the id of that worker, and is nobody's to be
 * given. When its worker is lost it becomes the next one's, worker_lost_ns (15 s) after the last
 * word of that worker: until then it is left, as what runs there may live; but the same worker, or
 * its next life (its name on its host), gets it at once. A worker that comes with attempts on it,
 * or comes back, takes it over where nobody has any of it. */
#ifndef GW_SCHEDULER_CORE_GPU_TWIN_H
#define GW_SCHEDULER_CORE_GPU_TWIN_H

#include "scheduler/core/state.h"

/* gw_sched_gpus_own is how many GPUs of a worker are its own. */
uint32_t gw_sched_gpus_own(const struct gw_worker *worker);

/* gw_sched_gpu_twins_find looks who offers the GPUs of a worker that registers already;
 * gw_sched_gpu_twins_free gives those of a worker that is lost to others, or has them left. For
 * apply functions. */
void gw_sched_gpu_twins_find(struct gw_sched *sched, struct gw_worker *worker,
                             const struct gw_msg_registration *registration);
void gw_sched_gpu_twins_free(struct gw_sched *sched, const struct gw_worker *lost);

/* gw_sched_gpu_twins_settle gives those that are left to others when their time is over;
 * deadline_ns: when that is for the first one; UINT64_MAX: there is none. */
void gw_sched_gpu_twins_settle(struct gw_sched *sched);
uint64_t gw_sched_gpu_twins_deadline_ns(const struct gw_sched *sched);

/* gw_sched_gpu_left_ns is for how long a worker's GPU is left yet; 0: it is not. */
uint64_t gw_sched_gpu_left_ns(const struct gw_sched *sched, const struct gw_worker *worker,
                              const struct gw_gpu *gpu);
void gw_sched_gpu_twins_deinit(struct gw_sched *sched);

/* gw_sched_gpu_twins_check asserts that each GPU is one worker's own, or left. */
void gw_sched_gpu_twins_check(const struct gw_sched *sched, const struct gw_worker *worker);

#endif
