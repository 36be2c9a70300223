/* Requests of admins to drain GPUs and to use drained GPUs again. */
#ifndef GW_SCHEDULER_CORE_GPU_ASK_H
#define GW_SCHEDULER_CORE_GPU_ASK_H

#include "scheduler/core/model/state.h"

/* gw_sched_gpu_on_ask drains a GPU or lets it be used again, if the session belongs to an admin,
 * and replies. ask->uuid is the UUID of the GPU, or of the physical GPU of several MIG instances.
 * Always returns 0. */
int gw_sched_gpu_on_ask(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_gpu_ask *ask);

#endif
