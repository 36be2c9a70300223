/* GPUs that stay drained: those that had a serious error, and those that an admin drained. They are
 * identified by UUID. They stay drained across restarts of their workers and of the scheduler,
 * until an admin undrains them. A GPU that is only drained for a while is handled by its worker. */
#ifndef GW_SCHEDULER_CORE_GPU_DRAIN_H
#define GW_SCHEDULER_CORE_GPU_DRAIN_H

#include "scheduler/core/model/state.h"

struct gw_gpu_drain {
    char *uuid, *physical_gpu, *why;
};

struct gw_gpu_drains {
    GW_ARRAY(struct gw_gpu_drain) items;
};

/* gw_sched_gpu_drain_mark drains the GPUs of a worker that are in the list. Only for use in model/.
 */
void gw_sched_gpu_drain_mark(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_gpu_drain_dump appends the list as bytes. gw_sched_gpu_drain_deinit frees it. */
void gw_sched_gpu_drain_dump(const struct gw_sched *sched, struct gw_buffer *out);
void gw_sched_gpu_drain_deinit(struct gw_sched *sched);

/* gw_sched_gpu_drain_copy returns a copy of a text. The caller owns it. */
char *gw_sched_gpu_drain_copy(const char *text);

/* gw_sched_gpu_drain_find returns the entry of a UUID, or NULL. */
struct gw_gpu_drain *gw_sched_gpu_drain_find(const struct gw_sched *sched, const char *uuid);

/* gw_sched_gpu_drain_drop removes and frees the entry at an index. */
void gw_sched_gpu_drain_drop(struct gw_sched *sched, size_t at);

#endif
