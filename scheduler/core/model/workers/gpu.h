/* The GPUs of workers, numbered as in the worker's registration. When an attempt is placed, its
 * GPUs are debited by number, either whole or as a share of one GPU's memory.
 *
 * A MIG instance is a device of its own, less valuable than a whole GPU. An ordinary task with one
 * GPU gets an instance if one is free, so that whole GPUs stay free for gangs. A rank with several
 * GPUs gets only whole ones, because CUDA shows a process only one instance. All ranks of a gang
 * have devices of one kind. They are whole GPUs, unless even an empty cluster had too few of these
 * but enough instances. In this case on_instances of the resource class is set. It depends on the
 * workers of the cluster, not on what is free. A share may be of a GPU of either kind. */
#ifndef GW_SCHEDULER_CORE_WORKERS_GPU_H
#define GW_SCHEDULER_CORE_WORKERS_GPU_H

#include "graph/value/value.h"
#include "scheduler/core/model/state.h"

enum { GW_GPU_WHOLE = 1000 }; /* shares are in thousandths */

/* gw_sched_gpus_read_check checks the GPU list of a registration, and returns GW_EPROTO if it is
 * malformed. gw_sched_gpus_set gives a worker the GPUs of the list. gw_sched_gpus_deinit frees
 * them. */
int gw_sched_gpus_read_check(struct gw_bin list);
void gw_sched_gpus_set(struct gw_worker *worker, struct gw_bin list);
void gw_sched_gpus_deinit(struct gw_worker *worker);

/* gw_sched_gpu_is_instance returns true for a MIG instance. */
bool gw_sched_gpu_is_instance(const struct gw_gpu *gpu);

/* gw_sched_gpu_has_kind returns true if all devices of a resource class must be of one kind (whole
 * GPUs or MIG instances). gw_sched_gpu_likes_instances returns true if the class prefers a MIG
 * instance. gw_sched_gpu_has_instance returns true if the worker has a free instance for the
 * class. */
bool gw_sched_gpu_has_kind(const struct gw_resource_class *shape);
bool gw_sched_gpu_likes_instances(const struct gw_resource_class *shape);
bool gw_sched_gpu_has_instance(const struct gw_worker *worker,
                               const struct gw_resource_class *shape);

/* gw_sched_gpu_free returns true if no attempt has any part of the GPU, it is not drained, and its
 * worker owns it (gpu_twin.h). gw_sched_gpu_counts updates the counters of free GPUs after a
 * change. `was` is the result of gw_sched_gpu_free before the change. */
bool gw_sched_gpu_free(const struct gw_gpu *gpu);
void gw_sched_gpu_counts(struct gw_sched *sched, struct gw_worker *worker, const struct gw_gpu *gpu,
                         bool was);

/* gw_sched_gpu_why_drained returns the reason for people why the GPU is drained, or NULL if it is
 * not. */
const char *gw_sched_gpu_why_drained(const struct gw_gpu *gpu);

/* gw_sched_gpu_could returns true if a rank of this class could have the GPU, or a share of it, if
 * the GPU were free. */
bool gw_sched_gpu_could(const struct gw_gpu *gpu, const struct gw_resource_class *shape);

/* gw_sched_gpu_memory returns the memory that each GPU of a rank must have. */
uint64_t gw_sched_gpu_memory(const struct gw_resource_class *shape);

/* gw_sched_gpu_ranks returns for how many ranks a worker has GPUs now, or (ever) if it were empty.
 * UINT64_MAX: they need no GPUs. */
uint64_t gw_sched_gpu_ranks(const struct gw_worker *worker, const struct gw_resource_class *shape,
                            bool ever);

/* gw_sched_gpu_near returns true if free GPUs of one NVLink domain are enough for this many ranks.
 * For MIG instances: if there are enough on different physical GPUs. */
bool gw_sched_gpu_near(const struct gw_worker *worker, const struct gw_resource_class *shape,
                       uint32_t ranks);

/* gw_sched_gpu_pick writes the numbers of the GPUs for this many ranks, rank by rank. Enough GPUs
 * must be free. Whole GPUs are chosen from the smallest group that has enough (NVLink domain, PCIe
 * bridge, NUMA node, worker). Among such groups, it prefers less valuable GPUs, then the group with
 * the fewest free GPUs. They are written in ascending order. MIG instances of a gang are on as many
 * physical GPUs as possible. Shares are taken from GPUs that are shared already, if possible. The
 * result is deterministic. */
void gw_sched_gpu_pick(const struct gw_worker *worker, const struct gw_resource_class *shape,
                       uint32_t ranks, uint32_t *numbers);

/* gw_sched_gpu_is_physical_shared returns true if two ranks of a gang have MIG instances of the
 * same physical GPU, so that they cannot form an NCCL communicator. */
bool gw_sched_gpu_is_physical_shared(const struct gw_sched *sched,
                                     const struct gw_gang_attempt *gang);

/* gw_sched_gpus_take debits the GPUs of the attempt in this slot. gw_sched_gpus_give returns them.
 * numbers: the GPUs of the attempt, or NULL for those that gw_sched_gpu_pick chooses. */
void gw_sched_gpus_take(struct gw_sched *sched, uint32_t slot, const uint32_t *numbers);
void gw_sched_gpus_give(struct gw_sched *sched, uint32_t slot);

/* gw_sched_gpu_next returns the first GPU of an attempt with at least the number `from`, or
 * GW_NO_INDEX. */
uint32_t gw_sched_gpu_next(const struct gw_sched *sched, uint32_t slot, uint32_t from);

/* gw_sched_gpu_tell_why writes, for a waiting task, how many GPUs of its kind are free: ", 3 of 4
 * GPUs". */
void gw_sched_gpu_tell_why(const struct gw_sched *sched, const struct gw_resource_class *shape,
                           char *text, size_t bytes);

/* Handles a worker's report about its GPUs. Returns GW_EPROTO if it is malformed. */
int gw_sched_gpu_on_usage(struct gw_sched *sched, struct gw_worker *worker,
                          const struct gw_msg_gpu_usage *message);

struct gw_text;

/* gw_sched_gpu_tell_clearing says that a placed task waits until a GPU is free of earlier
 * processes. */
void gw_sched_gpu_tell_clearing(const struct gw_sched *sched, const struct gw_job *job,
                                uint32_t row, struct gw_text *text);

/* Maximum of tasks and ranks in the list of gw_sched_gpu_tell_use. */
enum { GW_GPU_USE_MAX = 500 };

/* gw_sched_gpu_tell_use adds to a dict for people the total use of all GPUs, if there are any, and
 * as "gpu_use" the use of each task and rank that has GPUs, at most GW_GPU_USE_MAX. */
void gw_sched_gpu_tell_use(const struct gw_sched *sched, struct gw_value *dict);

/* gw_sched_gpu_tell_push appends to a list a dict for people for each GPU of a worker. */
void gw_sched_gpu_tell_push(const struct gw_sched *sched, const struct gw_worker *worker,
                            struct gw_value *list);

/* gw_sched_gpus_check asserts that the debits of a worker's GPUs match its attempts.
 * gw_sched_gpus_check_gang asserts that the GPUs of all ranks are of one kind. */
void gw_sched_gpus_check(const struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_gpus_check_gang(const struct gw_sched *sched, const struct gw_gang_attempt *gang);

#endif
