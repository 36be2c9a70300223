/* Appliers of facts about GPUs: draining, undraining, and GPUs that several workers offer. */
#ifndef GW_SCHEDULER_CORE_CHANGES_GPU_H
#define GW_SCHEDULER_CORE_CHANGES_GPU_H

#include "scheduler/core/model/state.h"

/* gw_sched_gpu_keep keeps a GPU drained from now on, at all workers that offer it. `why` is the
 * reason for people. */
void gw_sched_gpu_keep(struct gw_sched *sched, const struct gw_gpu *gpu, const char *why);

/* gw_sched_gpus_trust undrains the GPU of this UUID, or all its MIG instances, and returns how many
 * were drained. Each worker still decides itself whether it uses the GPU. */
uint32_t gw_sched_gpus_trust(struct gw_sched *sched, const char *uuid);

/* gw_sched_gpu_on_drained handles a worker's report that a GPU is drained, with the reason (empty:
 * not any more). Returns GW_EPROTO if the report is malformed. */
int gw_sched_gpu_on_drained(struct gw_sched *sched, struct gw_worker *worker,
                            const struct gw_msg_gpu_drained *message);

/* gw_sched_gpu_twins_find looks for other workers that offer the same GPUs as a registering worker,
 * and decides who owns each GPU. For appliers only. */
void gw_sched_gpu_twins_find(struct gw_sched *sched, struct gw_worker *worker,
                             const struct gw_msg_registration *registration);

/* gw_sched_gpu_twins_settle gives the GPUs of lost workers to other workers when the wait for the
 * lost workers is over. */
void gw_sched_gpu_twins_settle(struct gw_sched *sched);

#endif
