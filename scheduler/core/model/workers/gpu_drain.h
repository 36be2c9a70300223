/* GPUs that stay drained: those that had an error after which they cannot be trusted, and those
 * that an admin took out. By UUID, whatever becomes of their workers and of the scheduler, until an
 * admin gives them back. What is drained for a while only is its worker's to know. */
#ifndef GW_SCHEDULER_CORE_GPU_DRAIN_H
#define GW_SCHEDULER_CORE_GPU_DRAIN_H

#include "scheduler/core/model/state.h"

struct gw_gpu_drain {
    char *uuid, *physical_gpu, *why;
};

struct gw_gpu_drains {
    GW_ARRAY(struct gw_gpu_drain) items;
};

/* gw_sched_gpu_drain_mark drains those of a worker that are known to be so; for apply functions. */
void gw_sched_gpu_drain_mark(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_gpu_drain_dump appends the list as bytes; gw_sched_gpu_drain_deinit frees it. */
void gw_sched_gpu_drain_dump(const struct gw_sched *sched, struct gw_buffer *out);
void gw_sched_gpu_drain_deinit(struct gw_sched *sched);

/* gw_sched_gpu_drain_copy returns a copy of a text; the caller owns it. */
char *gw_sched_gpu_drain_copy(const char *text);

/* gw_sched_gpu_drain_find returns the entry of a UUID, or NULL. */
struct gw_gpu_drain *gw_sched_gpu_drain_find(const struct gw_sched *sched, const char *uuid);

/* gw_sched_gpu_drain_drop frees the entry at an index and removes it. */
void gw_sched_gpu_drain_drop(struct gw_sched *sched, size_t at);

#endif
