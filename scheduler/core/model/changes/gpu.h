/* GPUs are drained, given back, and found to be offered twice. */
#ifndef GW_SCHEDULER_CORE_CHANGES_GPU_H
#define GW_SCHEDULER_CORE_CHANGES_GPU_H

#include "scheduler/core/model/state.h"

/* gw_sched_gpu_keep has a GPU stay drained from now on, at all workers that offer it; why: for a
 * person. */
void gw_sched_gpu_keep(struct gw_sched *sched, const struct gw_gpu *gpu, const char *why);

/* gw_sched_gpus_trust ends that for the GPU of this UUID, or all instances of it; returns how many
 * had stayed drained. Whether their workers use them is theirs to say. */
uint32_t gw_sched_gpus_trust(struct gw_sched *sched, const char *uuid);

/* gw_sched_gpu_on_drained takes a worker's word that a GPU is drained, and why (empty: no longer).
 * GW_EPROTO. */
int gw_sched_gpu_on_drained(struct gw_sched *sched, struct gw_worker *worker,
                            const struct gw_msg_gpu_drained *message);

/* gw_sched_gpu_twins_find looks for other workers that offer the GPUs of a worker that registers,
 * and decides whose each is; for apply functions. */
void gw_sched_gpu_twins_find(struct gw_sched *sched, struct gw_worker *worker,
                             const struct gw_msg_registration *registration);

/* gw_sched_gpu_twins_settle gives the GPUs that are left to other workers when their time is over.
 */
void gw_sched_gpu_twins_settle(struct gw_sched *sched);

#endif
