/* One GPU that several workers of a machine offer. It is given to tasks of only one of them, its
 * owner: the worker that registered first. At the others, the GPU has a twin, the id of the owner,
 * and is not given to tasks. If the owner is lost, the GPU goes to the next worker worker_lost_ns
 * after the last message of the owner. Until then the GPU waits, because processes of the owner may
 * still run on it. The owner or its next incarnation (same name on the same host) gets it back
 * immediately. A worker that registers with attempts on the GPU, or that reconnects, becomes the
 * owner if no attempt uses any part of the GPU. */
#ifndef GW_SCHEDULER_CORE_GPU_TWIN_H
#define GW_SCHEDULER_CORE_GPU_TWIN_H

#include "scheduler/core/model/state.h"

/* A GPU that waits for its lost worker. Until until_ns, processes of the worker may run on it. */
struct gw_gpu_left {
    char *machine, *uuid, *name, *host;
    uint64_t incarnation, until_ns;
    uint32_t worker;
};

struct gw_gpus_left {
    GW_ARRAY(struct gw_gpu_left) items;
};

/* gw_sched_gpu_twin_own returns how many GPUs a worker owns. */
uint32_t gw_sched_gpu_twin_own(const struct gw_worker *worker);

/* gw_sched_gpu_twins_free gives the GPUs of a lost worker to others, or lets them wait. Only for
 * use in model/. */
void gw_sched_gpu_twins_free(struct gw_sched *sched, const struct gw_worker *lost);

/* gw_sched_gpu_twins_deadline_ns returns when the first waiting GPU may go to another worker, or
 * UINT64_MAX if none waits. */
uint64_t gw_sched_gpu_twins_deadline_ns(const struct gw_sched *sched);

/* gw_sched_gpu_twin_left_ns returns for how much longer a worker's GPU waits for its lost owner, or
 * 0 if it does not. */
uint64_t gw_sched_gpu_twin_left_ns(const struct gw_sched *sched, const struct gw_worker *worker,
                                   const struct gw_gpu *gpu);
void gw_sched_gpu_twins_deinit(struct gw_sched *sched);

/* gw_sched_gpu_twins_check asserts that each GPU is owned by one worker, or waits. */
void gw_sched_gpu_twins_check(const struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_gpu_twin_same returns the same GPU as offered by another worker. Returns NULL if that
 * worker does not offer it or is the same worker. */
struct gw_gpu *gw_sched_gpu_twin_same(const struct gw_worker *other, const struct gw_worker *worker,
                                      const struct gw_gpu *gpu);

/* gw_sched_gpu_twin_left returns the entry of a GPU that waits for its lost owner, or NULL. */
struct gw_gpu_left *gw_sched_gpu_twin_left(const struct gw_sched *sched,
                                           const struct gw_worker *worker,
                                           const struct gw_gpu *gpu);

/* gw_sched_gpu_twin_set records the owner of a GPU (twin: a worker id, or GW_NO_INDEX for the
 * worker itself) and updates all counters. */
void gw_sched_gpu_twin_set(struct gw_sched *sched, struct gw_worker *worker, struct gw_gpu *gpu,
                           uint32_t twin);

/* gw_sched_gpu_twin_make_own makes a worker the owner of a GPU. All other workers that offer the
 * GPU get the owner as twin. */
void gw_sched_gpu_twin_make_own(struct gw_sched *sched, struct gw_worker *worker,
                                struct gw_gpu *gpu);

/* gw_sched_gpu_twin_free_left frees what an entry owns, but not the entry. */
void gw_sched_gpu_twin_free_left(struct gw_gpu_left *left);

/* gw_sched_gpu_twin_let makes another worker the owner of a GPU, after the owner of the GPU (the
 * worker with this incarnation) was lost: the first worker that offers the same GPU. If no worker
 * offers it, nothing happens. */
void gw_sched_gpu_twin_let(struct gw_sched *sched, uint64_t lost, const char *machine,
                           const char *uuid);

#endif
