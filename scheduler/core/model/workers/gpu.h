/* The GPUs of workers, by number of the worker's registration. They are debited by number when an
 * attempt is placed: whole, or a share of one's memory.
 *
 * A MIG instance is a device of its own, with less worth than a GPU that is whole. Ordinary tasks
 * with one GPU get an instance where one is free, so that GPUs stay whole for gangs; whoever wants
 * several at once gets whole ones only, as CUDA shows a process one instance. The ranks of a gang
 * have devices of one kind: whole GPUs, unless the cluster, if empty, could not give it so many,
 * and instances would do; this is its shape's on_instances, and changes with the workers that there
 * are, not with what is free. Shares may be of either. */
#ifndef GW_SCHEDULER_CORE_WORKERS_GPU_H
#define GW_SCHEDULER_CORE_WORKERS_GPU_H

#include "graph/value/value.h"
#include "scheduler/core/model/state.h"

enum { GW_GPU_WHOLE = 1000 }; /* shares are thousandths */

/* gw_sched_gpus_read_check looks at the list of a registration: GW_EPROTO where it is none.
 * gw_sched_gpus_set gives a worker what is in it; deinit frees what that took. */
int gw_sched_gpus_read_check(struct gw_bin list);
void gw_sched_gpus_set(struct gw_worker *worker, struct gw_bin list);
void gw_sched_gpus_deinit(struct gw_worker *worker);

/* gw_sched_gpu_is_instance tells whether it is a part of a GPU, by MIG. */
bool gw_sched_gpu_is_instance(const struct gw_gpu *gpu);

/* gw_sched_gpu_has_kind tells whether what the ranks of a shape have is of one kind;
 * gw_sched_gpu_likes_instances, whether it gets an instance first, and gw_sched_gpu_has_instance,
 * whether a worker has a free one for it. */
bool gw_sched_gpu_has_kind(const struct gw_shape *shape);
bool gw_sched_gpu_likes_instances(const struct gw_shape *shape);
bool gw_sched_gpu_has_instance(const struct gw_worker *worker, const struct gw_shape *shape);

/* gw_sched_gpu_free tells whether nobody has any of it, it is not drained, and its worker's own
 * (gpu_twin.h). gw_sched_gpu_counts follows a change of what it says, from what it said before. */
bool gw_sched_gpu_free(const struct gw_gpu *gpu);
void gw_sched_gpu_counts(struct gw_sched *sched, struct gw_worker *worker, const struct gw_gpu *gpu,
                         bool was);

/* gw_sched_gpu_why_drained is why nothing is placed there, for a person; NULL: it is not drained.
 */
const char *gw_sched_gpu_why_drained(const struct gw_gpu *gpu);

/* gw_sched_gpu_could tells whether a rank of a shape could have it, or a share of it, if nobody had
 * any. */
bool gw_sched_gpu_could(const struct gw_gpu *gpu, const struct gw_shape *shape);

/* gw_sched_gpu_memory is how much each GPU of a rank must have. */
uint64_t gw_sched_gpu_memory(const struct gw_shape *shape);

/* gw_sched_gpu_ranks is how many ranks of a shape a worker has GPUs for: now, or (ever) if it were
 * empty. UINT64_MAX: they need none. */
uint64_t gw_sched_gpu_ranks(const struct gw_worker *worker, const struct gw_shape *shape,
                            bool ever);

/* gw_sched_gpu_near tells whether GPUs that are linked by NVLink suffice for so many ranks now; of
 * instances, whether there are as many on different physical GPUs. */
bool gw_sched_gpu_near(const struct gw_worker *worker, const struct gw_shape *shape,
                       uint32_t ranks);

/* gw_sched_gpu_pick writes the numbers of the GPUs of so many ranks, one rank's behind the other's.
 * There must be enough. Whole ones ascend, and are of the smallest group (NVLink domain, PCIe
 * bridge, NUMA node, worker) that has as many, with no more worth than need be, of the fullest of
 * those. Instances of a gang are on as many physical GPUs as possible. Shares are of what others
 * share already, first. The same for the same state. */
void gw_sched_gpu_pick(const struct gw_worker *worker, const struct gw_shape *shape, uint32_t ranks,
                       uint32_t *numbers);

/* gw_sched_gpu_is_physical_shared tells whether two ranks of a gang have instances of one GPU,
 * which can form no NCCL communicator. */
bool gw_sched_gpu_is_physical_shared(const struct gw_sched *sched,
                                     const struct gw_gang_attempt *gang);

/* gw_sched_gpus_take debits the GPUs of the attempt at a place in the table, gw_sched_gpus_give
 * gives them back. numbers: those of the attempt; NULL: what pick gives. */
void gw_sched_gpus_take(struct gw_sched *sched, uint32_t slot, const uint32_t *numbers);
void gw_sched_gpus_give(struct gw_sched *sched, uint32_t slot);

/* gw_sched_gpu_next gives the first GPU of the attempt at a place, from a number on; GW_NO_INDEX:
 * it has no more. */
uint32_t gw_sched_gpu_next(const struct gw_sched *sched, uint32_t slot, uint32_t from);

/* gw_sched_gpu_tell_why writes how many are free, for something that waits, and of what kind it
 * gets them: ", 3 of 4 GPUs". */
void gw_sched_gpu_tell_why(const struct gw_sched *sched, const struct gw_shape *shape, char *text,
                           size_t bytes);

/* What a worker says of its GPUs. GW_EPROTO. */
int gw_sched_gpu_on_usage(struct gw_sched *sched, struct gw_worker *worker,
                          const struct gw_msg_gpu_usage *message);

struct gw_text;

/* gw_sched_gpu_tell_clearing says that a task that is placed waits for a GPU to be clear. */
void gw_sched_gpu_tell_clearing(const struct gw_sched *sched, const struct gw_job *job,
                                uint32_t row, struct gw_text *text);

/* Tasks and ranks in the list of gw_sched_gpu_tell_use. */
enum { GW_GPU_USE_MAX = 500 };

/* gw_sched_gpu_tell_use adds to a dict for people how the GPUs do in all, if there are some, and,
 * as "gpu_use", what each task and rank that has some uses: the first GW_GPU_USE_MAX. */
void gw_sched_gpu_tell_use(const struct gw_sched *sched, struct gw_value *dict);

/* gw_sched_gpu_tell_push appends a dict for people for each GPU of a worker. */
void gw_sched_gpu_tell_push(const struct gw_sched *sched, const struct gw_worker *worker,
                            struct gw_value *list);

/* gw_sched_gpus_check asserts that each debit is an attempt's, and each attempt has its own;
 * gw_sched_gpus_check_gang, that those of its ranks are of one kind. */
void gw_sched_gpus_check(const struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_gpus_check_gang(const struct gw_sched *sched, const struct gw_gang_attempt *gang);

#endif
