/* From spawn to burial. */
#ifndef GW_WORKER_CORE_PROCESS_H
#define GW_WORKER_CORE_PROCESS_H

#include "worker/core/state.h"

struct gw_process *gw_process_find(const struct gw_node_core *core, uint64_t id);
struct gw_process *gw_process_start(struct gw_node_core *core, struct gw_pool *pool,
                                    struct gw_run *run, struct gw_process *behind);
void gw_process_give(struct gw_node_core *core, struct gw_process *process, struct gw_run *run);
void gw_process_unbind(struct gw_node_core *core, struct gw_process *process, struct gw_run *run);
/* gw_process_next follows the end of the first run of a queue: the next one executes, or none. */
void gw_process_next(struct gw_node_core *core, struct gw_process *process);

/* gw_process_return takes a run out of a runner's queue: it waits, or is ready, again. One that was
 * cancelled there ends. */
void gw_process_return(struct gw_node_core *core, struct gw_run *run);
/* gw_process_requeue has those behind `first` (NULL: all) go back to where they came from, at the
 * front, in their order. */
void gw_process_requeue(struct gw_node_core *core, struct gw_process *process,
                        const struct gw_run *first);
void gw_process_bury(struct gw_node_core *core, struct gw_process *process, uint64_t grace_ns);
/* gw_process_signal sends a command and its descendants the signal that its user named for its end,
 * and no more. */
void gw_process_signal(struct gw_node_core *core, const struct gw_process *process);
/* gw_process_hurry has what an ended process left behind end within grace_ns. */
void gw_process_hurry(struct gw_node_core *core, const struct gw_process *process,
                      uint64_t grace_ns);
void gw_process_on_spawned(struct gw_node_core *core, const struct gw_msg_spawned *spawned);
void gw_process_on_exited(struct gw_node_core *core, const struct gw_msg_exited *exited);
void gw_process_on_buried(struct gw_node_core *core, const struct gw_msg_buried *buried);
void gw_process_on_close(struct gw_node_core *core, struct gw_process *process);
int gw_process_on_hello(struct gw_node_core *core, struct gw_process *process,
                        const struct gw_msg_runner *hello);
char *gw_process_exit_text(const struct gw_process *process); /* owned by the caller */
void gw_process_tick(struct gw_node_core *core);
uint64_t gw_process_deadline_ns(const struct gw_node_core *core);
void gw_process_free(struct gw_node_core *core, struct gw_process *process);

#endif
