/* What people ask of GPUs. */
#ifndef GW_SCHEDULER_CORE_GPU_ASK_H
#define GW_SCHEDULER_CORE_GPU_ASK_H

#include "scheduler/core/model/state.h"

/* gw_sched_gpu_on_ask has the workers that have drained a GPU told that it may be used again, if
 * whoever asks may end this cluster, and answers. uuid: the GPU's, or that of the GPU whose
 * instances they are. 0. */
int gw_sched_gpu_on_ask(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_gpu_ask *ask);

#endif
