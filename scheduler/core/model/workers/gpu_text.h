/* Texts about GPUs for error messages. */
#ifndef GW_SCHEDULER_CORE_GPU_TEXT_H
#define GW_SCHEDULER_CORE_GPU_TEXT_H

#include "scheduler/core/model/state.h"

/* gw_sched_gpu_text_missing returns GW_EINFEASIBLE and writes which GPUs no worker could ever
 * provide, or returns 0. gw_sched_gpu_text_of appends ", 2 GPUs with 1.5 GiB each" to `text`. */
int gw_sched_gpu_text_missing(const struct gw_sched *sched, const struct gw_resource_class *shape,
                              struct gw_error *error);
void gw_sched_gpu_text_of(const struct gw_resource_class *shape, char *text, size_t bytes);

/* gw_sched_gpu_text_ran_out returns true if an attempt with GPUs ended because GPU memory ran out,
 * according to its error text. */
bool gw_sched_gpu_text_ran_out(const struct gw_attempt *attempt, const struct gw_end *end);

/* gw_sched_gpu_text_drained returns the number of drained GPUs. gw_sched_gpu_text_worker_drained
 * returns how many GPUs that a worker owns are drained. Every worker that offers a GPU may drain
 * it. */
uint32_t gw_sched_gpu_text_drained(const struct gw_sched *sched);
uint32_t gw_sched_gpu_text_worker_drained(const struct gw_worker *worker);

#endif
