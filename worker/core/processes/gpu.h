/* Which processes are on which GPU. */
#ifndef GW_WORKER_CORE_PROCESSES_GPU_H
#define GW_WORKER_CORE_PROCESSES_GPU_H

#include "worker/core/model/state.h"

void gw_gpus_init(struct gw_node_core *core);
void gw_gpus_deinit(struct gw_node_core *core);
/* gw_gpu_hold puts a new process on the GPUs of its pool or, without one, of its run; gw_gpu_leave
 * takes it off, buried. */
void gw_gpu_hold(struct gw_node_core *core, struct gw_process *process,
                 const struct gw_runner_pool *pool, const struct gw_attempt *run);
void gw_gpu_leave(struct gw_node_core *core, struct gw_process *process);
/* gw_gpu_cpus is the CPUs near a process's GPUs, as `spawn` has them; empty: it is not bound. */
const char *gw_gpu_cpus(struct gw_node_core *core, const struct gw_process *process,
                        const struct gw_node_spec *spec);
/* gw_gpu_lets tells whether a process of this spec could start on them now. */
bool gw_gpu_lets(const struct gw_node_core *core, const struct gw_node_spec *spec,
                 const uint32_t *gpus, uint32_t count);
void gw_gpu_pump(struct gw_node_core *core); /* end idle runners where others are to start */
void gw_gpu_on_samples(struct gw_node_core *core, const struct gw_event *event);
void gw_gpu_tick(struct gw_node_core *core);
uint64_t gw_gpu_deadline_ns(const struct gw_node_core *core);
void gw_gpus_registered(struct gw_node_core *core); /* anew: the scheduler knows nothing */
void gw_gpu_settle(struct gw_node_core *core);      /* at the end of a step */
/* gw_gpu_on_undrain: somebody gives back one that is drained; the next look shows whether it is
 * clear. GW_EPROTO: there is none of that number. */
int gw_gpu_on_undrain(struct gw_node_core *core, const struct gw_msg_gpu_undrain *message);
void gw_gpus_check(const struct gw_node_core *core);

#endif
