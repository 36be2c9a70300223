/* GPUs that stay drained: those that had an error after which they cannot be trusted, and those
 * that an admin took out. By UUID, whatever becomes of their workers and of the scheduler, until an
 * admin gives them back. What is drained for a while only is its worker's to know. */
#ifndef GW_SCHEDULER_CORE_GPU_KEPT_H
#define GW_SCHEDULER_CORE_GPU_KEPT_H

#include "scheduler/core/state.h"

/* gw_sched_gpu_keep has a GPU stay drained from now on, at all workers that offer it; why: for a
 * person. */
void gw_sched_gpu_keep(struct gw_sched *sched, const struct gw_gpu *gpu, const char *why);

/* gw_sched_gpus_trust ends that for the GPU of this UUID, or all instances of it; returns how many
 * had stayed drained. Whether their workers use them is theirs to say. */
uint32_t gw_sched_gpus_trust(struct gw_sched *sched, const char *uuid);

/* gw_sched_gpus_kept_mark drains those of a worker that are known to be so; for apply functions. */
void gw_sched_gpus_kept_mark(struct gw_sched *sched, struct gw_worker *worker);

void gw_sched_gpus_kept_dump(const struct gw_sched *sched, struct gw_buffer *out);
void gw_sched_gpus_kept_deinit(struct gw_sched *sched);

#endif
