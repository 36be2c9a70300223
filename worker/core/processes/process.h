/* From spawn to burial. */
#ifndef GW_WORKER_CORE_PROCESSES_PROCESS_H
#define GW_WORKER_CORE_PROCESSES_PROCESS_H

#include "worker/core/model/state.h"

void gw_process_give(struct gw_node_core *core, struct gw_process *process, struct gw_attempt *run);
void gw_process_unbind(struct gw_node_core *core, struct gw_process *process,
                       struct gw_attempt *run);
/* gw_process_next follows the end of the first run of a queue: the next one executes, or none. */
void gw_process_next(struct gw_node_core *core, struct gw_process *process);

/* gw_process_return takes a run out of a runner's queue: it waits, or is ready, again. One that was
 * cancelled there ends. */
void gw_process_return(struct gw_node_core *core, struct gw_attempt *run);
/* gw_process_requeue has those behind `first` (NULL: all) go back to where they came from, at the
 * front, in their order. */
void gw_process_requeue(struct gw_node_core *core, struct gw_process *process,
                        const struct gw_attempt *first);
void gw_process_bury(struct gw_node_core *core, struct gw_process *process, uint64_t grace_ns);
/* gw_process_signal sends a command and its descendants the signal that its user named for its end,
 * and no more. */
void gw_process_signal(struct gw_node_core *core, const struct gw_process *process);
/* gw_process_hurry has what an ended process left behind end within grace_ns. */
void gw_process_hurry(struct gw_node_core *core, const struct gw_process *process,
                      uint64_t grace_ns);
char *gw_process_exit_text(const struct gw_process *process); /* owned by the caller */
void gw_process_free(struct gw_node_core *core, struct gw_process *process);

/* gw_process_make_idle: it has nothing to do. gw_process_leave_pool: it takes no more work.
 * gw_process_count_starting: whether it is one of those that start for the pool's queue, not for a
 * rank. */
void gw_process_make_idle(struct gw_node_core *core, struct gw_process *process);
void gw_process_leave_pool(struct gw_process *process);
void gw_process_count_starting(struct gw_process *process, bool starts);
/* gw_process_reclaim has a process whose task waited for others hold its slots again;
 * gw_process_end_wait follows the end of what it executed. */
void gw_process_reclaim(struct gw_node_core *core, struct gw_process *process);
void gw_process_end_wait(struct gw_node_core *core, struct gw_process *process);
/* gw_process_end_attempt ends a run otherwise than well: at once where nothing of it lives, else
 * when its process, which is told to end within grace_ns, is buried. Takes end.text. */
void gw_process_end_attempt(struct gw_node_core *core, struct gw_attempt *run,
                            struct gw_attempt_end end, uint64_t grace_ns);

#endif
