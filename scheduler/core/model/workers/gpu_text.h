/* GPUs in words, for errors. */
#ifndef GW_SCHEDULER_CORE_GPU_TEXT_H
#define GW_SCHEDULER_CORE_GPU_TEXT_H

#include "scheduler/core/model/state.h"

/* gw_sched_gpu_text_missing writes which GPUs of a shape no worker could ever give: GW_EINFEASIBLE.
 * gw_sched_gpu_text_of writes ", 2 GPUs with 1.5 GiB each" behind what is there. */
int gw_sched_gpu_text_missing(const struct gw_sched *sched, const struct gw_shape *shape,
                              struct gw_error *error);
void gw_sched_gpu_text_of(const struct gw_shape *shape, char *text, size_t bytes);

/* gw_sched_gpu_text_ran_out tells whether an attempt with GPUs ended because their memory did not
 * suffice, as far as its own words say so. */
bool gw_sched_gpu_text_ran_out(const struct gw_attempt *attempt, const struct gw_end *end);

/* gw_sched_gpu_text_drained is how many there are that are drained,
 * gw_sched_gpu_text_worker_drained how many of a worker's own: all that offer one may drain it. */
uint32_t gw_sched_gpu_text_drained(const struct gw_sched *sched);
uint32_t gw_sched_gpu_text_worker_drained(const struct gw_worker *worker);

#endif
