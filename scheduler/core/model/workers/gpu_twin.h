/* One GPU that several workers of a machine offer. It is placed at one of them: the first that
 * came, whose own it is; at the others it has a twin, the id of that worker, and is nobody's to be
 * given. When its worker is lost it becomes the next one's, worker_lost_ns after the last
 * word of that worker: until then it is left, as what runs there may live; but the same worker, or
 * its next life (its name on its host), gets it at once. A worker that comes with attempts on it,
 * or comes back, takes it over where nobody has any of it. */
#ifndef GW_SCHEDULER_CORE_GPU_TWIN_H
#define GW_SCHEDULER_CORE_GPU_TWIN_H

#include "scheduler/core/model/state.h"

/* A GPU whose worker was lost before it was silent for long: what it runs may live until then. */
struct gw_gpu_left {
    char *machine, *uuid, *name, *host;
    uint64_t incarnation, until_ns;
    uint32_t worker;
};

struct gw_gpus_left {
    GW_ARRAY(struct gw_gpu_left) items;
};

/* gw_sched_gpu_twin_own is how many GPUs of a worker are its own. */
uint32_t gw_sched_gpu_twin_own(const struct gw_worker *worker);

/* gw_sched_gpu_twins_free gives the GPUs of a worker that is lost to others, or keeps them as left;
 * for apply functions. */
void gw_sched_gpu_twins_free(struct gw_sched *sched, const struct gw_worker *lost);

/* gw_sched_gpu_twins_deadline_ns is when the first GPU that is left may go to another worker;
 * UINT64_MAX: none is left. */
uint64_t gw_sched_gpu_twins_deadline_ns(const struct gw_sched *sched);

/* gw_sched_gpu_twin_left_ns is for how long a worker's GPU is left yet; 0: it is not. */
uint64_t gw_sched_gpu_twin_left_ns(const struct gw_sched *sched, const struct gw_worker *worker,
                                   const struct gw_gpu *gpu);
void gw_sched_gpu_twins_deinit(struct gw_sched *sched);

/* gw_sched_gpu_twins_check asserts that each GPU is one worker's own, or left. */
void gw_sched_gpu_twins_check(const struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_gpu_twin_same returns a worker's GPU as another worker offers it; NULL: the other does
 * not, or is the same worker. */
struct gw_gpu *gw_sched_gpu_twin_same(const struct gw_worker *other, const struct gw_worker *worker,
                                      const struct gw_gpu *gpu);

/* gw_sched_gpu_twin_left returns the entry of a GPU that is left; NULL: it is not. */
struct gw_gpu_left *gw_sched_gpu_twin_left(const struct gw_sched *sched,
                                           const struct gw_worker *worker,
                                           const struct gw_gpu *gpu);

/* gw_sched_gpu_twin_set notes whose a GPU is (twin: a worker's id; GW_NO_INDEX: the worker's own)
 * and updates all counts. */
void gw_sched_gpu_twin_set(struct gw_sched *sched, struct gw_worker *worker, struct gw_gpu *gpu,
                           uint32_t twin);

/* gw_sched_gpu_twin_make_own makes a GPU a worker's own; all others that offer it have that worker
 * as twin. */
void gw_sched_gpu_twin_make_own(struct gw_sched *sched, struct gw_worker *worker,
                                struct gw_gpu *gpu);

/* gw_sched_gpu_twin_free_left frees what an entry owns, not the entry. */
void gw_sched_gpu_twin_free_left(struct gw_gpu_left *left);

/* gw_sched_gpu_twin_let gives a GPU of a lost worker (its incarnation) to the first worker that
 * offers it; does nothing if there is none. */
void gw_sched_gpu_twin_let(struct gw_sched *sched, uint64_t lost, const char *machine,
                           const char *uuid);

#endif
