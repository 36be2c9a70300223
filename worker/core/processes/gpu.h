/* Which processes are on which GPU, and the health of the GPUs. */
#ifndef GW_WORKER_CORE_PROCESSES_GPU_H
#define GW_WORKER_CORE_PROCESSES_GPU_H

#include "worker/core/model/state.h"

void gw_gpus_init(struct gw_node_core *core);
void gw_gpus_deinit(struct gw_node_core *core);
/* gw_gpu_hold assigns the GPUs of a pool, or of an attempt if `pool` is NULL, to a new process.
 * gw_gpu_leave frees them after the process is reaped. */
void gw_gpu_hold(struct gw_node_core *core, struct gw_process *process,
                 const struct gw_runner_pool *pool, const struct gw_attempt *run);
void gw_gpu_leave(struct gw_node_core *core, struct gw_process *process);
/* gw_gpu_cpus returns the CPUs near the GPUs of a process, in the format of the `spawn` message.
 * Empty: the process is not bound to CPUs. */
const char *gw_gpu_cpus(struct gw_node_core *core, const struct gw_process *process,
                        const struct gw_node_spec *spec);
/* gw_gpu_lets returns true if a process of this spec could start on these GPUs now. */
bool gw_gpu_lets(const struct gw_node_core *core, const struct gw_node_spec *spec,
                 const uint32_t *gpus, uint32_t count);
void gw_gpu_pump(
    struct gw_node_core *core); /* ends idle runners if other processes need their GPUs */
void gw_gpu_on_samples(struct gw_node_core *core, const struct gw_event *event);
void gw_gpu_tick(struct gw_node_core *core);
uint64_t gw_gpu_deadline_ns(const struct gw_node_core *core);
void gw_gpus_registered(
    struct gw_node_core *core);                /* the new scheduler knows nothing about the GPUs */
void gw_gpu_settle(struct gw_node_core *core); /* called at the end of a step */
/* gw_gpu_on_undrain handles an administrator's order to use a drained GPU again. The next sample
 * shows if the GPU is clear. Returns GW_EPROTO if the GPU's number is invalid. */
int gw_gpu_on_undrain(struct gw_node_core *core, const struct gw_msg_gpu_undrain *message);
void gw_gpus_check(const struct gw_node_core *core);

#endif
