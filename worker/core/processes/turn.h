/* Commands that wait in the warden of another.
 *
 * gw_turn_behind is the process behind which a command may wait; NULL: none.
 * gw_turn_come follows the burial of a process: the next one has its slots.
 * gw_turn_return follows the word that a command was not begun: its process is gone. */
#ifndef GW_WORKER_CORE_PROCESSES_TURN_H
#define GW_WORKER_CORE_PROCESSES_TURN_H

#include "worker/core/model/state.h"

struct gw_process *gw_turn_behind(const struct gw_node_core *core, const struct gw_attempt *run);
void gw_turn_come(struct gw_node_core *core, struct gw_process *process);
void gw_turn_return(struct gw_node_core *core, struct gw_process *process);
void gw_turn_leave(struct gw_process *process);

#endif
