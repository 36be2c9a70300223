/* Processes from their start until they are reaped. */
#ifndef GW_WORKER_CORE_PROCESSES_PROCESS_H
#define GW_WORKER_CORE_PROCESSES_PROCESS_H

#include "worker/core/model/state.h"

/* gw_process_used records the CPU time of a process since its start, as it or its reaper said.
 * Returns 0. */
int gw_process_used(struct gw_process *process, uint64_t cpu_ns);

void gw_process_give(struct gw_node_core *core, struct gw_process *process, struct gw_attempt *run);
void gw_process_unbind(struct gw_node_core *core, struct gw_process *process,
                       struct gw_attempt *run);
/* gw_process_next is called after the first attempt of a queue has ended. The next attempt of the
 * queue executes now, or the process becomes idle. */
void gw_process_next(struct gw_node_core *core, struct gw_process *process);

/* gw_process_return takes an attempt out of a runner's queue. The attempt becomes ready again, or
 * waits again if an input is missing. It ends if it was cancelled in the meantime. */
void gw_process_return(struct gw_node_core *core, struct gw_attempt *run);
/* gw_process_requeue removes all attempts that come after `first` (NULL: all attempts) from the
 * queue of a runner. They go back to the front of their pool's queue in the same order. */
void gw_process_requeue(struct gw_node_core *core, struct gw_process *process,
                        const struct gw_attempt *first);
void gw_process_reap(struct gw_node_core *core, struct gw_process *process, uint64_t grace_ns);
/* gw_process_signal sends a command and its descendants the signal that the user chose for ending
 * it. It does nothing else. */
void gw_process_signal(struct gw_node_core *core, const struct gw_process *process);
/* gw_process_hurry makes the remaining processes of an ended process end within grace_ns. */
void gw_process_hurry(struct gw_node_core *core, const struct gw_process *process,
                      uint64_t grace_ns);
char *gw_process_exit_text(const struct gw_process *process); /* caller frees it */
void gw_process_free(struct gw_node_core *core, struct gw_process *process);

/* gw_process_make_idle marks a process that has no work. gw_process_leave_pool removes a process
 * from its pool, so that it gets no more work. gw_process_count_starting records if a runner starts
 * for the queue of its pool, and not for a rank. */
void gw_process_make_idle(struct gw_node_core *core, struct gw_process *process);
void gw_process_leave_pool(struct gw_process *process);
void gw_process_count_starting(struct gw_process *process, bool starts);
/* gw_process_reclaim takes back the yielded slots of a process whose task waited for other tasks.
 * gw_process_end_wait is called after the task that a process executed has ended. */
void gw_process_reclaim(struct gw_node_core *core, struct gw_process *process);
void gw_process_end_wait(struct gw_node_core *core, struct gw_process *process);
/* gw_process_end_attempt ends an attempt with the outcome `end`, which is not success. If no
 * process executes it, it ends at once. Otherwise its process is told to end within grace_ns, and
 * the attempt ends when the process is reaped. The function takes ownership of end.text. */
void gw_process_end_attempt(struct gw_node_core *core, struct gw_attempt *run,
                            struct gw_attempt_end end, uint64_t grace_ns);

#endif
