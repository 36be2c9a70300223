/* A short command may wait in the reaper process of another command, which starts it without a
 * delay.
 *
 * gw_turn_behind returns the process behind which a command may wait. NULL: none.
 *
 * gw_turn_come is called when a process is reaped: the command that waits behind it takes over the
 * slots.
 *
 * gw_turn_return puts a command that was not started back into the worker's queue. Its process is
 * gone. */
#ifndef GW_WORKER_CORE_PROCESSES_TURN_H
#define GW_WORKER_CORE_PROCESSES_TURN_H

#include "worker/core/model/state.h"

struct gw_process *gw_turn_behind(const struct gw_node_core *core, const struct gw_attempt *run);
void gw_turn_come(struct gw_node_core *core, struct gw_process *process);
void gw_turn_return(struct gw_node_core *core, struct gw_process *process);
void gw_turn_leave(struct gw_process *process);

#endif
